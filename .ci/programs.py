"""Real servers, recorded and predicted: sizes and counts are exact, directions hold where an interval says so."""

import json
import os
import pathlib
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import sys

IPCPERF, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
LOAD = str(FOLDER / "load")


def port():
    """One that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def run(*words):
    done = subprocess.run([IPCPERF, *words], capture_output=True, text=True, timeout=120, cwd=FOLDER)
    assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def recorded(server, client, way):
    """The channel with most bytes between the two."""
    run("record", "--with", way, "-o", "p.json", "--client", shlex.join(client), "--", *server)
    profile = json.loads((FOLDER / "p.json").read_text())
    assert profile["lost"] == 0, profile
    return profile["channels"][0]


def load(where, connections, requests, text, answer):
    return [LOAD, str(where), str(connections), str(requests), text, str(answer)]


def servers():
    """Name, server, port, question, bytes of its answer."""
    redis, nginx, memcached = port(), port(), port()
    (FOLDER / "nginx.conf").write_text(
        f"""daemon off; worker_processes 1; pid {FOLDER}/nginx.pid; error_log /dev/null;
        events {{ }}
        http {{ access_log off; keepalive_requests 10000000;
        server {{ listen 127.0.0.1:{nginx}; location / {{ return 200 "ok"; }} }} }}"""
    )
    get = "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n"
    yield "redis", ["redis-server", "--port", f"{redis}", "--save", "", "--loglevel", "warning"], redis, get, 5
    yield "nginx", ["nginx", "-p", f"{FOLDER}", "-c", f"{FOLDER}/nginx.conf"], nginx, "GET / HTTP/1.1\r\nHost:x\r\n\r\n", 149
    as_root = ["-u", "nobody"] if os.geteuid() == 0 else []
    yield "memcached", ["memcached", "-t", "1", "-p", f"{memcached}", *as_root], memcached, "get k\r\n", 5


def postgres():
    """A cluster of its own, and who may run it."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))
    if not found or os.geteuid() != 0:
        print("skipped: PostgreSQL: not installed, or not root")
        return
    user, data, at = pwd.getpwnam("postgres"), FOLDER / "data", port()
    data.mkdir()
    os.chown(data, user.pw_uid, user.pw_gid)
    as_user = ["runuser", "-u", "postgres", "--"]
    made = [*as_user, str(found[-1] / "initdb"), "-A", "trust", "-N", "-D", str(data)]
    subprocess.run(made, check=True, capture_output=True, cwd="/")
    options = ["-D", str(data), "-p", str(at), "-c", "unix_socket_directories=", "-c", "fsync=off"]
    server = [*as_user, str(found[-1] / "postgres"), *options]
    # A statement that needs no table: what is asked and answered is the same each time.
    (FOLDER / "one.sql").write_text("SELECT 1;\n")
    bench = [str(found[-1] / "pgbench"), "-h", "127.0.0.1", "-p", str(at), "-U", "postgres", "-n", "-M", "prepared"]
    channel = recorded(server, [*bench, "-f", "one.sql", "-t", "500", "postgres"], "bpf")
    size = channel["sizes"][0]
    print("postgres:", {key: channel[key] for key in ("requests", "sizes", "answerer_calls")})
    assert size["count"] in range(495, 501), channel
    assert 2 <= channel["answerer_calls"]["recvfrom"] + channel["answerer_calls"]["epoll_wait"] < 4, channel


# Servers that answer whatever comes with five bytes, by the means of their languages.
GO = """package main

import (
	"net"
	"os"
)

func serve(connection net.Conn) {
	defer connection.Close()
	message := make([]byte, 100)
	for {
		if _, err := connection.Read(message); err != nil {
			return
		}
		if _, err := connection.Write([]byte("+OK\\r\\n")); err != nil {
			return
		}
	}
}

func main() {
	listener, err := net.Listen("tcp4", "127.0.0.1:"+os.Args[1])
	if err != nil {
		panic(err)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go serve(connection)
	}
}
"""

NODE = """
const answer = socket => socket.on('data', () => socket.write('+OK\\r\\n')).on('error', () => {});
require('net').createServer({noDelay: true}, answer).listen(Number(process.argv[2]), '127.0.0.1');
"""

JAVA = """
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

public class Server {
    static void serve(Socket socket) {
        byte[] message = new byte[100];
        try (socket) {
            socket.setTcpNoDelay(true);
            while (socket.getInputStream().read(message) > 0) {
                socket.getOutputStream().write("+OK\\r\\n".getBytes());
            }
        } catch (java.io.IOException gone) {
            return;
        }
    }

    public static void main(String[] words) throws Exception {
        var listener = new ServerSocket(Integer.parseInt(words[0]), 50, InetAddress.getByName("127.0.0.1"));
        while (true) {
            Socket socket = listener.accept();
            new Thread(() -> serve(socket)).start();
        }
    }
}
"""


def runtimes():
    """Name and server, of each language that is here."""
    for name, tool, file, text, build, server in [
        ("go", "go", "server.go", GO, ["go", "build", "-o", "goserver", "server.go"], ["./goserver"]),
        ("node", "node", "server.js", NODE, None, ["node", "server.js"]),
        ("java", "javac", "Server.java", JAVA, ["javac", "Server.java"], ["java", "-Djava.net.preferIPv4Stack=true", "Server"]),
    ]:
        if not shutil.which(tool):
            print(f"skipped: {name}: {tool} is not installed")
            continue
        (FOLDER / file).write_text(text)
        if build:
            env = {**os.environ, "CGO_ENABLED": "0", "GO111MODULE": "off", "GOCACHE": str(FOLDER / "go")}
            subprocess.run(build, check=True, cwd=FOLDER, env=env)
        yield name, server


def languages():
    text = "question that has thirty-six bytes.\n"
    for name, server in runtimes():
        at = port()
        for way, requests in (("bpf", 4000), ("ptrace", 400)):
            channel = recorded([*server, str(at)], load(at, 4, requests, text, 5), way)
            expected = [{"question": 36, "answer": 5, "count": requests}]
            assert channel["sizes"] == expected, f"{name} {way}: {json.dumps(channel, indent=1)}"
            assert (channel["requests"], channel["connections"]) == (requests, 4), channel
        words = ["--client", shlex.join(load(at, 4, 4000, text, 5)), "--", *server, str(at)]
        swapped = subprocess.run([IPCPERF, "swap", *words], capture_output=True, text=True, timeout=60, cwd=FOLDER)
        assert swapped.returncode == 0, swapped.stderr
        assert re.search(r"exchanged 1 listener and 4 connections,", swapped.stderr), swapped.stderr
        print(name, "recorded:", channel["answerer_calls"], "and swapped")


def main():
    languages()
    for name, server, at, text, answer in servers():
        for way in ("bpf", "ptrace"):
            for connections in (1, 16):
                requests = 4000 if way == "bpf" else 800
                channel = recorded(server, load(at, connections, requests, text, answer), way)
                expected = [{"question": len(text), "answer": answer, "count": requests}]
                assert channel["sizes"] == expected, f"{name} {way}: {json.dumps(channel, indent=1)}"
                assert (channel["requests"], channel["connections"]) == (requests, connections), channel
                assert channel["most_in_flight"] <= connections, channel
                assert channel["name"] == str(at), channel
        print(name, "recorded:", channel["sizes"], channel["answerer_calls"])
        client = load(at, 16, 20000, text, answer)
        words = ["--server", shlex.join(server), "--client", shlex.join(client), "--requests", "20000"]
        run("predict", *words, "--rounds", "6", "--no-progress", "-o", "c.json")
        found = json.loads((FOLDER / "c.json").read_text())["comparisons"][0]
        low, high = found["ratio"].get("ci95", [0, 9])
        print(f"{name}: {found['ratio']['value']:.2f} [{low:.2f}, {high:.2f}], {found['verdict']}")
        # A UNIX socket takes half the CPU time of TCP: no interval lies on the other side.
        assert high > 1, found
    postgres()


main()
