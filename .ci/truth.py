"""`predict --with-truth` with real servers: the exchange, and the same server configured by hand, in the rounds of one run."""

import json
import math
import os
import pathlib
import pwd
import shlex
import shutil
import socket
import subprocess
import sys

IPCPERF, FOLDER, NAMES = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
ROUNDS = os.environ.get("ROUNDS", "12")

# The shares of the pairs that have to hold, and the largest error.
CONTAINED, NEAR, ERROR = 0.9, 0.9, 0.1
# Pairs that have to have a verdict, of twenty.
VERDICTS = 16


def port():
    """One that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write(name, text):
    file = FOLDER / name
    file.write_text(text)
    file.chmod(0o755)
    return str(file)


def load(where, connections, requests, text, answer):
    return shlex.join([str(FOLDER / "load"), str(where), str(connections), str(requests), text, str(answer)])


def redis():
    at, path = port(), f"{FOLDER}/redis.sock"
    server = "redis-server --save '' --loglevel warning"
    for name, options in [
        ("redis-1", "-c 1 -n 40000"),
        ("redis-16", "-c 16 -n 70000"),
        ("redis-500", "-c 500 -n 60000"),
        ("redis-short", "-c 16 -k 0 -n 15000"),
    ]:
        client = f"redis-benchmark -t get -q {options}"
        yield name, f"{server} --port {at}", f"{client} -p {at}", f"{server} --port 0 --unixsocket {path}", f"{client} -s {path}"


def memcached():
    at, path = port(), f"{FOLDER}/memcached.sock"
    as_root = " -u root" if os.geteuid() == 0 else ""
    client = lambda where: load(where, 16, 80000, "get k\r\n", 5)
    yield "memcached", f"memcached -t 1 -p {at}{as_root}", client(at), f"memcached -t 1 -s {path}{as_root}", client(path)


def nginx_file(name, listens, body):
    return write(
        name,
        f"""daemon off; worker_processes 1; pid {FOLDER}/{name}.pid; error_log /dev/null; user root;
        events {{ }}
        http {{ access_log off; keepalive_requests 10000000; client_body_temp_path {FOLDER}/t1; proxy_temp_path {FOLDER}/t2;
        fastcgi_temp_path {FOLDER}/t3; uwsgi_temp_path {FOLDER}/t4; scgi_temp_path {FOLDER}/t5;
        server {{ listen {listens}; location / {{ {body} }} }} }}""",
    )


def h2load(at, connections, requests, path=None):
    """Requests to a port; over a path their text is the same."""
    base = f"-B unix:{path} " if path else ""
    return f"h2load --h1 -n {requests} -c {connections} {base}http://127.0.0.1:{at}/"


def answers(at, path):
    """That a server answers at the port, or at the path."""
    curl = "curl -s -f -o /dev/null"
    return ["--ready", "sh -c " + shlex.quote(f"{curl} http://127.0.0.1:{at}/ || {curl} --unix-socket {path} http://localhost/")]


def http():
    at, path = port(), f"{FOLDER}/nginx.sock"
    of = {where: f"nginx -p {FOLDER} -c {nginx_file(f'nginx-{at}-{number}', listens, 'return 200 ok;')}"
          for number, (where, listens) in enumerate([(at, f"127.0.0.1:{at}"), (path, f"unix:{path}")])}
    yield "nginx", of[at], h2load(at, 4, 50000), of[path], h2load(at, 4, 50000, path)
    curl = f"curl -s -o /dev/null -H 'Connection: close' http://127.0.0.1:{at}/[1-1500]"
    yield "curl-short", of[at], curl, of[path], f"{curl} --unix-socket {path}"
    front, front_path, back = port(), f"{FOLDER}/front.sock", port()
    back_path = f"{FOLDER}/back.sock"
    pairs = {}
    for name, bind, target, listens in [
        ("tcp", f"127.0.0.1:{front}", f"127.0.0.1:{back}", f"127.0.0.1:{back}"),
        ("unix", f"unix@{front_path}", f"unix@{back_path}", f"unix:{back_path}"),
    ]:
        proxy = write(
            f"haproxy-{name}.cfg",
            f"""global
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend f
    bind {bind}
    default_backend b
backend b
    server s {target}
""",
        )
        behind = nginx_file(f"behind-{name}", listens, "return 200 ok;")
        pairs[name] = "sh -c " + shlex.quote(f"nginx -p {FOLDER} -c {behind} & exec haproxy -db -f {proxy}")
    yield "haproxy", pairs["tcp"], h2load(front, 4, 30000), pairs["unix"], h2load(front, 4, 30000, front_path), *answers(front, front_path)


def python():
    write("app.py", "def wsgi(environ, start):\n    start('200 OK', [('Content-Length', '2')])\n    return [b'ok']\n\n\n"
          "async def asgi(scope, receive, send):\n    if scope['type'] != 'http':\n        return\n"
          "    await send({'type': 'http.response.start', 'status': 200, 'headers': [(b'content-length', b'2')]})\n"
          "    await send({'type': 'http.response.body', 'body': b'ok'})\n")
    at, path = port(), f"{FOLDER}/gunicorn.sock"
    server = f"gunicorn --chdir {FOLDER} --log-level error -k gthread --threads 4 --keep-alive 60 app:wsgi --bind"
    yield "gunicorn", f"{server} 127.0.0.1:{at}", h2load(at, 4, 3000), f"{server} unix:{path}", h2load(at, 4, 3000, path)
    at, path = port(), f"{FOLDER}/uvicorn.sock"
    server = f"uvicorn --app-dir {FOLDER} --log-level error --lifespan off app:asgi"
    yield "uvicorn", f"{server} --port {at}", h2load(at, 4, 4000), f"{server} --uds {path}", h2load(at, 4, 4000, path)
    write("echo.py", GRPC)
    at, path = port(), f"{FOLDER}/grpc.sock"
    run = f"/usr/bin/python3 {FOLDER}/echo.py"
    yield "grpc", f"{run} server 127.0.0.1:{at}", f"{run} client 127.0.0.1:{at} 2000", f"{run} server unix:{path}", f"{run} client unix:{path} 2000"


GRPC = """
import sys
from concurrent import futures

import grpc

if sys.argv[1] == 'server':
    method = grpc.unary_unary_rpc_method_handler(lambda request, _: request)
    handler = grpc.method_handlers_generic_handler('Echo', {'Echo': method})
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(sys.argv[2])
    server.start()
    server.wait_for_termination()
with grpc.insecure_channel(sys.argv[2], options=[('grpc.enable_http_proxy', 0)]) as channel:
    echo = channel.unary_unary('/Echo/Echo')
    for _ in range(int(sys.argv[3])):
        assert echo(b'a question of some thirty-two byte', wait_for_ready=True)
"""


def php():
    write("index.php", "<?php echo 'ok';")
    of = {}
    at, path = port(), f"{FOLDER}/php-front.sock"
    for name, listens, pool in [("tcp", f"127.0.0.1:{at}", f"127.0.0.1:{port()}"), ("unix", f"unix:{path}", f"{FOLDER}/php.sock")]:
        config = write(
            f"php-{name}.conf",
            f"[global]\nerror_log = /dev/null\ndaemonize = no\n[www]\nlisten = {pool}\npm = static\npm.max_children = 2\n"
            "user = root\ngroup = root\n",
        )
        target = pool if name == "tcp" else f"unix:{pool}"
        body = f"fastcgi_pass {target}; fastcgi_param SCRIPT_FILENAME {FOLDER}/index.php; fastcgi_param REQUEST_METHOD GET;"
        front = nginx_file(f"front-{name}", listens, body)
        of[name] = "sh -c " + shlex.quote(f"php-fpm8.2 -R -n -y {config} & exec nginx -p {FOLDER} -c {front}")
    yield "php-fpm", of["tcp"], h2load(at, 4, 8000), of["unix"], h2load(at, 4, 8000, path), *answers(at, path)


NODE = """
const where = process.argv[2];
if (where.includes('/')) require('fs').rmSync(where, {force: true});
const answer = (_, reply) => { reply.setHeader('Content-Length', 2); reply.end('ok'); };
require('http').createServer({keepAliveTimeout: 60000}, answer).listen(where.includes('/') ? where : Number(where), where.includes('/') ? undefined : '127.0.0.1');
"""

GO = """package main

import (
	"net"
	"net/http"
	"os"
	"strings"
)

func main() {
	network := "tcp"
	if strings.Contains(os.Args[1], "/") {
		network = "unix"
		os.Remove(os.Args[1])
	}
	listener, err := net.Listen(network, os.Args[1])
	if err != nil {
		panic(err)
	}
	answer := func(reply http.ResponseWriter, _ *http.Request) { reply.Write([]byte("ok")) }
	panic(http.Serve(listener, http.HandlerFunc(answer)))
}
"""

JAVA = """
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

public class Echo {
    static void serve(SocketChannel channel) {
        ByteBuffer bytes = ByteBuffer.allocateDirect(100);
        try (channel) {
            while (channel.read(bytes.clear()) > 0) {
                channel.write(bytes.flip());
            }
        } catch (java.io.IOException gone) {
            return;
        }
    }

    public static void main(String[] words) throws Exception {
        boolean isPath = words[0].contains("/");
        var family = isPath ? StandardProtocolFamily.UNIX : StandardProtocolFamily.INET;
        if (isPath) {
            java.nio.file.Files.deleteIfExists(java.nio.file.Path.of(words[0]));
        }
        var listener = ServerSocketChannel.open(family);
        listener.bind(isPath ? UnixDomainSocketAddress.of(words[0]) : new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])));
        while (true) {
            SocketChannel channel = listener.accept();
            if (!isPath) {
                channel.setOption(java.net.StandardSocketOptions.TCP_NODELAY, true);
            }
            new Thread(() -> serve(channel)).start();
        }
    }
}
"""


def runtimes():
    if shutil.which("node"):
        at, path, server = port(), f"{FOLDER}/node.sock", f"node {write('server.js', NODE)}"
        yield "node", f"{server} {at}", h2load(at, 4, 25000), f"{server} {path}", h2load(at, 4, 25000, path)
    if shutil.which("go"):
        write("server.go", GO)
        write("go.mod", "module server\n\ngo 1.24\n")
        env = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=mod", "GOCACHE": str(FOLDER / "go")}
        subprocess.run(["go", "build", "-o", "goserver", "."], check=True, cwd=FOLDER, env=env)
        at, path, server = port(), f"{FOLDER}/go.sock", f"{FOLDER}/goserver"
        yield "go", f"{server} 127.0.0.1:{at}", h2load(at, 4, 40000), f"{server} {path}", h2load(at, 4, 40000, path)
    if shutil.which("javac"):
        write("Echo.java", JAVA)
        subprocess.run(["javac", "Echo.java"], check=True, cwd=FOLDER)
        at, path, server = port(), f"{FOLDER}/java.sock", f"java -cp {FOLDER} Echo"
        client = lambda where: load(where, 16, 80000, "a question of thirty-two bytes...", 33)
        yield "java", f"{server} {at}", client(at), f"{server} {path}", client(path)


def mosquitto():
    at, path = port(), f"{FOLDER}/mosquitto.sock"
    of = [f"mosquitto -c {write(f'mosquitto-{number}.conf', f'listener {where}{chr(10)}allow_anonymous true{chr(10)}user root{chr(10)}')}"
          for number, where in enumerate([f"{at} 127.0.0.1", f"0 {path}"])]
    client = "mosquitto_pub -t topic -m message -q 1 --repeat 4000"
    yield "mosquitto", of[0], f"{client} -h 127.0.0.1 -p {at}", of[1], f"{client} --unix {path}"


def as_user(name, words):
    return f"setpriv --reuid={name} --regid={name} --clear-groups {words}"


def postgres():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    user, data, at = pwd.getpwnam("postgres"), FOLDER / "data", port()
    data.mkdir()
    os.chown(data, user.pw_uid, user.pw_gid)
    run = lambda words: subprocess.run(shlex.split(as_user("postgres", words)), check=True, capture_output=True, cwd="/")
    run(f"{found}/initdb -A trust -N -D {data}")
    options = f"-D {data} -p {at} -c listen_addresses=127.0.0.1 -c unix_socket_directories={data} -c fsync=off"
    server = as_user("postgres", f"{found}/postgres {options}")
    run(f"{found}/pg_ctl -w -D {data} -o '-p {at} -c unix_socket_directories={data}' start -l /dev/null")
    run(f"{found}/pgbench -i -q -h {data} -p {at} postgres")
    run(f"{found}/pg_ctl -w -D {data} stop")
    bench = lambda where, rest: f"{found}/pgbench -n -S -h {where} -U postgres {rest} postgres"
    ready = ["--ready", f"{found}/pg_isready -q -h 127.0.0.1 -p {at}"]
    by_count, by_time = f"-p {at} -c 4 -t 4000", f"-p {at} -c 4 -T 2"
    yield "pgbench-t", server, bench("127.0.0.1", by_count), server, bench(data, by_count), *ready
    yield "pgbench-T", server, bench("127.0.0.1", by_time), server, bench(data, by_time), "--figure", "pgbench", *ready
    front = port()
    config = lambda name, listens, host: write(
        f"pgbouncer-{name}.ini",
        f"[databases]\npostgres = host={host} port={at} user=postgres\n[pgbouncer]\n{listens}\nauth_type = any\n"
        f"pool_mode = session\nlogfile = {data}/pgbouncer.log\npidfile = {data}/pgbouncer-{name}.pid\n",
    )
    of = {
        "tcp": config("tcp", f"listen_addr = 127.0.0.1\nlisten_port = {front}\nunix_socket_dir =", "127.0.0.1"),
        "unix": config("unix", f"listen_port = {front}\nunix_socket_dir = {data}", data),
    }
    pair = lambda name: as_user("postgres", "sh -c " + shlex.quote(f"{found}/postgres {options} & exec pgbouncer -q {of[name]}"))
    rest = f"-p {front} -c 4 -t 2500"
    yield "pgbouncer", pair("tcp"), bench("127.0.0.1", rest), pair("unix"), bench(data, rest), *ready


def mariadb():
    data, at = FOLDER / "mariadb", port()
    path = f"{data}/m.sock"
    subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--auth-root-authentication-method=normal", "--user=root"],
                   check=True, capture_output=True)
    server = f"mariadbd --no-defaults --datadir={data} --user=root --bind-address=127.0.0.1 --port={at} --socket={path} --skip-grant-tables=0 --skip-name-resolve"
    # The administrator has no password here, and comes from this address.
    client = "mysqlslap --no-defaults -u root --concurrency=4 --number-of-queries=30000 --query='SELECT 1' --create-schema=mysql"
    yield "mariadb", server, f"{client} --protocol=tcp -h 127.0.0.1 -P {at}", server, f"{client} -S {path}"


def measured(name, server_a, client_a, server_b, client_b, *more):
    """What came of a pair, as the cells of a row, and its ratios: of the exchange with its interval, and of the truth."""
    file = FOLDER / f"{name}.json"
    words = ["predict", "--with-truth", "--server", server_a, "--client", client_a, "--server-b", server_b, "--client-b", client_b]
    plan = ["--rounds", ROUNDS, "--deadline", "30s", "--no-progress", "-o", str(file)]
    if int(ROUNDS) < 8:
        plan.append("--no-verdict")
    done = subprocess.run([IPCPERF, *words, *more, *plan], capture_output=True, text=True, timeout=900, cwd=FOLDER)
    why = done.stderr.strip().splitlines()
    if not file.exists():
        return done.returncode, None, why[-1] if why else ""
    found = json.loads(file.read_text())
    one, truth = found["comparisons"][0], found["programs"]["by_hand"]["ratio"]
    is_time = not one["more_is_better"]
    turned = lambda value: 1 / value if is_time else value
    ends = lambda metric: sorted(turned(end) for end in metric.get("ci95", [])) or [0, float("inf")]
    ratios = turned(one["ratio"]["value"]), ends(one["ratio"]), turned(truth["value"]), ends(truth)
    return done.returncode, ratios, one.get("reason", "")


def agrees(ratio, interval, truth, of_truth):
    """Whether both can be the same: the truth is measured in as many rounds, and is as uncertain."""
    half = lambda ends: math.log(ends[1] / ends[0]) / 2 if ends[0] > 0 else math.inf
    return abs(math.log(ratio / truth)) <= math.hypot(half(interval), half(of_truth))


def main():
    rows = []
    for pairs in (redis, memcached, http, python, php, runtimes, mosquitto, postgres, mariadb):
        for pair in pairs():
            if not NAMES or pair[0] in NAMES:
                rows.append((pair[0], *measured(*pair)))
                name, code, ratios, reason = rows[-1]
                if ratios is None:
                    print(f"{name:12} {code}: {reason[:200]}", flush=True)
                    continue
                ratio, (low, high), truth, (least, most) = ratios
                print(f"{name:12} {code}: {ratio:.2f} [{low:.2f}, {high:.2f}], by hand {truth:.2f} [{least:.2f}, {most:.2f}], "
                      f"{100 * (ratio / truth - 1):+.0f} % {reason[:100]}", flush=True)
    verdicts = [ratios for _, code, ratios, _ in rows if ratios and code == 0]
    contained = [low <= truth <= high for _, (low, high), truth, _ in verdicts]
    agree = [agrees(*ratios) for ratios in verdicts]
    near = [abs(ratio / truth - 1) <= ERROR for ratio, _, truth, _ in verdicts]
    # A direction is wrong where both intervals exclude 1 on different sides.
    wrong = [True for _, (low, high), _, (least, most) in verdicts if (low > 1 and most < 1) or (high < 1 and least > 1)]
    print(f"{len(verdicts)} of {len(rows)} have a verdict; the interval contains the truth in {sum(contained)}, "
          f"in {sum(agree)} where the truth's own interval is allowed for, {sum(near)} are within {ERROR:.0%}, {len(wrong)} go the wrong way")
    assert not wrong, "a direction is wrong"
    if not NAMES:
        assert len(verdicts) >= VERDICTS, "too few verdicts"
        assert sum(agree) >= CONTAINED * len(verdicts), "intervals are too narrow"
        assert sum(near) >= NEAR * len(verdicts), "errors are too large"


main()
