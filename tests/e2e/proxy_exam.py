# SPDX-License-Identifier: MIT
"""`cordon proxy`, and both ends of what goes through it: sockets that say exactly what a case
wants them to."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import threading
import time

from cli import PROGRAM

PATIENCE = 20
TOKEN = "open:sesame-0123456789"
CONFIG = """
[permissions.exam.network]
enabled = true
{mode}
[permissions.exam.network.domains]
"127.0.0.1" = "allow"
"localhost" = "allow"
"denied.example" = "deny"
"""


# ---- The proxy ---------------------------------------------------------------------------


def descendants(pid):
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [int(c) for c in children] + [d for c in children for d in descendants(int(c))]


class Proxy:
    def __init__(self, world, mode="", name="exam.toml", options=()):
        self.audit = world.top / (name + ".log")
        config = world.write(name, CONFIG.format(mode=mode))
        words = ["proxy", "--config-file", str(config), "-P", "exam", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [PROGRAM, *words, "--audit", str(self.audit), *options],
            cwd=world.repo,
            env={**world.env, "EXAM_TOKEN": TOKEN},
            stdout=subprocess.PIPE,
        )
        self.address = json.loads(self.process.stdout.readline())["http"].split(":")
        self.address = (self.address[0], int(self.address[1]))

    @property
    def pid(self):
        for pid in descendants(self.process.pid):
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "cordon-proxy":
                return pid
        raise AssertionError("the proxy has no process")

    def descriptors(self):
        """Without pipes, of which it keeps a stock. Whoever may not look counts its clients."""
        if os.geteuid() != 0:
            lines = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
            mine = f":{self.address[1]:04X}"
            return sum(line[1].endswith(mine) and line[9] != "0" for line in lines)
        count = 0
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            with contextlib.suppress(OSError):
                count += not os.readlink(f"/proc/{self.pid}/fd/{name}").startswith("pipe:")
        return count

    def settles_at(self, count, seconds):
        """Whether it has so few descriptors again within that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.descriptors() <= count:
                return True
            time.sleep(0.05)
        return False

    def connect(self):
        return Peer(socket.create_connection(self.address, PATIENCE))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


@contextlib.contextmanager
def proxy(world, mode="", name="exam.toml", options=()):
    p = Proxy(world, mode, name, options)
    try:
        yield p
        assert p.end() == 0, "it did not end cleanly"
    finally:
        if p.process.poll() is None:
            p.process.kill()
            p.process.wait()
        p.process.stdout.close()


# ---- Both ends ---------------------------------------------------------------------------


class Peer:
    """A connection, with what was read and not used."""

    def __init__(self, connection):
        self.socket, self.rest = connection, b""
        self.socket.settimeout(PATIENCE)

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(65536)
        self.rest += data
        return data

    def until(self, mark):
        while mark not in self.rest:
            if not self.more():
                raise EOFError(f"ended after {self.rest!r}")
        found, _, self.rest = self.rest.partition(mark)
        return found + mark

    def take(self, count):
        while len(self.rest) < count:
            if not self.more():
                raise EOFError(f"ended after {self.rest!r}")
        found, self.rest = self.rest[:count], self.rest[count:]
        return found

    def to_end(self):
        while self.more():
            pass
        found, self.rest = self.rest, b""
        return found

    def head(self):
        """(first line, {lower case name: value})"""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        fields = dict(line.split(":", 1) for line in lines[1:] if line)
        return lines[0], {name.lower(): value.strip() for name, value in fields.items()}

    def chunks(self):
        body = b""
        while True:
            size = int(self.until(b"\r\n"), 16)
            body += self.take(size)
            assert self.take(2) == b"\r\n"
            if size == 0:
                return body

    def body(self, fields):
        if fields.get("transfer-encoding") == "chunked":
            return self.chunks()
        return self.take(int(fields.get("content-length", 0)))

    def answer(self, to_head=False):
        """(status, fields, body) of the next final answer."""
        while True:
            line, fields = self.head()
            status = int(line.split()[1])
            if status >= 200:
                break
        if to_head or status in (204, 304):
            return status, fields, b""
        if "content-length" not in fields and "transfer-encoding" not in fields:
            return status, fields, self.to_end()
        return status, fields, self.body(fields)

    def reset(self):
        """Closes as a process does that is killed with bytes that it has not read."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Server:
    """Listens, and gives each connection to `serve` in a thread of its own."""

    def __init__(self, serve):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.serve, self.connections, self.failures = serve, [], []
        self.port = self.listener.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            peer = Peer(connection)
            self.connections.append(peer)
            threading.Thread(target=self.run, args=(peer,), daemon=True).start()

    def run(self, peer):
        try:
            self.serve(peer)
        except (EOFError, OSError):
            pass
        except Exception as error:  # pylint: disable=broad-exception-caught
            self.failures.append(error)
        finally:
            peer.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join(timeout=10)
        self.listener.close()
        for peer in self.connections:
            with contextlib.suppress(OSError):
                peer.socket.shutdown(socket.SHUT_RDWR)
        if not kind and self.failures:
            raise self.failures[0]


def echo(seen=None):
    """A server that answers each request with what it got of it."""

    def serve(peer):
        while True:
            line, fields = peer.head()
            body = peer.body(fields)
            if seen is not None:
                seen.append((line, fields, body))
            text = line.encode() + b"|" + body
            peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(text) + text)

    return serve


def says(answer, keeps=True):
    """A server that says just that, whatever is asked, and then waits or closes."""

    def serve(peer):
        while True:
            _, fields = peer.head()
            peer.body(fields)
            peer.send(answer)
            if not keeps:
                return

    return serve


def get(host, path="/", more=""):
    return f"GET http://{host}{path} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def ask(p, raw, to_head=False):
    with p.connect() as client:
        client.send(raw)
        return client.answer(to_head)
