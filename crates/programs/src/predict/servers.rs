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

#[cfg(test)]
mod tests {
    use super::*;

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
