#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon proxy`: its line, its rules, its token, its log, its signals; SOCKS to the letter.

Servers and clients are on loopback, which rules of the profile allow by address; what is
refused beside them is refused by the same rules.
"""

import base64
import contextlib
import http.client
import json
import os
import re
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

from cli import PROGRAM, SECONDS, Skip, World, case, is_alive, run_cases

TOKEN = "a-token-of-some-length"
RULES = """
[permissions.p.network]
enabled = true
[permissions.p.network.domains]
"127.0.0.1" = "allow"
"::1" = "allow"
"localhost" = "allow"
"denied.test" = "deny"
"""


class Server:
    """Echoes what a connection sends; to an HTTP request it answers "hello"."""

    def __init__(self, family=socket.AF_INET):
        self.socket = socket.socket(family)
        self.socket.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        self.socket.listen(256)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    @staticmethod
    def serve(connection):
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(65536):
                if data.startswith((b"GET ", b"POST ")):
                    data = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                connection.sendall(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Else the thread might accept at whoever gets the number of the descriptor next.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.socket.close()


class Proxy:
    """A running `cordon proxy`; ended by SIGTERM, which has to give status 0."""

    def __init__(self, w, *options, config=RULES, env=None, ends=0):
        w.write_config(config)
        self.ends = ends
        self.process = subprocess.Popen(
            [PROGRAM, "proxy", "-P", "p", *options], cwd=w.repo, env={**w.env, **(env or {})},
            bufsize=0,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.line = self.read_line()
        self.said = json.loads(self.line)
        self.host, port = self.said["http"].rsplit(":", 1)
        self.host, self.port = self.host.strip("[]"), int(port)

    def read_line(self):
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline().decode() if ready else ""
        assert line.endswith("\n"), (line, self.process.poll())
        return line

    def read_error(self, pattern):
        ready, _, _ = select.select([self.process.stderr], [], [], SECONDS)
        line = self.process.stderr.readline().decode() if ready else ""
        assert re.search(pattern, line), line

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=SECONDS)

    def get(self, url, **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)
        connection.request("GET", url, headers=headers)
        answer = connection.getresponse()
        answer.body = answer.read().decode()
        connection.close()
        return answer

    def children(self):
        pid = self.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(child) for child in f.read().split()]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        assert "Sanitizer" not in err.decode(), err
        assert self.process.returncode == self.ends, (self.process.returncode, err)
        return out, err

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def read_exactly(s, count):
    data = b""
    while len(data) < count:
        piece = s.recv(count - len(data))
        assert piece, f"ended after {data!r}"
        data += piece
    return data


def at_end(s):
    """Whether the other side closes without another byte."""
    try:
        return s.recv(1) == b""
    except ConnectionResetError:
        return True


def by_name(name, port):
    return b"\5\1\0\3" + bytes([len(name)]) + name + struct.pack(">H", port)


def by_address(family, text, port):
    kind = b"\1" if family == socket.AF_INET else b"\4"
    return b"\5\1\0" + kind + socket.inet_pton(family, text) + struct.pack(">H", port)


def ask(s, request, slowly=False):
    """Greeting and request; the code of the reply."""
    for message, size in ((b"\5\1\0", 2), (request, 10)):
        for piece in ([bytes([b]) for b in message] if slowly else [message]):
            s.sendall(piece)
            if slowly:
                time.sleep(0.002)
        answer = read_exactly(s, size)
        if size == 2:
            assert answer == b"\5\0", answer
    if answer[3] == 4:
        read_exactly(s, 12)
    assert answer[0] == 5 and answer[2] == 0, answer
    return answer[1]


def echoes(s):
    s.sendall(b"ping")
    return read_exactly(s, 4) == b"ping"


def entries(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


@case
def it_prints_one_line_and_serves_both(w: World):
    with Server() as server, Proxy(w) as proxy:
        assert re.fullmatch(r'\{"http":"127\.0\.0\.1:\d+","socks":"127\.0\.0\.1:\d+"\}\n',
                            proxy.line), proxy.line
        answer = proxy.get(f"http://127.0.0.1:{server.port}/")
        assert (answer.status, answer.body) == (200, "hello"), answer.body
        with proxy.connect() as s:
            assert ask(s, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0 and echoes(s)
        out, err = proxy.end()
        assert (out, err) == (b"", b""), (out, err)


@case
def what_is_refused_is_told_with_the_line_that_says_so(w: World):
    with Proxy(w) as proxy:
        answer = proxy.get("http://denied.test/", Accept="application/json")
        body = json.loads(answer.body)
        assert answer.status == 403 and answer.headers["x-proxy-error"] == "blocked-by-denylist"
        assert body["rule"] == "denied.test" and body["file"].endswith("config.toml"), body
        assert body["line"] == 8 and body["status"] == "blocked", body
        answer = proxy.get("http://other.test/", Accept="application/json")
        body = json.loads(answer.body)
        assert answer.headers["x-proxy-error"] == "blocked-by-allowlist", body
        assert "--allow-host other.test" in body["allow"], body
        answer = proxy.get("http://other.test/", Accept="text/html")
        assert answer.body.startswith("blocked: other.test:80 ") and answer.body.count("\n") == 1
        for host in ("10.0.0.1", "169.254.169.254", "[::ffff:10.0.0.1]"):
            answer = proxy.get(f"http://{host}/", Accept="application/json")
            assert answer.headers["x-proxy-error"] == "blocked-by-private-guard", answer.body


@case
def options_of_the_command_line_count(w: World):
    with Server() as server:
        url = f"http://127.0.0.1:{server.port}/"
        rules = '[permissions.p.network]\nenabled = true\ndomains = {}\n'
        with Proxy(w, config=rules) as proxy:
            assert proxy.get(url).status == 403
        with Proxy(w, "--allow-host", "127.0.0.1", config=rules) as proxy:
            assert proxy.get(url).status == 200
        with Proxy(w, "--deny-host", "127.0.0.1") as proxy:
            assert proxy.get(url).status == 403
        # What the refusal says is what helps.
        with Proxy(w, config=rules) as proxy:
            told = json.loads(proxy.get(url, Accept="application/json").body)["allow"]
        words = told.split(", or")[0].split()
        with Proxy(w, *words, config=rules) as proxy:
            assert proxy.get(url).status == 200, words


@case
def a_policy_that_is_not_managed_is_refused(w: World):
    for rules, word in (("[permissions.p.network]\nenabled = false\n", "is off"),
                        ("[permissions.p.network]\nenabled = true\n", "is full")):
        w.write_config(rules)
        assert word in w.fails("proxy", "-P", "p").err


@case
def other_addresses_need_a_token(w: World):
    w.write_config(RULES)
    assert "--token-file" in w.fails("proxy", "-P", "p", "--listen", "0.0.0.0:0").err
    assert "--token-file" in w.fails("proxy", "-P", "p", "--listen", "[::]:0").err
    for bad in ("127.0.0.1", "127.0.0.1:x", ":80", "host.test:80", "127.0.0.1:65536", "::1:80:"):
        assert "ADDRESS:PORT" in w.fails("proxy", "-P", "p", "--listen", bad).err, bad
    # Only then, and with one: the control.
    with Proxy(w, "--listen", "0.0.0.0:0", "--token-env", "T", env={"T": TOKEN}) as proxy:
        proxy.host = "127.0.0.1"
        assert proxy.get("http://denied.test/").status == 407
    with Proxy(w, "--listen", "[::1]:0") as proxy:
        assert proxy.said["http"].startswith("[::1]:") and proxy.get("http://denied.test/").status == 403
    with Proxy(w) as proxy:
        taken = w.fails("proxy", "-P", "p", "--listen", f"127.0.0.1:{proxy.port}").err
        assert "can't listen" in taken, taken


@case
def the_token_has_to_be_shown(w: World):
    file = w.write("token", TOKEN + "\n")
    file.chmod(0o644)
    w.write_config(RULES)
    assert "chmod 600" in w.fails("proxy", "-P", "p", "--token-file", str(file)).err
    assert "ABSENT" in w.fails("proxy", "-P", "p", "--token-env", "ABSENT").err
    assert "16 to 127" in w.fails("proxy", "-P", "p", "--token-env", "T", env={"T": "short"}).err
    assert "together" in w.fails("proxy", "-P", "p", "--token-env", "T", "--token-file", "x").err
    file.chmod(0o600)
    with Server() as server, Proxy(w, "--token-file", str(file)) as proxy:
        url = f"http://127.0.0.1:{server.port}/"

        def basic(password):
            return "Basic " + base64.b64encode(b"any:" + password.encode()).decode()

        assert proxy.get(url).status == 407
        assert proxy.get(url, **{"Proxy-Authorization": basic("wrong" + TOKEN)}).status == 407
        assert proxy.get(url, **{"Proxy-Authorization": basic(TOKEN[:-1])}).status == 407
        assert proxy.get(url, **{"Proxy-Authorization": basic(TOKEN)}).status == 200
        with proxy.connect() as s:
            s.sendall(b"\5\1\0")
            assert read_exactly(s, 2) == b"\5\xff" and at_end(s)
        for token, right in ((TOKEN, True), ("x" * len(TOKEN), False)):
            with proxy.connect() as s:
                s.sendall(b"\5\2\0\2")
                assert read_exactly(s, 2) == b"\5\2"
                s.sendall(b"\1\3any" + bytes([len(token)]) + token.encode())
                assert (read_exactly(s, 2) == b"\1\0") == right
                if not right:
                    assert at_end(s)
                    continue
                s.sendall(by_address(socket.AF_INET, "127.0.0.1", server.port))
                assert read_exactly(s, 10)[1] == 0 and echoes(s)
        # It stands in nobody's list of words.
        for pid in [proxy.process.pid, *proxy.children()]:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                assert TOKEN.encode() not in f.read()


# ---- SOCKS ------------------------------------------------------------------------------------


@case
def socks_takes_every_kind_of_address(w: World):
    with Server() as v4, Server(socket.AF_INET6) as v6, Proxy(w) as proxy:
        for request in (by_address(socket.AF_INET, "127.0.0.1", v4.port),
                        by_address(socket.AF_INET6, "::1", v6.port),
                        by_address(socket.AF_INET6, "::ffff:127.0.0.1", v4.port),
                        by_name(b"127.0.0.1", v4.port), by_name(b"LOCALHOST.", v4.port)):
            with proxy.connect() as s:
                assert ask(s, request) == 0 and echoes(s), request
            with proxy.connect() as s:
                assert ask(s, request, slowly=True) == 0 and echoes(s), request


@case
def socks_replies_tell_policy_names_and_refusals_apart(w: World):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        closed = unused.getsockname()[1]
    rules = RULES + '"name.invalid" = "allow"\n'
    with Proxy(w, config=rules) as proxy:
        for request, reply in ((by_name(b"denied.test", 80), 2), (by_name(b"other.test", 80), 2),
                               (by_address(socket.AF_INET, "10.0.0.1", 80), 2),
                               (by_address(socket.AF_INET6, "fd00::1", 80), 2),
                               (by_address(socket.AF_INET, "127.0.0.1", closed), 5),
                               (b"\5\2\0\1\x7f\0\0\1\0\x50", 7), (b"\5\3\0\1\0\0\0\0\0\0", 7),
                               (b"\5\x09\0\1\x7f\0\0\1\0\x50", 7), (b"\5\1\0\2ab\0\x50", 8),
                               (by_address(socket.AF_INET, "127.0.0.1", 0), 1),
                               (by_name(b"", 80), 1), (b"\5\1\7\1\x7f\0\0\1\0\x50", 1)):
            with proxy.connect() as s:
                assert ask(s, request) == reply, (request, reply)
                assert at_end(s), request
        # No name server needs to be there for that: .invalid never exists (RFC 6761).
        with proxy.connect() as s:
            assert ask(s, by_name(b"name.invalid", 80)) in (4, 6)


@case
def socks_of_other_versions_and_shapes_is_ended(w: World):
    with Proxy(w) as proxy:
        for bad in (b"\4\1\0\x50\x7f\0\0\1\0", b"\5\0", b"\5\1\1", b"\0\0", b"\x16\3\1"):
            with proxy.connect() as s:
                s.sendall(bad)
                s.shutdown(socket.SHUT_WR)
                rest = b""
                with contextlib.suppress(ConnectionResetError):
                    while piece := s.recv(4096):
                        rest += piece
                assert rest in (b"", b"\5\xff") or rest.startswith(b"HTTP/1.1 400"), (bad, rest)
        with proxy.connect() as s:
            s.sendall(b"\5\1\0")
            assert read_exactly(s, 2) == b"\5\0"
            s.sendall(b"\4\1\0\1\x7f\0\0\1\0\x50")
            rest = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := s.recv(64):
                    rest += piece
            assert rest == b"" or rest[:2] == b"\5\1", rest
        # All of that cost the next one nothing.
        assert proxy.get("http://denied.test/").status == 403


@case
def socks_names_that_are_none_are_refused(w: World):
    with Server() as server, Proxy(w) as proxy:
        for name in (b"a\0b", b"127.0.0.1\0.allowed.test", b"0x7f.1", b"2130706433", b"127.1", b"a b",
                     b"x" * 255, b"localhost\r\n", b".", b"denied.test:80"):
            with proxy.connect() as s:
                assert ask(s, by_name(name, server.port)) != 0, name


@case
def everything_may_come_at_once(w: World):
    with Server() as server, Proxy(w) as proxy, proxy.connect() as s:
        s.sendall(b"\5\1\0" + by_address(socket.AF_INET, "127.0.0.1", server.port) + b"early")
        assert read_exactly(s, 2) == b"\5\0" and read_exactly(s, 10)[1] == 0
        assert read_exactly(s, 5) == b"early" and echoes(s)


def hello(*extensions):
    """A TLS hello without a name, of one record."""
    listed = b"".join(struct.pack(">HH", kind, len(body)) + body for kind, body in extensions)
    body = b"\3\3" + bytes(32) + b"\0" + b"\0\2\x13\1" + b"\1\0" + struct.pack(">H", len(listed)) + listed
    message = b"\1" + len(body).to_bytes(3, "big") + body
    return b"\x16\3\1" + struct.pack(">H", len(message)) + message


@case
def early_data_and_another_hello_may_be_more_than_a_block(w: World):
    early = (b"\x17\3\3\x3a\x98" + bytes(15000)) * 4
    second = hello((21, bytes(15000)))
    with Server() as server, Proxy(w) as proxy, proxy.connect() as s:
        assert ask(s, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0
        first = hello((42, b""))
        s.sendall(first)
        assert read_exactly(s, len(first)) == first
        # So that it reads as much as it can at once: the data and the beginning of the hello.
        (served,) = proxy.children()
        os.kill(served, signal.SIGSTOP)
        sender = threading.Thread(target=s.sendall, args=[early + second])
        sender.start()
        sender.join(0.5)
        os.kill(served, signal.SIGCONT)
        assert read_exactly(s, len(early + second)) == early + second
        sender.join()
        assert echoes(s)


@case
def the_name_in_another_hello_behind_early_data_is_judged(w: World):
    name = b"denied.test"
    named = struct.pack(">HBH", len(name) + 3, 0, len(name)) + name
    early = (b"\x17\3\3\x3a\x98" + bytes(15000)) * 4
    for pause in (0, 0.2):
        with Server() as server, Proxy(w) as proxy, proxy.connect() as s:
            assert ask(s, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0
            first = hello((42, b""))
            s.sendall(first + early)
            time.sleep(pause)
            s.sendall(hello((21, bytes(9000)), (0, named)))
            got = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := s.recv(65536):
                    got += piece
            # Of the second one nothing came to the server, which echoes; access_denied is the proxy's.
            assert b"\x15\3\3\0\2\2\x31" in got and b"denied" not in got, len(got)
            assert len(got) <= len(first + early) + 7, len(got)


# ---- Its log, its life --------------------------------------------------------------------------


@case
def decisions_are_logged_also_those_that_are_open(w: World):
    log = w.top / "log.jsonl"
    with Server() as server, Proxy(w, "--audit", str(log)) as proxy:
        proxy.get(f"http://127.0.0.1:{server.port}/")
        proxy.get("http://denied.test/")
        with proxy.connect() as s:
            assert ask(s, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0 and echoes(s)
            proxy.end()  # while the tunnel is open
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    found = {(e["protocol"], e["host"], e["decision"]): e for e in entries(log)}
    assert set(found) == {("http", "127.0.0.1", "allow"), ("http", "denied.test", "deny"),
                          ("socks5", "127.0.0.1", "allow")}, found
    tunnel = found["socks5", "127.0.0.1", "allow"]
    assert (tunnel["bytes_up"], tunnel["bytes_down"]) == (4, 4), tunnel
    denied = found["http", "denied.test", "deny"]
    assert (denied["rule"], denied["line"], denied["code"]) == ("denied.test", 8, "blocked-by-denylist")
    ended = [line for line in log.read_text().splitlines() if not json.loads(line)["open"]]
    assert w.ok("audit", "--json", str(log)).out.splitlines() == ended


def told_open(log):
    return sorted((e["protocol"], e["port"]) for e in entries(log) if e["open"])


@contextlib.contextmanager
def lasting(w, log):
    """A proxy that has told of what lasts, a tunnel and a request that is not answered, and those two; a
    brief request came before. Should that have lasted as well, on a slow machine, it is all tried again."""
    for _ in range(5):
        log.unlink(missing_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as mute, Server() as server, Proxy(w, "--audit", str(log)) as proxy:
            began = time.monotonic()
            assert proxy.get(f"http://127.0.0.1:{server.port}/").status == 200
            if time.monotonic() - began > 0.9:
                continue
            port = mute.getsockname()[1]
            with proxy.connect() as tunnel, proxy.connect() as request:
                assert ask(tunnel, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0 and echoes(tunnel)
                request.sendall(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n" % (port, port))
                both = sorted([("socks5", server.port), ("http", port)])
                settle(lambda: told_open(log) == both, lambda: entries(log))
                yield proxy
                return
    raise AssertionError("a request takes a second here")


def killed(w, log, find_victim):
    with lasting(w, log) as proxy:
        os.kill(find_victim(proxy), signal.SIGKILL)
        proxy.process.communicate(timeout=SECONDS)
    return entries(log)


@case
def what_lasts_is_in_the_log_whoever_is_killed(w: World):
    log = w.top / "log.jsonl"
    for victim in (lambda proxy: proxy.process.pid, lambda proxy: proxy.children()[0]):
        found = killed(w, log, victim)
        assert sorted((e["protocol"], e["open"], e["count"]) for e in found) == [
            ("http", False, 1), ("http", True, 0), ("socks5", True, 0)], found
        assert sorted(e["connection"] or 0 for e in found) == [0, 1, 2], found
        assert all(e["decision"] == "allow" and e["rule"] == "127.0.0.1" for e in found), found
        total = w.ok("audit", "--summary", "--json", str(log)).json["total"]
        assert (total["allowed"], total["open"]) == (3, 2), total
        assert w.ok("audit", str(log)).out.count("(open)\n") == 2
    # And when nobody is: each once.
    with lasting(w, log) as proxy:
        proxy.end()
    assert sum(e["count"] for e in entries(log)) == 3 and len(entries(log)) == 5, entries(log)
    total = w.ok("audit", "--summary", "--json", str(log)).json["total"]
    assert (total["allowed"], total["open"]) == (3, 0), total


def ask_for_a_while(w, log):
    """Requests one after the other, each of them brief; how many, or None when one was not."""
    log.unlink(missing_ok=True)
    with Server() as server, Proxy(w, "--audit", str(log)) as proxy:
        connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=SECONDS)
        until, count = time.monotonic() + 2.5, 0
        while (began := time.monotonic()) < until:
            connection.request("GET", f"http://127.0.0.1:{server.port}/")
            assert connection.getresponse().read() == b"hello"
            if time.monotonic() - began > 0.9:
                return None
            count += 1
            time.sleep(0.05)
        proxy.end()
    return count


@case
def requests_that_follow_each_other_are_not_what_lasts(w: World):
    log = w.top / "log.jsonl"
    counts = (ask_for_a_while(w, log) for _ in range(5))
    count = next((n for n in counts if n is not None), None)
    assert count, "a request takes a second here"
    assert not [e for e in entries(log) if e["open"] or e["connection"]], entries(log)
    assert sum(e["count"] for e in entries(log)) == count


@case
def numbers_of_connections_go_on_when_the_rules_are_read_anew(w: World):
    log = w.top / "log.jsonl"
    with Server() as server, Proxy(w, "--audit", str(log)) as proxy:
        for count in (1, 2):
            with proxy.connect() as tunnel:
                assert ask(tunnel, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0 and echoes(tunnel)
                settle(lambda n=count: len([e for e in entries(log) if e["open"]]) == n)
                proxy.process.send_signal(signal.SIGHUP)
                proxy.read_error("read anew")
                assert at_end(tunnel)
        proxy.end()
    assert [(e["connection"], e["open"]) for e in entries(log)] == [(1, True), (1, False), (2, True), (2, False)]


@case
def without_audit_nothing_is_written(w: World):
    with Proxy(w) as proxy:
        proxy.get("http://denied.test/")
        proxy.end(signal.SIGINT)
    assert not (w.home / ".local").exists() and not list(w.repo.iterdir())


@case
def hangup_reads_the_rules_anew(w: World):
    with Server() as server, Proxy(w) as proxy:
        url = f"http://127.0.0.1:{server.port}/"
        before = proxy.children()
        with proxy.connect() as tunnel:
            assert ask(tunnel, by_address(socket.AF_INET, "127.0.0.1", server.port)) == 0
            assert echoes(tunnel) and proxy.get(url).status == 200
            w.write_config(RULES.replace('"127.0.0.1" = "allow"', '"127.0.0.1" = "deny"'))
            proxy.process.send_signal(signal.SIGHUP)
            proxy.read_error("read anew")
            answer = proxy.get(url, Accept="application/json")
            assert answer.status == 403 and json.loads(answer.body)["rule"] == "127.0.0.1"
            # What is not allowed any more is not kept open either.
            assert at_end(tunnel)
        assert len(before) == 1 and len(proxy.children()) == 1 and before != proxy.children()
        # One that is wrong changes nothing, and says so.
        w.write_config("[permissions.p.network\n")
        proxy.process.send_signal(signal.SIGHUP)
        proxy.read_error("config.toml:1")
        proxy.read_error("stay as they were")
        assert proxy.get(url).status == 403
        # As does one that is right, and leaves nothing to serve.
        w.write_config(RULES.replace("enabled = true", "enabled = false"))
        proxy.process.send_signal(signal.SIGHUP)
        proxy.read_error("error: keeping the old rules: the network of profile")
        assert proxy.get(url).status == 403
        w.write_config(RULES)
        proxy.process.send_signal(signal.SIGHUP)
        proxy.read_error("read anew")
        assert proxy.get(url).status == 200
        proxy.end()


def private_bytes(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return sum(int(n) for n in re.findall(r"Private_\w+: +(\d+) kB", f.read())) * 1024


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def settle(is_so, show=lambda: ""):
    until = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < until, f"it does not come to be so: {show()}"
        time.sleep(0.05)


@contextlib.contextmanager
def room_for_descriptors(wanted):
    """As many for what is started inside; how many there are. Without rights no more than were allowed."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, PermissionError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[0], max(before[1], wanted)))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def seconds_for_a_refusal(proxy):
    began = time.monotonic()
    assert proxy.get("http://denied.test/").status == 403
    return time.monotonic() - began


@case
def ten_thousand_that_are_idle_cost_a_kilobyte_each(w: World):
    """Silent ones, and ones that wait for their next request. Each may need two descriptors, so
    where root may not have 20,600 of them they are fewer."""
    if os.geteuid() != 0:
        raise Skip("the proxy lets nobody but root look into it")
    request = b"GET http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n"
    log, extra = w.top / "log", 6
    with room_for_descriptors(20600) as room, contextlib.ExitStack() as stack, Proxy(w, "--audit", str(log)) as proxy:
        count = min(10000, (room - 600) // 2)
        child, = proxy.children()
        proxy.get("http://denied.test/")
        memory, open_before = private_bytes(child), descriptors(child)
        clients = [stack.enter_context(proxy.connect()) for _ in range(count)]
        settle(lambda: descriptors(child) >= count)
        silent = private_bytes(child) - memory
        for client in clients:
            client.sendall(request)
        for client in clients:
            assert client.recv(65536).startswith(b"HTTP/1.1 403 ")
        waiting = private_bytes(child) - memory
        took = min(seconds_for_a_refusal(proxy) for _ in range(extra - 1))
        print(f"# {count} connections: {silent // count} bytes each when silent, "
              f"{waiting // count} between requests; another one is served in {took * 1000:.1f} ms")
        if "asan" not in PROGRAM:  # which has a shadow of all that is touched
            assert silent < count * 512 + (1 << 20) and waiting < count * 1024 + (1 << 20)
        assert took < 1
        for client in clients:
            client.close()
        settle(lambda: descriptors(child) <= open_before)
        proxy.end()
    # No refusal of this flood is lost: equal ones may be counted together.
    assert sum(e["count"] for e in entries(log)) == count + extra


def stuff(server, client):
    """How many bytes are taken between the two of a client that does not read any."""
    taken, quiet = 0, 0
    server.setblocking(False)
    while quiet < 10:
        try:
            taken, quiet = taken + server.send(bytes(65536)), 0
        except BlockingIOError:
            quiet += 1
            time.sleep(0.02)
    assert client.fileno() >= 0
    return taken


@case
def of_many_tunnels_that_nobody_reads_the_kernel_keeps_less(w: World):
    """What the first ones may have is the kernel's choice, and the control; all have room for some."""
    with socket.socket() as listener, Proxy(w) as p, contextlib.ExitStack() as held:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
        listener.bind(("127.0.0.1", 0))
        listener.listen(512)

        def tunnel():
            client = held.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
            client.settimeout(SECONDS)
            client.connect((p.host, p.port))
            host = f"127.0.0.1:{listener.getsockname()[1]}".encode()
            client.sendall(b"CONNECT " + host + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
            assert read_exactly(client, 12) == b"HTTP/1.1 200", "not connected"
            return held.enter_context(listener.accept()[0]), client

        first, _ = tunnel(), [tunnel() for _ in range(298)]
        last = tunnel()
        free, bound = stuff(*first), stuff(*last)
        assert free > 1 << 20, free
        assert 1 << 16 <= bound < 1 << 20, bound
        # And all of it still arrives.
        last[0].shutdown(socket.SHUT_WR)
        got = 0
        while data := last[1].recv(1 << 20):
            got += len(data)
        assert got >= bound, (got, bound)


@case
def a_flood_of_new_refusals_is_slowed_and_none_is_lost(w: World):
    """Else the log could be filled until what others have done is rotated out of it."""
    free, waiting, slow = 10000, 512, 40  # src/proxy/outbox.c; the rest goes at 20 a second
    log = w.top / "log"
    with Proxy(w, "--audit", str(log)) as proxy:
        s = proxy.connect()
        s.settimeout(60)
        started = time.monotonic()
        count = free + waiting + slow

        def send():
            for i in range(count):
                s.sendall(f"GET http://n{i}.flood.example/ HTTP/1.1\r\nHost: n{i}.flood.example\r\n\r\n".encode())

        sender = threading.Thread(target=send)
        sender.start()
        got, at = 0, {}
        tail = b""
        while got < count:
            data = s.recv(1 << 16)
            assert data, got
            got += (tail + data).count(b"HTTP/1.1 403") - tail.count(b"HTTP/1.1 403")
            tail = (tail + data)[-11:]
            for mark in free, count:
                if got >= mark:
                    at.setdefault(mark, time.monotonic() - started)
        sender.join()
        s.close()
        # What this side takes late seems to have come closer together: half of it is enough.
        assert at[count] - at[free] >= slow / 20 * 0.5, at
        proxy.end()
    found = sum(e["count"] for e in entries(log) if (e["host"] or "").endswith(".flood.example"))
    assert found == count, (found, count)


@case
def it_does_not_outlive_its_parent_nor_its_child(w: World):
    with Proxy(w) as proxy:
        child, = proxy.children()
        proxy.process.kill()
        proxy.process.wait(SECONDS)
        settle(lambda: not is_alive(child), lambda: "the proxy's process outlived cordon")
    with Proxy(w, ends=125) as proxy:
        child, = proxy.children()
        os.kill(child, signal.SIGKILL)
        assert proxy.process.wait(SECONDS) == 125
        assert b"has ended" in proxy.process.stderr.read()


@case
def a_log_that_can_not_be_written_ends_it(w: World):
    w.write_config(RULES)
    assert "not a regular file" in w.fails("proxy", "-P", "p", "--audit", "/dev/null").err
    assert not os.path.exists("/dev/null.lock")
    (w.top / "link").symlink_to(w.top / "target")
    assert "symbolic link" in w.fails("proxy", "-P", "p", "--audit", str(w.top / "link")).err
    assert not (w.top / "target").exists()
    log = w.top / "log"
    with Proxy(w, "--audit", str(log), ends=125) as proxy:
        log.unlink()
        log.symlink_to(w.top / "target")
        with contextlib.suppress(OSError, http.client.HTTPException):
            proxy.get("http://denied.test/")
        assert proxy.process.wait(SECONDS) == 125
        assert b"symbolic link" in proxy.process.stderr.read()
    assert not (w.top / "target").exists()


run_cases()
