#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names in a managed network, end to end: a name server that lies, changes and is silent.

In the namespaces of own_network.py, so nothing leaves the machine. A program inside that knows
nothing of proxies looks names up and connects; the server itself says at which address it was
reached. What the name server was asked is counted: for what policy does not allow it must have
heard nothing.
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from cli import PROGRAM, SECONDS, Result, World, case, run_cases

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from own_network import NAMES, OTHER, PRIVATE, PRIVATE6, WEB, WEB6, cover, enter  # noqa: E402

PORT, SILENT_SERVER = 7000, "93.184.216.54"
CNAME, PTR, A, AAAA, TXT, HTTPS = 5, 12, 1, 28, 16, 65

# Each name: addresses; or the name that it is an alias of; or what happens.
ZONE = {
    "plain.example": [WEB, WEB6],
    "four.example": [WEB],
    "empty.example": [],
    "alias.example": "plain.example",
    "alias-private.example": "intranet.example",
    "turns.example": "turns-2.example",
    "turns-2.example": "turns.example",
    "intranet.example": [PRIVATE],
    "mixed.example": [WEB, PRIVATE6],
    "mapped.example": ["::ffff:" + PRIVATE],
    "huge.example": [WEB] + [f"93.184.216.{100 + i % 100}" for i in range(400)],
    "huge-private.example": [WEB] * 3 + [PRIVATE] + [WEB] * 400,
    "short.corp.example": [OTHER],
    "db.corp.example": [OTHER],
    "fails.example": "SERVFAIL",
    "silent.example": "SILENT",
    "spoofed.example": "SPOOFED",
    "loud.example": "LOUD",
    "rebinds.example": "REBINDS",
    "in-hosts.example": [OTHER],
}

INSIDE = r"""
import socket, sys
for name in sys.argv[2:]:
    try:
        found = socket.getaddrinfo(name, int(sys.argv[1]), type=socket.SOCK_STREAM)
    except socket.gaierror as e:
        print(name, {socket.EAI_NONAME: 'NONAME', socket.EAI_AGAIN: 'AGAIN', socket.EAI_NODATA: 'NODATA'}.get(e.errno, e))
        continue
    said = ''
    for family, kind, _, _, address in found:
        s = socket.socket(family, kind)
        s.settimeout(20)
        try:
            s.connect(address)
            s.sendall(b'hello')
            said = s.recv(100).decode().strip() or 'EOF'
            break
        except OSError as e:
            said = e.__class__.__name__
    print(name, said)
"""


# ---- The world -------------------------------------------------------------------------------


class Server:
    """Says at which address it was reached."""

    def __init__(self):
        self.socket = socket.create_server(("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            with connection:
                address = connection.getsockname()[0].removeprefix("::ffff:").encode() + b"\n"
                if connection.recv(1000).startswith(b"GET "):
                    address = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + address
                connection.sendall(address)


class NameServer:
    def __init__(self, address):
        self.asked = []  # name, type, whether by TCP
        self.rebinds = 0
        self.ttl = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, 53))
        self.tcp = socket.create_server((address, 53), backlog=64)
        for serve in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def serve_udp(self):
        while True:
            query, client = self.udp.recvfrom(4096)
            name, kind, _ = self.note(query, False)
            what = ZONE.get(name)
            lie = bytes([query[0] ^ 1]) + self.answer(query, [PRIVATE, PRIVATE6])[1:]
            for _ in range({"SPOOFED": 1, "LOUD": 60}.get(what, 0) if isinstance(what, str) else 0):
                self.udp.sendto(lie, client)
            if what in ("SILENT", "LOUD"):
                continue
            answer = self.answer(query, self.find(name, kind))
            if len(answer) > 512:
                answer = query[:2] + struct.pack("!HHHHH", 0x8380, 1, 0, 0, 0) + query[12:self.end(query)]
            self.udp.sendto(answer, client)

    def serve_tcp(self):
        while True:
            connection, _ = self.tcp.accept()
            threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection):
        with connection:
            size = connection.recv(2, socket.MSG_WAITALL)
            if len(size) < 2:
                return
            query = connection.recv(struct.unpack("!H", size)[0], socket.MSG_WAITALL)
            name, kind, _ = self.note(query, True)
            answer = self.answer(query, self.find(name, kind))
            connection.sendall(struct.pack("!H", len(answer)))
            connection.sendall(answer)

    @staticmethod
    def end(query):
        at = 12
        while query[at]:
            at += query[at] + 1
        return at + 5

    def note(self, query, is_tcp):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("latin-1"))
            at += query[at] + 1
        entry = ".".join(labels), struct.unpack("!H", query[at + 1:at + 3])[0], is_tcp
        self.asked.append(entry)
        return entry

    def find(self, name, kind):
        found = ZONE.get(name)
        if found == "REBINDS":
            self.rebinds += kind == A
            return [WEB if self.rebinds <= 1 else PRIVATE]
        return [WEB] if found in ("SPOOFED", "LOUD") else found

    def records(self, name, kind, depth):
        found = self.find(name, kind)
        if isinstance(found, str):
            return self.alias(name, found, kind, depth) if depth < 6 else (0, b"")
        return self.addresses(name, found or [], kind)

    def alias(self, name, to, kind, depth):
        data = self.wire(to)
        first = self.wire(name) + struct.pack("!HHIH", CNAME, 1, self.ttl, len(data)) + data
        count, rest = self.records(to, kind, depth + 1)
        return count + 1, first + rest

    def addresses(self, name, found, kind):
        data = b""
        count = 0
        for address in found:
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            if kind == (AAAA if family == socket.AF_INET6 else A):
                raw = socket.inet_pton(family, address)
                data += self.wire(name) + struct.pack("!HHIH", kind, 1, self.ttl, len(raw)) + raw
                count += 1
        return count, data

    @staticmethod
    def wire(name):
        return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"

    def answer(self, query, found):
        name, kind = self.note(query, False)[:2]
        self.asked.pop()
        code = 2 if found == "SERVFAIL" else 3 if found is None else 0
        count, data = 0, b""
        if isinstance(found, list):
            count, data = self.addresses(name, found, kind)
        elif found and code == 0:
            count, data = self.alias(name, found, kind, 1)
        return query[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, count, 0, 0) + query[12:self.end(query)] + data

    def heard(self, name):
        return [entry for entry in self.asked if entry[0].lower() == name]


files = {}
names = None


def put(name, text):
    """In place: what is bound over /etc is this very file."""
    files[name].write_text(text)


def settle(top):
    global names  # pylint: disable=global-statement
    for name in ("hosts", "resolv.conf", "nsswitch.conf"):
        files[name] = Path(top) / name
        files[name].write_text("passwd: files\ngroup: files\nhosts: files dns\n")
        files[name].chmod(0o644)
        cover(f"/etc/{name}", files[name])
    names = NameServer(NAMES)
    Server()


def begin(conf="", hosts="", seconds=5):
    put("hosts", f"127.0.0.1 localhost\n::1 localhost\n{hosts}")
    put("resolv.conf", f"nameserver {NAMES}\noptions timeout:{seconds} attempts:1\n{conf}")
    names.asked.clear()
    names.rebinds = names.ttl = 0


def start(w, allowed, words):
    hosts = [word for host in allowed for word in ("--allow-host", host)]
    return subprocess.Popen([PROGRAM, "run", "--mode", "workspace-write", "--network", "managed", "--report", "report.json",
                             *hosts, "--", *words], cwd=w.repo, env=w.env, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **getattr(enter, "keywords", {}))


def finish(process):
    out, err = process.communicate(timeout=SECONDS)
    assert b"Sanitizer" not in err and b"runtime error" not in err, err
    return Result(process.returncode, out.decode(), err.decode())


def run(w, allowed, *words):
    result = finish(start(w, allowed, words))
    assert result.status == 0, repr(result)
    return result


def ask(w, allowed, *hosts):
    """What a program inside gets that looks these names up and connects to them."""
    out = run(w, allowed, "python3", "-c", INSIDE, str(PORT), *hosts).out
    return dict(line.split(" ", 1) for line in out.splitlines())


def refusals(w):
    found = json.loads((w.repo / "report.json").read_text())["denials"]
    return [json.dumps(each) for each in found]


def check(said, **wanted):
    for name, want in wanted.items():
        name = name.replace("__", ".").replace("_", "-")
        assert said.get(name) in (want if isinstance(want, tuple) else (want,)), f"{name}: {said.get(name)}, not {want}; all: {said}"


# ---- Cases -----------------------------------------------------------------------------------


@case
def names_are_found_or_their_failure_is_told_inside(w: World):
    begin()
    said = ask(w, ["**.example"], "plain.example", "four.example", "alias.example", "missing.example", "empty.example",
               "fails.example")
    check(said, plain__example=(WEB, WEB6), four__example=WEB, alias__example=(WEB, WEB6),
          missing__example="NONAME", empty__example=("NODATA", "NONAME"), fails__example="AGAIN")
    # The control: outside the same names do the same.
    assert socket.getaddrinfo("plain.example", PORT)


@case
def nothing_is_asked_for_what_is_not_allowed(w: World):
    begin()
    said = ask(w, ["plain.example"], "secret-1.evil.example", "intranet.example", "four.example")
    assert set(said.values()) == {"PermissionError"}, said
    assert not names.asked, names.asked
    assert any("secret-1.evil.example" in each for each in refusals(w)), refusals(w)
    check(ask(w, ["plain.example"], "plain.example"), plain__example=(WEB, WEB6))
    assert {entry[0] for entry in names.asked} == {"plain.example"}, names.asked


@case
def other_questions_carry_nothing_out(w: World):
    begin()
    script = f"""
import socket, struct
def ask(name, kind, how):
    wire = b''.join(bytes([len(p)]) + p for p in name.split(b'.')) + bytes(1)
    query = struct.pack('!6H', 7, 0x100, 1, 0, 0, 0) + wire + struct.pack('!HH', kind, 1)
    s = socket.socket(socket.AF_INET, how)
    s.settimeout(5)
    s.connect(('8.8.8.8', 53))
    if how == socket.SOCK_DGRAM:
        s.send(query)
        return s.recv(4096)
    s.sendall(struct.pack('!H', len(query)) + query)
    size = struct.unpack('!H', s.recv(2, socket.MSG_WAITALL))[0]
    return s.recv(size, socket.MSG_WAITALL)
for how in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
    for kind in ({TXT}, {HTTPS}, 15, 255, 252, 6, 2, {PTR}):
        answer = ask(b'data%d.plain.example' % kind, kind, how)
        assert struct.unpack('!H', answer[6:8])[0] == 0, kind
    answer = ask(b'PlAiN.eXaMpLe', {A}, how)
    address = socket.inet_ntoa(answer[-4:])
    assert address.startswith('198.1'), address
    back = ask(b'.'.join(reversed(address.encode().split(b'.'))) + b'.in-addr.arpa', {PTR}, how)
    assert b'plain' in back[-16:], back
print('done')
"""
    result = run(w, ["**.plain.example"], "python3", "-c", script)
    assert result.out == "done\n", repr(result)
    assert {entry[:2] for entry in names.asked} == {("plain.example", A), ("plain.example", AAAA)}, names.asked


@case
def one_private_address_refuses_the_name(w: World):
    begin()
    hosts = ("intranet.example", "mixed.example", "alias-private.example", "mapped.example", "huge-private.example")
    said = ask(w, ["**.example"], *hosts, "plain.example")
    for name in hosts:
        assert said[name] not in (WEB, WEB6, PRIVATE, PRIVATE6), said
    assert said["plain.example"] in (WEB, WEB6), said
    for name in hosts:
        assert any(name in each and "not a public address" in each for each in refusals(w)), (name, refusals(w))
    # With an entry of its own it is reached; the control of all of the above.
    said = ask(w, ["**.example", PRIVATE, PRIVATE6], "intranet.example", "mixed.example", "alias-private.example")
    check(said, intranet__example=PRIVATE, mixed__example=(WEB, PRIVATE6), alias_private__example=PRIVATE)


@case
def a_name_that_turns_private_is_refused(w: World):
    begin()
    said = finish(start(w, ["**.example"], ["sh", "-c", f"python3 -c '{INSIDE.replace(chr(39), chr(34))}' {PORT} rebinds.example"
                                            f" && sleep 1.2 && python3 -c '{INSIDE.replace(chr(39), chr(34))}' {PORT} rebinds.example"]))
    first, second = said.out.splitlines()
    assert first == f"rebinds.example {WEB}", said
    assert second not in (first, f"rebinds.example {PRIVATE}"), said
    assert any(PRIVATE in each for each in refusals(w)), refusals(w)


@case
def each_name_is_looked_up_once_for_a_connection(w: World):
    begin()
    names.ttl = 30
    ask(w, ["plain.example"], *["plain.example"] * 5)
    assert sorted(entry[1] for entry in names.heard("plain.example")) == [A, AAAA], names.asked
    begin()  # no time to live at all: it still serves the connection that follows
    ask(w, ["plain.example"], "plain.example")
    assert sorted(entry[1] for entry in names.heard("plain.example")) == [A, AAAA], names.asked


@case
def huge_answers_come_by_tcp_and_loops_end(w: World):
    begin()
    began = time.monotonic()
    said = ask(w, ["**.example"], "huge.example", "turns.example")
    assert said["huge.example"].startswith("93.184.216."), said
    assert any(entry[2] for entry in names.heard("huge.example")), names.asked
    check(said, turns__example="AGAIN")
    assert time.monotonic() - began < 20


@case
def lies_are_not_believed(w: World):
    begin()
    said = ask(w, ["**.example"], "spoofed.example", "loud.example")
    check(said, spoofed__example=WEB, loud__example=WEB)
    assert any(entry[2] for entry in names.heard("loud.example")), names.asked


@case
def silence_ends_and_another_server_is_asked(w: World):
    begin(seconds=1)
    check(ask(w, ["**.example"], "silent.example"), silent__example="AGAIN")
    begin()
    put("resolv.conf", f"nameserver {SILENT_SERVER}\nnameserver {NAMES}\noptions timeout:1 attempts:1\n")
    check(ask(w, ["**.example"], "four.example"), four__example=WEB)
    # One on a link: the locked process can't ask which interface that is.
    put("resolv.conf", f"nameserver fe80::53%lo\nnameserver fe80::53%none\nnameserver {NAMES}\noptions timeout:1\n")
    check(ask(w, ["**.example"], "four.example"), four__example=WEB)


@case
def the_search_list_serves_short_names(w: World):
    begin(conf="search none.example corp.example\n")
    # By what the C library inside asks for: the whole name.
    check(ask(w, ["short.corp.example"], "short"), short=OTHER)
    check(ask(w, ["other.corp.example"], "short"), short="PermissionError")
    # By what is allowed: the short one.
    curl = ("curl", "-sS", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_code}")
    result = finish(start(w, ["db:7001"], [*curl, "http://db:7001/"]))
    assert "502" in result.out, repr(result)  # looked up, allowed, and nobody listens there
    assert names.heard("db.corp.example"), names.asked
    # A name that does not exist stays so at the end of the list.
    check(ask(w, ["missing.example"], "missing.example"), missing__example="NONAME")


@case
def the_hosts_file_counts_as_it_is_now(w: World):
    begin(hosts=f"{WEB} in-hosts.example second-name.example\n")
    check(ask(w, ["in-hosts.example"], "in-hosts.example"), in_hosts__example=WEB)
    check(ask(w, ["second-name.example"], "in-hosts.example"), in_hosts__example=WEB)  # one address, one host
    check(ask(w, ["plain.example"], "in-hosts.example"), in_hosts__example="PermissionError")
    assert not names.heard("in-hosts.example"), names.asked
    curl = "curl -sS --max-time 20 http://in-hosts.example:7000/"
    process = start(w, ["in-hosts.example"], ["sh", "-c", f"{curl}; read line; {curl}"])
    first = process.stdout.readline()
    put("hosts", f"127.0.0.1 localhost\n{OTHER} in-hosts.example\n")
    out, err = process.communicate(b"go\n", timeout=SECONDS)
    assert (WEB.encode() in first and OTHER.encode() in out), (first, out, err)


@case
def other_servers_count_at_once(w: World):
    begin()
    put("resolv.conf", f"nameserver {SILENT_SERVER}\noptions timeout:1 attempts:1\n")
    curl = "curl -sS --max-time 20 http://four.example:7000/"
    process = start(w, ["four.example"], ["sh", "-c", f"{curl}; read line; {curl}"])
    first = process.stdout.readline()
    put("resolv.conf", f"nameserver {NAMES}\noptions timeout:5 attempts:1\n")
    out, err = process.communicate(b"go\n", timeout=SECONDS)
    assert WEB.encode() not in first and WEB.encode() in out, (first, out, err)


@case
def localhost_is_the_sandbox_s_own(w: World):
    begin()
    with socket.create_server(("127.0.0.1", 7002)):
        said = run(w, ["**.example"], "python3", "-c", INSIDE, "7002", "localhost", "a.localhost").out
    assert said == "localhost ConnectionRefusedError\na.localhost ConnectionRefusedError\n", said
    assert not names.asked, names.asked


if __name__ == "__main__":
    reason = enter()
    if reason:
        print(f"1..0 # SKIP {reason}")
        sys.exit(0)
    import tempfile
    with tempfile.TemporaryDirectory(prefix="cordon-names-", dir="/var/tmp") as directory:
        os.chmod(directory, 0o755)
        settle(directory)
        run_cases()
