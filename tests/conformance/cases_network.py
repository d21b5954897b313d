# SPDX-License-Identifier: MIT
"""A managed network (P12, P13): every connection passes the proxy, and nothing goes past it."""

import os
import socket
import threading
import time

from cases_reach import ALLOWED_FAMILIES, Echo
from conform import FORBIDDEN, Control, becomes_true, case, check, rows, these_need

these_need("net_managed")

MANAGED = """
[permissions.box]
extends = ":workspace"
[permissions.box.network]
enabled = true
domains = { "allowed.example" = "allow" }
"""

# Addresses of documentation: nobody's, and no rule's. In the probe's world all have servers.
V4, V6, MAPPED = "203.0.113.7", "2001:db8::7", "::ffff:203.0.113.7"
IN_WORLD = Control(prefix="in-world ")
OWN = ["tcp-self 127.0.0.1", "tcp-self ::1"]
AT_ONCE = {"ENETUNREACH", "EACCES", "EPERM", "EADDRNOTAVAIL", "EHOSTUNREACH"}


def allowing(*hosts):
    rules = ", ".join(f'"{host}" = "allow"' for host in hosts)
    return MANAGED.replace('"allowed.example" = "allow"', rules)


# ---- TCP ---------------------------------------------------------------------------------


rows("what_no_rule_allows_is_refused_at_once_whatever_its_spelling",
     [f"at-once {how}" for host in (V4, V6, MAPPED) for how in (
         f"tcp-block {host} 8443", f"tcp {host} 8443 0", f"tcp {host} 8443 262",
         f"tcp-fastopen-connect {host} 8443", f"tcp-by-device lo {host} 8443")],
     allowed=OWN, errors={"EACCES"}, control=IN_WORLD, policy=MANAGED)

rows("no_option_of_a_socket_leads_past_the_proxy",
     [f"tcp-by-way-of 203.0.113.8 {V4} 8443", f"tcp-from 203.0.113.9 {V4} 8443", f"tcp-from 127.0.0.1 {V4} 8443"],
     allowed=OWN, errors={"EACCES", "EPERM"},
     control=Control(prefix="in-world ", accept=frozenset({"OK", "EINPROGRESS"})), policy=MANAGED)

rows("fast_open_does_not_connect", [f"tcp-fastopen {V4} 8443", f"tcp-fastopen {V6} 8443"],
     allowed=OWN, errors={"EOPNOTSUPP"}, control=IN_WORLD, policy=MANAGED)


@case
def a_socket_that_is_disconnected_is_judged_again(arena):
    box = arena.box(policy=MANAGED)
    got = box.run("tcp-again 127.0.0.1 3128 127.0.0.1 3128", f"tcp-again 127.0.0.1 3128 {V4} 8443",
                  f"tcp-again 127.0.0.1 3128 {V6} 8443")
    check(got[:2] == ["OK", "EACCES"] and got[2] in ("EACCES", "EAFNOSUPPORT"), f"{got}")
    got = box.bare(f"in-world tcp-again {V4} 8443 203.0.113.8 8443")
    check(got == ["OK"], f"the control shows nothing: {got}")


# ---- Datagrams and other protocols --------------------------------------------------------

DATAGRAMS = [f"{how} {host} {port}" for host in (V4, V6, MAPPED) for how, port in (
    ("udp-send", 443), ("udp-sendmsg", 443), ("udp-connect", 443), ("udp-send", 123))]

rows("datagrams_fail_at_once_and_are_not_lost", [f"at-once {attempt}" for attempt in DATAGRAMS],
     allowed=["udp-send 127.0.0.1 9", "udp-send ::1 9", "udp-connect 127.0.0.1 9", *OWN],
     errors=AT_ONCE, control=IN_WORLD, policy=MANAGED)

rows("pings_fail_at_once", [f"at-once ping {host}" for host in (V4, V6)],
     allowed=OWN, errors=AT_ONCE, control=IN_WORLD, policy=MANAGED)


@case
def nobody_is_reached_by_broadcast_or_multicast(arena):
    box = arena.box(policy=MANAGED)
    attempts = ["udp-send 255.255.255.255 67", "udp-send 224.0.0.251 5353", "udp-send ff02::fb 5353"]
    got = box.run(*[f"at-once {attempt}" for attempt in attempts], "udp-send 127.0.0.1 9")
    check(set(got[:3]) <= AT_ONCE | {"EINVAL"} and got[3] == "OK", f"{got}")


@case(needs={"net_managed", "kernel"})
def a_managed_network_has_no_other_families_and_protocols(arena):
    box = arena.box(policy=MANAGED)
    others = ["socket 2 1 132", "socket 10 5 132", "socket 2 6 33", "socket 2 2 136", "socket 10 2 136",
              "socket 2 1 256", "socket 17 3 768", "socket 40 1 0", "socket 43 1 0", "socket 44 3 0",
              "socket 2 3 1", "socket 2 3 255", "socket 10 3 58", "socket 2 10 768", "socket 16 3 4", "socket 16 3 12"]
    got = box.run("families low", "families high", "socket 2 1 6", "socket 10 1 262", "socket 2 2 17", *others)
    for one in got[:2]:
        found = set(one.split()[1:])
        check(found <= ALLOWED_FAMILIES and "2/1" in found, f"families: {one}")
    check(got[2:5] == ["OK"] * 3, f"{got}")
    refused = FORBIDDEN | {"EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EAFNOSUPPORT", "EINVAL"}
    for attempt, one in zip(others, got[5:]):
        check(one in refused, f"{one}: {attempt}")
    got = box.bare("families low", "socket 16 3 4", "socket 2 2 136")
    check(len(set(got[0].split()[1:]) - ALLOWED_FAMILIES) >= 2 and got[1] == "OK", f"the control shows nothing: {got}")


# ---- The proxy ------------------------------------------------------------------------------


@case
def a_host_is_reached_when_a_rule_allows_it_and_by_the_proxy_alone(arena):
    allowed, other = Echo(socket.AF_INET, "127.0.0.1"), Echo(socket.AF_INET, "127.0.0.1")
    box = arena.box(policy=allowing(f"127.0.0.1:{allowed.port}"))
    got = box.run(f"proxy-connect 127.0.0.1 {allowed.port}", f"proxy-connect 127.0.0.1 {other.port}",
                  f"tcp 127.0.0.1 {allowed.port} 0", f"tcp 127.0.0.1 {other.port} 0", f"udp 127.0.0.1 {allowed.port}")
    check(got[:2] == ["OK", "EACCES"], f"{got}")
    check(set(got[2:]) <= {"ECONNREFUSED", "ETIMEDOUT"}, f"its own loopback is the host's: {got}")
    becomes_true(lambda: allowed.count)
    check((allowed.count, other.count) == (1, 0), f"{allowed.count} {other.count}")
    got = box.bare(f"tcp 127.0.0.1 {allowed.port} 0", f"tcp 127.0.0.1 {other.port} 0")
    check(got == ["OK", "OK"], f"the control shows nothing: {got}")


@case
def the_proxy_listens_on_one_address_and_its_port_can_not_be_taken(arena):
    box = arena.box(policy=MANAGED)
    got = box.run("tcp 127.0.0.1 3128 0", "tcp ::1 3128 0", "tcp 0.0.0.0 3128 0",
                  "tcp 127.0.0.2 3128 0", f"tcp {V4} 3128 0",
                  "listen 127.0.0.1 3128", "listen 0.0.0.0 3128", "listen :: 3128", "listen 127.0.0.1 53",
                  "listen 127.0.0.2 3128")
    check(got[:3] == ["OK"] * 3, f"{got}")
    check(got[3:5] == ["ECONNREFUSED", "EACCES"], f"{got}")
    check(set(got[5:9]) <= {"EADDRINUSE", "EACCES"} and got[9] == "OK", f"{got}")
    got = box.bare("in-world listen 127.0.0.1 3128", "in-world listen 127.0.0.1 53")
    check(got == ["OK", "OK"], f"the control shows nothing: {got}")


@case
def a_port_of_the_host_is_reached_only_where_it_is_asked_for(arena):
    wanted, other = Echo(socket.AF_INET, "127.0.0.1"), Echo(socket.AF_INET, "127.0.0.1")
    box = arena.box(policy=MANAGED, options=("--host-port", str(wanted.port)))
    plain = arena.box(policy=MANAGED)
    attempts = [f"tcp 127.0.0.1 {wanted.port} 0", f"tcp 127.0.0.1 {other.port} 0", f"tcp 127.0.0.2 {wanted.port} 0"]
    got = box.run(*attempts)
    check(got == ["OK", "ECONNREFUSED", "ECONNREFUSED"], f"{got}")
    got = plain.run(*attempts)
    check(got == ["ECONNREFUSED"] * 3, f"without the option: {got}")
    check(other.count == 0, "another port was reached")
    check(box.bare(*attempts[:2]) == ["OK", "OK"], "the control shows nothing")


# ---- Servers of its own -----------------------------------------------------------------------


@case
def its_own_servers_work_whoever_has_the_port_first(arena):
    box = arena.box(policy=MANAGED)
    got = box.run("serve 0.0.0.0 127.0.0.1 8443", "serve 0.0.0.0 127.0.0.2 8443", "serve 0.0.0.0 0.0.0.0 8443",
                  "serve :: ::1 8443", "serve :: 127.0.0.1 8443", f"serve-after {V4} 8443", "serve 127.0.0.1 127.0.0.1 8443")
    check(got == ["OK own"] * 7, f"{got}")
    # Its own wildcard is no way to pass for a host that is refused.
    got = box.run(f"serve 0.0.0.0 {V4} 8443", f"serve :: {V6} 8443", f"serve {V4} {V4} 8443")
    check(set(got) <= {"EACCES", "EADDRNOTAVAIL"}, f"{got}")
    got = box.bare(f"in-world serve 0.0.0.0 {V4} 9443", f"in-world serve-after {V4} 9443")
    check(got == ["OK own"] * 2, f"the control shows nothing: {got}")


@case
def what_listens_inside_is_not_reached_from_the_host(arena):
    """P13: it may always listen; nobody outside hears of it."""
    box = arena.box(policy=MANAGED)
    taken = socket.create_server(("127.0.0.1", 0))
    port = taken.getsockname()[1]
    # The number is taken on the host, and free inside.
    got = box.run(f"serve 0.0.0.0 127.0.0.1 {port}", f"serve 127.0.0.1 127.0.0.1 {port}")
    check(got == ["OK own"] * 2, f"{got}")
    check(box.bare(f"listen 127.0.0.1 {port}") == ["EADDRINUSE"], "the control shows nothing")
    taken.close()


# ---- Names --------------------------------------------------------------------------------------


class Names:
    """A name server of the host's, that nobody should ask; port 53 is root's."""

    def __init__(self, address):
        self.heard = []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        if os.getuid() == 0:
            self.socket.bind((address, 53))
            threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            self.heard.append(self.socket.recvfrom(512))


@case
def names_are_asked_of_the_resolver_inside_whatever_server_is_asked(arena):
    """A name that is refused gets its own address there, or none; no server of the host's hears of it."""
    box = arena.box(policy=MANAGED)
    own = f"127.{os.getpid() // 250 % 250 + 1}.{os.getpid() % 250}.{time.monotonic_ns() % 250 + 1}"
    servers = [V4, V6, "127.0.0.1", own, "::1"]
    host = Names(own)
    got = box.run(*[f"ask-name {server} secret.denied.example" for server in servers],
                  *[f"tcp {server} 53 0" for server in servers])
    check(set(got[:5]) <= {"OK 0", "OK 3", "OK 5"}, f"{got}")
    check(got[5:] == ["OK"] * 5, f"{got}")
    check(not host.heard, f"a server of the host's was asked: {host.heard}")
    if os.getuid() == 0:
        box.bare(f"udp-send {own} 53")
        check(becomes_true(lambda: host.heard), "the control shows nothing")


def name_servers():
    """Of IPv4, as the host's resolv.conf has them."""
    try:
        with open("/etc/resolv.conf", encoding="utf-8", errors="replace") as conf:
            lines = [line.split() for line in conf]
    except OSError:
        lines = []
    found = [line[1] for line in lines if len(line) > 1 and line[0] == "nameserver"]
    return [ip for ip in found[:3] if "." in ip and ":" not in ip] if found else ["127.0.0.1"]


@case(needs={"net_off"})
def names_asked_for_without_a_network_are_answered_by_nobody_outside(arena):
    """There is no such name, at once, or no way to the server; none of the host's hears of it."""
    box = arena.box()
    own = f"127.{os.getpid() // 250 % 250 + 1}.{os.getpid() % 250}.{time.monotonic_ns() % 250 + 1}"
    host, servers = Names(own), name_servers()
    got = box.run(*[f"ask-name {server} secret.example" for server in [*servers, V4]], f"udp-send {own} 53")
    refused = FORBIDDEN | {"ENETUNREACH", "ECONNREFUSED"}
    check(all(g == "OK 3" or g in refused for g in got[:-1]), f"{servers}: {got}")
    if arena.backend != "landlock":
        check("OK 3" in got[:len(servers)] or not servers, f"{servers}: {got}")
        check(got[-2] == "ENETUNREACH", f"{got}")
    check(not host.heard, f"a server of the host's was asked: {host.heard}")
    if os.getuid() == 0:
        box.bare(f"udp-send {own} 53")
        check(becomes_true(lambda: host.heard), "the control shows nothing")


# ---- The network itself ----------------------------------------------------------------------------

rows("routes_rules_and_interfaces_can_not_be_changed",
     ["route-add 4", "route-add 6", "rule-add 4", "rule-add 6", "link-add bridge", "link-down", "ioctl-down",
      "transparent 0.0.0.0", "transparent ::"],
     allowed=OWN, errors={"EPERM"},
     control=Control(prefix="in-world ", accept=frozenset({"OK", "EOPNOTSUPP"})), policy=MANAGED)


@case
def what_the_kernel_tells_of_networks_is_its_own(arena):
    box = arena.box(policy=MANAGED)
    server = socket.create_server(("127.0.0.1", 0))
    port = f":{server.getsockname()[1]:04X} "
    got = box.run("read /proc/net/tcp", "read /proc/self/net/dev", "read /proc/1/net/tcp")
    check(got[0].startswith("OK") and port not in got[0], f"{got[0]}")
    check(":0C38 " in got[0] and port not in got[2], f"{got}")
    check(box.path("/proc/net/dev").read_text(encoding="utf-8").count(":") >= 1, "control")
    check(port in box.path("/proc/net/tcp").read_text(encoding="utf-8"), "the control shows nothing")
    server.close()


@case
def a_socket_of_the_hosts_that_is_inherited_can_not_be_aimed(arena):
    """As standard input; it belongs to the host's network, where connecting it would reach the host."""
    box = arena.box(policy=MANAGED)
    echo = Echo(socket.AF_INET, "127.0.0.1")
    first = socket.create_connection(("127.0.0.1", echo.port))
    try:
        check(becomes_true(lambda: echo.count), "it does not echo")
        out, err, status = box.finish(box.argv(f"fd-reconnect 0 {echo.port}", "tcp-self 127.0.0.1"), stdin=first,
                                      status=None)
        got = out.splitlines()
        # Refused as a stream already, or its connect is.
        check(status == 125 and "stdin" in err or got[:1] == ["EACCES"] and got[1] == "OK", f"{status} {out} {err}")
        time.sleep(0.05)
        check(echo.count == 1, f"the host was reached: {echo.count}")
        got = box.bare(f"fd-reconnect 0 {echo.port}", stdin=first)
        check(got == ["OK"], f"the control shows nothing: {got}")
    finally:
        first.close()


@case(who=("root",))
def without_rules_for_hosts_a_run_has_no_such_network(arena):
    """The control of all of the above: with the network off nothing has a route, not even to the proxy."""
    box = arena.box()
    got = box.run("tcp 127.0.0.1 3128 0", f"tcp {V4} 8443 0", f"udp-send {V4} 443", *OWN)
    check(got[0] == "ECONNREFUSED" and set(got[1:3]) <= {"ENETUNREACH"}, f"{got}")
    check(got[3:] == ["OK", "OK"], f"{got}")
