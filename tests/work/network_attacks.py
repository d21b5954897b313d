#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ways around a managed network: each is shut inside, and open outside."""

import base64
import json
import subprocess
import time
import urllib.request
from pathlib import Path

import network_world as net
from network_world import manage
from work import case

NEEDS = {"net_managed"}
ANYTHING = b"cordon:"

# What the attempts share: run by python inside, one line of outcome each.
TOOLS = """
import errno, os, re, socket, ssl, struct, sys, time
PROXY = ("127.0.0.1", 3128)
def name(e):
    if isinstance(e, socket.gaierror): return "EAI"
    if isinstance(e, TimeoutError) and not e.errno or isinstance(e, BlockingIOError): return "timeout"
    return errno.errorcode.get(e.errno, type(e).__name__) if isinstance(e, OSError) else type(e).__name__
def outcome(function, *words):
    try: return str(function(*words))
    except Exception as e: return name(e)
def read_all(s):
    data = b""
    try:
        while chunk := s.recv(65536): data += chunk
    except OSError: pass
    return data
def ask(raw, patience=3):
    "Raw bytes to the proxy; all that comes back until it closes or falls silent."
    s = socket.create_connection(PROXY, timeout=patience); s.sendall(raw)
    try: first = s.recv(65536)
    except OSError: return b""
    s.settimeout(0.8)
    return first and first + read_all(s)
def status(raw):
    head = ask(raw).split(b"\\r\\n")[0].split()
    return head[1].decode() if len(head) > 1 and head[0].startswith(b"HTTP/") else "closed"
def fetch(url, host, line="GET"):
    return status(f"{line} {url} HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n".encode("utf-8", "surrogateescape"))
def connect(host, port):
    return status(f"CONNECT {host}:{port} HTTP/1.1\\r\\nHost: {host}:{port}\\r\\n\\r\\n".encode("utf-8", "surrogateescape"))
def socks(kind, address, port):
    "The reply of SOCKS5: 0 is connected, 2 is policy."
    s = socket.create_connection(PROXY, timeout=10); s.sendall(b"\\5\\1\\0")
    if s.recv(2) != b"\\5\\0": return "method"
    s.sendall(b"\\5\\1\\0" + bytes([kind]) + address + struct.pack("!H", port)); got = s.recv(4)
    return got[1] if len(got) > 1 else "closed"
def socks_name(host, port):
    host = host.encode(); return socks(3, bytes([len(host)]) + host, port)
def open_patient():
    "Blocking, but not for ever."
    s = socket.socket(2, 1)
    for option in socket.SO_RCVTIMEO, socket.SO_SNDTIMEO: s.setsockopt(socket.SOL_SOCKET, option, struct.pack("qq", 3, 0))
    return s
def plain(host, port):
    s = socket.create_connection((host, port), timeout=10); s.close(); return "reached"
"""


def attempt(w, script, *words, check=0):
    """Runs the script with the tools; gives its lines."""
    return w.run(w.python(), "-c", TOOLS + script, *map(str, words), check=check, says=ANYTHING).text.splitlines()


def check_unreached(world, *addresses):
    for address in addresses:
        assert not world.reached(address), f"{address} was reached: {world.requests} {world.connections}"


# ---- Names that mean something else ----------------------------------------------------


@case(needs=NEEDS, is_spread=True)
def a_name_that_is_rebound_is_not_followed(w):
    """Public when it was judged, the host's own when it is connected to again."""
    world = manage(w, net.REBINDS)
    for way in ([], ["--noproxy", "*"]):
        world.forget()
        script = f'for i in 1 2 3; do curl -s -o /dev/null -w "%{{http_code}} " "$@" http://{net.REBINDS}/; sleep 0.1; done; true'
        done = w.run("/bin/sh", "-c", script, "sh", *way, says=ANYTHING)
        assert done.text.startswith("200 "), done
        assert bool(world.reached(net.PRIVATE)) != w.is_boxed, (world.requests, done)


PRIVATE_NAMES = ("intranet.example", "intranet6.example", "loop.example", "metadata.example", "nat64.example",
                 "mapped.example", "loop-in-hosts.example")


@case(needs=NEEDS, is_spread=True)
def a_name_is_no_way_to_a_private_address(w):
    """Not even one that is allowed by name; with its address allowed too it is reached."""
    world = manage(w, "*", *PRIVATE_NAMES)
    script = 'for host in sys.argv[1:]: print(host, %s)'
    if not w.is_boxed:
        lines = attempt(w, script % 'outcome(plain, host, 8099)', *PRIVATE_NAMES)
        assert [line.split()[1] for line in lines] == ["reached"] * len(PRIVATE_NAMES), lines
        return
    lines = attempt(w, script % 'fetch(f"http://{host}:8099/", f"{host}:8099"), connect(host, 8099),'
                    ' socks_name(host, 8099), end=" "); print(outcome(plain, host, 8099)', *PRIVATE_NAMES)
    for line in lines:
        _, http, tunnel, by_socks, direct = line.split()
        assert (http, tunnel, by_socks) == ("403", "403", "2"), lines
        # The connection was judged by name; the address is known only once it was accepted.
        # One of the hosts file is looked up inside, where 127.0.0.1 is the sandbox's own.
        assert direct in ("EACCES", "reached", "ECONNRESET", "ECONNREFUSED"), lines
    assert not world.requests and not world.connections, (world.requests, world.connections)
    world = manage(w, "intranet.example", "10.99.0.0/24")
    done = w.run("curl", "-sS", "http://intranet.example:8099/")
    assert done.text.endswith(f"at {net.PRIVATE}\n"), done


@case(needs=NEEDS, is_spread=True)
def a_name_with_one_private_address_among_others_is_not_dialled_there(w):
    world = manage(w, "mixed.example")
    for way in ([], ["--noproxy", "*"]):
        done = w.run("curl", "-s", "-o", "/dev/null", *way, "http://mixed.example/", check=None, says=ANYTHING)
        assert w.is_boxed or done.status == 0, done
    assert bool(world.reached(net.PRIVATE)) != w.is_boxed, world.requests


@case(needs=NEEDS, is_spread=True)
def a_redirect_is_judged_like_any_request(w):
    world = manage(w, "*", denied=["denied.example"])
    for target, addresses in ((f"http://{net.PRIVATE}/", [net.PRIVATE]), (f"http://{net.METADATA}/", [net.METADATA]),
                              ("http://denied.example/", [net.OTHER, net.OTHER6]),
                              (f"http://[{net.MAPPED}]/", [net.PRIVATE]), ("http://intranet.example/", [net.PRIVATE])):
        for way in ([], ["--noproxy", "*"]):
            world.forget()
            url = "http://only4.example/redirect/" + base64.urlsafe_b64encode(target.encode()).decode()
            w.run("curl", "-s", "-L", "-f", "-o", "/dev/null", *way, url, check=None, says=ANYTHING)
            assert world.reached(net.WEB), world.requests
            assert any(world.reached(a) for a in addresses) != w.is_boxed, (target, way, world.requests)


# ---- Spellings of addresses ----------------------------------------------------------


# With those that python's getaddrinfo understands, which is the control.
LITERALS = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "017700000001", "0177.0.0.1", "0.0.0.0", "0",
            "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "10.99.0.1", "174260225", "0xa.0x63.0.1", "::ffff:10.99.0.1",
            "64:ff9b::a63:1", "169.254.169.254", "0xa9fea9fe", "::ffff:a9fe:a9fe", "fd12:3456:789a::1", "localhost"]
ODD = ["LOCALHOST", "localhost.", "foo.localhost", "127.0.0.1.", "::127.0.0.1", "fe80::1%lo", "fe80::1%25lo", "::1%1",
       "0000:0000::0001", "::ffff:0:127.0.0.1", "64:ff9b:1::a63:1", "2002:a63:1::1", "127.0.0.1%00.only4.example",
       "\uff11\uff12\uff17.0.0.1", "127\u30020\u30020\u30021"]


@case(needs=NEEDS, is_spread=True)
def no_spelling_of_a_private_address_passes(w):
    world = manage(w, "*")
    script = """
for host in sys.argv[1:]:
    bare = f"[{host}]" if ":" in host else host
    if os.environ.get("CORDON_SANDBOX"):
        print(host, fetch(f"http://{bare}:8099/", f"{bare}:8099"), connect(bare, 8099), outcome(socks_name, host, 8099))
    else: print(host, outcome(plain, host, 8099))
"""
    lines = attempt(w, script, *LITERALS, *(ODD if w.is_boxed else []))
    for line in lines:
        words = line.rsplit(" ", 3) if w.is_boxed else line.split()
        if not w.is_boxed:
            assert words[1] == "reached", line
            continue
        assert words[1] in ("403", "400") and words[2] in ("403", "400"), line
        # 1 is what a name that is none gets.
        assert words[3] in ("2", "1", "closed"), line
    if w.is_boxed:
        assert not world.requests and not world.connections, (lines, world.requests, world.connections)
        assert not world.names.asked, world.names.asked


@case(needs=NEEDS, is_spread=True)
def socks_by_address_is_judged_too(w):
    world = manage(w, "*", denied=[net.OTHER])
    script = """
for host in sys.argv[1:]:
    six = ":" in host; packed = socket.inet_pton(socket.AF_INET6 if six else socket.AF_INET, host)
    print(socks(4 if six else 1, packed, 7007))
"""
    refused = ["127.0.0.1", net.PRIVATE, net.METADATA, "0.0.0.0", "::1", "::", net.MAPPED, net.NAT64, net.PRIVATE6,
               net.OTHER, f"::ffff:{net.OTHER}", "64:ff9b::5db8:d814"]
    if not w.is_boxed:
        lines = attempt(w, "for host in sys.argv[1:]: print(outcome(plain, host, 7007))", *refused[:-1])
        assert lines == ["reached"] * len(lines), lines
        return
    lines = attempt(w, script, net.WEB, net.WEB6, *refused)
    assert lines[:2] == ["0", "0"], lines
    assert lines[2:] == ["2"] * len(refused), list(zip(refused, lines[2:]))
    check_unreached(world, net.OTHER, net.PRIVATE, net.METADATA, "127.0.0.1")


@case(needs=NEEDS)
def plain_sockets_reach_no_private_address(w):
    """Of the sandbox's own loopback nothing is the host's."""
    world = manage(w, "*")
    ports = (80, 443, 5432, 7007, 8080, 8099)
    script = """
for host in sys.argv[2:]:
    print(host, *(outcome(plain, host, int(port)) for port in sys.argv[1].split(",")))
"""
    own = ["127.0.0.1", "127.9.9.9", "0.0.0.0", "::1", "::ffff:127.0.0.1", "localhost"]
    other = [net.PRIVATE, net.METADATA, net.MAPPED, net.PRIVATE6, net.NAT64]
    lines = attempt(w, script, ",".join(map(str, ports)), *own, *other)
    for line in lines:
        host, *found = line.split()
        expected = {"reached"} if not w.is_boxed else {"ECONNREFUSED"} if host in own else {"EACCES"}
        assert set(found) == expected, line
    if w.is_boxed:
        assert not world.requests and not world.connections, (world.requests, world.connections)


@case(needs=NEEDS, is_spread=True)
def a_rule_for_ipv4_says_nothing_of_ipv6(w):
    """Nor the other way round; and what is denied as IPv4 is denied inside of IPv6."""
    world = manage(w, net.WEB)
    script = "for host in sys.argv[1:]: print(outcome(plain, host, 7007))"
    hosts = [net.WEB, net.WEB6, net.OTHER]
    assert attempt(w, script, *hosts) == (["reached", "EACCES", "EACCES"] if w.is_boxed else ["reached"] * 3)
    manage(w, "*", denied=[net.OTHER, "93.184.216.128/25"])
    hosts = [net.WEB, net.WEB6, net.OTHER, f"::ffff:{net.OTHER}", "93.184.216.200"]
    assert attempt(w, script, *hosts) == (["reached"] * 2 + ["EACCES"] * 3 if w.is_boxed else ["reached"] * 5)
    if w.is_boxed:
        check_unreached(world, net.OTHER, "93.184.216.200")
    # A name is no way around the deny of its address.
    done = w.run("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "http://tunnel.denied.example/", says=ANYTHING)
    assert done.text == ("403" if w.is_boxed else "200"), done


# ---- Spellings of names --------------------------------------------------------------


@case(needs=NEEDS, is_spread=True)
def no_spelling_of_a_denied_name_passes(w):
    world = manage(w, "*", denied=["**.denied.example"])
    names = ["denied.example", "DENIED.EXAMPLE", "denied.example.", "tunnel.denied.example", "Tunnel.Denied.Example.",
             "\uff44enied.example", "denied\u3002example", "d\u00ebnied.example\u00ad", "denied%2eexample", "denied.example%00",
             "denied.example\t", "denied..example", ".denied.example", "only4.example@denied.example",
             "denied.example:80:80"]
    if not w.is_boxed:
        lines = attempt(w, "for host in sys.argv[1:]: print(outcome(plain, host, 80))", *names[:5])
        assert lines == ["reached"] * 5, lines
        return
    script = """
for host in sys.argv[1:]:
    print(fetch(f"http://{host}/", host), connect(host, 443), outcome(socks_name, host, 80), outcome(plain, host, 80))
"""
    lines = attempt(w, script, *names)
    for host, line in zip(names, lines):
        http, tunnel, by_socks, direct = line.split()
        assert http in ("403", "400") and tunnel in ("403", "400") and by_socks in ("1", "2", "closed"), (host, line)
        assert direct in ("EACCES", "EAI", "UnicodeError"), (host, line)
    check_unreached(world, net.OTHER, net.OTHER6)
    assert not world.was_asked("denied.example"), world.names.asked


@case(needs=NEEDS, is_spread=True)
def the_host_header_is_the_target(w):
    world = manage(w, "only4.example")
    if not w.is_boxed:
        w.run("curl", "-sSf", "-H", "Host: denied.example", "http://only4.example/")
        assert ("GET", net.WEB, "denied.example", "/") in world.requests, world.requests
        return
    script = r"""
def raw(text): return status(text.replace("\n", "\r\n").encode())
print(raw("GET http://only4.example/ HTTP/1.1\nHost: denied.example\nConnection: close\n\n"))
print(raw("GET http://only4.example/ HTTP/1.1\nHost: only4.example\nHost: denied.example\nConnection: close\n\n"))
print(raw("GET / HTTP/1.1\nHost: denied.example\nConnection: close\n\n"))
print(raw("GET http://denied.example/ HTTP/1.1\nHost: only4.example\nConnection: close\n\n"))
print(raw("CONNECT only4.example:80 HTTP/1.1\nHost: denied.example:80\n\n"))
print(raw("GET http://only4.example:7007/ HTTP/1.1\nHost: only4.example\nConnection: close\n\n"))
print(raw("GET http://only4.example/ HTTP/1.1\nHost: only4.example, denied.example\nConnection: close\n\n"))
print(raw("GET http://only4.example/ HTTP/1.1\nHost : denied.example\nHost: only4.example\nConnection: close\n\n"))
print(raw("GET http://only4.example/ok HTTP/1.1\nHost: only4.example\nConnection: close\n\n"))
"""
    lines = attempt(w, script)
    *refused, allowed = lines
    assert allowed == "200", lines
    assert all(line in ("400", "403") for line in refused), lines
    assert all(r[2] == "only4.example" for r in world.requests), world.requests
    check_unreached(world, net.OTHER, net.OTHER6)


# ---- Tunnels -------------------------------------------------------------------------


@case(needs=NEEDS, is_spread=True)
def a_tunnel_to_a_literal_needs_its_own_rule(w):
    world = manage(w, "only4.example")
    if not w.is_boxed:
        assert attempt(w, f'print(plain("{net.WEB}", 443))') == ["reached"]
        return
    script = 'print(connect("only4.example", 443), *(connect(host, 443) for host in sys.argv[1:]))'
    assert attempt(w, script, net.WEB, f"[{net.WEB6}]", net.OTHER) == ["200 403 403 403"]
    check_unreached(world, net.OTHER, net.WEB6)


HELLO = """
def hello(s, sni):
    context = ssl.create_default_context(cafile=sys.argv[1]); context.check_hostname = False
    with context.wrap_socket(s, server_hostname=sni) as t:
        t.sendall(f"GET /{sni} HTTP/1.1\\r\\nHost: {sni}\\r\\nConnection: close\\r\\n\\r\\n".encode())
        return read_all(t).split()[1].decode()
def tunnel(host):
    if not os.environ.get("CORDON_SANDBOX"): return socket.create_connection((host, 443), timeout=10)
    s = socket.create_connection(PROXY, timeout=10)
    s.sendall(f"CONNECT {host}:443 HTTP/1.1\\r\\nHost: {host}:443\\r\\n\\r\\n".encode())
    got = b""
    while not got.endswith(b"\\r\\n\\r\\n"): got += s.recv(1)
    assert b" 200 " in got, got
    return s
def direct(host): return socket.create_connection((host, 443), timeout=10)
for way in tunnel, direct:
    for sni in "only4.example", "denied.example", None, "DENIED.example", "only4.example":
        print(outcome(lambda: hello(way("only4.example"), sni)), end=" ")
"""


@case(needs=NEEDS, is_spread=True)
def the_server_name_in_a_tls_hello_is_judged(w):
    """Else an allowed host that serves many names (a CDN) is a way to all of them."""
    world = manage(w, "only4.example")
    found = attempt(w, HELLO, net.world.ca)[0].split()
    if not w.is_boxed:
        assert found == ["200"] * 10, found
        return
    for way in found[:5], found[5:]:
        assert way[0] == way[4] == "200", found
        assert way[1] not in ("200", "timeout") and way[3] not in ("200", "timeout"), found
    assert not any("denied" in r[3].lower() for r in world.requests), world.requests


PIECES = """
def make_hello(sni):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
    try: context.wrap_bio(incoming, outgoing, server_hostname=sni).do_handshake()
    except ssl.SSLWantReadError: return outgoing.read()
def by_byte(hello): return [hello[i:i + 1] for i in range(20)] + [hello[20:]]
def by_record(hello):
    body = hello[5:]; half = len(body) // 3
    return [b"\\x16\\x03\\x01" + struct.pack("!H", len(part)) + part for part in (body[:half], body[half:])]
def by_record_of_one(hello):
    return [b"".join(b"\\x16\\x03\\x01\\0\\1" + hello[i:i + 1] for i in range(5, len(hello)))]
def try_it(sni, cut):
    s = socket.create_connection(("only4.example", 443), timeout=10); s.setsockopt(6, 1, 1)
    for piece in cut(make_hello(sni)): s.sendall(piece); time.sleep(0.002)
    return "answered" if s.recv(5)[:1] == b"\\x16" else "closed"
for cut in by_byte, by_record, by_record_of_one:
    print(outcome(try_it, "only4.example", cut), outcome(try_it, "denied.example", cut))
"""


@case(needs=NEEDS, is_spread=True)
def a_tls_hello_in_pieces_is_judged_as_a_whole(w):
    """In segments of a byte, and in records of a part: a server puts them together as well."""
    manage(w, "only4.example")
    lines = attempt(w, PIECES)
    for line in lines:
        allowed, denied = line.split()
        assert allowed == "answered", lines
        assert (denied == "answered") != w.is_boxed, lines


# ---- Smuggling -----------------------------------------------------------------------


SMUGGLED = [
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nContent-Length: 4\nTransfer-Encoding: chunked\n\n0\n\nGET /smuggled HTTP/1.1\nHost: only4.example\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nContent-Length: 0\nContent-Length: 50\n\nGET /smuggled HTTP/1.1\nHost: only4.example\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nTransfer-Encoding: chunked\nTransfer-Encoding: identity\n\n0\n\nGET /smuggled HTTP/1.1\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nTransfer-Encoding: xchunked\n\n0\n\nGET /smuggled HTTP/1.1\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nTransfer-Encoding : chunked\n\n0\n\nGET /smuggled HTTP/1.1\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nTransfer-Encoding: chunked\n\n0x1\nA\n0\n\nGET /smuggled HTTP/1.1\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nTransfer-Encoding: chunked\n\n-1\n\nGET /smuggled HTTP/1.1\n\n",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nContent-Length: +5\n\nhello",
    "POST http://only4.example/a HTTP/1.1\nHost: only4.example\nContent-Length: 99999999999999999999\n\nhello",
    "GET http://only4.example/a HTTP/1.1\nHost: only4.example\nX: a\n Transfer-Encoding: chunked\n\n",
    "GET http://only4.example/a HTTP/1.1\nHost: only4.example\nX: a\x00b\n\n",
    "GET http://only4.example/a HTTP/1.1\n Host: only4.example\n\n",
    "GET http://only4.example/a HTTP/1.1\nHost: only4.example\nX\x01: b\n\n",
    "GET http://only4.example/a\tHTTP/1.1\nHost: only4.example\n\n",
    "GET http://only4.example/a b HTTP/1.1\nHost: only4.example\n\n",
    "GET http://only4.example/\x7f HTTP/1.1\nHost: only4.example\n\n",
    "GET http://only4.example/a HTTP/2.0\nHost: only4.example\n\n",
]


@case(needs=NEEDS, is_spread=True)
def smuggled_requests_are_refused(w):
    world = manage(w, "only4.example")
    script = """
import json
for text in json.load(open("requests.json")):
    print(status(text.replace("\\n", "\\r\\n").encode("latin-1")))
"""
    if not w.is_boxed:
        # The server takes two requests of one connection, so that one that slipped through would be seen.
        double = "import socket; s = socket.create_connection(('only4.example', 80), 3); s.sendall(" \
            "b'GET /a HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nGET /smuggled HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n');" \
            "\nwhile s.recv(9999): pass"
        w.run(w.python(), "-c", double)
        assert any(r[3] == "/smuggled" for r in world.requests), world.requests
        return
    w.write_all({"requests.json": json.dumps(SMUGGLED)})
    lines = attempt(w, script)
    (w.workspace / "requests.json").unlink()
    assert len(lines) == len(SMUGGLED), lines
    for text, line in zip(SMUGGLED, lines):
        assert line in ("400", "501", "505", "413"), (text, line)
    assert not any("smuggled" in r[3] for r in world.requests), world.requests


@case(needs=NEEDS, is_spread=True)
def each_request_of_a_connection_is_judged(w):
    """Also the later ones, and those that were sent before the first was answered."""
    world = manage(w, "only4.example")
    if not w.is_boxed:
        return
    script = r"""
def get(host, more=""): return f"GET http://{host}/x HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()
def statuses(data): return " ".join(word.decode() for word in re.findall(rb"HTTP/1\.1 (\d+)", data))
s = socket.create_connection(PROXY, timeout=10); out = b""
for host in "only4.example", "denied.example", "only4.example":
    s.sendall(get(host)); out += s.recv(65536)
print(statuses(out))
print(statuses(ask(get("only4.example") + get("denied.example") + get("only4.example", "Connection: close\r\n"))))
"""
    lines = attempt(w, script)
    assert lines[0].split()[:2] == ["200", "403"] and lines[1].split()[:2] == ["200", "403"], lines
    check_unreached(world, net.OTHER, net.OTHER6)


# ---- Other ways out ------------------------------------------------------------------


@case(needs=NEEDS)
def datagrams_go_nowhere_and_say_so(w):
    world = manage(w, "*")
    script = """
def send(host, port):
    s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5)
    s.sendto(b"out", (host, port)); return s.recv(99).decode()
def send_connected(host, port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect((host, port)); s.send(b"out"); return s.recv(99).decode()
begin = time.monotonic()
print(outcome(send, sys.argv[1], 7007), outcome(send_connected, sys.argv[1], 7007), outcome(send, sys.argv[2], 7007))
print("at once" if time.monotonic() - begin < 5 else "late")
"""
    lines = attempt(w, script, net.WEB, net.OTHER)
    if not w.is_boxed:
        assert lines == ["out out out", "at once"], lines
        return
    assert "timeout" not in lines[0] and "out" not in lines[0] and lines[1] == "at once", lines
    assert not world.connections, world.connections


@case(needs=NEEDS)
def own_datagrams_on_loopback_work(w):
    manage(w, "only4.example")
    return attempt(w, """
for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
    s = socket.socket(family, socket.SOCK_DGRAM); s.bind((host, 0)); s.settimeout(2)
    s.sendto(b"own", s.getsockname()); print(s.recv(9))
""")


@case(needs=NEEDS)
def other_families_and_protocols_are_shut(w):
    """Where the kernel here has one outside, it must fail inside; TCP itself is the control inside."""
    world = manage(w, "only4.example")
    script = """
kinds = {"tcp": (2, 1, 0), "raw": (2, 3, 1), "raw6": (10, 3, 58), "packet": (17, 3, 768), "icmp": (2, 2, 1), "icmp6": (10, 2, 58),
    "sctp": (2, 1, 132), "dccp": (2, 6, 33), "udplite": (2, 2, 136), "mptcp": (2, 1, 262), "can": (29, 3, 1), "vsock": (40, 1, 0),
    "bluetooth": (31, 1, 3), "tipc": (30, 1, 0), "rds": (21, 5, 0), "smc": (43, 1, 0), "xdp": (44, 3, 0), "alg": (38, 5, 0),
    "ax25": (3, 3, 0), "x25": (9, 5, 0), "qipcrtr": (42, 2, 0), "kcm": (41, 5, 0), "nfc": (39, 5, 0), "pppox": (24, 1, 0)}
def open_it(family, kind, protocol): socket.socket(family, kind, protocol).close(); return "open"
for name_, words in kinds.items(): print(name_, outcome(open_it, *words))
def by_mptcp():
    s = socket.socket(2, 1, 262); s.settimeout(2); s.connect((sys.argv[1], 7007)); return "reached"
def by_fast_open():
    s = open_patient(); s.sendto(b"fast", 0x20000000, (sys.argv[1], 7007)); s.recv(9); return "reached"
def by_ping():
    s = socket.socket(2, 2, 1); s.settimeout(1); s.sendto(b"\\x08\\0\\0\\0\\0\\1\\0\\1", (sys.argv[1], 0)); s.recv(99); return "reached"
print("connecting", outcome(by_mptcp), outcome(by_fast_open), outcome(by_ping))
"""
    lines = attempt(w, script, net.OTHER)
    found = dict(line.split() for line in lines[:-1])
    connecting = lines[-1].split()[1:]
    assert found["tcp"] == "open", found
    if not w.is_boxed:
        assert found["udplite"] == "open" and connecting[1] == "reached", lines
        return
    # Of what is left open, connecting obeys the rules.
    opened = {name for name, outcome in found.items() if outcome == "open"}
    assert opened <= {"tcp", "mptcp", "udplite", "icmp", "icmp6"}, opened
    assert "reached" not in connecting and "timeout" not in connecting, lines
    check_unreached(world, net.OTHER)


@case(needs=NEEDS)
def fast_open_to_an_allowed_host_is_no_way_to_others(w):
    """It connects without connect(): what is judged at accept is what counts."""
    world = manage(w, "only4.example")
    script = """
def fast(host):
    s = open_patient(); s.sendto(b"fast", 0x20000000, (host, 7007)); return s.recv(9).decode()
address = socket.getaddrinfo("only4.example", 7007, 2, 1)[0][4][0]; other = socket.getaddrinfo("denied.example", 7007, 2, 1)[0][4][0]
print(outcome(plain, address, 7007)); print(outcome(fast, address)); print(outcome(fast, other), outcome(fast, sys.argv[1]))
"""
    lines = attempt(w, script, net.OTHER)
    if not w.is_boxed:
        assert lines == ["reached", "fast", "fast fast"], lines
        return
    assert lines[0] == "reached" and "fast" not in lines[2], lines
    check_unreached(world, net.OTHER)


@case(needs=NEEDS, is_spread=True)
def nothing_is_asked_for_a_denied_name(w):
    """So that a name can't carry data out (DNS tunnels), by whichever way it is asked for."""
    world = manage(w, "only4.example", "**.good.example", denied=["**.deep.good.example"])
    script = r"""
import random
def query(host, kind):
    labels = b"".join(bytes([len(l)]) + l.encode() for l in host.split("."))
    return struct.pack("!HHHHHH", random.randrange(65536), 256, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!HH", kind, 1)
def by_udp(server, host, kind):
    s = socket.socket(2, 2); s.settimeout(0.5); s.sendto(query(host, kind), (server, 53)); return s.recv(512)[3] & 15
def by_tcp(server, host, kind):
    s = socket.create_connection((server, 53), timeout=0.5); q = query(host, kind); s.sendall(struct.pack("!H", len(q)) + q)
    return s.recv(512)[5] & 15
i = 0
def secret():
    global i
    i += 1; return f"secret{i}.tunnel.denied.example"
print(outcome(socket.getaddrinfo, "only4.example", 80)[:2])
for server in sys.argv[1:]:
    for kind in 1, 28, 16, 5, 15, 255, 65, 12: outcome(by_udp, server, secret(), kind); outcome(by_tcp, server, secret(), kind)
for host in secret(), "deep.good.example", "x.deep.good.example": outcome(socket.getaddrinfo, host, 80)
outcome(fetch, f"http://{secret()}/", "x"); outcome(connect, secret(), 443); outcome(socks_name, secret(), 80)
outcome(fetch, f"http://deep.good.example/", "deep.good.example")
"""
    # Outside only the world's own server answers: the others would be waited for.
    lines = attempt(w, script, net.NAMES, *(["8.8.8.8", "1.1.1.1", "127.0.0.1", "127.0.0.53"] if w.is_boxed else []))
    assert lines == ["[("], lines
    asked = world.was_asked("denied.example") + world.was_asked("deep.good.example")
    assert bool(asked) != w.is_boxed, asked
    assert world.was_asked("only4.example"), world.names.asked


@case(needs=NEEDS)
def the_host_has_no_new_door(w):
    """While a run lasts nothing listens on the host that did not before."""
    manage(w, "only4.example")

    def listening():
        return {(name, *line.split()[1:2]) for name in ("tcp", "tcp6", "udp", "udp6")
                for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
                if line.split()[3] in ("0A", "07")}

    before = listening()
    process = subprocess.Popen([*w.prefix(), "/bin/sh", "-c", "echo up; read x"], cwd=w.workspace, env=w.env,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, **w.who.keywords)
    try:
        assert process.stdout.readline() == b"up\n"
        # The resolver's own sockets are there only while it asks.
        new = {entry for entry in listening() - before if entry[0].startswith("tcp")}
        assert not new, new
    finally:
        process.communicate(b"\n", timeout=10)
    assert process.returncode == 0


@case(needs=NEEDS)
def without_the_environment_the_rules_are_the_same(w):
    world = manage(w, "only4.example")
    done = w.run("env", "-i", "/usr/bin/curl", "-sS", "http://only4.example/")
    done2 = w.run("env", "-i", "/usr/bin/curl", "-sS", "http://denied.example/", check=None, says=ANYTHING)
    assert (done2.status == 7) == w.is_boxed, done2
    assert bool(world.reached(net.OTHER) + world.reached(net.OTHER6)) != w.is_boxed, world.requests
    return done.text


@case(needs=NEEDS, is_spread=True)
def a_port_is_part_of_a_rule(w):
    world = manage(w, "only4.example:80", "only6.example:7000-7010")
    script = 'for word in sys.argv[1:]: print(outcome(plain, word.split(",")[0], int(word.split(",")[1])), end=" ")'
    lines = attempt(w, script, "only4.example,80", "only4.example,7007", "only4.example,443", "only6.example,7007",
                    "only6.example,80")
    expected = "reached EACCES EACCES reached EACCES" if w.is_boxed else "reached " * 5
    assert lines[0].split() == expected.split(), lines
    if w.is_boxed:
        assert all(c in ((net.ECHO, net.WEB6),) for c in world.connections), world.connections


@case(needs=NEEDS, is_spread=True)
def a_deny_beats_every_allow(w):
    manage(w, "*", "denied.example", "**.example", denied=["denied.example"])
    done = w.run("curl", "-s", "-i", "http://denied.example/", says=ANYTHING)
    assert done.text.startswith("HTTP/1.1 403") == w.is_boxed, done
    assert ("blocked-by-denylist" in done.text.lower()) == w.is_boxed, done


@case(needs=NEEDS, is_spread=True)
def an_upstream_proxy_is_no_way_around(w):
    """It gets what was judged, and nothing private; the command does not see where it is."""
    upstream = f"http://93.184.216.80:{net.UPSTREAM}"
    env = {"HTTPS_PROXY": upstream, "https_proxy": upstream, "NO_PROXY": "only6.example", "no_proxy": "only6.example"}
    world = manage(w, "only4.example", "only6.example", "intranet.example", "10.99.0.0/24")
    words = ["curl", "-sS", "-f", "-o", "/dev/null", "--cacert", net.world.ca]
    w.run(*words, "https://only4.example/", env=env)
    assert len(world.tunnels) == 1 and world.tunnels[0][1] in ("only4.example:443", f"{net.WEB}:443"), world.tunnels
    w.run(*words, "https://only6.example/", env=env)
    assert len(world.tunnels) == 1, world.tunnels
    w.run(*words, "https://intranet.example/", env=env)
    assert (len(world.tunnels) == 1) == w.is_boxed, world.tunnels
    world.forget()
    done = w.run(*words, "https://denied.example/", env=env, check=None, says=ANYTHING)
    assert (done.status != 0) == w.is_boxed and bool(world.tunnels) != w.is_boxed, (world.tunnels, done)
    done = w.run("/bin/sh", "-c", "env", env=env)
    assert ("93.184.216.80" in done.text) != w.is_boxed, done


# ---- On request ----------------------------------------------------------------------


@case(needs=NEEDS)
def a_port_of_the_host_is_reached_on_request_and_no_other(w):
    world = manage(w, "only4.example", options=["--host-port", str(net.HOST_SERVICE)])
    script = 'print(*(outcome(plain, "127.0.0.1", int(port)) for port in sys.argv[1:]))'
    lines = attempt(w, script, net.HOST_SERVICE, 8080, net.ECHO)
    assert lines == (["reached ECONNREFUSED ECONNREFUSED"] if w.is_boxed else ["reached reached reached"]), lines
    out = w.run("curl", "-sS", f"http://127.0.0.1:{net.HOST_SERVICE}/").text
    assert world.reached("127.0.0.1"), world.requests
    return out


@case(needs=NEEDS)
def a_port_is_published_on_request(w):
    manage(w, "only4.example", options=["--publish", "9300:9000"])
    if not w.is_boxed:
        return
    w.write_all({"page": "published"})
    process = subprocess.Popen([*w.prefix(), w.python(), "-m", "http.server", "--bind", "127.0.0.1", "9000"],
                               cwd=w.workspace, env=w.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, **w.who.keywords)
    try:
        got, end = None, time.monotonic() + 30
        while got is None and time.monotonic() < end and process.poll() is None:
            try:
                got = urllib.request.urlopen("http://127.0.0.1:9300/page", timeout=10).read()
            except OSError:
                time.sleep(0.05)
        assert got == b"published", (got, process.poll(), process.stderr.read() if process.poll() is not None else "")
    finally:
        process.terminate()
        process.communicate(timeout=10)
        (w.workspace / "page").unlink()


@case(needs=NEEDS, is_spread=True)
def limited_mode_lets_only_reading_through(w):
    world = manage(w, "only4.example")
    w.configure('[permissions.work]\nextends = ":workspace"\n[permissions.work.network]\nenabled = true\n'
                'mode = "limited"\ndomains = { "only4.example" = "allow" }\n')
    script = """
for words in ([], ["-I"], ["-d", "data"], ["-X", "DELETE"]):
    import subprocess
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *words, "http://only4.example/"], stdout=subprocess.PIPE)
    print(done.stdout.decode(), end=" ")
done = subprocess.run(["curl", "-s", "-o", "/dev/null", "--cacert", sys.argv[1], "https://only4.example/"]); print(done.returncode)
"""
    lines = attempt(w, script, net.world.ca)
    assert lines == (["200 200 403 403 56"] if w.is_boxed else ["200 200 200 200 0"]), lines
    assert any(r[0] in ("POST", "DELETE") for r in world.requests) != w.is_boxed, world.requests


@case(needs=NEEDS, is_spread=True)
def limited_mode_has_no_way_around(w):
    """Neither by a plain socket, nor by SOCKS, nor by an upgrade, nor by what is sent behind a GET."""
    world = manage(w, "only4.example")
    w.configure('[permissions.work]\nextends = ":workspace"\n[permissions.work.network]\nenabled = true\n'
                'mode = "limited"\ndomains = { "only4.example" = "allow" }\n')
    script = r"""
POST = b"POST /x HTTP/1.1\r\nHost: only4.example\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndata"
def direct(data):
    s = socket.create_connection(("only4.example", 80), timeout=10); s.sendall(data); return (read_all(s) or b"- closed").split()[1].decode()
def by_socks(data):
    s = socket.create_connection(PROXY, timeout=10); s.sendall(b"\5\1\0"); s.recv(2)
    s.sendall(b"\5\1\0\3\x0donly4.example\0\x50"); reply = s.recv(10)
    if reply[1]: return f"socks-{reply[1]}"
    s.sendall(data); return read_all(s).split()[1].decode()
def upgrade():
    data = ask(b"GET http://only4.example/ws HTTP/1.1\r\nHost: only4.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
               b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
    return data.split()[1].decode()
print(outcome(direct, POST))
if os.environ.get("CORDON_SANDBOX"):
    print(outcome(by_socks, POST)); print(outcome(upgrade))
    print(outcome(ask, b"GET http://only4.example/ HTTP/1.1\r\nHost: only4.example\r\nX-HTTP-Method-Override: GET\r\n\r\n" + POST.replace(b"/x", b"http://only4.example/x", 1))[:12])
"""
    lines = attempt(w, script)
    if not w.is_boxed:
        assert lines == ["200"] and any(r[0] == "POST" for r in world.requests), lines
        return
    assert lines[0] != "200" and lines[1] != "200" and lines[2] != "101", lines
    assert not any(r[0] == "POST" for r in world.requests), (lines, world.requests)


@case(needs=NEEDS, is_spread=True)
def the_audit_log_can_not_be_forged(w):
    """Whatever a program calls itself or asks for, a line is a line."""
    log = w.top / "audit.jsonl"
    manage(w, "only4.example", options=["--audit", str(log)])
    if not w.is_boxed:
        return
    script = r"""
import ctypes
ctypes.CDLL(None).prctl(15, b'x"}\n{"a":1', 0, 0, 0)
outcome(plain, "denied.example", 80)
outcome(fetch, 'http://denied.example"}\n{"forged":1}/', "x"); outcome(fetch, "http://denied.example/\x1b[2J", "denied.example", 'GE"T')
outcome(socks_name, 'a"}\n{"forged":2}', 80); outcome(connect, 'de\tnied\u2028.example', 443)
outcome(ask, b'GET http://denied.example/ HTTP/1.1\r\nHost: denied.example\r\nX: \x9b\x00\r\n\r\n')
"""
    attempt(w, script)
    data = log.read_bytes()
    lines = data.decode("utf-8").splitlines()
    assert lines and data.endswith(b"\n"), data
    found = [json.loads(line) for line in data.decode().rstrip("\n").split("\n")]
    assert all("forged" not in entry and "a" not in entry for entry in found), found
    assert not any(byte < 0x20 and byte != 0x0a or byte == 0x7f for byte in data), data
    assert any("denied.example" in json.dumps(entry) for entry in found), found
    done = w.plain(w.program, "audit", str(log), check=None)
    assert not any(byte < 0x20 and byte not in b"\n" for byte in done.out), done


@case(needs=NEEDS)
def the_report_names_who_was_refused(w):
    manage(w, "only4.example", options=["--report", str(w.top / "report")])
    if not w.is_boxed:
        return
    w.run("/bin/sh", "-c", "curl -s -o /dev/null http://denied.example/; curl -s --noproxy '*' http://tunnel.denied.example:81/;"
          " curl -s -o /dev/null http://only4.example/; true", says=ANYTHING)
    report = json.loads((w.top / "report").read_text())
    text = json.dumps(report.get("denials", report))
    assert "denied.example" in text and "tunnel.denied.example" in text, report
    assert "only4.example" not in text, report


if __name__ == "__main__":
    net.run_cases()
