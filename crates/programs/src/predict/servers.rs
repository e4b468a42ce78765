//! Servers that people use, and the setting with which each listens at a UNIX socket.

/// Names of a server's program, and what its users write.
struct KnownServer {
    names: &'static [&'static str],
    setting: &'static str,
}

const fn server(names: &'static [&'static str], setting: &'static str) -> KnownServer {
    KnownServer { names, setting }
}

/// From their manuals; PATH is absolute.
const SERVERS: [KnownServer; 23] = [
    server(
        &["redis-server", "valkey-server"],
        "'unixsocket /run/redis.sock' in redis.conf; clients: redis-cli -s PATH",
    ),
    server(
        &["postgres", "postmaster"],
        "unix_socket_directories in postgresql.conf; clients: host=DIRECTORY",
    ),
    server(
        &["mysqld", "mariadbd"],
        "socket=PATH in my.cnf; clients: --socket PATH, or the host localhost",
    ),
    server(&["memcached"], "memcached -s PATH -a 0660"),
    server(
        &["nginx"],
        "'listen unix:PATH;', and in front of others 'proxy_pass http://unix:PATH;'",
    ),
    server(&["haproxy"], "'bind unix@PATH', and for its servers 'server NAME unix@PATH'"),
    server(&["pgbouncer"], "unix_socket_dir in pgbouncer.ini; clients: host=DIRECTORY"),
    server(&["php-fpm"], "'listen = PATH' in the pool; nginx: fastcgi_pass unix:PATH"),
    server(&["gunicorn"], "gunicorn --bind unix:PATH"),
    server(&["uvicorn"], "uvicorn --uds PATH"),
    server(&["hypercorn"], "hypercorn --bind unix:PATH"),
    server(&["daphne"], "daphne -u PATH"),
    server(&["uwsgi"], "uwsgi --socket PATH, or --http-socket PATH"),
    server(&["puma"], "puma -b unix://PATH"),
    server(&["mongod"], "net.unixDomainSocket.pathPrefix; clients: mongodb://PATH with %2F for /"),
    server(&["caddy"], "'bind unix/PATH'"),
    server(&["envoy"], "an address with pipe: {path: PATH}"),
    server(&["lighttpd"], "server.bind = \"PATH\""),
    server(&["varnishd"], "varnishd -a PATH"),
    server(&["mosquitto"], "'listener 0 PATH' in mosquitto.conf"),
    server(&["node"], "server.listen('PATH'), and socketPath of a request"),
    server(&["java"], "UnixDomainSocketAddress.of(PATH) (Java 16 and newer)"),
    server(&["python3", "python"], "asyncio.start_unix_server, or AF_UNIX of the module socket"),
];

/// The setting with which a server of this name listens at a UNIX socket.
pub(crate) fn setting(name: &str) -> Option<&'static str> {
    // Packages add their version: php-fpm8.2, python3.12.
    let plain = name.trim_end_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
    let is_it = |one: &&KnownServer| one.names.contains(&name) || one.names.contains(&plain);
    SERVERS.iter().find(is_it).map(|one| one.setting)
}

/// A command that succeeds once servers of these names answer: they listen some time before.
struct ReadinessCommand {
    servers: &'static [&'static str],
    words: &'static [&'static str],
    /// Flags of clients that say where the server is, each with the flag of the command that says the same.
    flags: &'static [(&'static [&'static str], &'static str)],
}

/// From the manuals of `pg_isready` and `mysqladmin`.
const READY: [ReadinessCommand; 2] = [
    ReadinessCommand {
        servers: &["postgres", "postmaster"],
        words: &["pg_isready", "--quiet"],
        flags: &[(&["-h", "--host"], "--host"), (&["-p", "--port"], "--port")],
    },
    ReadinessCommand {
        servers: &["mysqld", "mariadbd"],
        words: &["mysqladmin", "--silent", "ping"],
        flags: &[
            (&["-h", "--host", "--mysql-host"], "--host"),
            (&["-P", "--port", "--mysql-port"], "--port"),
            (&["-S", "--socket", "--mysql-socket"], "--socket"),
        ],
    },
];

/// The value of a flag in these words: `-p 1`, `-p1`, `--port 1` or `--port=1`.
fn value<'a>(words: &'a [String], spellings: &[&str]) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        spellings.iter().find_map(|flag| match word.strip_prefix(flag)? {
            "" => words.get(at + 1).map(String::as_str),
            rest if flag.starts_with("--") => rest.strip_prefix('='),
            rest => Some(rest),
        })
    })
}

/// The command that says whether a server of this name answers where its client connects; none where a server that listens
/// answers as well.
pub(crate) fn ready(name: &str, client: &[String]) -> Option<Vec<String>> {
    let command = READY.iter().find(|command| command.servers.contains(&name))?;
    let words = command.words.iter().map(|word| (*word).to_owned());
    let flags = command
        .flags
        .iter()
        .filter_map(|(spellings, flag)| Some(format!("{flag}={}", value(client, spellings)?)));
    Some(words.chain(flags).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_asked_where_its_client_connects() {
        let ready = |server: &str, client: &str| {
            let words: Vec<String> = client.split(' ').map(str::to_owned).collect();
            ready(server, &words).map(|words| words.join(" "))
        };
        for (server, client, command) in [
            (
                "postgres",
                "pgbench -S -h 127.0.0.1 -p5433",
                "pg_isready --quiet --host=127.0.0.1 --port=5433",
            ),
            (
                "postgres",
                "psql --host=/run/pg --port 5433",
                "pg_isready --quiet --host=/run/pg --port=5433",
            ),
            ("postgres", "pgbench -S -h", "pg_isready --quiet"),
            ("mariadbd", "mysqlslap -S /m.sock -p", "mysqladmin --silent ping --socket=/m.sock"),
            ("mysqld", "sysbench --mysql-port=3307", "mysqladmin --silent ping --port=3307"),
        ] {
            assert_eq!(ready(server, client).as_deref(), Some(command), "{client}");
        }
        assert_eq!(ready("redis-server", "redis-cli -p 1"), None);
    }

    #[test]
    fn servers_are_known_with_and_without_their_version() {
        for (name, part) in [
            ("redis-server", "unixsocket"),
            ("postgres", "unix_socket_directories"),
            ("php-fpm8.2", "listen = PATH"),
            ("python3.12", "start_unix_server"),
            ("python3", "start_unix_server"),
            ("nginx", "listen unix:PATH"),
        ] {
            assert!(setting(name).is_some_and(|text| text.contains(part)), "{name}");
        }
        assert_eq!(setting("es"), None);
        assert_eq!(setting(""), None);
        let names: Vec<&str> = SERVERS.iter().flat_map(|one| one.names).copied().collect();
        let once: std::collections::BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(once.len(), names.len(), "each name once");
    }
}
