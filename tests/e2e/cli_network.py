#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A managed network as a user meets it: options, environment, answers, report, life and death.

All of it happens in a network namespace of the test's own, in which a few public addresses
lie on `lo`: nothing leaves the machine, and the private guard is met as it stands. How well
it holds against those who want out is the matter of tests/work.
"""

import ctypes
import hashlib
import http.server
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from cli import SECONDS, Skip, World, case, is_alive, ok, refused, run, run_cases, start

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from own_network import OTHER, PRIVATE, WEB, WEB6, cover, set_up_addresses  # noqa: E402

NAMES = {"good.example": [WEB, WEB6], "other.example": [OTHER], "private.example": [PRIVATE],
         "slow.example": [WEB]}
PORT, QUIET = 80, 81  # nobody listens on the second
CURL = ("curl", "-sS", "--max-time", "20")
BACKENDS = [["--backend", "native"]]
# In a user namespace that maps one user alone, bwrap belongs to somebody unknown.
if os.path.exists("/usr/bin/bwrap") and os.environ.get("CORDON_TEST_NETWORK") != "user":
    BACKENDS.append(["--backend", "bwrap"])


# ---- The world -------------------------------------------------------------------------------


def enter():
    """Goes on in namespaces of its own; an ordinary user is root in them."""
    if os.environ.get("CORDON_TEST_NETWORK"):
        return
    words = ["unshare", "-mn", *([] if os.geteuid() == 0 else ["-r"]), "--", sys.executable,
             os.path.abspath(__file__), *sys.argv[1:]]
    who = "root" if os.geteuid() == 0 else "user"
    os.execvpe("unshare", words, {**os.environ, "CORDON_TEST_NETWORK": who})


def settle(directory):
    """Addresses and names."""
    set_up_addresses()
    hosts = os.path.join(directory, "hosts")
    with open(hosts, "w", encoding="ascii") as to:
        to.write("127.0.0.1 localhost\n::1 localhost\n")
    resolv = os.path.join(directory, "resolv.conf")
    with open(resolv, "w", encoding="ascii") as to:
        to.write("nameserver 127.0.0.1\noptions timeout:5 attempts:2\n")
    for source, target in ((hosts, "/etc/hosts"), (resolv, "/etc/resolv.conf")):
        cover(target, source)


def answer_names(server):
    """A DNS server for A and AAAA of NAMES: enough of RFC 1035, one question a message."""
    while True:
        ask, sender = server.recvfrom(512)
        labels, at = [], 12
        while ask[at]:
            labels.append(ask[at + 1:at + 1 + ask[at]].decode())
            at += 1 + ask[at]
        kind = ask[at + 2]
        if labels[0] == "slow":
            time.sleep(0.4)
        found = NAMES.get(".".join(labels).lower())
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        data = [socket.inet_pton(family, a) for a in found or [] if family and (":" in a) == (kind == 28)]
        reply = ask[:2] + bytes([0x81, 0x80 if found else 0x83, 0, 1, 0, len(data), 0, 0, 0, 0]) + ask[12:at + 5]
        for each in data:
            reply += b"\xc0\x0c\0" + bytes([kind]) + b"\0\x01\0\0\0\x3c\0" + bytes([len(each)]) + each
        server.sendto(reply, sender)


def serve_names():
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    threading.Thread(target=answer_names, args=(server,), daemon=True).start()


class Web(http.server.ThreadingHTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6

    def __init__(self, address, port):
        if "." in address:
            self.address_family = socket.AF_INET
        super().__init__((address, port), Answer)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = f"this is {self.headers.get('Host')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


def reported(w, *args, **kwargs):
    path = w.top / "report.json"
    path.unlink(missing_ok=True)
    result = run(w, "--report", str(path), *args, **kwargs)
    return result, json.loads(path.read_text())


def children(pid):
    """All that descend from it."""
    found = []
    for task in os.listdir("/proc"):
        if task.isdigit():
            try:
                with open(f"/proc/{task}/stat", encoding="latin-1") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if parent == pid:
                found += [int(task), *children(int(task))]
    return found


def network_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def find_proxy(pid):
    """The child that is in this network, is not dumpable, and has a seccomp filter."""
    for child in children(pid):
        try:
            with open(f"/proc/{child}/status", encoding="latin-1") as file:
                status = file.read()
        except OSError:
            continue
        if "Seccomp:\t2" in status and network_of(child) in (None, network_of("self")):
            if network_of(child) == network_of("self"):
                return child
    return None


def wait_until(what, seconds=SECONDS):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.01)
    return False


# ---- Options ---------------------------------------------------------------------------------


@case
def an_allowed_host_is_reached_and_others_are_not(w: World):
    for backend in BACKENDS:
        result = ok(w, *backend, "--allow-host", "good.example", "--", *CURL, "http://good.example/")
        assert result.out == "this is good.example\n", repr(result)
        result = run(w, *backend, "--allow-host", "good.example", "--", *CURL, "http://other.example/")
        assert result.out.startswith("blocked: other.example"), repr(result)
        assert "--allow-host other.example" in result.out, repr(result)
    assert ok(w, "--backend", "none", *CURL, "http://other.example/").out == "this is other.example\n"
    for options, note in ((("--network", "off"), ", without --network off"), (("--mode", "read-only"), "")):
        result = run(w, *options, "--", *CURL, "http://good.example/")
        assert result.status in (6, 7) and result.err.endswith(f"--allow-host good.example{note}\n"), repr(result)


@case
def programs_that_ignore_proxies_obey_the_same_rules(w: World):
    plain = (*CURL, "--noproxy", "*")
    for backend in BACKENDS:
        result = ok(w, *backend, "--allow-host", "good.example", "--", *plain, "http://good.example/")
        assert result.out == "this is good.example\n", repr(result)
        result = ok(w, *backend, "--allow-host", WEB, "--", *plain, f"http://{WEB}/")
        assert result.out == f"this is {WEB}\n", repr(result)
        result, report = reported(w, *backend, "--allow-host", "good.example", "--", *plain,
                                  f"http://{OTHER}/")
        assert result.status != 0 and result.out == "", repr(result)
        assert report["denials"][0]["subject"] == f"{OTHER}:80", report["denials"]
        assert report["denials"][0]["program"] == "curl", report["denials"]


@case
def full_auto_takes_some_of_the_network(w: World):
    """By itself it has none; with an option for it no more than that gives, whatever a trusted project opens."""
    project = w.write("repo/.cordon/config.toml", "network = { enabled = true }\n")
    digest = hashlib.sha256(project.read_bytes()).hexdigest()
    for setting, mode in (("", "off"), (f'[trust]\n"{w.repo}" = "sha256:{digest}"\n', "full")):
        w.write_config(setting)
        shown = w.ok("explain", "--json", "--mode", "workspace-write").json
        assert shown["network"]["access"] == mode, shown["network"]
        for words, said in ((["--full-auto"], "off"), (["--full-auto", "--allow-host", WEB], "managed"),
                            (["--full-auto", "--deny-host", WEB], "managed"),
                            (["--full-auto", "--allow-socket", "/s"], "managed"),
                            (["--full-auto", "--network", "off"], "off"),
                            (["--full-auto", "--network", "managed"], "managed"),
                            (["--full-auto", "--network", "full"], "full")):
            shown = w.ok("explain", "--json", *words).json
            assert shown["network"]["access"] == said, (words, shown["network"])
        assert run(w, "--full-auto", "--", *CURL, "-f", f"http://{WEB}/").status != 0
        ok(w, "--full-auto", "--allow-host", WEB, "--", *CURL, "-f", f"http://{WEB}/")
        assert run(w, "--full-auto", "--allow-host", WEB, "--", *CURL, "-f", f"http://{OTHER}/").status != 0
        ok(w, "--full-auto", "--host-port", "9", "--", "true")


@case
def contradictions_and_nonsense_are_mistakes(w: World):
    for words, said in (
        (["--network", "off", "--allow-host", "a.com"], "option_conflict"),
        (["--network", "off", "--deny-host", "a.com"], "option_conflict"),
        (["--network", "off", "--publish", "80:80"], "option_conflict"),
        (["--network", "off", "--host-port", "80"], "option_conflict"),
        (["--network", "full", "--host-port", "80"], "option_useless"),
        (["--network", "full", "--allow-host", "a.com"], "option_conflict"),
        (["--network", "full", "--deny-host", "a.com"], "option_conflict"),
        (["--full-auto", "--network", "off", "--allow-host", "a.com"], "option_conflict"),
        (["--full-auto", "--network", "full", "--host-port", "80"], "option_useless"),
        (["--allow-host", "a b"], "domain pattern 'a b': U+0020 can't be part of a host name"),
        (["--allow-host", ""], "--allow-host"),
        (["--allow-host", "http://a.com/"], "--allow-host"),
        (["--deny-host", "*"], "can only be allowed"),
        (["--publish", "80"], "[ADDRESS:]HOSTPORT:PORT"),
        (["--publish", "x:80:80"], "[ADDRESS:]HOSTPORT:PORT"),
        (["--publish", "::1:80:80"], "[ADDRESS:]HOSTPORT:PORT"),
        (["--publish", "0:80"], "[ADDRESS:]HOSTPORT:PORT"),
        (["--publish", "70000:80"], "[ADDRESS:]HOSTPORT:PORT"),
        (["--publish", f"{PORT}:80", "--publish", f"{WEB}:{PORT}:80"], "can't listen on"),
        (["--host-port", "0"], "a port from 1 to 65535"),
        (["--host-port", "http"], "a port from 1 to 65535"),
        (["--host-port", "3128"], "option_conflict"),
        (["--host-port", "8099", "--deny-host", "127.0.0.1:8000-9000"], "denies it"),
        (["--host-port", "8099", "--deny-host", "::1"], "denies it"),
        (["--host-port", "53"], "option_conflict"),
        (["--publish", f"{PORT}:80", "--host-port", "80"], "option_conflict"),
        (["--publish", f"{PORT}:3128"], "option_conflict"),
        (["--allow-host", "a.com", "--mode", "danger-full-access"], "without a sandbox"),
        (["--allow-host", "a.com", "--backend", "landlock"], "net_managed"),
        (["--allow-host", "a.com", "--audit", ""], "--audit needs a file name"),
        (["--allow-host", "a.com", "--audit", "-"], "the standard output"),
        (["--allow-host", "a.com", "--audit", "/nonexistent/x/log"], "/nonexistent/x"),
    ):
        result = refused(w, *words, "--", "touch", "ran")
        cause = json.loads(refused(w, "--json", *words, "--", "touch", "ran").out)["error"]["cause"]
        assert said == cause or said in result.err, (words, cause, result.err)
        assert not (w.repo / "ran").exists()


@case
def an_audit_log_where_the_command_could_write_is_refused(w: World):
    inside = str(w.repo / "log")
    result = refused(w, "--json", "--mode", "workspace-write", "--allow-host", "a.com", "--audit", inside, "true")
    assert json.loads(result.out)["error"]["cause"] == "option_conflict", repr(result)
    outside = w.top / "log"
    ok(w, "--mode", "workspace-write", "--allow-host", "good.example", "--audit", str(outside), "--", *CURL,
       "http://good.example/")
    lines = [json.loads(line) for line in outside.read_text().splitlines()]
    assert any("good.example" in json.dumps(line) for line in lines), lines


@case
def a_home_that_can_not_be_written_needs_another_log(w: World):
    subprocess.run(["mount", "--bind", w.home, w.home], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", w.home], check=True)
        result = refused(w, "--allow-host", "a.com", "true")
        assert "--audit FILE names another" in result.err, repr(result)
        ok(w, "--allow-host", "a.com", "--audit", str(w.top / "log"), "true")
    finally:
        subprocess.run(["umount", w.home], check=True)


@case
def rules_of_the_profile_and_of_the_call_are_one(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":read-only"\n'
                   '[permissions.p.network]\nenabled = true\n'
                   'domains = { "good.example" = "allow", "other.example" = "deny" }\n')
    for words, host, answer in (
        ([], "good.example", "allow"), ([], "other.example", "deny"),
        (["--deny-host", "good.example"], "good.example", "deny"),
        (["--allow-host", "other.example"], "other.example", "deny"),
        (["--allow-host", "third.example"], "third.example", "allow"),
        (["--network", "managed"], "good.example", "allow"),
        (["--network", "full"], "other.example", "allow"),
    ):
        assert w.decision(host, *words) == answer, (words, host)
    # Off stays off for a deny; an allow opens what it names, and not what the profile once allowed.
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":read-only"\n'
                   '[permissions.p.network]\nenabled = false\n'
                   'domains = { "good.example" = "allow", "other.example" = "deny" }\n')
    assert ok(w, "--dry-run", "--json", "--deny-host", "x.example", "true").json["network"] == "off"
    assert w.decision("good.example", "--allow-host", "third.example") == "deny"
    assert w.decision("other.example", "--allow-host", "**.example") == "deny"
    assert w.decision("good.example", "--network", "managed") == "allow"


@case
def a_trace_tells_what_is_set_from_what_is_passed_on(w: World):
    said = ok(w, "--trace", "--allow-host", "a.com", "true", env={"HTTP_PROXY": "http://outside:1", "MINE": "1"}).err
    assert "environment: MINE is passed on\n" in said and "environment: HTTP_PROXY is set\n" in said, said


@case
def explain_why_and_dry_run_tell_what_managed_means(w: World):
    words = ("--allow-host", "**.example:443", "--deny-host", "other.example")
    assert "managed: through the proxy" in w.ok("explain", *words).out
    result = w.ok("why", "--host", "third.com:8443", *words)
    assert "for one run: --allow-host third.com:8443" in result.out, repr(result)
    assert w.ok("why", "--json", "--host", "third.com", *words).json["suggestions"][0]["argv"] == ["--allow-host", "third.com"]
    found = ok(w, "--dry-run", "--json", *words, "true").json
    assert found["network"] == "managed" and "net_managed" in found["guarantees"]["needed"], found


@case
def a_dry_run_shows_hosts_ports_and_the_log(w: World):
    words = ("--allow-host", "**.example:443", "--deny-host", "other.example", "--host-port", "5432",
             "--publish", "8080:3000", "--publish", "[::]:8081:3001")
    said = ok(w, "--dry-run", *words, "true").out
    log = w.home / ".local/state/cordon/audit/network.jsonl"
    for line in ("  allow  \\*\\*\\.example:443 +--allow-host", "  deny   other\\.example +--deny-host",
                 "  what no rule allows is refused", "  5432 of the sandbox's loopback is this host's",
                 "  127.0.0.1:8080 of this host is 3000 of the sandbox's loopback",
                 "  \\[::\\]:8081 of this host is 3001 of the sandbox's loopback", f"  {log}"):
        assert re.search(f"^{line}$", said, re.MULTILINE), (line, said)
    found = ok(w, "--dry-run", "--json", *words, "--audit", str(w.top / "log"), "true").json["managed"]
    assert [(d["decision"], d["pattern"]) for d in found["domains"]] == [
        ("allow", "**.example:443"), ("deny", "other.example")], found
    assert found["host_ports"] == [5432] and found["limited"] is False, found
    assert found["published"] == [{"address": "127.0.0.1", "host_port": 8080, "port": 3000},
                                  {"address": "::", "host_port": 8081, "port": 3001}], found
    assert found["audit_file"] == str(w.top / "log") and not log.exists() and not (w.top / "log").exists()
    assert ok(w, "--dry-run", "--json", "true").json["managed"] is None
    assert "audit log" not in ok(w, "--dry-run", "true").out


@case
def an_upstream_that_can_not_be_spoken_to_is_named_with_the_way_out(w: World):
    for _ in range(5):  # it may end before, while and after it is given its sockets
        said = w.fails("run", "--allow-host", "a.com", "--", "true", env={"HTTPS_PROXY": "https://outside:1"}).err
        assert "in HTTPS_PROXY: " in said and "allow_upstream_proxy = false" in said, said
    ok(w, "--allow-host", "a.com", "-c", "permissions.p.extends=:workspace", "-P", "p",
       "-c", "permissions.p.network.allow_upstream_proxy=false", "true", env={"HTTPS_PROXY": "https://outside:1"})


# ---- What the command finds -------------------------------------------------------------------


@case
def the_environment_leads_to_the_proxy_and_nowhere_else(w: World):
    outer = {"HTTP_PROXY": "http://outside:1", "https_proxy": "http://outside:1", "NO_PROXY": "outside",
             "JAVA_TOOL_OPTIONS": "-Xmx1g", "CODEX_NETWORK_PROXY_ACTIVE": "forged", "npm_config_proxy": "x",
             "CORDON_SANDBOX_NETWORK": "forged"}
    inside = dict(line.split("=", 1) for line in
                  ok(w, "--allow-host", "a.com", "env", env=outer).out.splitlines() if "=" in line)
    http_url, socks = "http://127.0.0.1:3128", "socks5h://127.0.0.1:3128"
    for name, value in (("HTTP_PROXY", http_url), ("http_proxy", http_url), ("HTTPS_PROXY", http_url),
                        ("https_proxy", http_url), ("ALL_PROXY", socks), ("all_proxy", socks),
                        ("NO_PROXY", "localhost,127.0.0.1,::1"), ("no_proxy", "localhost,127.0.0.1,::1"),
                        ("npm_config_proxy", http_url), ("npm_config_https_proxy", http_url),
                        ("PIP_PROXY", http_url), ("CARGO_HTTP_PROXY", http_url), ("NODE_USE_ENV_PROXY", "1"),
                        ("WSS_PROXY", http_url), ("ELECTRON_GET_USE_PROXY", "true"),
                        ("CORDON_SANDBOX_NETWORK", "managed"), ("CODEX_NETWORK_PROXY_ACTIVE", "1")):
        assert inside.get(name) == value, (name, inside.get(name))
    assert inside["JAVA_TOOL_OPTIONS"].startswith("-Xmx1g -Dhttp.proxyHost=127.0.0.1 "), inside
    assert "CORDON_SANDBOX_NETWORK_DISABLED" not in inside
    assert "outside" not in "".join(inside.values()), inside
    # Who says otherwise for this run is heard; without a proxy nothing is touched.
    said = ok(w, "--allow-host", "a.com", "--env", "HTTP_PROXY=mine", "env", env=outer).out.splitlines()
    assert "HTTP_PROXY=mine" in said and f"http_proxy={http_url}" in said, said
    plain = ok(w, "--network", "full", "env", env=outer).out.splitlines()
    assert "HTTP_PROXY=http://outside:1" in plain and "JAVA_TOOL_OPTIONS=-Xmx1g" in plain, plain
    assert not [line for line in plain if line.startswith("CODEX_NETWORK")], plain


@case
def servers_of_the_command_are_its_own(w: World):
    script = ("python3 -c \"import http.server as s; s.test(s.SimpleHTTPRequestHandler, port=8000, bind='127.0.0.1')\""
              " >/dev/null 2>&1 & for i in $(seq 100); do sleep 0.2;"
              " curl -sS --max-time 5 -o /dev/null -w '%{http_code}' http://localhost:8000/ && exit; done")
    assert ok(w, "--allow-host", "a.com", "sh", "-c", script).out.endswith("200")


# ---- Denials and failures -----------------------------------------------------------------------


@case
def a_denial_names_host_rule_program_and_a_way_out_that_works(w: World):
    base = ("--allow-host", "third.example")
    result, report = reported(w, *base, "--", *CURL, "-f", "http://good.example/")
    assert result.status != 0, repr(result)
    assert "curl was not allowed to connect to 'good.example:80' (" in result.err, repr(result)
    assert "add: --allow-host good.example\n" in result.err, repr(result)
    assert re.search("deny .* good.example:80 ", w.ok("audit", "--run", "last", "--denied").out)
    denial = report["denials"][0]
    assert (denial["kind"], denial["subject"], denial["count"]) == ("host", "good.example:80", 1), denial
    assert denial["program"] == "curl" and denial["pid"] > 0, denial
    assert "not allowed by any rule" in denial["rule"]["text"] and denial["rule"]["file"] is None, denial
    (suggestion,) = denial["suggestions"]
    assert suggestion == {"scope": "run", "argv": ["--allow-host", "good.example"], "edits": [],
                          "text": "--allow-host good.example"}, denial
    assert ok(w, *base, *suggestion["argv"], "--", *CURL, "-f", "http://good.example/").out
    traffic = report["traffic"]
    assert (traffic["denied"], traffic["allowed"]) == (1, 0), traffic
    assert traffic["hosts"][0]["host"] == "good.example" and traffic["hosts"][0]["reason"] == "unlisted"
    # A name that leads to a private address, and the address itself.
    words = ("--", *CURL, "-f", "http://private.example/")
    result, report = reported(w, "--allow-host", "private.example", *words)
    denial = report["denials"][0]
    # The name is allowed, so the line says what is not.
    warning = result.err[result.err.index("curl was not allowed to connect"):].splitlines()
    assert f"private.example:80 resolves to {PRIVATE}, which is not a public address" in warning[0], warning
    assert warning[1].endswith(f"add: --allow-host {PRIVATE}"), warning
    assert PRIVATE in denial["rule"]["text"], denial
    assert denial["suggestions"][0]["argv"] == ["--allow-host", PRIVATE], denial
    ok(w, "--allow-host", "private.example", *denial["suggestions"][0]["argv"], *words)


@case
def a_deny_is_named_with_its_line(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":read-only"\n'
                   '[permissions.p.network]\nenabled = true\n[permissions.p.network.domains]\n'
                   '"**.example" = "allow"\n"other.example" = "deny"\n')
    _, report = reported(w, "--", *CURL, "http://other.example/")
    denial = report["denials"][0]
    assert denial["rule"]["file"] == str(w.config) and denial["rule"]["line"] == 8, denial
    assert str(w.config) not in denial["rule"]["text"] and "other.example" in denial["rule"]["text"], denial
    (suggestion,) = denial["suggestions"]
    (edit,) = suggestion["edits"]
    assert (suggestion["scope"], suggestion["argv"]) == ("config", []), denial
    assert (edit["file"], edit["line"], edit["key"]) == (str(w.config), 8, '"other.example"'), denial
    assert edit["value"] is None, denial  # take it out
    _, report = reported(w, "--deny-host", "good.example", "--", *CURL, "http://good.example/")
    assert report["denials"][0]["rule"]["file"] == "--deny-host", report["denials"]


@case
def a_failure_of_the_network_is_no_denial(w: World):
    for url, reason in ((f"http://good.example:{QUIET}/", "refused"), ("http://nowhere.example/", "lookup")):
        result, report = reported(w, "--allow-host", "**.example", "--", *CURL, url)
        assert report["denial_count"] == 0 and report["traffic"]["failed"] >= 1, report
        assert report["traffic"]["hosts"][0]["reason"] == reason, report["traffic"]
        assert "refused, the first" not in result.err, repr(result)


@case
def a_tunnel_that_fails_is_named_at_the_end(w: World):
    for name, words in ((f"good.example:{QUIET}", "refused the connection: nothing listens there"),
                        ("nowhere.example:443", "there is no such name (DNS)")):
        said = f"{name} is allowed, but {words}"
        tunnel = (*CURL, "-o", "/dev/null", f"https://{name}/")
        result = run(w, "--allow-host", "**.example", "--", *tunnel)
        assert result.status != 0, repr(result)
        assert result.err.endswith(f"cordon: warning: a connection failed, not because of the policy: {said}\n"), repr(result)
        result = run(w, "--trace", "--allow-host", "**.example", "--", *tunnel)
        assert f"network: connect by curl: {said}" in result.err, repr(result)
        # Who has got along without it is told nothing, nor is who wants to hear nothing.
        twice = f"{' '.join(tunnel)} 2>/dev/null || "
        assert ok(w, "--allow-host", "**.example", "sh", "-c", twice + "true").err == ""
        assert run(w, "--quiet", "--allow-host", "**.example", "sh", "-c", twice + "false").err == ""
        result = run(w, "--allow-host", "**.example", "sh", "-c", twice + twice + "false")
        assert f"2 connections failed, not because of the policy; the first: {said}; --report" in result.err, repr(result)


@case
def what_was_sent_is_counted(w: World):
    _, report = reported(w, "--allow-host", "good.example", "--", *CURL, "-d", "sent", "http://good.example/",
                         "http://good.example/")
    traffic = report["traffic"]
    assert traffic["allowed"] >= 1 and traffic["bytes_down"] > 0 and traffic["bytes_up"] > 0, traffic
    assert report["network"] == "managed" and re.fullmatch("[0-9a-f]{16}", report["run"]), report
    _, report = reported(w, "true")
    assert report["traffic"] is None and report["network"] == "off", report


@case
def quiet_is_quiet_and_json_is_json(w: World):
    result = run(w, "--quiet", "--allow-host", "a.com", "--", *CURL, "-o", "/dev/null", "http://good.example/")
    assert result.err == "", repr(result)
    result = run(w, "--json", "--network", "off", "--allow-host", "a.com", "true")
    assert json.loads(result.out)["error"]["code"] == "argument", repr(result)


# ---- Ports both ways ----------------------------------------------------------------------------


@case
def a_port_of_the_host_is_reached_when_it_is_named(w: World):
    server = Web("127.0.0.1", 8099)
    try:
        for backend in BACKENDS:
            for url in ("http://127.0.0.1:8099/", "http://localhost:8099/"):
                result = ok(w, *backend, "--host-port", "8099", "--", *CURL, url)
                assert result.out.startswith("this is "), repr(result)
                entry = w.ok("audit", "--json", "--run", "last").json
                assert (entry["protocol"], entry["program"]) == ("host-port", "curl") and entry["pid"], entry
            result = run(w, *backend, "--allow-host", "a.com", "--", *CURL, "http://127.0.0.1:8099/")
            assert result.status == 7, repr(result)
            result = run(w, *backend, "--host-port", "8098", "--", *CURL, "http://127.0.0.1:8099/")
            assert result.status == 7, repr(result)
    finally:
        server.shutdown()
        server.server_close()


@case
def an_allow_of_loopback_is_warned_of(w: World):
    useless = "so this rule opens nothing on this host; --host-port "
    for pattern, port in (("localhost:8099", "8099"), ("localhost", "PORT"), ("127.0.0.1:8099", "8099"),
                          ("[::1]:8099", "8099"), ("127.0.0.0/8", "PORT"), ("a.localhost:1-9", "PORT")):
        result = ok(w, "--allow-host", pattern, "true")
        assert result.err.startswith("cordon: warning: --allow-host: in the sandbox, "), repr(result)
        assert useless + port + " " in result.err and result.err.count("\n") == 1, repr(result)
    # A name may lead there, and then it counts.
    result = ok(w, "--allow-host", "good.example", "--allow-host", "127.0.0.1", "true")
    assert "this rule only affects names that resolve to it" in result.err, repr(result)
    for options in (["--allow-host", "good.example"], ["--allow-host", "*"], ["--allow-host", "10.0.0.0/8"],
                    ["--allow-host", "localhost:8099", "--host-port", "8099"],
                    ["--allow-host", "good.example", "--deny-host", "localhost"]):
        assert ok(w, *options, "true").err == "", options


@case
def a_log_without_a_managed_network_is_warned_of(w: World):
    log = w.top / "log.jsonl"
    for network in ("off", "full"):
        result = ok(w, "--network", network, "--audit", str(log), "true")
        assert f"--audit: nothing will be logged: the network of this run is {network}" in result.err, repr(result)
        assert not log.exists()
    assert ok(w, "--allow-host", "good.example", "--audit", str(log), "true").err == "" and log.exists()


@case
def a_port_of_the_command_is_published(w: World):
    script = "import http.server as s; s.test(s.SimpleHTTPRequestHandler, port=8000, bind='127.0.0.1')"

    def reach(port, address="127.0.0.1"):
        try:
            with socket.create_connection((address, port), 2) as s:
                s.sendall(b"GET / HTTP/1.0\r\n\r\n")
                return s.recv(15).startswith(b"HTTP/1.0 200")
        except OSError:
            return False

    for backend in BACKENDS:
        for words, address in ((["--publish", "8081:8000"], "127.0.0.1"),
                               (["--publish", "[::1]:8081:8000"], "::1")):
            running = start(w, *backend, *words, "python3", "-c", script)
            try:
                assert wait_until(lambda a=address: reach(8081, a)), words
                assert not reach(8000) and not reach(8081, WEB), words
            finally:
                running.terminate()
                running.communicate(timeout=SECONDS)
            assert not reach(8081, address)
    assert "which others may reach" in ok(w, "--publish", f"{WEB}:8081:8000", "true").err
    assert "which others" not in ok(w, "--publish", "8081:8000", "true").err
    with socket.create_server(("127.0.0.1", 8081)):
        assert "can't listen on 127.0.0.1:8081" in refused(w, "--publish", "8081:8000", "true").err


def take_slowly(connection):
    """All that comes, from the time on when the other side is gone."""
    time.sleep(0.3)
    count = 0
    while True:
        got = len(connection.recv(1 << 16))
        if not got:
            return count
        count += got
        time.sleep(0.0003)


@case
def what_was_sent_before_the_end_arrives(w: World):
    size = 16 << 20
    send = ("import socket; s = socket.create_connection(('%s', 9000)); s.sendall(bytes(%d)); s.close()"
            % (WEB, size))
    with socket.create_server((WEB, 9000)) as server:
        for words in (["--backend", "none"], *([*backend, "--allow-host", WEB] for backend in BACKENDS)):
            running = start(w, *words, "python3", "-c", send)
            connection = server.accept()[0]
            assert take_slowly(connection) == size, words
            assert running.wait(SECONDS) == 0
            running.communicate()
    serve = ("import socket; s = socket.create_server(('127.0.0.1', 8000)); c = s.accept()[0]; c.sendall(bytes(%d)); "
             "c.close()" % size)
    running = start(w, "--publish", "8084:8000", "python3", "-c", serve)

    def reach():
        try:
            connection = socket.create_connection(("127.0.0.1", 8084), SECONDS)
            return connection if connection.recv(1) else None
        except OSError:
            return None

    connections = []
    assert wait_until(lambda: connections.append(reach()) or connections[-1])
    assert take_slowly(connections[-1]) == size - 1
    assert running.wait(SECONDS) == 0
    running.communicate()


def post(port, host, size):
    """A program that sends a request to the proxy and waits for nothing."""
    return ("import socket; s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'POST http://%s:%d/ HTTP/1.1"
            "\\r\\nHost: %s:%d\\r\\nContent-Length: %d\\r\\n\\r\\n' + bytes(%d)); s.close()"
            % (host, port, host, port, size, size))


@case
def a_request_that_was_sent_before_the_end_arrives(w: World):
    size = 12 << 20
    with socket.create_server((WEB, 9001)) as server:
        server.settimeout(SECONDS)
        for backend in BACKENDS:
            # The second has to be looked up first, and the command does not wait for that.
            for host, count in ((WEB, size), ("slow.example", 1000)):
                running = start(w, *backend, "--allow-host", host, "python3", "-c", post(9001, host, count))
                connection = server.accept()[0]
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    head += connection.recv(1)
                assert head.startswith(b"POST / HTTP/1.1\r\n"), head
                got = take_slowly(connection)
                assert got == count, f"{backend} {host}: {got} of {count} bytes"
                assert running.wait(SECONDS) == 0
                running.communicate()


@case
def who_waits_for_nobody_does_not_keep_the_run(w: World):
    """A request that asks for something is no reason to stay when nobody is left to hear it."""
    ask = ("import socket, time; s = socket.create_connection(('127.0.0.1', 3128)); "
           "s.sendall(b'GET http://%s:9003/ HTTP/1.1\\r\\nHost: %s:9003\\r\\n\\r\\n'); time.sleep(0.2)" % (WEB, WEB))

    def seconds(server):
        began = time.monotonic()
        ok(w, "--allow-host", WEB, "python3", "-c", ask)
        took = time.monotonic() - began
        assert server.accept()[0].recv(100).startswith(b"GET / ")
        return took

    with socket.create_server((WEB, 9003)) as server:
        # Other tests run at the same time: one that does not wait counts. Waiting takes five seconds.
        assert any(seconds(server) < 4 for _ in range(5)), "it waited for an answer"


@case
def who_is_too_slow_sees_that_it_is_not_all(w: World):
    send = ("import socket, time\n"
            "a = socket.create_connection(('%s', 9002))\n"
            "b = socket.create_connection(('127.0.0.1', 3128))\n"
            "b.sendall(b'POST http://%s:9002/ HTTP/1.1\\r\\nHost: %s:9002\\r\\nContent-Length: 99999999\\r\\n\\r\\n')\n"
            "for s in (a, b):\n"
            "    s.settimeout(0.4)\n"
            "    try:\n"
            "        s.sendall(bytes(99999999))\n"
            "    except OSError:\n"
            "        pass\n" % (WEB, WEB, WEB))
    with socket.create_server((WEB, 9002)) as server:
        running = start(w, "--allow-host", WEB, "python3", "-c", send)
        connections = [server.accept()[0] for _ in range(2)]
        assert running.wait(SECONDS) == 0
        running.communicate()
        for connection in connections:
            try:
                count = take_slowly(connection)
            except ConnectionResetError:
                continue
            assert False, f"{count} bytes, and then an end as if it were all"


# ---- No network -------------------------------------------------------------------------------------


@case
def a_network_that_is_off_is_named_where_it_was_wanted(w: World):
    report = w.top / "report"
    for backend in BACKENDS:
        for words, subject, way in (
            ([*CURL, "http://good.example/"], "good.example", "--allow-host good.example"),
            ([*CURL, f"http://{WEB}/"], f"{WEB}:80", f"--allow-host {WEB}:80"),
            ([*CURL, f"http://[{WEB6}]/"], f"[{WEB6}]:80", f"--allow-host [{WEB6}]:80"),
        ):
            result = run(w, *backend, "--network", "off", "--report", str(report), "--", *words)
            assert result.status != 0, repr(result)
            assert f"'{subject}' (the network is off, --network)" in result.err, repr(result)
            note = ", without --network off"
            assert result.err.endswith(note + "\n"), repr(result)
            assert shlex.split(result.err.splitlines()[-1].split("add: ")[1][: -len(note)]) == way.split(), repr(result)
            denial = json.loads(report.read_text())["denials"][0]
            assert (denial["kind"], denial["subject"]) == ("host", subject), denial
            assert denial["suggestions"][0]["text"] == way + note, denial
            assert denial["suggestions"][0]["argv"] == way.split(), denial
            assert denial["rule"]["file"] == "--network" and denial["rule"]["line"] is None and denial["program"] == "curl", denial
            # What would allow it does.
            ok(w, *backend, *way.split(), "--", *words)
        # Not where all went well in the end, and not of what is the command's own.
        assert ok(w, *backend, "sh", "-c", f"curl -s http://{WEB}/; exit 0").err == ""
        assert run(w, *backend, "-q", "--", *CURL, "-s", f"http://{WEB}/").err.count("cordon:") == 0
        own = ("import socket\nwith socket.create_server(('127.0.0.1', 0)) as s:\n"
               "    socket.create_connection(s.getsockname())\nraise SystemExit(3)")
        result = run(w, *backend, "python3", "-c", own)
        assert (result.status, result.err) == (3, ""), repr(result)


ASK = """
import socket, sys
for name in sys.argv[1:]:
    try:
        socket.getaddrinfo(name, 443)
        print('found')
    except socket.gaierror as e:
        print({socket.EAI_NONAME: 'none', socket.EAI_AGAIN: 'again'}.get(e.errno, e))
raise SystemExit(3)
"""
RESOLV_CONFS = (
    "",  # loopback then
    "nameserver 10.255.255.53\noptions timeout:30\n",
    "nameserver 127.0.0.53\nnameserver 10.255.255.53\nnameserver 10.255.255.53\noptions timeout:30\n",
    # As in a cluster: each name is tried with these behind it first.
    "nameserver 10.255.255.53\nsearch a.svc.cluster.local svc.cluster.local\noptions ndots:5 timeout:30\n",
)


@case
def a_name_without_a_network_is_named_and_gone_at_once(w: World):
    report = w.top / "report"
    for number, text in enumerate(RESOLV_CONFS):
        conf = w.top / f"resolv.conf.{number}"
        conf.write_text(text)
        conf.chmod(0o644)
        cover("/etc/resolv.conf", str(conf))
        for backend in BACKENDS:
            began = time.monotonic()
            result = run(w, *backend, "--report", str(report), "--", "python3", "-c", ASK,
                         "registry.npm.example", "other.example", "registry.npm.example")
            assert time.monotonic() - began < 25, f"it waits: {result!r}"
            assert (result.status, result.out) == (3, "none\n" * 3), repr(result)
            assert "look up the name 'registry.npm.example'" in result.err, repr(result)
            assert "--allow-host registry.npm.example" in result.err, repr(result)
            found = {d["subject"]: d for d in json.loads(report.read_text())["denials"]}
            assert set(found) == {"registry.npm.example", "other.example"}, f"{text!r}: {found}"
            assert found["other.example"]["suggestions"][0]["argv"] == ["--allow-host", "other.example"], found
            assert found["other.example"]["program"].startswith("python"), found
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.umount2(os.fsencode(os.path.realpath("/etc/resolv.conf")), 2) == 0


@case
def a_port_of_the_host_that_was_meant_is_named(w: World):
    blocking = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])))"
    hurried = ("import select, socket, sys\ns = socket.socket()\ns.setblocking(False)\n"
               "s.connect_ex(('127.0.0.1', int(sys.argv[1])))\nselect.select([], [s], [])\nraise SystemExit(1)")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port, nobody = (str(s.getsockname()[1]) for s in (server, closed))
        for backend in BACKENDS:
            for network in ([], ["--allow-host", "good.example"]):
                for script in (blocking, hurried):
                    result = run(w, *backend, *network, "--", "python3", "-c", script, port)
                    assert result.status == 1 and f"--host-port {port}" in result.err, repr(result)
                    # Where the host has nobody either it would not help.
                    result = run(w, *backend, *network, "--", "python3", "-c", script, nobody)
                    assert result.status == 1 and "--host-port" not in result.err, repr(result)
                ok(w, *backend, *network, "--host-port", port, "--", "python3", "-c", blocking, port)
        server.setblocking(False)
        count = 0
        while count < 99:
            try:
                server.accept()[0].close()
            except BlockingIOError:
                break
            count += 1
        assert count == 2 * len(BACKENDS), "who looks whether somebody listens must not connect"


@case
def a_socket_of_the_host_is_opened_for_one_run(w: World):
    script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as other:
        paths = [str(w.top / name) for name in ("one.sock", "other.sock")]
        for server, path in zip((one, other), paths):
            server.bind(path)
            server.listen(9)
        for backend in BACKENDS:
            result = run(w, *backend, "--", "python3", "-c", script, paths[0])
            assert result.status == 1 and f"--allow-socket {paths[0]}" in result.err, repr(result)
            ok(w, *backend, "--allow-socket", paths[0], "--", "python3", "-c", script, paths[0])
            result = run(w, *backend, "--allow-socket", paths[0], "--", "python3", "-c", script, paths[1])
            assert result.status == 1 and f"--allow-socket {paths[1]}" in result.err, repr(result)
            # That is all that it opens.
            assert run(w, *backend, "--allow-socket", paths[0], "--", *CURL, "-f", f"http://{WEB}/").status != 0
        assert run(w, "--network", "off", "--allow-socket", paths[0], "--", "true").status == 125
        # What --full-auto is told to add, it takes.
        assert run(w, "--full-auto", "--", "python3", "-c", script, paths[0]).status == 1
        ok(w, "--full-auto", "--allow-socket", paths[0], "--", "python3", "-c", script, paths[0])
        said = w.ok("why", "--full-auto", paths[0])
        assert f"for one run: --allow-socket {paths[0]}" in said.out and "can't be" not in said.out, repr(said)
        assert w.ok("why", "--json", "--full-auto", paths[0]).json["suggestions"][0]["argv"] == ["--allow-socket", str(paths[0])]
        said = w.ok("why", "--json", "--full-auto", "--allow-socket", paths[0], paths[0]).json
        assert said["connect"]["decision"] == "allow", said
        assert "changes nothing" in ok(w, "--network", "full", "--allow-socket", paths[0], "--", "true").err


@case
def what_is_no_question_harms_nobody(w: World):
    """The supervising process reads it."""
    send = ("import os, socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "for i in range(3000):\n    s.sendto(os.urandom(i % 600), ('127.0.0.1', 53))\n"
            "q = b'\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0' + b'\\xc0\\x0c' * 200\n"
            "for i in range(len(q)):\n    s.sendto(q[:i], ('127.0.0.1', 53))\n"
            "socket.getaddrinfo('after.example', 1)\n")
    for backend in BACKENDS:
        result = run(w, *backend, "python3", "-c", send)
        assert result.status == 1 and "after.example" in result.err, repr(result)
        assert "not known" in result.err, repr(result)


@case
def npm_gives_up_at_once(w: World):
    if not os.path.exists("/usr/bin/npm"):
        raise Skip("there is no npm")
    began = time.monotonic()
    result = run(w, "--full-auto", "--", "/usr/bin/npm", "view", "left-pad", "--cache", "cache")
    assert result.status not in (0, 125) and "registry.npmjs.org" in result.err, repr(result)
    assert time.monotonic() - began < 20, f"it tries again: {result!r}"


# ---- Life and death --------------------------------------------------------------------------------


@case
def a_killed_proxy_ends_the_run_by_name(w: World):
    for backend in BACKENDS:
        # Other tests run at the same time: one that is quick counts.
        assert any(seconds_after_the_proxy(w, backend) < 1.5 for _ in range(5)), backend


def seconds_after_the_proxy(w, backend):
    running = start(w, *backend, "--allow-host", "a.com", "sleep", "60")
    found = []
    assert wait_until(lambda: found.append(find_proxy(running.pid)) or found[-1]), "no proxy"
    began = time.monotonic()
    os.kill(found[-1], signal.SIGKILL)
    _, err = running.communicate(timeout=SECONDS)
    assert running.returncode == 125 and b"the proxy was killed" in err, (running.returncode, err)
    return time.monotonic() - began


@case
def nothing_is_left_when_cordon_is_killed(w: World):
    for backend in BACKENDS:
        running = start(w, *backend, "--publish", "8083:8000", "--allow-host", "a.com", "sleep", "60")
        assert wait_until(lambda r=running: find_proxy(r.pid)), "no proxy"
        below = children(running.pid)
        running.kill()
        running.wait(SECONDS)
        assert wait_until(lambda pids=tuple(below): not any(map(is_alive, pids)), 10), below
        running.communicate()


# Opens a tunnel by way of the proxy and one without, says so, and stays.
STAY = """
import socket, time
a = socket.create_connection(("127.0.0.1", 3128))
a.sendall(b"CONNECT good.example:80 HTTP/1.1\\r\\nHost: good.example:80\\r\\n\\r\\n")
assert b" 200 " in a.recv(1000)
b = socket.create_connection(("good.example", 80))
print("open", flush=True)
time.sleep(60)
"""


def entries(log):
    return [json.loads(line) for line in log.read_text().splitlines()]


@case
def what_is_open_is_in_the_log_whoever_is_killed(w: World):
    log = w.top / "log"
    for backend in BACKENDS:
        for find in (find_proxy, lambda pid: pid):
            running = start(w, *backend, "--allow-host", "good.example", "--audit", str(log), "python3", "-c", STAY)
            assert running.stdout.readline() == b"open\n"
            assert wait_until(lambda: len(entries(log)) == 2, SECONDS), entries(log)
            os.kill(find(running.pid), signal.SIGKILL)
            running.communicate(timeout=SECONDS)
            found = sorted(entries(log), key=lambda e: e["protocol"])
            assert [(e["protocol"], e["host"], e["decision"], e["open"], e["count"]) for e in found] == [
                (protocol, "good.example", "allow", True, 0) for protocol in ("connect", "direct")], found
            assert all(e["program"] == "python3" and e["rule"] == "good.example" for e in found), found
            log.unlink()


@case
def what_lasts_is_counted_once(w: World):
    log, report = w.top / "log", w.top / "report"
    ok(w, "--allow-host", "good.example", "--audit", str(log), "--report", str(report), "python3", "-c",
       STAY.replace("60", "3"))
    assert len(entries(log)) == 4 and sum(e["count"] for e in entries(log)) == 2, entries(log)
    assert json.loads(report.read_text())["traffic"]["allowed"] == 2
    # What is brief has one line.
    for _ in range(5):
        log.unlink()
        ok(w, "--allow-host", "good.example", "--audit", str(log), "--", *CURL, "http://good.example/")
        if [(e["open"], e["connection"], e["count"]) for e in entries(log)] == [(False, None, 1)]:
            break
        # Only where it took a second, on a slow machine, it was not brief.
        assert entries(log)[-1]["duration_ms"] > 900, entries(log)
    else:
        raise AssertionError("a request takes a second here")


@case
def nothing_is_left_after_an_ordinary_end(w: World):
    before = set(children(os.getpid()))
    for _ in range(3):
        ok(w, "--allow-host", "good.example", "--", *CURL, "http://good.example/")
    assert wait_until(lambda: not set(children(os.getpid())) - before, 10)


@case
def an_interrupt_reaches_the_command(w: World):
    running = start(w, "--allow-host", "a.com", "sh", "-c",
                    "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.05; done")
    assert running.stdout.readline() == b"ready\n"
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=SECONDS)
    assert (running.returncode, out) == (3, b"caught\n")


@case
def runs_at_once_do_not_meet(w: World):
    running = [start(w, "--allow-host", name, "--", *CURL, "http://good.example/", "http://other.example/")
               for name in ("good.example", "other.example") * 4]
    for i, each in enumerate(running):
        out, err = each.communicate(timeout=SECONDS)
        good, other = out.split(b"\n")[:2]
        assert good.startswith(b"blocked: " if i % 2 else b"this is good"), (i, out, err)
        assert other.startswith(b"this is other" if i % 2 else b"blocked: "), (i, out, err)


def main():
    enter()
    import tempfile  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        settle(directory)
        serve_names()
        for address in (WEB, OTHER, WEB6, PRIVATE):
            Web(address, PORT)
        # Who dies takes all that it started with it, also in the middle of a case.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        run_cases()


if __name__ == "__main__":
    main()
