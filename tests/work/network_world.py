# SPDX-License-Identifier: MIT
"""A small internet of its own: addresses, names and real servers.

In the namespaces of own_network.py nothing leaves the machine, and the guard against
private addresses is met as it stands. /etc/hosts and /etc/resolv.conf are the world's; a
small DNS server counts what it is asked. All HTTP servers are one, which says in its
answer at which address it was reached, and logs it.
"""

import base64
import hashlib
import http.server
import io
import json
import os
import shutil
import signal
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from pathlib import Path

import work

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from own_network import (MAPPED, METADATA, NAMES, NAT64, OTHER, OTHER6, PRIVATE, PRIVATE6,  # noqa: E402
                         SSH, WEB, WEB6, cover, enter, libc)  # pylint: disable=wrong-import-position

IP_PKTINFO, PR_SET_PDEATHSIG = 8, 1
ECHO, TALKS_FIRST, POSTGRES, HOST_SERVICE, UPSTREAM = 7007, 7025, 5432, 8099, 3999

ZONE = {
    "good.example": [WEB, WEB6],
    "deep.good.example": [WEB],
    "only4.example": [WEB],
    "only6.example": [WEB6],
    "ssh.example": [SSH],
    "denied.example": [OTHER, OTHER6],
    "tunnel.denied.example": [OTHER],
    "xn--bcher-kva.example": [WEB],
    "intranet.example": [PRIVATE],
    "intranet6.example": [PRIVATE6],
    "loop.example": ["127.0.0.1"],
    "metadata.example": [METADATA],
    "mixed.example": [PRIVATE, WEB],
    "nat64.example": [NAT64],
    "mapped.example": [MAPPED],
}
# A name whose answer changes: public when it is asked first, then the host's own.
REBINDS = "rebind.example"


def set_up_files(top):
    for name, text in (("hosts", f"127.0.0.1 localhost\n::1 localhost\n{WEB} in-hosts.example\n"
                                 f"{OTHER} denied-in-hosts.example\n127.0.0.1 loop-in-hosts.example\n"),
                       ("resolv.conf", f"nameserver {NAMES}\noptions timeout:2 attempts:2\n"),
                       ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")):
        path = top / name
        path.write_text(text)
        path.chmod(0o644)
        cover(f"/etc/{name}", path)


# ---- DNS -------------------------------------------------------------------------


class Names:
    """Answers A and AAAA; `asked` has each name that came in, in its order."""

    def __init__(self, address):
        self.asked = []
        self.rebinds = 0
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind((address, 53))
        self.tcp = socket.create_server((address, 53))
        for serve in (self.serve_udp, self.serve_tcp):
            threading.Thread(target=serve, daemon=True).start()

    def serve_udp(self):
        while True:
            query, client = self.udp.recvfrom(4096)
            self.udp.sendto(self.answer(query), client)

    def serve_tcp(self):
        while True:
            connection, _ = self.tcp.accept()
            with connection:
                size = connection.recv(2)
                if len(size) == 2:
                    answer = self.answer(connection.recv(struct.unpack("!H", size)[0]))
                    connection.sendall(struct.pack("!H", len(answer)) + answer)

    def find(self, name, kind):
        if name == REBINDS:
            if kind == 1:
                self.rebinds += 1
            return [WEB if self.rebinds <= 1 else PRIVATE]
        return ZONE.get(name)

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode("ascii", "replace"))
            at += query[at] + 1
        name, end = ".".join(labels).lower(), at + 5
        kind = struct.unpack("!H", query[at + 1:at + 3])[0]
        self.asked.append(name)
        found = self.find(name, kind)
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        records = b""
        count = 0
        for address in found or []:
            if (":" in address) == (family == socket.AF_INET6) and family:
                data = socket.inet_pton(family, address)
                records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
                count += 1
        flags = 0x8180 if found else 0x8183
        return query[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0) + query[12:end] + records


# ---- HTTP ------------------------------------------------------------------------


def make_tarball():
    out = io.BytesIO()
    files = {"package/package.json": json.dumps({"name": "left", "version": "1.0.0", "main": "index.js"}).encode(),
             "package/index.js": b"module.exports = 'left is installed'\n"}
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def make_wheel():
    out = io.BytesIO()
    info = "tiny-1.0.dist-info/"
    files = {"tiny.py": "WORD = 'tiny is installed'\n",
             info + "METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
             info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    files[info + "RECORD"] = "".join(f"{name},,\n" for name in [*files, info + "RECORD"])
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


TARBALL, WHEEL = make_tarball(), make_wheel()
LARGE = bytes(range(256)) * 4096


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_):
        pass

    def note(self):
        """What arrived, and where: the answer says so too."""
        address = self.connection.getsockname()[0].removeprefix("::ffff:")
        self.server.world.requests.append((self.command, address, self.headers.get("Host"), self.path))
        return address

    def say(self, body, status=200, kind="text/plain", **headers):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        address = self.note()
        path = self.path.split("?")[0]
        if path.startswith("/git/"):
            return self.run_git()
        if path == "/ws":
            return self.echo_frames()
        if path == "/large":
            return self.say(LARGE)
        if path.startswith("/redirect/"):
            return self.say("", 302, Location=base64.urlsafe_b64decode(path.split("/")[2]).decode())
        if path == "/npm/left":
            host = self.headers["Host"]
            return self.say(json.dumps({
                "name": "left", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
                    "name": "left", "version": "1.0.0", "dist": {
                        "tarball": f"http://{host}/npm/left/-/left-1.0.0.tgz",
                        "shasum": hashlib.sha1(TARBALL).hexdigest()}}}}), kind="application/json")
        if path == "/npm/left/-/left-1.0.0.tgz":
            return self.say(TARBALL, kind="application/octet-stream")
        if path == "/simple/tiny/":
            return self.say('<a href="/wheels/tiny-1.0-py3-none-any.whl">tiny</a>', kind="text/html")
        if path == "/wheels/tiny-1.0-py3-none-any.whl":
            return self.say(WHEEL, kind="application/octet-stream")
        if path.startswith(("/npm/", "/simple/")):
            return self.say("none", 404)
        return self.say(f"{self.command} {self.headers.get('Host')}{self.path} at {address}\n")

    do_HEAD = do_GET

    def do_POST(self):
        if self.path.startswith("/git/"):
            self.note()
            return self.run_git()
        address = self.note()
        body = self.read_body()
        return self.say(f"{self.command} {len(body)} bytes at {address}\n")

    do_PUT = do_DELETE = do_POST

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while True:
            size = int(self.rfile.readline().split(b";")[0], 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                return body

    def run_git(self):
        path, _, query = self.path.partition("?")
        env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": str(self.server.world.repositories),
               "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path.removeprefix("/git"), "QUERY_STRING": query,
               "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
               "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
               "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "REMOTE_USER": "u", "REMOTE_ADDR": "x",
               "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
        done = subprocess.run(["git", "http-backend"], input=self.read_body() if self.command == "POST" else b"",
                              env=env, stdout=subprocess.PIPE, check=False)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(headers.pop("Status", "200").split()[0])
        kind = headers.pop("Content-Type", "text/plain")
        self.say(body, status, kind, **headers)

    def echo_frames(self):
        """A WebSocket that gives small frames back, in capitals."""
        key = self.headers.get("Sec-WebSocket-Key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        if self.headers.get("Upgrade", "").lower() != "websocket":
            return self.say("no upgrade was asked for\n", 400)
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key.encode()).digest()).decode())
        self.end_headers()
        self.close_connection = True
        while True:
            head = self.rfile.read(2)
            if len(head) < 2 or head[0] & 15 == 8:
                return None
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127))).upper()
            self.wfile.write(bytes([0x81, len(data)]) + data)


class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, world, port, context=None):
        self.world = world
        self.context = context
        super().__init__(("::", port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def finish_request(self, request, client_address):
        if self.context:
            request.settimeout(10)
            request = self.context.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        """A client that goes away, or does not like the certificate, is no failure here."""


class Plain(socketserver.ThreadingTCPServer):
    """A protocol that is not HTTP, as a function of a connection."""

    address_family = socket.AF_INET6
    allow_reuse_address = daemon_threads = True
    request_queue_size = 256

    def __init__(self, world, port, talk):
        class Talker(socketserver.BaseRequestHandler):
            def handle(self):
                talk(self.request)

        self.world, self.port = world, port
        super().__init__(("::", port), Talker)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def server_bind(self):
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def verify_request(self, request, client_address):
        """Here, where they come in their order, and not where each has its thread."""
        self.world.connections.append((self.port, request.getsockname()[0].removeprefix("::ffff:")))
        return True

    def handle_error(self, request, client_address):
        pass


def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)


def talk_first(connection):
    connection.sendall(b"220 ready\r\n")
    connection.sendall(b"250 " + connection.recv(1000))


def serve_postgres(connection):
    """As much of the protocol as `select` of one constant needs."""
    def message(kind, body):
        return kind + struct.pack("!I", len(body) + 4) + body

    while True:
        size = struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))[0]
        start = connection.recv(size - 4, socket.MSG_WAITALL)
        if struct.unpack("!I", start[:4])[0] == 196608:
            break
        connection.sendall(b"N")  # of TLS and GSS
    ready = message(b"Z", b"I")
    connection.sendall(message(b"R", struct.pack("!I", 0)) + message(b"S", b"client_encoding\0UTF8\0") + ready)
    while (kind := connection.recv(1)) == b"Q":
        size = struct.unpack("!I", connection.recv(4, socket.MSG_WAITALL))[0]
        connection.recv(size - 4, socket.MSG_WAITALL)
        column = b"answer\0" + struct.pack("!IHIhih", 0, 0, 25, -1, -1, 0)
        connection.sendall(message(b"T", struct.pack("!H", 1) + column)
                           + message(b"D", struct.pack("!HI", 1, 2) + b"42") + message(b"C", b"SELECT 1\0") + ready)


def make_upstream(world):
    """A company's proxy: tunnels, by address or name; what it was asked for is in `world.tunnels`."""

    def pass_on(source, sink):
        try:
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def talk(connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        method, to = head.split()[:2]
        world.tunnels.append((method.decode(), to.decode()))
        host, _, port = to.decode().rpartition(":")
        with socket.create_connection((host.strip("[]"), int(port)), timeout=5) as server:
            connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
            threading.Thread(target=pass_on, args=(server, connection), daemon=True).start()
            pass_on(connection, server)

    Plain(world, UPSTREAM, talk)


# ---- Certificates ------------------------------------------------------------------


def make_certificates(top):
    """A CA, and a certificate of it for every name of the world."""
    names = ",".join(f"DNS:{name}" for name in [*ZONE, REBINDS, "localhost"])
    names += f",IP:{WEB},IP:{OTHER}"
    (top / "extensions").write_text(f"subjectAltName={names}\n")
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    for words in (["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=World CA",
                   "-addext", "basicConstraints=critical,CA:TRUE"],
                  ["req", *key, "-keyout", "site.key", "-out", "site.csr", "-subj", "/CN=world"],
                  ["x509", "-req", "-in", "site.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
                   "-days", "2", "-extfile", "extensions", "-out", "site.pem"]):
        subprocess.run(["openssl", *words], cwd=top, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    (top / "ca.pem").chmod(0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(top / "site.pem", top / "site.key")
    return context


# ---- ssh ---------------------------------------------------------------------------


SSH_SERVER = """
mount --bind "$1/passwd" /etc/passwd
exec "$2" -F -E -s -p "$3:22" -r "$1/host_key" -P "$1/pid"
"""


def die_with_parent():
    """A test that is killed must not leave a server behind."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Ssh:
    """Somebody's ssh server; its only user is `root`, whose home is the world's own."""

    def __init__(self, top, key):
        self.process = None
        program = shutil.which("dropbear", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if not program:
            return
        home = top / "ssh-home"
        (home / ".ssh").mkdir(parents=True)
        (top / "passwd").write_text(f"root:x:0:0::{home}:/bin/sh\n")
        (home / ".ssh/authorized_keys").write_text(Path(f"{key}.pub").read_text())
        for path in (home, home / ".ssh", home / ".ssh/authorized_keys"):
            path.chmod(0o700)
        subprocess.run(["dropbearkey", "-t", "ecdsa", "-f", top / "host_key"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            ["unshare", "--mount", "/bin/sh", "-euc", SSH_SERVER, "sh", top, program, SSH],
            stdout=subprocess.DEVNULL, stderr=open(top / "ssh.log", "wb"), preexec_fn=die_with_parent)


# ---- All of it ---------------------------------------------------------------------


class World:
    def __init__(self):
        self.requests = []  # method, address it came in at, Host, path
        self.connections = []  # port and address of what is no HTTP
        self.tunnels = []  # that the upstream proxy was asked for
        self.top = Path(tempfile.mkdtemp(prefix="cordon-world-", dir="/var/tmp"))
        self.top.chmod(0o755)
        set_up_files(self.top)
        self.names = Names(NAMES)
        context = make_certificates(self.top)
        self.ca = self.top / "ca.pem"
        for port in (80, 8080, HOST_SERVICE, 3128):
            Server(self, port)
        Server(self, 443, context)
        Plain(self, ECHO, echo)
        threading.Thread(target=self.echo_datagrams, daemon=True).start()
        Plain(self, TALKS_FIRST, talk_first)
        Plain(self, POSTGRES, serve_postgres)
        make_upstream(self)
        self.key = self.top / "key"
        self.ssh = None
        self.repositories = self.top / "repositories"
        self.make_repository()
        # To become its user the server sets groups, which a user namespace without rights forbids.
        if shutil.which("ssh-keygen") and Path("/proc/self/setgroups").read_text().strip() == "allow":
            subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", self.key], check=True)
            self.ssh = Ssh(self.top, self.key).process

    def echo_datagrams(self):
        """From the address that was asked, as clients expect."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
            server.bind(("", ECHO))
            while True:
                data, ancillary, _, client = server.recvmsg(4096, 256)
                address = socket.inet_ntoa(ancillary[0][2][8:12])
                self.connections.append(("udp", address))
                source = struct.pack("i4s4x", 0, socket.inet_aton(address))
                server.sendmsg([data], [(socket.IPPROTO_IP, IP_PKTINFO, source)], 0, client)

    def make_repository(self):
        bare = self.repositories / "project.git"
        seed = self.top / "seed"
        env = {**os.environ, "HOME": str(self.top), "GIT_AUTHOR_NAME": "S", "GIT_AUTHOR_EMAIL": "s@example.com",
               "GIT_COMMITTER_NAME": "S", "GIT_COMMITTER_EMAIL": "s@example.com"}
        for words in (["init", "-q", "-b", "main", seed], ["-C", seed, "commit", "-q", "--allow-empty", "-m", "first"],
                      ["clone", "-q", "--bare", seed, bare], ["-C", bare, "config", "http.receivepack", "true"]):
            subprocess.run(["git", *words], env=env, check=True)

    def forget(self):
        """Before a case: what is counted is its own. What came before and is not yet counted is
        in front of these."""
        ask_for_tls = struct.pack("!II", 8, 80877103)
        for port, word in ((ECHO, b"x"), (TALKS_FIRST, b""), (POSTGRES, ask_for_tls)):
            with socket.create_connection(("127.0.0.1", port), timeout=10) as last:
                last.sendall(word)
                last.recv(1)
        self.requests.clear()
        self.connections.clear()
        self.tunnels.clear()
        self.names.asked.clear()
        self.names.rebinds = 0

    def reached(self, address):
        return [r for r in self.requests if r[1] == address] + [c for c in self.connections if c[1] == address]

    def was_asked(self, name):
        return [asked for asked in self.names.asked if asked == name or asked.endswith("." + name)]

    def end(self):
        if self.ssh:
            self.ssh.terminate()
            self.ssh.wait()
        shutil.rmtree(self.top, ignore_errors=True)


world = None


def manage(w, *allowed, denied=(), options=()):
    """What follows runs in a managed network that allows these hosts; what is counted is its own."""
    world.forget()
    hosts = [("--allow-host", host) for host in allowed] + [("--deny-host", host) for host in denied]
    w.options = ["--mode", "workspace-write", "--network", "managed", *(word for pair in hosts for word in pair), *options]
    return world


def end_once(*_):
    """What is told to end may be told twice, and removes what it made all the same."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def run_cases(add=None):
    """The cases of work.py, in a world of their own; `add` puts more into it."""
    global world  # pylint: disable=global-statement
    people = None if os.geteuid() == 0 else [work.Identity("ordinary user", keywords={})]
    reason = enter() or (None if shutil.which("openssl") else "no openssl here")
    if reason:
        print(f"1..0 # SKIP {reason}")
        return
    if people:
        people[0].keywords = enter.keywords
    signal.signal(signal.SIGTERM, end_once)
    world = World()
    try:
        if add:
            add(world)
        work.run_cases(people)
    finally:
        world.end()
