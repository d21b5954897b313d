#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon proxy` of Windows, in Wine, with clients and servers of this system on the loopback.

What is refused is asked for beside what is allowed, and reached without the proxy. Nothing here says
that the proxy is confined: on Windows it is not. Nor that a reset is passed on: Wine takes the
error away when it polls, and what is read then is an ordinary end.
"""

import base64
import contextlib
import hashlib
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ["CORDON"]
SECONDS = 60
TOKEN = "a-token-of-some-length"
LOOPBACK = ("--allow-host", "127.0.0.1", "--deny-host", "denied.test")

# ---- Both sides ---------------------------------------------------------------------------------


class Server:
    """Serves each connection in a thread of its own."""

    def __init__(self, serve):
        self.serve = serve
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.run, args=[connection], daemon=True).start()

    def run(self, connection):
        with contextlib.suppress(OSError), connection:
            self.serve(connection)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)


def greet(connection):
    if connection.recv(65536):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")


def start(*words, env=None):
    return subprocess.Popen(
        [f"{TOP}/scripts/wine_run", PROGRAM, *words], env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(*words, env=None):
    process = start(*words, env=env)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out.decode(), err.decode()


class Proxy:
    def __init__(self, *options, env=None):
        self.process = start("proxy", *options, env=env)
        line = self.process.stdout.readline().decode()
        if not line:
            raise AssertionError(self.process.communicate()[1].decode())
        said = json.loads(line)
        assert said["http"] == said["socks"], said
        self.port = int(said["http"].rsplit(":", 1)[1])

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=SECONDS)

    def request(self, url, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.request(method, url, body=body, headers=headers)
        answer = connection.getresponse()
        answer.body = answer.read()
        connection.close()
        return answer

    def tunnel(self, host, port):
        """A connection through CONNECT, and its status."""
        s = self.connect()
        s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = s.recv(1)
            assert byte, head
            head += byte
        return s, int(head.split()[1])

    def socks(self, host, port):
        s = self.connect()
        s.sendall(b"\5\1\0")
        assert read_exactly(s, 2) == b"\5\0"
        name = host.encode()
        s.sendall(b"\5\1\0\3" + bytes([len(name)]) + name + struct.pack(">H", port))
        reply = read_exactly(s, 4)[1]
        return s, reply

    def is_there(self):
        try:
            self.connect().close()
        except OSError:
            return False
        return True

    def end(self):
        """Ctrl-C, which Wine makes of the signal."""
        self.process.send_signal(signal.SIGINT)
        _, err = self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0, (self.process.returncode, err)
        return err.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def read_exactly(s, count):
    data = b""
    while len(data) < count:
        piece = s.recv(min(count - len(data), 1 << 20))
        assert piece, f"ended after {len(data)} of {count} bytes"
        data += piece
    return data


def read_all(s):
    data = b""
    while piece := s.recv(1 << 20):
        data += piece
    return data


def await_that(question):
    until = time.monotonic() + SECONDS
    while not question():
        assert time.monotonic() < until
        time.sleep(0.05)


CASES = []


def case(f):
    CASES.append(f)
    return f


# ---- What is allowed and what is not -----------------------------------------------------------


@case
def http_requests_pass_or_are_refused_with_the_reason():
    with Server(greet) as server, Proxy(*LOOPBACK) as proxy:
        direct = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        direct.request("GET", "/")
        assert direct.getresponse().read() == b"hello"
        answer = proxy.request(f"http://127.0.0.1:{server.port}/x")
        assert (answer.status, answer.body) == (200, b"hello"), answer.body
        for host, code in (("other.test", "blocked-by-allowlist"),
                           ("denied.test", "blocked-by-denylist"),
                           ("127.0.0.2", "blocked-by-private-guard")):
            answer = proxy.request(f"http://{host}:{server.port}/", accept="application/json")
            assert answer.status == 403, (host, answer.status)
            assert answer.headers["x-proxy-error"] == code, (host, answer.headers.items())
            said = json.loads(answer.body)
            assert said["status"] == "blocked" and said["host"] == host, said


@case
def tunnels_pass_or_are_refused():
    with Server(echo) as server, Proxy(*LOOPBACK) as proxy:
        s, status = proxy.tunnel("127.0.0.1", server.port)
        assert status == 200
        s.sendall(b"through")
        assert read_exactly(s, 7) == b"through"
        s.close()
        refused, status = proxy.tunnel("denied.test", server.port)
        assert status == 403
        refused.close()


@case
def socks_passes_or_is_refused():
    with Server(echo) as server, Proxy(*LOOPBACK) as proxy:
        s, reply = proxy.socks("127.0.0.1", server.port)
        assert reply == 0, reply
        read_exactly(s, 6)
        s.sendall(b"through")
        assert read_exactly(s, 7) == b"through"
        s.close()
        refused, reply = proxy.socks("other.test", server.port)
        assert reply == 2, reply
        refused.close()


@case
def a_server_that_is_not_there_is_a_failure_and_no_refusal():
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    with Proxy(*LOOPBACK) as proxy:
        answer = proxy.request(f"http://127.0.0.1:{port}/")
        assert answer.status == 502, answer.status
        assert answer.headers["x-proxy-error"] == "connection-refused", answer.headers.items()


@case
def names_are_looked_up_and_their_addresses_judged():
    with Server(greet) as server, \
            Proxy("--allow-host", "localhost", *LOOPBACK, "--allow-host", "::1") as proxy:
        answer = proxy.request(f"http://localhost:{server.port}/")
        assert (answer.status, answer.body) == (200, b"hello"), answer.body
    with Server(greet) as server, Proxy("--allow-host", "localhost") as proxy:
        answer = proxy.request(f"http://localhost:{server.port}/")
        assert answer.status == 403, answer.status


@case
def names_of_the_hosts_file_are_found():
    place = f"{TOP}/build/wine/drive_c/windows/system32/drivers/etc"
    name = f"of-the-hosts-file-{os.getpid()}.test"
    os.makedirs(place, exist_ok=True)
    with Server(greet) as server, Proxy(*LOOPBACK, "--allow-host", name) as proxy:
        url = f"http://{name}:{server.port}/"
        before = None
        with contextlib.suppress(FileNotFoundError), open(f"{place}/hosts", "rb") as f:
            before = f.read()
        try:
            with open(f"{place}/hosts", "ab") as f:
                f.write(f"\n127.0.0.1 {name}\n".encode())
            answer = proxy.request(url)
            assert (answer.status, answer.body) == (200, b"hello"), answer.body
        finally:
            if before is None:
                os.unlink(f"{place}/hosts")
            else:
                with open(f"{place}/hosts", "wb") as f:
                    f.write(before)


@case
def a_token_is_asked_for():
    with Server(greet) as server, \
            Proxy(*LOOPBACK, "--token-env", "WORD", env={"WORD": TOKEN}) as proxy:
        url = f"http://127.0.0.1:{server.port}/"
        for word, status in ((TOKEN, 200), (TOKEN + "x", 407), (None, 407)):
            basic = base64.b64encode(f"cordon:{word}".encode()).decode()
            headers = {"Proxy-Authorization": f"Basic {basic}"} if word else {}
            answer = proxy.request(url, **headers)
            assert answer.status == status, (word, answer.status)


# ---- Bytes ------------------------------------------------------------------------------------------


@case
def large_bodies_arrive_whole_both_ways():
    size = 24 << 20
    body = os.urandom(1 << 20) * (size >> 20)
    digest = hashlib.sha256(body).digest()

    def serve(connection):
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(65536)
        head, rest = head.split(b"\r\n\r\n", 1)
        got = rest + read_exactly(connection, size - len(rest))
        assert hashlib.sha256(got).digest() == digest
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                           b"Content-Length: %d\r\n\r\n" % size + got)

    with Server(serve) as server, Proxy(*LOOPBACK) as proxy:
        answer = proxy.request(f"http://127.0.0.1:{server.port}/", "POST", body)
        assert answer.status == 200
        assert hashlib.sha256(answer.body).digest() == digest


@case
def a_half_close_is_a_half_close():
    def serve(connection):
        connection.sendall(b"all: " + read_all(connection))

    with Server(serve) as server, Proxy(*LOOPBACK) as proxy:
        s, _ = proxy.tunnel("127.0.0.1", server.port)
        s.sendall(b"x" * 100000)
        s.shutdown(socket.SHUT_WR)
        assert read_all(s) == b"all: " + b"x" * 100000
        s.close()


@case
def slow_peers_hold_up_nobody():
    def drip(connection):
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\nConnection: close\r\n\r\n")
        for _ in range(50):
            time.sleep(0.02)
            connection.sendall(b"x")

    def pour(connection):
        while True:
            connection.sendall(b"x" * 65536)

    with Server(drip) as slow, Server(pour) as fast, Server(greet) as server, \
            Proxy(*LOOPBACK) as proxy:
        # One who reads nothing, and one who has not said what it wants.
        deaf, _ = proxy.tunnel("127.0.0.1", fast.port)
        silent = proxy.connect()
        silent.sendall(b"GET http://127.")
        dripped = []
        thread = threading.Thread(target=lambda: dripped.append(
            proxy.request(f"http://127.0.0.1:{slow.port}/").body))
        thread.start()
        for _ in range(20):
            assert proxy.request(f"http://127.0.0.1:{server.port}/").body == b"hello"
        thread.join()
        assert dripped == [b"x" * 50], dripped
        silent.sendall(f"0.0.1:{server.port}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
                       .encode())
        assert silent.recv(12) == b"HTTP/1.1 200"
        deaf.close()
        silent.close()


@case
def hundreds_of_connections_at_once():
    count = 400
    with Server(echo) as server, Proxy(*LOOPBACK) as proxy:
        tunnels = []
        for _ in range(count):
            s, status = proxy.tunnel("127.0.0.1", server.port)
            assert status == 200, status
            tunnels.append(s)
        for round_ in range(3):
            for i, s in enumerate(tunnels):
                s.sendall(b"%06d" % (i * 10 + round_))
            for i, s in enumerate(tunnels):
                assert read_exactly(s, 6) == b"%06d" % (i * 10 + round_)
        for s in tunnels:
            s.close()
        s, status = proxy.tunnel("127.0.0.1", server.port)
        assert status == 200
        s.close()


# ---- Its life -----------------------------------------------------------------------------------


def proxy_words():
    """The command lines of the proxies' processes."""
    words = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError), open(f"/proc/{name}/cmdline", "rb") as f:
            line = f.read()
            if name.isdigit() and b"\0cordon-proxy" in line:
                words.append(line)
    return words


@case
def it_says_at_the_start_that_it_is_not_confined():
    with Proxy(*LOOPBACK) as proxy:
        assert re.search("warning: .*not confined.*no log", proxy.end())
    with Proxy(*LOOPBACK, "--quiet") as proxy:
        assert proxy.end() == ""


@case
def ctrl_c_ends_both_processes():
    with Proxy(*LOOPBACK, "--token-env", "WORD", env={"WORD": TOKEN}) as proxy:
        assert proxy.is_there()
        # Neither a secret nor a rule is a word of a command line.
        assert proxy_words() and TOKEN.encode() not in b"".join(proxy_words())
        proxy.end()
        await_that(lambda: not proxy.is_there())


@case
def the_proxy_does_not_outlive_a_cordon_that_was_killed():
    with Proxy(*LOOPBACK) as proxy:
        assert proxy.is_there()
        proxy.process.kill()
        proxy.process.wait()
        await_that(lambda: not proxy.is_there())


@case
def a_port_that_is_taken_is_an_error():
    with Proxy(*LOOPBACK) as proxy:
        status, _, err = run("proxy", "--listen", f"127.0.0.1:{proxy.port}", *LOOPBACK)
        assert status == 125 and "can't listen" in err, (status, err)
        assert proxy.is_there()


@case
def what_is_not_built_is_refused_by_name():
    for words in (("proxy", *LOOPBACK, "--audit", "C:\\log.jsonl"),
                  ("proxy", *LOOPBACK, "--token-file", "C:\\token")):
        status, out, err = run(*words)
        assert status == 125 and out == "", (status, out, err)
        assert "not built for Windows in this version" in err, err
    status, _, err = run("run", *LOOPBACK, "--enable", "windows_preview", "--", "cmd", "/c", "exit")
    assert status == 125 and "missing: net_managed" in err, (status, err)
    status, _, err = run("run", "--quiet", "--backend", "none", "--", "cmd", "/c", "exit")
    assert status == 0, err


def main():
    failed = 0
    print(f"1..{len(CASES)}", flush=True)
    for number, f in enumerate(CASES, 1):
        name = f.__name__.replace("_", " ")
        try:
            f()
        except Exception as e:  # whatever it is, the others are tried
            failed += 1
            print(f"# line {e.__traceback__.tb_next.tb_lineno}: {type(e).__name__}: {e}"
                  .replace("\n", "\n# "))
            print(f"not ok {number} - {name}", flush=True)
        else:
            print(f"ok {number} - {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
