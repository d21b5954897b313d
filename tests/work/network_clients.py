#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real clients in a managed network: what is allowed works, what is not is told."""

import json
import os
import re
import shutil

import network_world as net
from network_world import manage
from work import Skip, case

NEEDS = {"net_managed"}
CLIENT = os.environ.get("NET_CLIENT", "")
ANYTHING = b"cordon:"  # of a run in which something is refused


def is_policy(text, host):
    """A refusal says who was refused, and how to allow it."""
    return host in text and "allow" in text


# ---- curl and wget -------------------------------------------------------------------


@case(needs=NEEDS)
def curl_fetches_over_http(w):
    w.need("curl")
    manage(w, "only4.example")
    return w.run("curl", "-sS", "-D", "-", "-o", "page", "http://only4.example/a?b=c").text.splitlines()[0].strip(), \
        (w.workspace / "page").read_text()


@case(needs=NEEDS, is_spread=True)
def curl_fetches_over_https_with_its_own_trust(w):
    w.need("curl")
    manage(w, "only4.example")
    return w.run("curl", "-sS", "--cacert", net.world.ca, "https://only4.example/a").text


@case(needs=NEEDS)
def curl_without_proxies_obeys_all_the_same(w):
    """--noproxy: the connection is made to an address, and is the proxy's nevertheless."""
    w.need("curl")
    world = manage(w, "only4.example")
    out = w.run("curl", "-sS", "--noproxy", "*", "http://only4.example/a").text
    out += w.run("curl", "-sS", "--noproxy", "*", "--cacert", net.world.ca, "https://only4.example/b").text
    assert len(world.reached(net.WEB)) == 2, world.requests
    done = w.run("curl", "-sS", "--noproxy", "*", "http://denied.example/", check=None, says=ANYTHING)
    assert (done.status == 7) == w.is_boxed, done
    assert bool(world.reached(net.OTHER) + world.reached(net.OTHER6)) != w.is_boxed, world.requests
    return out


@case(needs=NEEDS, is_spread=True)
def curl_is_told_why_not(w):
    w.need("curl")
    world = manage(w, "only4.example")
    done = w.run("curl", "-sS", "-i", "http://denied.example/x", says=ANYTHING)
    assert done.text.startswith("HTTP/1.1 403") == w.is_boxed, done
    if w.is_boxed:
        assert re.search(r"(?im)^x-proxy-error: blocked-by-allowlist\r?$", done.text), done
        assert is_policy(done.text, "denied.example"), done
        assert not world.was_asked("denied.example"), world.names.asked
    done = w.run("curl", "-sS", "-v", "--cacert", net.world.ca, "https://denied.example/x", check=None, says=ANYTHING)
    assert (done.status == 56) == w.is_boxed, done
    assert (b"403" in done.err) == w.is_boxed, done
    assert bool(world.reached(net.OTHER) + world.reached(net.OTHER6)) != w.is_boxed, world.requests


@case(needs=NEEDS, is_spread=True)
def programs_get_json_and_people_text(w):
    w.need("curl")
    manage(w, "only4.example")
    if not w.is_boxed:
        return
    done = w.run("curl", "-sS", "-H", "Accept: application/json", "http://denied.example/x", says=ANYTHING)
    found = json.loads(done.text)
    assert found["host"] == "denied.example", found
    done = w.run("curl", "-sS", "-H", "Accept: text/plain", "http://denied.example/x", says=ANYTHING)
    assert "denied.example" in done.text and not done.text.startswith("{"), done


@case(needs=NEEDS)
def three_failures_are_three_answers(w):
    """A name that does not exist, a port where nobody listens, and policy."""
    w.need("curl")
    manage(w, "nowhere.example", "only4.example")
    script = """
for url in nowhere.example only4.example:81 denied.example; do
    curl -sS -o /dev/null -w '%{http_code} %header{x-proxy-error}\\n' "http://$url/" 2>/dev/null || echo "failed $?"
done"""
    done = w.run("/bin/sh", "-c", script, check=None, says=ANYTHING)
    lines = done.text.splitlines()
    assert len(set(lines)) == 3 or not w.is_boxed, done
    if w.is_boxed:
        assert lines[0].startswith("502 ") and lines[1].startswith("502 "), done
        assert lines[2] == "403 blocked-by-allowlist", done


@case(needs=NEEDS, is_spread=True)
def wget_fetches_and_is_refused(w):
    w.need("wget")
    world = manage(w, "only4.example")
    out = w.run("wget", "-q", "-O", "-", "http://only4.example/w").text
    out += w.run("wget", "-q", "-O", "-", "--ca-certificate", net.world.ca, "https://only4.example/w").text
    done = w.run("wget", "-O", "-", "http://denied.example/", check=None, says=ANYTHING)
    assert (done.status == 8 and b"403" in done.err) == w.is_boxed, done
    assert bool(world.reached(net.OTHER) + world.reached(net.OTHER6)) != w.is_boxed, world.requests
    return out


@case(needs=NEEDS, is_heavy=True)
def large_bodies_arrive_whole_in_both_directions(w):
    w.need("curl")
    manage(w, "only4.example")
    out = ""
    for way in ([], ["--noproxy", "*"]):
        for scheme in ("http", "https"):
            words = ["curl", "-sS", *way, "--cacert", net.world.ca]
            w.run(*words, "-o", "large", f"{scheme}://only4.example/large")
            assert (w.workspace / "large").read_bytes() == net.LARGE
            out += w.run(*words, "-T", "large", f"{scheme}://only4.example/put").text
            out += w.run(*words, "-H", "Transfer-Encoding: chunked", "-T", "large", f"{scheme}://only4.example/put").text
    return out


# ---- git -----------------------------------------------------------------------------


GIT = """
git clone -q "$1" clone; cd clone; git log --format=%s | tail -1
git checkout -q -b "$2"; echo more >file; git add file; git commit -q -m more
git push -q origin "$2"; git ls-remote origin "refs/heads/$2" | cut -f2; git fetch -q
cd ..; rm -rf clone
"""


@case(needs=NEEDS, is_spread=True)
def git_clones_and_pushes_over_http(w):
    world = manage(w, "only4.example")
    # Each time another branch: one that is there already would have nothing to push.
    branch = f"work-{w.top.name}"
    out = w.shell(GIT.replace("$1", "http://only4.example/git/project.git").replace("$2", branch)).text
    assert any(r[0] == "POST" and "receive-pack" in r[3] for r in world.requests), world.requests
    done = w.run("git", "clone", "-q", "http://denied.example/git/project.git", "no", check=None, says=ANYTHING)
    assert (done.status != 0) == w.is_boxed, done
    assert (b"403" in done.err) == w.is_boxed, done
    shutil.rmtree(w.workspace / "no", ignore_errors=True)
    return out.replace(branch, "work")


@case(needs=NEEDS, is_heavy=True)
def git_clones_over_https(w):
    manage(w, "only4.example")
    return w.shell(f"git -c http.sslCAInfo={net.world.ca} clone -q https://only4.example/git/project.git c;"
                   " git -C c log --format=%s main | tail -1; rm -rf c").text


# ---- Package managers ----------------------------------------------------------------


@case(needs=NEEDS, is_heavy=True)
def npm_installs_from_a_registry(w):
    w.need("npm", "node")
    w.write_all({"package.json": '{"name": "x", "version": "1.0.0"}'})
    world = manage(w, "only4.example")
    words = ["npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error",
             f"--cache={w.tmp}/npm", "--prefer-online", "--fetch-retries=0"]
    w.run(*words, "--registry=http://only4.example/npm", "left")
    out = w.run("node", "-p", "require('left')").text
    shutil.rmtree(w.workspace / "node_modules")
    done = w.run(*words, f"--cache={w.tmp}/other", "--registry=http://denied.example/npm", "left",
                 check=None, says=ANYTHING)
    assert (done.status != 0) == w.is_boxed, done
    assert (b"403" in done.err) == w.is_boxed, done
    assert bool(world.reached(net.OTHER) + world.reached(net.OTHER6)) != w.is_boxed, world.requests
    shutil.rmtree(w.workspace / "node_modules", ignore_errors=True)
    return out


@case(needs=NEEDS, is_heavy=True)
def pip_installs_from_an_index(w):
    python = w.python()
    if w.plain(python, "-c", "import pip", check=None).status != 0:
        raise Skip(f"{w.who.name} has no pip here")
    world = manage(w, "only4.example")
    words = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir", "--no-deps",
             "--retries", "0", "--root-user-action", "ignore", "--target", "site"]
    w.run(*words, "--index-url", "https://only4.example/simple", "--cert", net.world.ca, "tiny")
    out = w.run(python, "-c", "import sys; sys.path.insert(0, 'site'); import tiny; print(tiny.WORD)").text
    shutil.rmtree(w.workspace / "site")
    done = w.run(*words, "--index-url", "http://denied.example/simple", "--trusted-host", "denied.example", "tiny",
                 check=None, says=ANYTHING)
    assert (done.status != 0) == w.is_boxed, done
    assert bool(world.reached(net.OTHER) + world.reached(net.OTHER6)) != w.is_boxed, world.requests
    shutil.rmtree(w.workspace / "site", ignore_errors=True)
    return out


# ---- Languages -----------------------------------------------------------------------


PYTHON = """
import http.client, socket, urllib.request, urllib.error, errno
print(urllib.request.urlopen("http://only4.example/urllib", timeout=5).read().decode().strip())
c = http.client.HTTPConnection("only4.example", timeout=5)
for i in range(3):
    c.request("GET", f"/kept-{i}"); print(c.getresponse().read().decode().strip())
s = socket.create_connection(("only4.example", 7007), timeout=5); s.sendall(b"echoed"); print(s.recv(99))
s = socket.create_connection(("only4.example", 7025), timeout=5); print(s.recv(99)); s.sendall(b"me"); print(s.recv(99))
def outcome(f):
    try:
        f(); return "reached"
    except urllib.error.HTTPError as e:
        return f"HTTP {e.code}"
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e))
print("DENIED", outcome(lambda: urllib.request.urlopen("http://denied.example/", timeout=5)),
      outcome(lambda: http.client.HTTPConnection("denied.example", timeout=5).connect()),
      outcome(lambda: socket.create_connection(("denied.example", 7007), timeout=5)))
"""


@case(needs=NEEDS, is_spread=True)
def python_uses_proxies_and_plain_sockets(w):
    manage(w, "only4.example")
    done = w.run(w.python(), "-c", PYTHON, says=ANYTHING)
    *out, denied = done.text.splitlines()
    assert denied == ("DENIED HTTP 403 EACCES EACCES" if w.is_boxed else "DENIED reached reached reached"), done
    return out


NODE = """
const net = require('net'), http = require('http');
const raw = (host) => new Promise((ok) => {
    const s = net.connect({host, port: 7007}, () => s.write('echoed'));
    s.on('data', (d) => { ok('reached ' + d); s.destroy(); }); s.on('error', (e) => ok(e.code)); });
const get = (host) => fetch(`http://${host}/node`).then((r) => r.status == 200 ? r.text() : 'HTTP ' + r.status,
                                                        (e) => (e.cause || e).code);
(async () => {
    console.log((await get('only4.example')).trim(), await raw('only4.example'));
    console.log('DENIED', (await get('denied.example')).split(' ')[0], (await raw('denied.example')).split(' ')[0]);
})();
"""


@case(needs=NEEDS, is_spread=True)
def node_fetches_and_opens_sockets(w):
    w.need("node")
    manage(w, "only4.example")
    done = w.run("node", "-e", NODE, says=ANYTHING)
    out, denied = done.text.splitlines()
    # Versions that know NODE_USE_ENV_PROXY are told by HTTP, others by connect().
    assert denied in ("DENIED EACCES EACCES", "DENIED HTTP EACCES") if w.is_boxed \
        else denied == "DENIED GET reached", done
    return out


JAVA = """
import java.net.*; import java.io.*;
public class Fetch {
    static String get(String host) {
        try {
            HttpURLConnection c = (HttpURLConnection) new URL("http://" + host + "/java").openConnection();
            if (c.getResponseCode() != 200) return "HTTP " + c.getResponseCode();
            return new BufferedReader(new InputStreamReader(c.getInputStream())).readLine();
        } catch (IOException e) { return e.getClass().getSimpleName(); }
    }
    static String raw(String host) {
        try (Socket s = new Socket(host, 7007)) {
            s.getOutputStream().write("echoed".getBytes()); byte[] b = new byte[6];
            new DataInputStream(s.getInputStream()).readFully(b); return "reached " + new String(b);
        } catch (IOException e) { return e.getClass().getSimpleName(); }
    }
    public static void main(String[] a) {
        System.out.println(get("only4.example") + " " + raw("only4.example"));
        System.out.println("DENIED " + get("denied.example").split(" ")[0] + " " + raw("denied.example").split(" ")[0]);
    }
}
"""


@case(needs=NEEDS, is_heavy=True)
def java_connects_and_is_refused(w):
    w.need("java")
    manage(w, "only4.example")
    w.write_all({"Fetch.java": JAVA})
    done = w.run("java", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "Fetch.java", check=None, says=ANYTHING)
    if "Fetch" in done.err.decode() and done.status != 0 and not done.text:
        raise Skip("this java has no compiler")
    out, denied = done.text.splitlines()
    refused = denied.split()
    assert (refused[1] == "HTTP" and refused[2].endswith("Exception")) if w.is_boxed \
        else refused == ["DENIED", "GET", "reached"], done
    return out


# ---- What is no HTTP -----------------------------------------------------------------


def copy_key(w):
    for name in ("key", "key.pub"):
        shutil.copy(net.world.top / name, w.home / name)
        (w.home / name).chmod(0o600)
    w.give(w.home)
    return ["-F", "none", "-i", str(w.home / "key"), "-o", "StrictHostKeyChecking=no",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes",
            "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=10"]


@case(needs=NEEDS, is_spread=True)
def ssh_logs_in_and_is_refused(w):
    w.need("ssh")
    if not net.world.ssh:
        raise Skip("no dropbear here, to log in to")
    manage(w, "ssh.example")
    words = copy_key(w)
    out = w.run("ssh", *words, "root@ssh.example", "echo through; cat", data=b"typed").text
    env = {"GIT_SSH_COMMAND": " ".join(["ssh", *words])}
    passed = ["--env", "GIT_SSH_COMMAND"] if w.is_boxed else []
    w.run("git", "clone", "-q", f"ssh://root@ssh.example{net.world.repositories}/project.git", "c", env=env,
          options=passed)
    out += w.plain("git", "-C", "c", "log", "--format=%s", "main").text.splitlines()[-1]
    shutil.rmtree(w.workspace / "c")
    manage(w, "only4.example")
    done = w.run("ssh", *words, "root@ssh.example", "true", check=None, says=ANYTHING)
    assert (done.status == 255 and b"Permission denied" in done.err) == w.is_boxed, done
    return out


@case(needs=NEEDS, is_heavy=True)
def psql_asks_and_is_refused(w):
    w.need("psql")
    manage(w, "only4.example")
    words = ["psql", "-XAt", "-c", "select 42"]
    out = w.run(*words, "host=only4.example dbname=x user=x").text
    done = w.run(*words, "host=denied.example dbname=x user=x", check=None, says=ANYTHING)
    assert (done.status == 2 and b"Permission denied" in done.err) == w.is_boxed, done
    return out


@case(needs=NEEDS)
def a_static_client_with_its_own_resolver_obeys(w):
    if not CLIENT:
        raise Skip("NET_CLIENT is not set")
    world = manage(w, "only4.example")
    program = shutil.copy2(CLIENT, w.top / "net_client")
    done = w.run(program, "only4.example", str(net.ECHO), "echoed")
    assert done.text.startswith("OK ") and done.text.endswith(" echoed\n"), done
    assert world.reached(net.WEB) == [(net.ECHO, net.WEB)], world.connections
    done = w.run(program, net.WEB, str(net.ECHO), "echoed", check=None, says=ANYTHING)
    assert done.text == ("connect EACCES\n" if w.is_boxed else f"OK {net.WEB} echoed\n"), done
    done = w.run(program, "denied.example", str(net.ECHO), "echoed", check=None, says=ANYTHING)
    assert done.text == ("connect EACCES\n" if w.is_boxed else f"OK {net.OTHER} echoed\n"), done
    done = w.run(program, "nowhere.example", str(net.ECHO), "echoed", check=None, says=ANYTHING)
    assert done.text == ("connect EACCES\n" if w.is_boxed else "answer rcode 3\n"), done
    assert bool(world.was_asked("nowhere.example")) != w.is_boxed, world.names.asked


@case(needs=NEEDS, is_spread=True)
def an_allowed_literal_is_reached_by_its_address(w):
    if not CLIENT:
        raise Skip("NET_CLIENT is not set")
    world = manage(w, f"{net.WEB}:{net.ECHO}")
    program = shutil.copy2(CLIENT, w.top / "net_client")
    out = w.run(program, net.WEB, str(net.ECHO), "echoed").text
    done = w.run(program, net.WEB, str(net.TALKS_FIRST), "x", check=None, says=ANYTHING)
    assert (done.text == "connect EACCES\n") == w.is_boxed, done
    assert ((net.TALKS_FIRST, net.WEB) in world.connections) != w.is_boxed, world.connections
    return out


WEBSOCKET = """
import base64, os, socket, sys
def frame(data):
    mask = os.urandom(4)
    return bytes([0x81, 0x80 | len(data)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data))
def talk(s, host):
    s.sendall(f"GET /ws HTTP/1.1\\r\\nHost: {host}\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
              "Sec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n".encode())
    f = s.makefile("rb"); status = f.readline().split()[1].decode()
    while f.readline().strip(): pass
    if status != "101": return status
    out = []
    for word in (b"one", b"two"):
        s.sendall(frame(word)); size = f.read(2)[1]; out.append(f.read(size).decode())
    return " ".join([status] + out)
def connect(way, host):
    proxy = os.environ.get("http_proxy", "").removeprefix("http://").rstrip("/").split(":")
    if way == "direct" or len(proxy) != 2: return socket.create_connection((host, 80), timeout=5)
    s = socket.create_connection((proxy[0], int(proxy[1])), timeout=5)
    s.sendall(f"CONNECT {host}:80 HTTP/1.1\\r\\nHost: {host}:80\\r\\n\\r\\n".encode())
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"): head += s.recv(1)
    assert b" 200 " in head.split(b"\\r\\n")[0], head
    return s
for way in ("direct", "tunnel"):
    print(way, talk(connect(way, "only4.example"), "only4.example"))
"""


@case(needs=NEEDS, is_spread=True)
def websockets_echo_in_tunnels_and_without(w):
    manage(w, "only4.example")
    return w.run(w.python(), "-c", WEBSOCKET).text


AT_ONCE = """
import socket, threading
found, lock = [], threading.Lock()
def one(i):
    try:
        s = socket.create_connection(("only4.example" if i % 3 else "deep.good.example", (7007, 7007, 80)[i % 3]), timeout=10)
        s.sendall(b"GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n"); s.shutdown(socket.SHUT_WR)
        data = b""
        while chunk := s.recv(4096): data += chunk
        word = data[:3].decode()
    except OSError as e: word = str(e)
    with lock: found.append(word)
threads = [threading.Thread(target=one, args=(i,)) for i in range(120)]
for t in threads: t.start()
for t in threads: t.join()
print({word: found.count(word) for word in sorted(set(found))})
"""


@case(needs=NEEDS)
def a_hundred_connect_at_once(w):
    """To the same name and port too, for which somebody has to listen each time; each half-closes."""
    manage(w, "only4.example", "deep.good.example")
    return w.run(w.python(), "-c", AT_ONCE).text


# ---- IPv6, and names -----------------------------------------------------------------


@case(needs=NEEDS, is_spread=True)
def a_host_with_ipv6_only_is_reached(w):
    w.need("curl")
    manage(w, "only6.example", f"[{net.OTHER6}]")
    out = w.run("curl", "-sS", "http://only6.example/").text
    out += w.run("curl", "-sS", "--noproxy", "*", "http://only6.example/").text
    out += w.run("curl", "-sS", f"http://[{net.OTHER6}]/").text
    return out + w.run("curl", "-sS", "--noproxy", "*", f"http://[{net.OTHER6}]/").text


@case(needs=NEEDS, is_spread=True)
def the_hosts_file_counts(w):
    w.need("curl")
    world = manage(w, "in-hosts.example")
    out = w.run("curl", "-sS", "http://in-hosts.example/").text
    out += w.run("curl", "-sS", "--noproxy", "*", "http://in-hosts.example/").text
    assert not world.was_asked("in-hosts.example"), world.names.asked
    done = w.run("curl", "-sS", "-f", "--noproxy", "*", "http://denied-in-hosts.example/", check=None, says=ANYTHING)
    assert (done.status == 0) != w.is_boxed, done
    return out


@case(needs=NEEDS, is_spread=True)
def names_are_one_in_all_their_spellings(w):
    w.need("curl")
    manage(w, "**.good.example", "b\u00fccher.example")
    script = """
for host; do
    curl -sS -f -o /dev/null -w "$host %{http_code}\\n" "http://$host/"
    curl -sS -f -o /dev/null -w "$host %{http_code}\\n" --noproxy '*' "http://$host/"
done"""
    return w.run("/bin/sh", "-ec", script, "sh", "good.example", "GOOD.Example", "deep.good.example", "good.example.",
                 "xn--bcher-kva.example").text


# ---- The command's own servers -------------------------------------------------------


OWN = """
import socket, threading, urllib.request, http.server, sys
port = int(sys.argv[1])
def connect():
    s = socket.create_connection(("only4.example", port), timeout=5); s.sendall(b"there"); return s.recv(99)
def serve():
    l = socket.create_server(("127.0.0.1" if sys.argv[2] == "narrow" else "", port), reuse_port=False)
    def answer():
        c, _ = l.accept(); c.sendall(b"own " + c.recv(99))
    threading.Thread(target=answer, daemon=True).start()
def ask_self():
    s = socket.create_connection(("127.0.0.1", port), timeout=5); s.sendall(b"here"); return s.recv(99)
first, second = (connect, serve) if sys.argv[3] == "out" else (serve, connect)
print(first(), end=" "); print(second(), end=" "); print(ask_self())
"""


@case(needs=NEEDS)
def own_servers_work_whoever_takes_the_port_first(w):
    """The control has the real server on the port, so that the own one can't be there."""
    manage(w, "only4.example")
    if not w.is_boxed:
        return
    for width, order, expected in (("narrow", "out", "b'there' None b'own here'"),
                                   ("narrow", "own", "None b'there' b'own here'"),
                                   ("wide", "out", "b'there' None b'own here'")):
        done = w.run(w.python(), "-c", OWN, str(net.ECHO), width, order, says=ANYTHING)
        assert done.text.strip() == expected, (width, order, done)
    # With the wildcard first, the way out is the command's own doing: refused, or made nevertheless.
    done = w.run(w.python(), "-c", OWN, str(net.ECHO), "wide", "own", check=None, says=ANYTHING)
    assert done.text.strip() == "None b'there' b'own here'" or b"Error" in done.err, done
    assert b"own there" not in done.out, done


@case(needs=NEEDS)
def localhost_is_the_sandbox_itself(w):
    w.need("curl")
    manage(w, "only4.example")
    script = """
echo own >page; "$1" -m http.server --bind 127.0.0.1 8123 >/dev/null 2>&1 & server=$!
for i in $(seq 100); do curl -s -o /dev/null http://localhost:8123/page && break; sleep 0.05; done
curl -sS http://localhost:8123/page; curl -sS http://127.0.0.1:8123/page; kill $server; rm page
"""
    return w.run("/bin/sh", "-c", script, "sh", w.python()).text


if __name__ == "__main__":
    net.run_cases()
