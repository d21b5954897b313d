#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Approvals as a user meets them (P18): real programs are held, somebody is asked, and they go on.

Each yes stands beside a no, a run that asks nobody, and one without a sandbox. All of it happens in a
network namespace of the test's own: nothing leaves the machine.
"""

import ctypes
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from cli import (NONE, PROGRAM, SECONDS, Skip, Sleeper, World, case, ok, processes_with, run, run_cases,
                 wait_for)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import schema  # noqa: E402
from decider import Decider, ask  # noqa: E402
from own_network import WEB, cover, set_up_addresses  # noqa: E402

WORK = ("--mode", "workspace-write")
CURL = ("curl", "-sS", "-f", "--max-time", "20")
ALLOW = {"decision": "allow"}
DENY = {"decision": "deny", "message": "use the build directory"}


# ---- The world -------------------------------------------------------------------------------


def enter():
    """Goes on in namespaces of its own; an ordinary user is root in them."""
    if os.environ.get("CORDON_TEST_NETWORK"):
        return
    words = ["unshare", "-mn", *([] if os.geteuid() == 0 else ["-r"]), "--", sys.executable,
             os.path.abspath(__file__), *sys.argv[1:]]
    who = "root" if os.geteuid() == 0 else "user"
    os.execvpe("unshare", words, {**os.environ, "CORDON_TEST_NETWORK": who})


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # pylint: disable=invalid-name
        body = f"this is {self.headers.get('Host')}\n".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer((WEB, 80), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def reported(w, decide, *args, **kwargs):
    path = w.top / "report.json"
    result, decider = ask(w, decide, "--report", str(path), *args, **kwargs)
    report = json.loads(path.read_text(encoding="utf-8"))
    schema.check(report)
    return result, decider, report


MAKEFILE = """\
install:
\tmkdir -p $(PREFIX)/bin
\tinstall -m 755 tool $(PREFIX)/bin/tool
"""


def project(w):
    (w.repo / "Makefile").write_text(MAKEFILE, encoding="ascii")
    (w.repo / "tool").write_text("#!/bin/sh\necho works\n", encoding="ascii")
    prefix = w.top / "prefix"
    prefix.mkdir()
    return prefix


def approvals(w):
    log = w.home / ".local/state/cordon/audit/approvals.jsonl"
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


# ---- make install ------------------------------------------------------------------------------


@case
def make_install_is_asked_about_and_goes_on(w: World):
    prefix = project(w)
    install = ("make", "-s", "install", f"PREFIX={prefix}")
    refused = run(w, *WORK, "--", *install)
    assert refused.status != 0 and not (prefix / "bin").exists(), refused
    assert f"--add-write {prefix}" in refused.err, refused

    result, decider, report = reported(w, {**ALLOW, "scope": "session"}, *WORK, "--session", "app",
                                       "--", *install)
    assert result.status == 0, result
    assert subprocess.run([prefix / "bin/tool"], capture_output=True, check=True).stdout == b"works\n"
    assert len(decider.requests) == 1, decider.requests
    request = decider.requests[0]
    assert request["v"] == 1 and request["kind"] == "write" and request["operation"] == "mkdir", request
    assert request["subject"] == str(prefix / "bin") and request["session"] == "app", request
    assert request["program"].endswith("/mkdir") and request["argv"][0] == "mkdir", request
    assert request["cwd"] in (str(w.repo), str(prefix)), request  # mkdir -p goes there
    grants = [offer["grant"] for offer in request["offers"]]
    assert {"kind": "write", "path": str(prefix), "dir": True} in grants, grants
    sums = report["approvals"]
    assert (sums["requests"], sums["allowed"], sums["denied"]) == (1, 1, 0), sums
    assert sums["grants"][0]["grant"]["path"] == str(prefix) and sums["session"] == "app", sums
    assert not report["denials"], report["denials"]

    shutil.rmtree(prefix / "bin")
    result, decider, report = reported(w, DENY, *WORK, "--session", "app", "--", *install)
    assert result.status == 0 and (prefix / "bin/tool").exists(), result
    assert not decider.requests and report["approvals"]["requests"] == 0, decider.requests
    shutil.rmtree(prefix / "bin")
    other = run(w, *WORK, "--session", "other", "--", *install)
    assert other.status != 0 and not (prefix / "bin").exists(), other
    without = run(w, *NONE, *install)
    assert without.status == 0 and (prefix / "bin/tool").exists(), without


@case
def no_is_an_ordinary_error_and_a_structured_one(w: World):
    prefix = project(w)
    install = ("make", "-s", "install", f"PREFIX={prefix}")
    result, decider, report = reported(w, DENY, *WORK, "--", *install)
    assert f"denied by the decider: {DENY['message']}" in result.err, result
    assert "denied by the decider\n" in result.err and "--add-write" not in result.err, result
    assert "changed nothing" not in result.err, result
    assert result.status == 2 and "Read-only file system" in result.err, result
    assert not (prefix / "bin").exists() and len(decider.requests) == 1, decider.requests
    denial = report["denials"][0]
    assert (denial["operation"], denial["errno"], denial["denied_by"]) == ("mkdir", "EROFS", "fd"), denial
    assert denial["subject"] == str(prefix / "bin"), denial
    answer = report["approvals"]["answers"][0]
    assert (answer["decision"], answer["by"]) == ("deny", "fd"), answer
    assert answer["message"] == DENY["message"] and answer["grant"] is None, answer
    assert report["approvals"]["grants"] == [], report["approvals"]


@case
def always_outlives_the_run_and_once_does_not(w: World):
    prefix = project(w)
    touch = ("sh", "-c", f"echo x > {prefix}/file")
    result, decider = ask(w, {**ALLOW, "scope": "once"}, *WORK, "--", *touch)
    assert result.status == 0 and len(decider.requests) == 1, result
    assert run(w, *WORK, "--", *touch).status != 0
    result, decider = ask(w, {**ALLOW, "scope": "always"}, *WORK, "--", *touch)
    assert result.status == 0 and len(decider.requests) == 1, result
    ok(w, *WORK, "--", *touch)
    assert run(w, "--mode", "read-only", "--", *touch).status != 0


@case
def what_is_revoked_while_it_runs_is_refused(w: World):
    prefix = project(w)
    script = f"echo a > {prefix}/a; echo ready; while echo b 2>&- > {prefix}/b; do sleep 0.05; done; echo shut"
    decider = Decider(lambda r: {**ALLOW, "scope": "session"} if len(decider.requests) == 1 else DENY)
    running = subprocess.Popen([PROGRAM, "run", *decider.options, *WORK, "--session", "app", "--", "sh",
                                "-c", script], cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=decider.fds)
    assert running.stdout.readline() == b"ready\n"
    ok_clear = w.run("approvals", "clear", "--yes", "--session", "app")
    assert ok_clear.status == 0, ok_clear
    out, err = running.communicate(timeout=SECONDS)
    assert out == b"shut\n", (out, err)
    assert len(decider.requests) == 2 and (prefix / "a").exists(), decider.requests


# ---- Hosts -------------------------------------------------------------------------------------


@case
def a_new_host_is_asked_about(w: World):
    url = "http://registry.example/"
    refused = run(w, "--", *CURL, url)
    assert refused.status != 0 and "this is" not in refused.out, refused
    twice = ("sh", "-c", f"{' '.join(CURL)} {url} && {' '.join(CURL)} {url}")
    result, decider, report = reported(w, ALLOW, "--", *twice)
    assert result.out == "this is registry.example\n" * 2, result
    assert len(decider.requests) == 1, decider.requests
    request = decider.requests[0]
    assert (request["kind"], request["subject"]) == ("connect", "registry.example:80"), request
    assert [offer["grant"]["host"] for offer in request["offers"]] == ["registry.example:80",
                                                                       "registry.example"], request
    sums = report["approvals"]
    assert (sums["requests"], sums["cache_hits"], sums["cache_misses"]) == (2, 1, 1), sums
    result, decider, report = reported(w, DENY, "--", *twice)
    assert result.status != 0 and "this is" not in result.out, result
    assert report["denials"][0]["subject"] == "registry.example:80", report["denials"]
    assert ok(w, *NONE, *CURL, url).out == "this is registry.example\n"


@case
def a_host_stays_granted_when_a_path_is(w: World):
    prefix = project(w)
    get = f"{' '.join(CURL)} http://registry.example/"
    script = f"{get} && echo new > {prefix}/new && {get}"
    result, decider, report = reported(w, ALLOW, *WORK, "--", "sh", "-c", script)
    assert result.out == "this is registry.example\n" * 2, result
    assert [request["kind"] for request in decider.requests] == ["connect", "write"], decider.requests
    assert report["approvals"]["cache_hits"] == 1 and not report["denials"], report
    # Without the grant of the host, that of the path does not help it.
    result, decider = ask(w, lambda request: ALLOW if request["kind"] == "write" else DENY, *WORK,
                          "--", "sh", "-c", f"echo new > {prefix}/more; {get}")
    assert result.status != 0 and (prefix / "more").exists(), result
    assert ok(w, *NONE, "sh", "-c", script).out == "this is registry.example\n" * 2


@case
def what_was_turned_off_or_denied_is_not_asked_about(w: World):
    url = "http://registry.example/"
    for options in (("--network", "off"), ("--deny-host", "registry.example"), ("--full-auto",)):
        result, decider = ask(w, ALLOW, *options, "--", *CURL, url)
        assert result.status != 0 and not decider.requests, (options, result, decider.requests)
    w.write_config('[permissions.dev]\nextends = ":workspace"\n'
                   '[permissions.dev.network]\nenabled = false\n')
    result, decider = ask(w, ALLOW, "-P", "dev", "--", *CURL, url)
    assert result.status != 0 and not decider.requests, (result, decider.requests)
    prefix = project(w)
    result, decider = ask(w, ALLOW, *WORK, "--deny", str(prefix), "--", "sh", "-c",
                          f"echo x > {prefix}/x; mkdir .git; echo x > ~/.config/cordon/config.toml")
    assert not decider.requests, decider.requests


# ---- Rules, deciders ---------------------------------------------------------------------------


@case
def a_rule_answers_without_a_question(w: World):
    prefix = project(w)
    w.write_config(f'[[approve]]\nwrite = "{prefix}/**"\nanswer = "allow"\n'
                   f'[[approve]]\nhost = "registry.example:80"\nanswer = "deny"\n')
    result, decider, report = reported(w, DENY, *WORK, "--", "sh", "-c",
                                       f"mkdir {prefix}/a; {' '.join(CURL)} http://registry.example/")
    assert (prefix / "a").is_dir() and not decider.requests, (result, decider.requests)
    assert {(x["decision"], x["by"]) for x in report["approvals"]["answers"]} == \
        {("allow", "rule"), ("deny", "rule")}, report["approvals"]
    assert [x["denied_by"] for x in report["denials"]] == ["rule"], report["denials"]
    config = w.home / ".config/cordon/config.toml"
    assert f"was not approved), denied by the rule at {config}:4" in result.err, result
    assert "--allow-host" not in result.err, result
    w.write_config("")
    result, decider = ask(w, DENY, *WORK, "--", "mkdir", f"{prefix}/b")
    assert result.status != 0 and len(decider.requests) == 1, result


@case
def a_program_decides(w: World):
    prefix = project(w)
    if os.environ["CORDON_TEST_NETWORK"] == "user":
        raise Skip("in a user namespace of one user, root's directories are somebody else's")
    # SECURITY: not below /var/tmp, where others may write.
    safe = Path(tempfile.mkdtemp(dir=Path.home()))
    try:
        check_program(w, prefix, safe / "decide")
        check_what_it_runs(w, prefix, safe)
    finally:
        shutil.rmtree(safe)


def check_what_it_runs(w, prefix, safe):
    """Whoever decides is not asked to let the command change what it runs."""
    tools, shells = safe / "tools", safe / "shells"
    tools.mkdir()
    shells.mkdir()
    shutil.copy("/bin/sh", shells / "sh")
    program = safe / "decide"
    program.write_text(ALWAYS_YES.replace("/bin/sh", str(shells / "sh")), encoding="ascii")
    w.env["PATH"] = f"{tools}:{w.env['PATH']}"
    tries = [f"echo x > {tools}/sed", f"echo >> {shells}/sh", f"mkdir {shells}/more",
             f"mv {tools} {safe}/other"]
    for number, script in enumerate(tries):
        # It is one of Cordon's files also when something else was granted before.
        first = f"mkdir {prefix}/first{number}"
        before = sorted(safe.rglob("*")), (shells / "sh").read_bytes()
        result = run(w, "--ask", f"cmd:{program}", *WORK, "--", "sh", "-c", f"{script}; {first}; {script}")
        assert result.status != 0 and (prefix / f"first{number}").exists(), (script, result)
        assert (sorted(safe.rglob("*")), (shells / "sh").read_bytes()) == before, (script, result)
    # Another one may: it runs nothing of that.
    result, decider = ask(w, ALLOW, *WORK, "--", "sh", "-c", tries[0])
    assert result.status == 0 and (tools / "sed").exists() and len(decider.requests) == 1, result


ALWAYS_YES = ("#!/bin/sh\nread -r line\nid=${line#*'\"id\":'}; id=${id%%,*}\n"
              'echo "{\\"id\\": $id, \\"decision\\": \\"allow\\"}"\n')


def check_program(w, prefix, program):
    program.write_text(ALWAYS_YES, encoding="ascii")
    program.chmod(0o755)
    result = run(w, "--ask", f"cmd:{program}", *WORK, "--", "mkdir", f"{prefix}/a")
    assert result.status == 0 and (prefix / "a").is_dir(), result
    program.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    result = run(w, "--ask", f"cmd:{program}", *WORK, "--", "mkdir", f"{prefix}/b")
    assert result.status != 0 and not (prefix / "b").exists(), result
    useless = f"the decider '{program}' gave no usable answer (it ended with status 1); denied"
    assert result.err.count(useless) == 1, result
    assert "the decider gave no usable answer" in result.err.replace(useless, ""), result
    twice = run(w, "--ask", f"cmd:{program}", *WORK, "--", "sh", "-c", f"mkdir {prefix}/b; mkdir {prefix}/c")
    assert twice.err.count("(it ended with status 1); denied") == 1, twice
    program.write_text("echo {}\n", encoding="ascii")
    result = run(w, "--ask", f"cmd:{program}", *WORK, "--", "mkdir", f"{prefix}/b")
    assert "(it could not be executed; a script needs a first line such as #!/bin/sh)" in result.err, result
    program.write_text("#!/bin/sh\nexit 1\n", encoding="ascii")
    inside = w.repo / "decide"
    shutil.copy(program, inside)
    assert w.cause("run", "--ask", f"cmd:{inside}", *WORK, "true") == "decider_untrusted"


@case
def a_decider_that_is_silent_or_gone_denies(w: World):
    prefix = project(w)
    began = time.monotonic()
    result, decider, report = reported(w, None, *WORK, "--ask-timeout", "300ms", "--", "mkdir", f"{prefix}/a")
    assert result.status != 0 and decider.requests and time.monotonic() - began < SECONDS, result
    assert [x["denied_by"] for x in report["denials"]] == ["deadline"], report["denials"]
    assert "not answered in 300 ms" in result.err and f"--add-write {prefix}" in result.err, result
    wrong = Decider(lambda r: {"decision": "perhaps"})
    result = run(w, *wrong.options, *WORK, "--ask-timeout", "300ms", "--", "mkdir", f"{prefix}/a", fds=wrong.fds)
    assert "1 line from the decider changed nothing; see '" in result.err, result
    assert "approvals.jsonl'" in result.err, result
    assert wait_for(lambda: decider.withdrawn) == [decider.requests[0]["id"]], decider.withdrawn
    gone = Decider(None)
    gone.decide = lambda _: gone.here.shutdown(socket.SHUT_RDWR)
    result = run(w, *gone.options, *WORK, "--", "sh", "-c", f"mkdir {prefix}/a; mkdir {prefix}/b",
                 fds=gone.fds)
    assert result.status != 0 and not (prefix / "b").exists(), result
    assert len(gone.requests) == 1, gone.requests


@case
def who_is_killed_while_somebody_is_asked_leaves_nothing(w: World):
    prefix = project(w)
    other = w.top / "other"
    other.mkdir()
    for first in ("", f"echo x > {prefix}/open; "):
        sleeper = Sleeper()
        decider = Decider(lambda r, first=first: ALLOW if first and r["subject"].endswith("open") else None)
        words = [PROGRAM, "run", *decider.options, *WORK, "--", "sh", "-c",
                 f"{sleeper.words} & {first}mkdir {other}/held"]
        with subprocess.Popen(words, cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              pass_fds=decider.fds) as running:
            wait_for(lambda d=decider: any(r["subject"].endswith("held") for r in d.requests))
            sleeper.wait()
            running.kill()
        began = time.monotonic()
        wait_for(lambda s=sleeper: not processes_with(s.time))
        assert time.monotonic() - began < 5 and not (other / "held").exists()
        wait_for(lambda: sorted(p.name for p in prefix.iterdir()) == (["open"] if first else []))
        decider.close()


@case
def where_nothing_can_be_opened_it_is_run_once_more(w: World):
    prefix = project(w)
    less = ("protect_missing", "proc", "fs_carve", "tree_death")
    confined = (*WORK, "--backend", "landlock", *(f"--accept-missing={name}" for name in less))
    if run(w, *confined, "true").status != 0:
        raise Skip("no Landlock here")
    install = ("sh", "-c", f"echo try; echo x > {prefix}/file")
    result, decider = ask(w, ALLOW, *confined, "--", *install)
    assert result.status != 0 and not decider.requests, (result, decider.requests)
    result, decider, report = reported(w, ALLOW, *confined, "--retry", "--", *install)
    assert result.status == 0 and result.out == "try\ntry\n", result
    assert (prefix / "file").exists() and "once more" in result.err, result
    assert "to allow this for one run" not in result.err and result.err.count("guarantee tree_death") < 2, result
    result, _ = ask(w, ALLOW, *confined, "--", "true")
    assert "the landlock backend can't open paths while the command runs" in result.err, result
    assert len(decider.requests) == 1 and not report["denials"], report["denials"]
    assert report["approvals"]["allowed"] == 1 and report["network"] == "off", report["approvals"]
    (prefix / "file").unlink()
    result, decider, report = reported(w, DENY, *confined, "--retry", "--", *install)
    assert result.status != 0 and result.out == "try\n" and not (prefix / "file").exists(), result
    result, decider = ask(w, ALLOW, *confined, "--retry", "--", "sh", "-c", "echo try; exit 3")
    assert (result.status, result.out) == (3, "try\n") and not decider.requests, result
    assert w.cause("run", "--retry", "true") == "option_useless"


@case
def what_is_taken_back_while_others_are_asked_is_not_for_the_second_run(w: World):
    prefix = project(w)
    confined = (*WORK, "--backend", "landlock",
                *(f"--accept-missing={name}" for name in ("protect_missing", "proc", "fs_carve", "tree_death")))
    if run(w, *confined, "true").status != 0:
        raise Skip("no Landlock here")
    kept = w.config.parent / "approvals.toml"
    for name in "ab":
        (prefix / name).mkdir()

    def decide(request, revokes):
        if request["id"] == 1:
            return {**ALLOW, "scope": "always"}
        wait_for(kept.exists)
        if revokes:
            w.ok("approvals", "clear", "--yes")
            time.sleep(1.5)
        return DENY

    for revokes in (True, False):
        result, decider = ask(w, lambda request: decide(request, revokes), *confined, "--retry", "--", "sh", "-c",
                              f"echo try; echo x >{prefix}/a/f; echo x >{prefix}/b/f")
        assert len(decider.requests) == 2 and not (prefix / "b/f").exists(), (result, decider.requests)
        assert result.out == ("try\n" if revokes else "try\ntry\n"), result
        scopes = {scope for request in decider.requests for offer in request["offers"] for scope in offer["scopes"]}
        assert scopes == {"run", "always"}, scopes
        assert (prefix / "a/f").exists() != revokes, result


@case
def what_counts_is_kept_and_what_can_not_be_kept_counts_for_the_run(w: World):
    prefix = project(w)
    kept = w.config.parent / "approvals.toml"
    always = {**ALLOW, "scope": "always"}
    nowhere = {**always, "grant": {"kind": "write", "path": f"{prefix}/none", "dir": True}}
    result, decider = ask(w, nowhere, *WORK, "--", "sh", "-c", f"echo x >{prefix}/f")
    assert result.status != 0 and len(decider.requests) == 1 and "but is refused" in result.err, result
    assert not kept.exists(), kept.read_text()
    # What nobody could keep is not taken for revoked when another run keeps something.
    lock = kept.with_name(".approvals.toml.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir(parents=True)

    def write_later():
        wait_for((prefix / "one").exists)
        kept.write_text("version = 1\n\n# end\n", encoding="ascii")
        kept.chmod(0o600)

    threading.Thread(target=write_later, daemon=True).start()
    result, decider = ask(w, always, *WORK, "--", "sh", "-c",
                          f"echo x >{prefix}/one; sleep 2; echo x >{prefix}/two")
    assert result.status == 0 and (prefix / "two").exists(), result
    assert len(decider.requests) == 1 and "could not be kept" in result.err, (result, decider.requests)
    lock.rmdir()
    result, decider = ask(w, always, *WORK, "--", "sh", "-c", f"echo x >{prefix}/three")
    assert result.status == 0 and str(prefix) in kept.read_text(encoding="utf-8"), result


@case
def a_new_file_in_a_home_is_asked_for_once(w: World):
    touch = ("sh", "-c", "echo x > ~/new")
    refused = run(w, *WORK, "--", *touch)
    assert refused.status != 0 and "no option allows just" in refused.err, refused
    result, decider = ask(w, DENY, *WORK, "--", *touch)
    assert result.status != 0 and not (w.home / "new").exists() and len(decider.requests) == 1, result
    assert [(offer["grant"]["path"], offer["scopes"]) for offer in decider.requests[0]["offers"]] == \
        [(str(w.home / "new"), ["once"])], decider.requests
    result, decider = ask(w, {**ALLOW, "scope": "once"}, *WORK, "--", *touch)
    assert result.status == 0 and (w.home / "new").read_text() == "x\n", result
    # Neither the home nor a directory in it.
    result, decider = ask(w, ALLOW, *WORK, "--", "sh", "-c", "mkdir ~/dir")
    assert result.status != 0 and not decider.requests, (result, decider.requests)
    assert ok(w, *NONE, *touch).status == 0


@case
def an_allow_that_opens_a_home_is_an_error(w: World):
    for wide in ("/", "/**", "~", "~/**", "~/*", str(w.home), f"{w.home.parent}/*"):
        w.write_config(f'[[approve]]\nwrite = "{wide}"\nanswer = "allow"\n')
        assert w.cause("run", "true") == "approval_too_wide", wide
        assert "config.toml:1" in w.run("check", check=125).out, wide
    w.write_config('[[approve]]\nwrite = "~/.cache/**"\nanswer = "allow"\n'
                   '[[approve]]\nwrite = "/proc/**"\nanswer = "allow"\n')
    assert "config.toml:4" in w.ok("check").out
    ok(w, "--", "true")


@case
def who_is_never_asked_is_told(w: World):
    prefix = project(w)
    assert "--ask-timeout needs --ask" in w.fails("run", "--ask-timeout", "5s", "true").err
    result, decider = ask(w, ALLOW, "--sandbox", "forbid", "--", "true")
    assert "--ask has no effect" in result.err and result.status == 0, result
    result, decider = ask(w, ALLOW, *WORK, "--", "true")
    assert result.err == "" and result.status == 0, result
    url = "http://registry.example/"
    result, decider = ask(w, ALLOW, "--full-auto", "--", *CURL, url)
    assert result.err.count("hosts are not asked about: --full-auto or --network off") == 1, result
    result, decider = ask(w, DENY, *WORK, "--", "mkdir", f"{prefix}/a")
    assert "hosts are not asked" not in result.err and len(decider.requests) == 1, result


@case
def one_refusal_has_one_line_and_the_widest_advice(w: World):
    prefix = project(w)
    (prefix / "there").write_text("", encoding="ascii")
    result = run(w, *WORK, "--", "touch", str(prefix / "there"))
    assert result.status != 0 and result.err.count("was not allowed to") == 1, result
    result = run(w, *WORK, "--", "sh", "-c", f"echo > {prefix}/there; mkdir {prefix}/a")
    assert f"add: --add-write {prefix}\n" in result.err, result


@case
def bad_values_are_refused(w: World):
    for value in ("", "somebody", "cmd:", "fd:x", "fd:1", "socket:"):
        assert w.run("run", "--json", "--ask", value, "true", check=125).json["error"], value
    assert w.cause("run", "--ask", "cmd:no-such-program", "true") == "decider_unusable"
    assert w.cause("run", "--ask", f"socket:{w.top}/none", "true") == "decider_unusable"
    assert ok(w, "--ask", "off", "true").status == 0


# ---- What is said about it -----------------------------------------------------------------------


@case
def requests_and_answers_are_logged_and_streamed(w: World):
    prefix = project(w)
    events = w.top / "events.jsonl"
    result, decider = ask(w, ALLOW, *WORK, "--events", str(events), "--", "mkdir", f"{prefix}/a")
    assert result.status == 0, result
    lines = [json.loads(line) for line in events.read_text(encoding="utf-8").splitlines()]
    one = schema.Schema("event-1")
    for line in lines:
        one.check(line)
    assert [line["event"] for line in lines] == ["start", "request", "answer", "end"], lines
    assert lines[1]["id"] == lines[2]["id"] and lines[2]["by"] == "fd", lines
    assert lines[1]["subject"] == f"{prefix}/a" and lines[1]["deadline_ms"] == 120000, lines
    log = approvals(w)
    assert [line["event"] for line in log] == ["answer", "run"], log
    assert log[0]["run"] == lines[0]["run"] and log[0]["decision"] == "allow", log
    assert log[0]["grant"] == {"kind": "write", "subject": str(prefix), "dir": True}, log
    assert (log[1]["requests"], log[1]["allowed"], log[1]["status"]) == (1, 1, 0), log
    ask(w, DENY, *WORK, "--", "mkdir", f"{prefix}/b")
    found = w.ok("audit", "--summary", "--json").json
    schema.check(found)
    sums = found["approvals"]
    assert (sums["runs"], sums["requests"], sums["allowed"], sums["denied"]) == (2, 2, 1, 1), sums
    assert sums["denials"]["path"] == 1, sums
    text = w.ok("audit", "--metrics").out
    assert "cordon_runs_total 2\n" in text and "cordon_grants_total 1\n" in text, text
    assert 'cordon_requests_total{kind="write",decision="deny",by="fd"} 1\n' in text, text
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2, line


@case
def without_ask_nothing_is_logged_or_managed(w: World):
    result = run(w, *WORK, "--report", str(w.top / "r"), "--", "sh", "-c", "echo x > /x")
    assert result.status != 0, result
    report = json.loads((w.top / "r").read_text(encoding="utf-8"))
    assert report["approvals"] is None and report["network"] == "off", report["network"]
    assert not (w.home / ".local/state/cordon/audit").exists()


def main():
    enter()
    if not shutil.which("curl") or not shutil.which("make"):
        raise Skip("no curl or no make here")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        set_up_addresses()
        hosts = os.path.join(directory, "hosts")
        Path(hosts).write_text(f"127.0.0.1 localhost\n{WEB} registry.example\n", encoding="ascii")
        cover("/etc/hosts", hosts)
        serve()
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        run_cases()


if __name__ == "__main__":
    main()
