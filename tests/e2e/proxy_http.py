#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The exam of HTTP in `cordon proxy`: hostile clients, hostile servers, and ordinary ones.

Servers are sockets on 127.0.0.1 that say exactly what a case wants them to; policy allows
that address, so the private guard is not in the way. What is to be refused must not have
reached the server, and stands beside the same without the fault, which does.
"""

import base64
import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time

from cli import Skip, case, run_cases, run_one
from proxy_exam import PATIENCE, TOKEN, Server, ask, echo, get, proxy, says

HEADER_SECONDS = 15  # PROXY_LIMITS_DEFAULT


# ---- Ordinary clients and servers ---------------------------------------------------------


@case
def forms_of_a_target(world):
    seen = []
    with proxy(world) as p, Server(echo(seen)) as s:
        for first in (f"http://{s.host}/a?b", "/a?b", f"HTTP://{s.host}/a?b"):
            raw = f"GET {first} HTTP/1.1\r\nHost: {s.host}\r\nX-Kept: 1\r\n\r\n".encode()
            assert ask(p, raw)[::2] == (200, b"GET /a?b HTTP/1.1|"), first
        assert seen[0][1] == {"host": s.host, "x-kept": "1"}, seen[0]
        assert ask(p, f"GET http://{s.host}/ HTTP/1.0\r\n\r\n".encode())[0] == 200
        status, fields, body = ask(p, get("denied.example"))
        assert status == 403 and fields["x-proxy-error"] == "blocked-by-denylist", fields
        assert json.loads(body)["code"] == "blocked-by-denylist"
        status, fields, body = ask(p, get("other.example", more="Accept: text/html\r\n"))
        assert status == 403 and fields["content-type"].startswith("text/plain"), fields
        assert b"--allow-host other.example" in body, body


@case
def three_failures_are_three_answers(world):
    with proxy(world) as p, Server(says(b"SSH-2.0-x\r\n")) as no_http:
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        closed.close()
        answers = {
            name: ask(p, get(host))
            for name, host in {
                "refused": f"127.0.0.1:{port}",
                "blocked": "10.1.2.3",
                "no_http": no_http.host,
            }.items()
        }
        assert [answers[n][0] for n in answers] == [502, 403, 502], answers
        assert len({answers[n][1]["x-proxy-error"] for n in answers}) == 3, answers


@case
def connections_are_kept_on_both_sides(world):
    seen = []
    with proxy(world) as p, Server(echo(seen)) as a, Server(echo()) as b:
        with p.connect() as client:
            for i in range(50):
                client.send(get(a.host, f"/{i}"))
                assert client.answer()[2] == f"GET /{i} HTTP/1.1|".encode()
            assert len(a.connections) == 1, len(a.connections)
            client.send(get(b.host))
            assert client.answer()[0] == 200
            client.send(get(a.host))
            assert client.answer()[0] == 200
            assert (len(a.connections), len(b.connections)) == (2, 1)
            client.send(f"GET http://{a.host}/ HTTP/1.1\r\nHost: {a.host}\r\nConnection: close\r\n\r\n".encode())
            assert client.answer()[1].get("connection") == "close"
            assert client.to_end() == b""
        assert all("connection" not in fields for _, fields, _ in seen)
        # HTTP/1.0 says it when it wants to be kept.
        old = f"GET http://{a.host}/ HTTP/1.0\r\n%s\r\n"
        with p.connect() as client:
            for _ in range(2):
                client.send((old % "Proxy-Connection: keep-alive\r\n").encode())
                assert client.answer()[1]["connection"] == "keep-alive"
            client.send((old % "").encode())
            client.answer()
            assert client.to_end() == b""


@case
def each_request_is_judged_anew(world):
    with proxy(world) as p, Server(echo()) as s, p.connect() as client:
        for _ in range(3):
            client.send(get(s.host))
            assert client.answer()[0] == 200
            client.send(get("denied.example"))
            assert client.answer()[0] == 403
            # The Host of the server that is connected does not help.
            client.send(f"GET / HTTP/1.1\r\nHost: denied.example:{s.port}\r\n\r\n".encode())
            assert client.answer()[0] == 403
        assert len(s.connections) == 1, len(s.connections)


@case
def what_is_pipelined_is_answered_in_order(world):
    def slow(peer):
        while True:
            line, fields = peer.head()
            peer.body(fields)
            time.sleep(0.01)
            text = line.split()[1].encode()
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    with proxy(world) as p, Server(slow) as s, Server(slow) as other, p.connect() as client:
        raw = get(s.host, "/1") + get("denied.example") + get(other.host, "/2")
        raw += f"POST /3 HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 5\r\n\r\nhello".encode()
        raw += f"POST / HTTP/1.1\r\nHost: denied.example\r\nContent-Length: 5\r\n\r\nhello".encode()
        raw += get(s.host, "/4") * 40
        client.send(raw)
        got = [client.answer() for _ in range(45)]
        assert [g[0] for g in got[:5]] == [200, 403, 200, 200, 403], got[:5]
        assert [g[2] for g in got if g[0] == 200] == [b"/1", b"/2", b"/3"] + [b"/4"] * 40


@case
def bodies_both_ways_however_they_come(world):
    seen = []

    def serve(peer):
        while True:
            line, fields = peer.head()
            raw = fields.get("transfer-encoding") == "chunked"
            body = peer.chunks() if raw else peer.body(fields)
            seen.append((fields, body))
            peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n")
            for i in range(0, len(body), 7001):
                part = body[i : i + 7001]
                peer.send(b"%X;ext=\"a;b\"\r\n%b\r\n" % (len(part), part))
            peer.send(b"0;last\r\nX: y\r\n\r\n")

    with proxy(world) as p, Server(serve) as s:
        post = f"POST http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\n"
        with p.connect() as client:
            # Byte by byte, with what belongs to the hop.
            for byte in (post + "Transfer-Encoding: chunked\r\nTE: trailers\r\n\r\n").encode():
                client.send(bytes([byte]))
            for byte in b"5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: y\r\n\r\n":
                client.send(bytes([byte]))
            status, fields, body = client.answer()
            assert (status, body) == (200, b"hello world"), (status, body)
            assert "trailer" not in fields and "te" not in seen[0][0]
            big = os.urandom(3 << 20)
            client.send(post.encode() + b"Content-Length: %d\r\n\r\n" % len(big))
            threading.Thread(target=client.send, args=(big,), daemon=True).start()
            assert client.answer()[2] == big
            assert seen[-1][1] == big
            assert len(s.connections) == 1
        # HTTP/1.0 gets no chunks, and sees the end by the end.
        old = f"POST http://{s.host}/ HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello".encode()
        status, fields, body = ask(p, old)
        assert (status, body) == (200, b"hello") and "transfer-encoding" not in fields, fields


@case
def large_answers_are_whole(world):
    big, huge = os.urandom(3 << 20), os.urandom(16 << 20)
    digest = hashlib.sha256(big).hexdigest()

    def serve(peer):
        while True:
            line, _ = peer.head()
            if "/huge" in line:
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(huge) + huge)
            elif "/sized" in line:
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(big) + big)
            elif "/chunked" in line:
                peer.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                peer.send(b"%x\r\n" % (len(big) - 3) + big[:-3] + b"\r\n3\r\n" + big[-3:] + b"\r\n0\r\n\r\n")
            else:
                peer.send(b"HTTP/1.1 200 OK\r\n\r\n" + big)
                return

    with proxy(world) as p, Server(serve) as s:
        for path in ("/sized", "/chunked", "/until-close"):
            for more in ("", "X: y\r\n"):
                status, _, body = ask(p, get(s.host, path, more))
                assert status == 200 and hashlib.sha256(body).hexdigest() == digest, (path, len(body))
        with p.connect() as client:
            for path in ("/sized", "/chunked", "/sized"):
                client.send(get(s.host, path))
                assert hashlib.sha256(client.answer()[2]).hexdigest() == digest, path
        # Somebody who reads slowly holds back the server, and loses nothing.
        with p.connect() as client:
            client.send(get(s.host, "/huge"))
            client.head()
            got = hashlib.sha256()
            left = len(huge)
            while left > 0:
                part = client.take(min(left, 1 << 20))
                got.update(part)
                left -= len(part)
                time.sleep(0.05)
            assert got.hexdigest() == hashlib.sha256(huge).hexdigest()


@case
def answers_without_a_body(world):
    def serve(peer):
        while True:
            line, _ = peer.head()
            if line.startswith("HEAD"):
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            elif "/304" in line:
                peer.send(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nETag: x\r\n\r\n")
            elif "/204" in line:
                peer.send(b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n")
            else:
                peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    with proxy(world) as p, Server(serve) as s, p.connect() as client:
        for _ in range(2):
            client.send(f"HEAD http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\n\r\n".encode())
            status, fields, _ = client.answer(to_head=True)
            assert status == 200 and fields["content-length"] == "1000"
            client.send(get(s.host, "/304"))
            status, fields, _ = client.answer()
            assert status == 304 and fields["etag"] == "x"
            client.send(get(s.host, "/204"))
            status, fields, _ = client.answer()
            assert status == 204 and "content-length" not in fields
            client.send(get(s.host, "/200"))
            assert client.answer()[0] == 200
            client.send(b"HEAD http://denied.example/ HTTP/1.1\r\nHost: denied.example\r\n\r\n")
            assert client.answer(to_head=True)[0] == 403
        assert len(s.connections) == 1


@case
def waiting_for_100_continue(world):
    def serve(peer):
        line, fields = peer.head()
        assert fields["expect"] == "100-continue", fields
        if "/no" in line:
            peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
            return
        peer.send(b"HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
        body = peer.body(fields)
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with proxy(world) as p, Server(serve) as s:
        head = f"POST http://{s.host}%s HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        with p.connect() as client:
            client.send((head % "/yes").encode())
            assert client.head()[0] == "HTTP/1.1 102 Processing"
            assert client.head()[0] == "HTTP/1.1 100 Continue"
            client.send(b"hello")
            assert client.answer()[2] == b"hello"
        with p.connect() as client:
            client.send((head % "/no").encode())
            status, fields, body = client.answer()
            assert (status, body) == (413, b"no")
            assert fields["connection"] == "close"  # or the body could be taken for a request
            assert client.to_end() == b""
        # Refused here: the same.
        with p.connect() as client:
            client.send((head % "/").replace(s.host, "denied.example").encode())
            status, fields, _ = client.answer()
            assert status == 403 and fields["connection"] == "close", fields


@case
def curl_with_everything(world):
    if not shutil.which("curl"):
        raise Skip("no curl")
    data = world.write("data", os.urandom(200_000))
    sent = data.read_bytes()
    seen = []

    def serve(peer):
        while True:
            _, fields = peer.head()
            if "expect" in fields:
                peer.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = peer.body(fields)
            seen.append(fields)
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    with proxy(world) as p, Server(serve) as s:
        url = f"http://{s.host}/"
        common = ["curl", "-sS", "-m", "10", "-x", f"http://127.0.0.1:{p.address[1]}", "--data-binary", f"@{data}"]
        for more in (["-H", "Expect: 100-continue"], ["-H", "Transfer-Encoding: chunked"], ["-0"], ["-p"]):
            done = subprocess.run([*common, *more, url], capture_output=True, check=False)
            assert done.returncode == 0 and done.stdout == sent, (more, done.stderr)
        assert "expect" in seen[0] and seen[1]["transfer-encoding"] == "chunked"
        assert not any("proxy" in name for fields in seen for name in fields)


# ---- WebSocket ----------------------------------------------------------------------------


def websocket_server(peer):
    line, fields = peer.head()
    if fields.get("upgrade", "").lower() != "websocket":
        peer.send(b"HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n")
        return
    key = fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
    accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
    # With the first message in the same write as the answer.
    head = f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    peer.send(head.encode() + b"\x81\x05first")
    while True:
        first, length = peer.take(2)
        mask, data = peer.take(4), None
        data = bytes(b ^ mask[i % 4] for i, b in enumerate(peer.take(length & 0x7F)))
        peer.send(bytes([first, len(data)]) + data)


def websocket_talk(client, head):
    client.send(head)
    line, fields = client.head()
    assert line.split()[1] == "101" and "sec-websocket-accept" in fields, (line, fields)
    assert client.take(7) == b"\x81\x05first"
    for text in (b"hello", b"", b"x" * 100):
        mask = os.urandom(4)
        masked = bytes(b ^ mask[i % 4] for i, b in enumerate(text))
        client.send(bytes([0x81, 0x80 | len(text)]) + mask + masked)
        assert client.take(2 + len(text)) == bytes([0x81, len(text)]) + text


@case
def a_websocket_either_way(world):
    upgrade = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZQ==\r\n"
    with proxy(world) as p, Server(websocket_server) as s:
        with p.connect() as client:
            websocket_talk(client, get(s.host, "/chat", upgrade))
        with p.connect() as client:
            client.send(f"CONNECT {s.host} HTTP/1.1\r\nHost: {s.host}\r\n\r\n".encode())
            assert client.head()[0].split()[1] == "200"
            websocket_talk(client, f"GET /chat HTTP/1.1\r\nHost: {s.host}\r\n{upgrade}\r\n".encode())
        # Other protocols are not gone over to.
        status, _, _ = ask(p, get(s.host, "/", upgrade.replace("websocket", "h2c", 1)))
        assert status == 426
    with proxy(world, 'mode = "limited"', "limited.toml") as p, Server(websocket_server) as s:
        assert ask(p, get(s.host, "/chat", upgrade))[0] == 426


@case
def limited_mode(world):
    with proxy(world, 'mode = "limited"', "limited.toml") as p, Server(echo()) as s:
        for method, status in (("GET", 200), ("OPTIONS", 200), ("POST", 403), ("get", 403), ("DELETE", 403)):
            raw = f"{method} http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 0\r\n\r\n".encode()
            got = ask(p, raw)
            assert got[0] == status, (method, got)
        assert got[1]["x-proxy-error"] == "blocked-by-method-policy"
        # A body is a way out, and for some servers the next request.
        for method in "GET", "HEAD", "OPTIONS":
            inner = f"POST /x HTTP/1.1\r\nHost: {s.host}\r\n\r\n"
            raw = f"{method} http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: {len(inner)}\r\n\r\n{inner}"
            status, fields, _ = ask(p, raw.encode(), to_head=method == "HEAD")
            assert (status, fields["x-proxy-error"]) == (403, "blocked-by-method-policy"), (method, fields)
        status, fields, _ = ask(p, f"CONNECT {s.host} HTTP/1.1\r\nHost: {s.host}\r\n\r\n".encode())
        assert status == 403, fields
        assert len(s.connections) == 2, len(s.connections)
    with proxy(world) as p, Server(echo()) as s:
        assert ask(p, f"POST http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 0\r\n\r\n".encode())[0] == 200


@case
def a_tunnel_is_there_before_it_is_promised(world):
    with proxy(world) as p, Server(echo()) as s:
        with p.connect() as client:
            # The first bytes in the same write as the request.
            client.send(f"CONNECT {s.host} HTTP/1.1\r\nHost: {s.host}\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            assert client.head()[0].split()[1] == "200"
            assert client.answer()[2] == b"GET / HTTP/1.1|"
        closed = socket.create_server(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        closed.close()
        for host, status in ((f"127.0.0.1:{port}", 502), ("denied.example:443", 403), ("10.0.0.1:443", 403)):
            got = ask(p, f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert got[0] == status, (host, got)


@case
def a_token_is_asked_for(world):
    seen = []

    def basic(text):
        return "Proxy-Authorization: Basic " + base64.b64encode(text.encode()).decode() + "\r\n"

    with proxy(world, options=("--token-env", "EXAM_TOKEN")) as p, Server(echo(seen)) as s:
        wrong = ("", basic("x:open"), basic("x:"), basic(TOKEN), basic("x:" + TOKEN + "x"), "Authorization: x\r\n")
        wrong += (basic("x:" + TOKEN).replace("Basic", "Bearer"), "Proxy-Authorization: Basic !\r\n")
        with p.connect() as client:
            for more in wrong:
                client.send(get(s.host, more=more))
                status, fields, _ = client.answer()
                assert status == 407 and fields["proxy-authenticate"].startswith("Basic "), (more, fields)
            assert not s.connections
            client.send(get(s.host, more=basic("anybody:" + TOKEN)))
            assert client.answer()[0] == 200
            client.send(get(s.host))  # each request shows it
            assert client.answer()[0] == 407
        assert "proxy-authorization" not in seen[0][1]
        for more, status in (("", 407), (basic("x:" + TOKEN), 200)):
            raw = f"CONNECT {s.host} HTTP/1.1\r\nHost: {s.host}\r\n{more}\r\n".encode()
            with p.connect() as client:
                client.send(raw)
                assert int(client.head()[0].split()[1]) == status


@case
def what_was_decided_is_on_record(world):
    with proxy(world) as p, Server(echo()) as s:
        with p.connect() as client:
            for _ in range(30):
                client.send(get(s.host))
                client.answer()
            client.send(get("denied.example", "/%1b"))
            client.answer()
            client.send(b"GET http://HOST/\x1b[2J HTTP/1.1\r\n\r\n")
            client.answer()
        port, log = s.port, p.audit
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    mine = [line for line in lines if line.get("port") == port]
    assert sum(line.get("count", 1) for line in mine) == 30, lines
    assert len(mine) <= 5, mine  # counted together
    denied = [line for line in lines if line.get("host") == "denied.example"]
    assert len(denied) == 1 and denied[0]["method"] == "GET", lines
    assert len(lines) == len(mine) + 2, lines
    assert "\x1b" not in log.read_text()


# ---- Hostile clients ------------------------------------------------------------------------

SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: HOST\r\n\r\n"

# What is refused, and with what. HOST is the server.
BAD_HEADS = {
    "both lengths": (400, "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "both lengths, turned": (400, "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n"),
    "two lengths": (400, "Content-Length: 0\r\nContent-Length: 44\r\n\r\n"),
    "a list of lengths": (400, "Content-Length: 0, 44\r\n\r\n"),
    "a length with a sign": (400, "Content-Length: +0\r\n\r\n"),
    "a negative length": (400, "Content-Length: -1\r\n\r\n"),
    "a length in hex": (400, "Content-Length: 0x0\r\n\r\n"),
    "a length that overflows": (400, "Content-Length: 18446744073709551616\r\n\r\n"),
    "an encoding that hides": (400, "Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n"),
    "an encoding in a list": (501, "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n"),
    "chunked not last": (501, "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    "an encoding twice": (400, "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n"),
    "a space before the colon": (400, "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    "a tab before the colon": (400, "Content-Length\t: 5\r\n\r\nhello"),
    "a folded field": (400, "X: y\r\n Content-Length: 5\r\n\r\nhello"),
    "a folded encoding": (400, "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n"),
    "a bare line feed": (400, "X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a bare carriage return": (400, "X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a NUL": (400, "X: y\0Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a NUL in a name": (400, "X\0: y\r\n\r\n"),
    "a field without a name": (400, ": y\r\n\r\n"),
    "a field without a colon": (400, "chunked\r\n\r\n"),
    "another Host": (400, "Host: denied.example\r\n\r\n"),
    "the same Host again": (400, "Host: HOST\r\n\r\n"),
    "an odd expectation": (417, "Expect: everything\r\n\r\n"),
}

BAD_LINES = {
    "no version": (400, "GET http://HOST/\r\n"),
    "HTTP/0.9": (505, "GET http://HOST/ HTTP/0.9\r\n"),
    "HTTP/1.2": (505, "GET http://HOST/ HTTP/1.2\r\n"),
    "HTTP/2": (505, "PRI * HTTP/2.0\r\n"),
    "a space in the target": (400, "GET http://HOST/a b HTTP/1.1\r\n"),
    "a control character in the target": (400, "GET http://HOST/\x01 HTTP/1.1\r\n"),
    "a line feed in the target": (400, "GET http://HOST/\nX: HTTP/1.1\r\n"),
    "a user": (400, "GET http://me@HOST/ HTTP/1.1\r\n"),
    "a fragment": (400, "GET http://HOST/#x HTTP/1.1\r\n"),
    "another scheme": (400, "GET https://HOST/ HTTP/1.1\r\n"),
    "another Host than the target": (400, "GET http://denied.example/ HTTP/1.1\r\n"),
    "port 0": (400, "GET http://127.0.0.1:0/ HTTP/1.1\r\n"),
    "an octal address": (400, "GET http://0177.0.0.1/ HTTP/1.1\r\n"),
    "a number for an address": (400, "GET http://2130706433/ HTTP/1.1\r\n"),
    "two spaces": (400, "GET  http://HOST/ HTTP/1.1\r\n"),
}

BAD_CHUNKS = {
    "data longer than its size": "3\r\nhello\r\n0\r\n\r\n",
    "a size with a sign": "+5\r\nhello\r\n0\r\n\r\n",
    "a size with 0x": "0x5\r\nhello\r\n0\r\n\r\n",
    "a size that overflows": "10000000000000005\r\nhello\r\n0\r\n\r\n",
    "a space behind the size": "5 \r\nhello\r\n0\r\n\r\n",
    "no size": "\r\nhello\r\n0\r\n\r\n",
    "a bare line feed behind the size": "5\nhello\r\n0\r\n\r\n",
    "a bare line feed in an extension": "5;a\nhello\r\n0\r\n\r\n",
    "a bare line feed behind the data": "5\r\nhello\n0\r\n\r\n",
    "a folded trailer": "0\r\nA: b\r\n c\r\n\r\n",
    "a bare line feed at the end": "0\r\n\n",
}


@case
def what_could_be_smuggled_is_refused(world):
    seen = []
    with proxy(world) as p, Server(echo(seen)) as s:

        def refused(name, status, raw):
            raw = (raw + SMUGGLED).replace("HOST", s.host).encode("latin-1")
            with p.connect() as client:
                client.send(raw)
                got = client.answer()
                assert got[0] == status, (name, got)
                assert got[1]["connection"] == "close", (name, got)
                assert client.to_end() == b"", name
            assert not seen, (name, seen)

        for name, (status, rest) in BAD_HEADS.items():
            refused(name, status, "POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\n" + rest)
        for name, (status, line) in BAD_LINES.items():
            refused(name, status, line + "Host: HOST\r\n\r\n")
        assert not s.connections
        # Without any fault it passes, and is two requests.
        with p.connect() as client:
            good = "POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\n\r\nfour" + SMUGGLED
            client.send(good.replace("HOST", s.host).encode())
            assert [client.answer()[0] for _ in range(2)] == [200, 200]
        assert len(seen) == 2


@case
def bad_chunks_never_make_a_whole_request(world):
    seen = []
    with proxy(world) as p, Server(echo(seen)) as s:
        head = f"POST http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\nTransfer-Encoding: chunked\r\n\r\n"
        for name, body in BAD_CHUNKS.items():
            for together in (True, False):
                with p.connect() as client:
                    if together:
                        client.send((head + body + SMUGGLED).encode())
                    else:
                        client.send(head.encode())
                        time.sleep(0.02)
                        client.send((body + SMUGGLED).encode())
                    assert client.answer()[0] == 400, name
                    assert client.to_end() == b"", name
        assert not seen, seen
        with p.connect() as client:
            client.send((head + "5\r\nhello\r\n0\r\n\r\n").encode())
            assert client.answer()[2].endswith(b"|hello")


@case
def one_empty_line_before_a_request_is_ignored(world):
    seen = []
    with proxy(world) as p, Server(echo(seen)) as s:
        head = get(s.host, "/a")
        # At the beginning, also in pieces, and behind a body, where such lines come from.
        for parts in ([b"\r\n" + head], [b"\r", b"\n", head], [b"\r\n", head], [b"\r", b"\n" + head]):
            with p.connect() as client:
                for part in parts:
                    client.send(part)
                    time.sleep(0.02)  # so that they are read apart; a miss tests less, and fails nothing
                assert client.answer()[::2] == (200, b"GET /a HTTP/1.1|"), parts
                post = f"POST / HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 2\r\n\r\nhi\r\n".encode()
                client.send(post + head)
                assert [client.answer()[0] for _ in range(2)] == [200, 200], parts
                client.send(b"\r\n" + get("denied.example"))
                assert client.answer()[0] == 403
                client.send(b"\r\n" + head)
                assert client.answer()[0] == 200
        # Neither a second one nor anything like it.
        reached = len(seen)
        for begin in (b"\r\n\r\n", b"\n", b"\r", b"\r\r\n", b" \r\n", b"\r\n\n", b"\r\n "):
            with p.connect() as client:
                client.send(begin + head)
                left = client.to_end()
                assert left == b"" or left.startswith(b"HTTP/1.1 400 "), (begin, left)
            with p.connect() as client:
                client.send(head)
                assert client.answer()[0] == 200
                client.send(begin + head)
                assert client.to_end().startswith(b"HTTP/1.1 400 "), begin
                reached += 1
        assert len(seen) == reached, (len(seen), reached)


@case
def heads_have_a_limit(world):
    with proxy(world) as p, Server(echo()) as s:
        assert ask(p, get(s.host, more="X: " + "y" * 30_000 + "\r\n"))[0] == 200
        assert ask(p, get(s.host, "/" + "y" * 30_000))[0] == 200
        assert ask(p, get(s.host, more="X: " + "y" * 33_000 + "\r\n"))[0] == 431
        assert ask(p, get(s.host, more="X: y\r\n" * 127))[0] == 200
        assert ask(p, get(s.host, more="X: y\r\n" * 128))[0] == 431
        with p.connect() as client:  # that never ends
            client.send(b"GET http://" + b"a" * 40_000)
            assert client.answer()[0] == 431


@case
def a_refused_body_is_read_or_the_connection_ends(world):
    with proxy(world) as p, Server(echo()) as s:
        head = "POST http://denied.example/ HTTP/1.1\r\nHost: denied.example\r\nContent-Length: %d\r\n\r\n"
        with p.connect() as client:
            client.send((head % 60_000).encode() + b"x" * 60_000 + get(s.host))
            assert client.answer()[0] == 403
            assert client.answer()[0] == 200
        with p.connect() as client:
            client.send((head % 10_000_000).encode() + b"x" * 100_000)
            status, fields, _ = client.answer()
            assert status == 403 and fields["connection"] == "close"
        with p.connect() as client:  # all at once
            chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
            client.send(b"POST / HTTP/1.1\r\nHost: denied.example\r\nTransfer-Encoding: chunked\r\n\r\n")
            with contextlib.suppress(OSError):
                client.send(chunk * 200)
            assert client.answer()[0] == 403
            began = time.monotonic()
            with contextlib.suppress(ConnectionResetError):
                client.to_end()
            assert time.monotonic() - began < 10
        with p.connect() as client:  # chunks without end
            client.send(b"POST / HTTP/1.1\r\nHost: denied.example\r\nTransfer-Encoding: chunked\r\n\r\n")
            assert client.answer()[0] == 403
            try:
                for _ in range(10_000):
                    client.send(b"400\r\n" + b"x" * 1024 + b"\r\n")
                raise AssertionError("it reads for ever")
            except OSError:
                pass


# ---- Hostile servers --------------------------------------------------------------------------

BAD_ANSWERS = {
    "no HTTP": b"hello\r\n\r\n",
    "HTTP/0.9": b"<html>hello</html>",
    "HTTP/2": b"HTTP/2 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1 OK\r\n\r\n",
    "an odd status": b"HTTP/1.1 20 OK\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "both lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another encoding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a bare line feed": b"HTTP/1.1 200 OK\r\nA: b\nContent-Length: 0\r\n\r\n",
    "a bare carriage return": b"HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: x\r\nContent-Length: 0\r\n\r\n",
    "a NUL": b"HTTP/1.1 200 OK\r\nA: b\0\r\nContent-Length: 0\r\n\r\n",
    "a folded field": b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n",
    "a head without end": b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000,
    "101 unasked": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    "1xx without end": b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100,
}


@case
def what_is_no_answer_is_a_502(world):
    with proxy(world) as p:
        for name, answer in BAD_ANSWERS.items():
            with Server(says(answer)) as s:
                status, fields, _ = ask(p, get(s.host))
                assert status == 502, (name, status, fields)
                assert fields["x-proxy-error"] == "bad-response", fields
        with Server(says(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na")) as s:
            assert ask(p, get(s.host))[2] == b"a"
        for cut in (b"", b"HTT", b"HTTP/1.1 200 OK\r\nA: b\r\n"):
            with Server(says(cut, keeps=False)) as s:
                assert ask(p, get(s.host))[0] == 502, cut


@case
def what_is_cut_short_does_not_look_whole(world):
    cuts = {
        "sized": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "in a chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\nhello",
        "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!0\r\n\r\n0\r\n\r\n",
    }
    with proxy(world) as p:
        for name, answer in cuts.items():
            with Server(says(answer, keeps=False)) as s:
                for version in ("1.1", "1.0"):
                    try:
                        got = ask(p, f"GET http://{s.host}/ HTTP/{version}\r\nHost: {s.host}\r\n\r\n".encode())
                        raise AssertionError((name, version, got))
                    except (EOFError, ConnectionResetError):
                        pass

        def dies(peer):
            peer.head()
            peer.send(b"HTTP/1.1 200 OK\r\n\r\nhello")
            time.sleep(0.1)
            peer.reset()

        with Server(dies) as s:  # its end is the end of the connection, but this is none
            try:
                raise AssertionError(ask(p, get(s.host)))
            except ConnectionResetError:
                pass


@case
def what_comes_unasked_answers_nothing(world):
    poison = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
    behind = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with proxy(world) as p:
        for at_once in (True, False):
            is_sent = threading.Event()

            def serve(peer, at_once=at_once, is_sent=is_sent):
                while True:
                    peer.head()
                    peer.send(behind + poison if at_once else behind)
                    if not at_once:
                        time.sleep(0.05)
                        peer.send(poison)
                    is_sent.set()

            with Server(serve) as s, p.connect() as client:
                for _ in range(3):
                    is_sent.clear()
                    client.send(get(s.host))
                    assert client.answer()[2] == b"ok"
                    assert is_sent.wait(PATIENCE)
                    time.sleep(0.1)
                assert len(s.connections) == 3, len(s.connections)


@case
def a_server_that_grew_tired_is_asked_again(world):
    """It closes at the second request on a connection, as one does whose time is up just then."""

    def serve(peer):
        _, fields = peer.head()
        peer.body(fields)
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        peer.head()

    with proxy(world) as p, Server(serve) as s:
        with p.connect() as client:
            for _ in range(4):
                client.send(get(s.host))
                assert client.answer()[2] == b"ok"
            assert len(s.connections) == 4
        with p.connect() as client:  # what may have been done is not done twice
            post = f"POST http://{s.host}/ HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 2\r\n\r\nhi".encode()
            client.send(post)
            assert client.answer()[0] == 200
            client.send(post)
            assert client.answer()[0] == 502
            client.send(post)
            assert client.answer()[0] == 200


@case
def an_answer_before_the_end_of_the_question(world):
    def serve(peer):
        line, _ = peer.head()
        peer.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
        if "/reset" in line:
            time.sleep(0.1)
            peer.reset()
        elif "/reads" in line:
            peer.to_end()

    with proxy(world) as p, Server(serve) as s:
        for path in ("/closes", "/reset", "/reads"):
            with p.connect() as client:
                client.send(f"POST http://{s.host}{path} HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 3000000\r\n\r\n".encode())
                with contextlib.suppress(OSError):
                    client.send(b"x" * 200_000)
                status, fields, body = client.answer()
                assert (status, body) == (413, b"big"), path
                assert fields["connection"] == "close", path


# ---- Time, and what is left behind -------------------------------------------------------------


@case
def half_a_connection_is_enough_for_an_answer(world):
    def slow(peer):
        while True:
            peer.head()
            time.sleep(0.2)
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    with proxy(world) as p, Server(slow) as s:
        for count in (1, 3):
            with p.connect() as client:
                client.send(get(s.host) * count)
                client.socket.shutdown(socket.SHUT_WR)
                for _ in range(count):
                    assert client.answer()[2] == b"ok"
                assert client.to_end() == b""


@contextlib.contextmanager
def to_be_killed(code, *words):
    """A process that says "here" when it has come to its stage; then it is killed."""
    words = [sys.executable, "-c", "import socket, sys, time\n" + code, *[str(w) for w in words]]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            yield process
            assert process.stdout.readline() == b"here\n"
        finally:
            process.kill()


CLIENT = """
c = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
c.sendall(sys.argv[2].encode())
if sys.argv[3] != "0":
    c.recv(int(sys.argv[3]))
print("here", flush=True)
time.sleep(60)
"""

SERVER = """
l = socket.create_server(("127.0.0.1", 0))
print(l.getsockname()[1], flush=True)
c, _ = l.accept()
c.recv(65536)
c.sendall(sys.argv[1].encode())
print("here", flush=True)
time.sleep(60)
"""


@case
def nobody_who_is_killed_leaves_anything_behind(world):
    def serve(peer):
        line, _ = peer.head()
        if "/silent" in line:
            peer.to_end()
        peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
        for _ in range(1000):
            peer.send(b"x" * 100_000)

    with proxy(world) as p, Server(serve) as s:
        ask(p, get("denied.example"))
        before = p.descriptors()
        post = f"POST http://{s.host}/silent HTTP/1.1\r\nHost: {s.host}\r\nContent-Length: 100\r\n\r\nabc"
        stages = [
            ("", 0),
            ("GET http://", 0),
            (post, 0),
            (get(s.host, "/silent").decode(), 0),
            (get(s.host).decode(), 0),
            (get(s.host).decode(), 100),
            (f"CONNECT {s.host} HTTP/1.1\r\nHost: {s.host}\r\n\r\n", 10),
            (f"CONNECT {s.host} HTTP/1.1\r\nHost: {s.host}\r\n\r\nGET / HTTP/1.1\r\n\r\n", 1000),
        ]
        for text, count in stages:
            with to_be_killed(CLIENT, p.address[1], text, count):
                pass
        head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        for text in ("", "HTTP/1.1 200", head, head + "abc", "HTTP/1.1 200 OK\r\n\r\nabc"):
            with p.connect() as client:
                with to_be_killed(SERVER, text) as server:
                    client.send(get(f"127.0.0.1:{int(server.stdout.readline())}"))
                with contextlib.suppress(EOFError, OSError):
                    client.answer()
        assert p.settles_at(before, PATIENCE), (before, p.descriptors())
        assert ask(p, get("denied.example"))[0] == 403


def exam_slow_heads(world):
    with proxy(world) as p, Server(echo()) as s:
        ask(p, get(s.host))
        before = p.descriptors()
        slow = [p.connect() for _ in range(300)]
        began = time.monotonic()
        for client in slow:
            client.send(b"GET http://")
        ended, others = 0, []
        while time.monotonic() < began + HEADER_SECONDS - 3:
            for client in slow:
                client.send(b"a")
            quick = time.monotonic()
            assert ask(p, get(s.host))[0] == 200
            others.append(time.monotonic() - quick)
            time.sleep(1)
        for client in slow:
            client.socket.settimeout(max(0.1, began + HEADER_SECONDS + PATIENCE - time.monotonic()))
            with contextlib.suppress(ConnectionResetError):
                client.to_end()
            ended += 1
            client.close()
        assert ended == len(slow)
        # Other tests run at the same time: most have to be quick.
        assert sorted(others)[len(others) // 2] < 1, others
        assert time.monotonic() - began > HEADER_SECONDS - 2
        assert p.settles_at(before, PATIENCE)


class Meanwhile(threading.Thread):
    """An exam that mostly waits, while the others go on."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function, self.failure = function, None
        self.start()

    def run(self):
        try:
            run_one(self.function)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.failure = error


@case
def slow_heads_end_and_harm_nobody(_):
    slow_heads.join()
    if slow_heads.failure:
        raise slow_heads.failure


if __name__ == "__main__":
    slow_heads = Meanwhile(exam_slow_heads)
    sys.exit(run_cases())
