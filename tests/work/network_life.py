#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients, servers and the proxy itself that go away at every stage: nothing hangs, nothing is left."""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import network_world as net
from network_world import manage
from work import Skip, case

NEEDS = {"net_managed"}
FRAGILE = 7100  # a server that goes away as its path says
PATIENCE = 20


# ---- A server that goes away -----------------------------------------------------------


def reset(connection):
    """As the kernel does for one that was killed with data unread."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def talk(connection):
    path = connection.recv(4096).split(b" ")[1:2] or [b""]
    words = path[0].rsplit(b"/", 1)[-1].split(b"-")
    if b"head" in words:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Le")
    if b"body" in words:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")
    if b"chunk" in words:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf")
    if b"nonsense" in words:
        connection.sendall(b"\x00\x01\x02 this is no HTTP\r\n\r\n")
    if b"silent" in words:
        time.sleep(0.3)
    if b"reset" in words:
        reset(connection)


# ---- The proxy alone -------------------------------------------------------------------


def family(pid):
    children = []
    with contextlib.suppress(OSError):  # one that has ended has none
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            children += [int(word) for word in path.read_text().split()]
    return [pid] + [member for child in children for member in family(child)]


def list_descriptors(pid):
    try:
        return os.listdir(f"/proc/{pid}/fd")
    except PermissionError:
        raise Skip("the descriptors of a process that locked itself are root's to count") from None
    except (FileNotFoundError, ProcessLookupError):
        return []


def name_descriptors(pid):
    for name in list_descriptors(pid):
        try:
            yield os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            pass


def count_descriptors(pid):
    """Without pipes: the proxy keeps up to 48 of them for later, whoever had them."""
    return sum(not name.startswith("pipe:") for member in family(pid) for name in name_descriptors(member))


class Proxy:
    """`cordon proxy`, and how many descriptors it has when it does nothing."""

    def __init__(self, w, *domains):
        rules = ", ".join(f'"{d}" = "allow"' for d in domains)
        config = w.write(w.top / "proxy.toml", '[permissions.p.network]\nenabled = true\n'
                         f"domains = {{ {rules} }}\n")
        w.give(config)
        self.process = subprocess.Popen([w.program, "proxy", "--config-file", config, "-P", "p", "--listen", "127.0.0.1:0"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=w.env, cwd=w.workspace,
                                        **w.who.keywords)
        host, port = json.loads(self.process.stdout.readline())["http"].rsplit(":", 1)
        self.address = host, int(port)
        try:
            self.ask("http://only4.example/")
            self.settle(None)
            self.idle = count_descriptors(self.process.pid)
        except BaseException:  # a skip, too: what stays would hold the output of the tests open
            self.__exit__()
            raise

    def connect(self, data=b""):
        s = socket.create_connection(self.address, timeout=PATIENCE)
        s.sendall(data)
        return s

    def ask(self, url, extra=""):
        host = url.split("/")[2]
        with self.connect(f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{extra}\r\n".encode()) as s:
            data = b""
            try:
                while chunk := s.recv(65536):
                    data += chunk
            except ConnectionResetError:
                pass
            return data

    def settle(self, expected):
        """What is kept for the next request (idle servers) goes with its timeout: at most a few."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            count = count_descriptors(self.process.pid)
            if expected is not None and count <= expected:
                return count
            time.sleep(0.05)
            if expected is None:
                return count
        return count

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def check_gone(members):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and any(os.path.exists(f"/proc/{pid}") for pid in members):
        time.sleep(0.02)
    assert not [pid for pid in members if os.path.exists(f"/proc/{pid}")], members


HEAD = b"GET http://only4.example/large HTTP/1.1\r\nHost: only4.example\r\n"
STAGES = {
    "connected": b"",
    "a byte": b"G",
    "half a head": HEAD,
    "half a body": b"POST http://only4.example/x HTTP/1.1\r\nHost: only4.example\r\nContent-Length: 1000\r\n\r\nhalf",
    "half a chunk": b"POST http://only4.example/x HTTP/1.1\r\nHost: only4.example\r\nTransfer-Encoding: chunked\r\n\r\n100\r\nhalf",
    "a download": HEAD + b"\r\n",
    "half a SOCKS greeting": b"\x05\x02",
    "half a SOCKS request": b"\x05\x01\x00\x05\x01\x00\x03",
    "a tunnel": b"CONNECT only4.example:7007 HTTP/1.1\r\nHost: only4.example:7007\r\n\r\n",
    "half a TLS hello": b"CONNECT only4.example:443 HTTP/1.1\r\nHost: only4.example:443\r\n\r\n\x16\x03\x01\x02\x00\x01",
    "a look-up": b"CONNECT nowhere.example:443 HTTP/1.1\r\nHost: nowhere.example:443\r\n\r\n",
}


@case(needs=NEEDS, is_spread=True)
def clients_that_go_away_leave_nothing(w):
    manage(w)
    if not w.is_boxed:
        return
    with Proxy(w, "only4.example", "nowhere.example") as proxy:
        for name, data in STAGES.items():
            for is_reset in (False, True):
                held = [proxy.connect(data) for _ in range(10)]
                time.sleep(0.05)
                for s in held:
                    if is_reset:
                        reset(s)
                    s.close()
            count = proxy.settle(proxy.idle)
            assert count <= proxy.idle, f"{name}: {count} descriptors, {proxy.idle} before"
        assert b" 200 " in proxy.ask("http://only4.example/")


@case(needs=NEEDS, is_spread=True)
def servers_that_go_away_leave_nothing(w):
    manage(w)
    if not w.is_boxed:
        return
    with Proxy(w, "only4.example") as proxy:
        for path in ("close", "reset", "head", "head-reset", "body", "body-reset", "chunk", "chunk-reset", "nonsense", "silent-reset"):
            for _ in range(5):
                begin = time.monotonic()
                answer = proxy.ask(f"http://only4.example:{FRAGILE}/{path}")
                assert time.monotonic() - begin < PATIENCE, path
                is_cut = path.split("-")[0] in ("body", "chunk")
                # What has begun can only be cut off; before that it is said what is wrong.
                assert answer.startswith(b"HTTP/1.1 200") if is_cut else answer.startswith(b"HTTP/1.1 502"), (path, answer[:200])
                assert not is_cut or not answer.endswith(b"0\r\n\r\n"), answer
            count = proxy.settle(proxy.idle)
            assert count <= proxy.idle, f"{path}: {count} descriptors, {proxy.idle} before"


@case(needs=NEEDS, is_spread=True)
def the_proxy_ends_cleanly_when_told(w):
    manage(w)
    if not w.is_boxed:
        return
    with Proxy(w, "only4.example") as proxy:
        held = [proxy.connect(data) for data in STAGES.values()]
        members = family(proxy.process.pid)
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(PATIENCE) == 0
        check_gone(members)
        for s in held:
            s.close()


@case(needs=NEEDS, is_spread=True)
def a_killed_proxy_leaves_no_hole_and_no_process(w):
    """Whichever of its processes is killed, the others end, and its clients are told."""
    manage(w)
    if not w.is_boxed:
        return
    for which in range(2):
        with Proxy(w, "only4.example") as proxy:
            members = family(proxy.process.pid)
            with proxy.connect(STAGES["a tunnel"]) as s:
                assert s.recv(100).startswith(b"HTTP/1.1 200")
                os.kill(members[min(which, len(members) - 1)], signal.SIGKILL)
                try:
                    assert s.recv(100) == b""
                except ConnectionResetError:
                    pass
            proxy.process.wait(PATIENCE)
            check_gone(members)


# ---- In a run --------------------------------------------------------------------------


def count_sockets(pid):
    return sum(name.startswith("socket:") for name in name_descriptors(pid))


def find_proxy(members):
    """The one in the host's network that has the listeners of the sandbox's, once it has taken them."""
    here = os.stat("/proc/self/ns/net").st_ino
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for pid in members:
            try:
                if os.stat(f"/proc/{pid}/ns/net").st_ino == here and count_sockets(pid) >= 4:
                    return pid
            except (FileNotFoundError, ProcessLookupError):  # a helper of the start, which has ended
                pass
        time.sleep(0.02)
    raise AssertionError(f"none of {members} is the proxy")


@case(needs=NEEDS)
def a_run_whose_proxy_is_killed_ends(w):
    """Its network would be no more; nothing of it stays, and the command does not go on."""
    manage(w, "only4.example")
    if not w.is_boxed:
        return
    process = subprocess.Popen([*w.prefix(), "/bin/sh", "-c", "echo up; exec sleep 60"], cwd=w.workspace, env=w.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **w.who.keywords)
    try:
        assert process.stdout.readline() == b"up\n"
        members = family(process.pid)
        proxy = find_proxy(members[1:])
        os.kill(proxy, signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 125 and b"proxy" in err, (process.returncode, err)
        check_gone(members)
    finally:
        # Told, not killed: what it has put into the workspace goes with it, also when this is skipped.
        if process.poll() is None:
            process.terminate()
            process.wait(PATIENCE)


@case(needs=NEEDS)
def many_connections_from_inside_leave_no_descriptor(w):
    """Three hundred one after the other, half of them refused, by address and by proxy."""
    manage(w, "only4.example")
    script = """
import socket, sys
good = socket.getaddrinfo("only4.example", 7007, 2, 1)[0][4]
count = 0
for i in range(300):
    s = socket.socket(); s.settimeout(20)
    try:
        s.connect(good if i % 2 else ("93.184.216.20", 7007)); s.sendall(b"x"); count += s.recv(1) == b"x"
    except PermissionError: count += 1
    s.close()
print("went", count); sys.stdout.flush(); sys.stdin.readline()
"""
    process = subprocess.Popen([*w.prefix(), w.python(), "-c", script], cwd=w.workspace, env=w.env, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **w.who.keywords)
    try:
        first = process.stdout.readline()
        assert first == b"went 300\n", first
        if w.is_boxed:
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end and count_descriptors(process.pid) > 250:
                time.sleep(0.05)
            assert count_descriptors(process.pid) <= 250, count_descriptors(process.pid)
    finally:
        process.communicate(b"\n", timeout=10)


if __name__ == "__main__":
    net.run_cases(lambda world: net.Plain(world, FRAGILE, talk))
