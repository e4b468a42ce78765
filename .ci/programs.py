"""Real servers, recorded and predicted: sizes and counts are exact, directions hold where an interval says so."""

import json
import os
import pathlib
import pwd
import shlex
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


def main():
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
        # Replayed without the server: a claim, or none with the reason.
        recorded(server, client, "bpf")
        run("replay", "p.json", "-m", "unix-stream", "--rounds", "6", "-q", "-o", "r.json")
        findings = json.loads((FOLDER / "r.json").read_text())["noise"]["findings"]
        said = [finding["text"] for finding in findings if finding["code"].endswith("REPLAYED")]
        print(f"{name}:", *said)
        assert len(said) == 1 and "of the recorded" in said[0], findings
    postgres()


main()
