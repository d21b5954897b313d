#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon request`: a command in a sandbox asks for more by itself (P18, docs/approvals.md)."""

import json
import os
import re
import shlex
import socket
import sys
from pathlib import Path

from cli import PROGRAM, Skip, World, case, run, run_cases, wait_for
from decider import Decider, ask

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import schema  # noqa: E402
from sanitizer import without_leaks  # noqa: E402

WORK = ("--mode", "workspace-write")
LANDLOCK = ["--backend", "landlock", "--mode", "read-only", "--accept-missing", "proc", "--accept-missing",
            "tree_death", "--accept-missing", "ipc"]
ALLOW = {"decision": "allow"}
DENY = {"decision": "deny", "message": "use the build directory"}

# Speaks the protocol: prints the answer to each argument, or "ended".
CLIENT = """
import json, os, socket, struct, sys
def talk(text):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ["CORDON_SOCKET"])
        s.sendall(struct.pack("<I", len(text)) + text)
        head = s.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return "ended"
        return s.recv(struct.unpack("<I", head)[0], socket.MSG_WAITALL).decode()
for text in sys.argv[1:]:
    print(talk(text.encode()))
"""


def requests(*words):
    """One command that asks for all of it, and goes on whatever the answers are."""
    lines = [shlex.join([PROGRAM, "request", "--json", *each]) + "; echo '# '$?" for each in words]
    return ["sh", "-c", "; ".join(lines)]


def answers(result):
    found = []
    for part in re.split(r"^# .*\n", result.out, flags=re.M)[:-1]:
        text = part[part.index("{"):]
        one = json.loads(text)
        schema.check(one)
        found.append(one)
    return found


def statuses(result):
    return [int(line[2:]) for line in result.out.splitlines() if line.startswith("# ")]


def out_of_reach(w):
    path = w.top / "out"
    path.mkdir()
    return path


@case
def without_a_decider_it_is_denied_with_what_would_allow_it(w: World):
    out = out_of_reach(w)
    result = run(w, *WORK, "--", *requests(["--write", str(out)], ["--write", f"{out}/new/file"],
                                           ["--host", "example.com:443"], ["--socket", f"{out}/s"]))
    found = answers(result)
    assert statuses(result) == [1, 1, 1, 1], result
    assert all(not one["granted"] and one["by"] == "nobody" and one["message"] for one in found), found
    argvs = [one["suggestions"][0]["argv"] for one in found]
    assert argvs == [["--add-write", str(out)], ["--add-write", str(out)], ["--allow-host", "example.com:443"],
                     ["--allow-socket", f"{out}/s"]], argvs
    result = run(w, *WORK, *argvs[0], *argvs[2], "--", *requests(["--write", str(out)], ["--host", "example.com:443"]))
    assert statuses(result) == [0, 0] and all(one["by"] == "policy" for one in answers(result)), result


@case
def it_works_with_every_backend_and_every_network(w: World):
    for options in (["--backend", "native"], ["--backend", "bwrap"], ["--network", "managed"], ["--network", "full"],
                    ["--mode", "read-only"], [*LANDLOCK, "--network", "off"], [*LANDLOCK, "--network", "full"]):
        result = run(w, *WORK[:0 if "--mode" in options else 2], *options, "--", *requests(["--write", "/etc"]))
        if result.status == 125 and "--backend" in options:
            continue  # not on this host
        assert statuses(result) == [1], (options, result)


@case
def where_nobody_listens_it_says_so(w: World):
    assert w.cause("request", "--write", "/x") == "nobody_asked"
    for words in ([], ["--write"], ["/x"], ["--write", "--host", "x"], ["--host", ""]):
        assert w.run("request", *words, check=125).err, words
    assert run(w, "--backend", "none", "-q", "--", PROGRAM, "request", "--write", "/x").status == 125
    result = run(w, *WORK, "--env", "CORDON_SOCKET=/x", "--", "true")
    assert result.status == 125, result


@case
def text_and_relative_paths(w: World):
    (w.repo / "sub").mkdir()
    (w.top / "link").symlink_to(w.repo)
    result = run(w, *WORK, "--", "sh", "-c", f"cd sub; {PROGRAM} request --write ../new; cd /; "
                 f"{PROGRAM} request --write {w.top}/link/x; {PROGRAM} request --write etc/../etc/x")
    assert result.out.splitlines()[:3] == ["granted", "granted", 'denied: ":root" = "read"'], result
    long = out_of_reach(w) / "/".join("d" * 80 for _ in range(3))
    long.mkdir(parents=True)
    result = run(w, *WORK, "--", "sh", "-c", f"cd {long}; {requests(['--write', '.'])[2]}")
    assert answers(result)[0]["suggestions"][0]["argv"] == ["--add-write", str(long)], result


@case
def a_run_is_known_by_its_hello(w: World):
    report = w.top / "report"
    result = run(w, *WORK, "--report", str(report), "--", sys.executable, "-c", CLIENT, '{"type": "hello"}',
                 '{"type": "hello", "run": "0123456789abcdef"}', '{"type": "hello"', '{"type": "escalate", "argv": []}',
                 '{"type": "request", "kind": "write", "subject": "x"}',
                 '{"type": "request", "kind": "connect", "subject": "no host"}', '{"type": "hello"}')
    lines = result.out.splitlines()
    found = [line if line == "ended" else json.loads(line) for line in lines if line]
    run_id = json.loads(report.read_text(encoding="utf-8"))["run"]
    assert found[0] == {"type": "hello", "v": 1, "run": run_id, "profile": ":workspace", "backend": found[0]["backend"],
                        "shell": False, "policy": found[0]["policy"]}, found
    assert found[0]["policy"].startswith("sha256:"), found
    assert found[1]["type"] == "error" and found[2] == found[3] == "ended", found
    assert found[4]["type"] == found[5]["type"] == "error" and found[6] == found[0], found


@case
def a_yes_opens_it_for_the_processes_that_run(w: World):
    out = out_of_reach(w)
    assert run(w, *WORK, "-q", "--", "sh", "-c", f"echo no >{out}/a").status != 0
    script = (f"{PROGRAM} request --write {out} --reason 'it is $(needed)' && echo yes >{out}/b; "
              f"{PROGRAM} request -q --write {out}")
    result, decider = ask(w, lambda r: ALLOW if r["operation"] == "create" and r["reason"] else DENY, *WORK,
                          "--", "sh", "-c", script)
    assert not (out / "a").exists() and (out / "b").read_text() == "yes\n", result
    assert result.out == "granted (run)\ngranted\n", result
    one = [r for r in decider.requests if r["reason"]]
    assert len(one) == 1 and one[0]["subject"] == str(out) and one[0]["reason"] == "it is $(needed)", decider.requests
    assert one[0]["program"] == os.path.realpath(PROGRAM) and one[0]["cwd"] == str(w.repo), one
    assert one[0]["offers"][0]["grant"] == {"kind": "write", "path": str(out), "dir": True}, one
    assert all("once" not in offer["scopes"] for offer in one[0]["offers"]), one


@case
def a_no_is_a_structured_no(w: World):
    out = out_of_reach(w)
    result, decider = ask(w, DENY, *WORK, "--", *requests(["--write", str(out)], ["--write", str(out)]))
    assert statuses(result) == [1, 1] and len(decider.requests) == 1, (result, decider.requests)
    assert answers(result)[0]["message"] == DENY["message"] and not list(out.iterdir()), result


@case
def what_may_not_be_asked_is_not(w: World):
    (w.repo / ".git").mkdir()
    (w.top / "denied").mkdir()
    result, decider = ask(w, ALLOW, *WORK, "--deny", str(w.top / "denied"), "--deny-host", "evil.example", "--",
                          *requests(["--write", str(w.repo / ".git/hooks")], ["--write", str(w.top / "denied")],
                                    ["--write", "/"], ["--write", str(w.home)], ["--write", str(w.config.parent)],
                                    ["--host", "evil.example:80"], ["--host", "127.0.0.1:22"]))
    assert statuses(result) == [1] * 7 and not decider.requests, (result, decider.requests)


@case
def metadata_outside_of_every_root_is_not_asked_for(w: World):
    other = w.top / "other"
    for name in (".git/hooks", ".github/hooks", "sub/.vscode", "src"):
        (other / name).mkdir(parents=True)
    (other / ".git/config").touch()
    paths = [other / name for name in (".git/hooks/x", ".git/config", ".github/hooks", "sub/.vscode/tasks.json")]
    tries = "; ".join(f"{{ echo x >>{path}; }} 2>/dev/null && echo OPEN" for path in paths)
    rule = f'[[approve]]\nwrite = "{other}/**"\nanswer = "allow"\n'
    for text in ("", rule):
        w.write_config(text)
        result, decider = ask(w, ALLOW, *WORK, "--", "sh", "-c",
                              f"{tries}; echo x >{other}/src/x && echo opened; true")
        assert result.out == "opened\n" and len(decider.requests) == (not text), (result, decider.requests)
        result, decider = ask(w, ALLOW, *WORK, "--", *requests(*(["--write", str(path)] for path in paths)))
        assert statuses(result) == [1] * len(paths) and not decider.requests, (result, decider.requests)
        assert all(one["message"].startswith(f"it is protected metadata: {other}/") for one in answers(result)), result


@case
def a_socket_can_be_asked_for_or_just_used(w: World):
    path = str(w.top / "s")
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        result = run(w, *WORK, "-q", "--", sys.executable, "-c", connect)
        assert result.status != 0, result
        for words in ([PROGRAM, "request", "--socket", path], []):
            script = shlex.join(words) + "\n" + shlex.join([sys.executable, "-c", connect])
            result, decider = ask(w, ALLOW, *WORK, "--", "sh", "-c", script)
            assert result.status == 0, result
            assert [(r["kind"], r["subject"]) for r in decider.requests] == [("unix_socket", path)], decider.requests
        result, decider = ask(w, DENY, *WORK, "-q", "--", sys.executable, "-c", connect)
        assert result.status != 0 and "Permission denied" in result.err and len(decider.requests) == 1, result


@case
def a_thousand_at_once_are_all_answered(w: World):
    out = out_of_reach(w)
    script = f"i=0; while [ $i -lt 1000 ]; do {PROGRAM} request -q --write {out} >>log 2>&1 & i=$((i+1)); done; wait"
    result, decider = ask(w, ALLOW, *WORK, "--", "sh", "-c", script)
    lines = (w.repo / "log").read_text().splitlines()
    granted = [line for line in lines if line.startswith("granted")]
    assert result.status == 0 and len(decider.requests) == 1, (result, len(decider.requests))
    assert len(granted) > 100 and len(lines) - len(granted) == sum("too many" in line for line in lines), lines[:20]


@case
def a_request_ends_with_its_process(w: World):
    out = out_of_reach(w)
    decider = Decider(None)
    result = run(w, *decider.options, *WORK, "--", "sh", "-c", f"timeout -s KILL 1 {PROGRAM} request --write {out}; echo $?",
                 fds=decider.fds)
    decider.close()
    assert result.out.strip() == "137" and len(decider.requests) == 1, (result, decider.requests)
    assert wait_for(lambda: decider.withdrawn) == [decider.requests[0]["id"]], decider.withdrawn


def only(path):
    return lambda r: ALLOW if r["subject"] == str(path) else DENY


@case
def a_frame_that_is_sent_again_is_decided_again(w: World):
    """What a run before this one was given is no ticket for this one, nor is its id."""
    out = out_of_reach(w)
    frames = ['{"type": "request", "kind": "write", "subject": "%s"}' % out] * 2
    client = [sys.executable, "-c", CLIENT]
    report = w.top / "report"
    opened = f"echo x >{out}/x && echo opened"
    result, decider = ask(w, ALLOW, *WORK, "--report", str(report), "--", "sh", "-c",
                          f"{shlex.join([*client, *frames])}; {opened}")
    found = [json.loads(line) for line in result.out.splitlines() if line.startswith("{")]
    assert [one["granted"] for one in found] == [True, True] and len(decider.requests) == 1, (result, decider.requests)
    assert result.out.endswith("opened\n"), result  # the control
    hello = '{"type": "hello", "run": "%s"}' % json.loads(report.read_text(encoding="utf-8"))["run"]
    result, decider = ask(w, DENY, *WORK, "--", "sh", "-c",
                          f"{shlex.join([*client, hello, *frames])}; {opened}; true")
    found = [json.loads(line) for line in result.out.splitlines() if line]
    assert found[0]["type"] == "error" and [one["granted"] for one in found[1:]] == [False, False], result
    assert [r["subject"] for r in decider.requests].count(str(out)) == 1, decider.requests
    assert "opened" not in result.out, result


# Traces a request and exchanges its path at the entry of the call that sends it, or at its exit.
TRACER = """
import ctypes, os, struct, sys
moment, program, path = sys.argv[1:]
TRACEME, PEEK, POKE, GETREGS, SYSCALL, SENDMSG = 0, 2, 5, 12, 24, 46
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.restype, ptrace.argtypes = ctypes.c_long, [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
pid = os.fork()
if pid == 0:
    ptrace(TRACEME, 0, None, None)
    os.execv(program, [program, "request", "--write", path])
def peek(at):
    return ptrace(PEEK, pid, at, None) & (1 << 64) - 1
os.waitpid(pid, 0)
regs, is_entry, changed = ctypes.create_string_buffer(8 * 27), False, 0
while True:
    ptrace(SYSCALL, pid, None, None)
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSTOPPED(status):
        break
    is_entry = not is_entry
    ptrace(GETREGS, pid, None, regs)
    words = struct.unpack("27Q", regs)
    if words[15] != SENDMSG or moment != ("entry" if is_entry else "exit"):
        continue
    base, length = (peek(peek(words[13] + 16) + i) for i in (0, 8))
    text = b"".join(struct.pack("Q", peek(base + i)) for i in range(0, length, 8))[:length]
    at = text.find(b"/asked")
    if at >= 0:
        word = struct.unpack("Q", (b"/other" + text[at + 6:at + 8]))[0]
        changed += ptrace(POKE, pid, base + at, word) == 0
print(changed, os.waitstatus_to_exitcode(status), flush=True)
"""


@case
def whoever_traces_a_request_gets_what_was_asked_and_nothing_else(w: World):
    if os.uname().machine != "x86_64":
        raise Skip("the tracer knows the registers of x86-64 alone")
    out = out_of_reach(w)
    for name in ("asked", "other"):
        (out / name).mkdir()
    tries = "; ".join(f"{{ echo x >{out}/{name}/x; }} 2>/dev/null && echo {name}" for name in ("asked", "other"))
    assert run(w, "--backend", "none", "--", "sh", "-c", f"echo x >{out}/other/control").status == 0  # outside it works
    for moment, traced, opened in (("never", "0 0", {"asked"}), ("exit", "1 0", {"asked"}), ("entry", "1 1", set())):
        words = [sys.executable, "-c", TRACER, moment, PROGRAM, str(out / "asked")]
        result, decider = ask(w, only(out / "asked"), *WORK, "--", "sh", "-c", f"{shlex.join(words)}; {tries}; true",
                              env=without_leaks())  # who is traced can't be looked through for leaks
        # What is sent is what is asked about; what the memory holds before or after that counts nothing.
        first = "other" if moment == "entry" else "asked"
        assert decider.requests[0]["subject"] == str(out / first), decider.requests
        lines = set(result.out.splitlines())
        assert traced in lines and lines & {"asked", "other"} == opened, (moment, result)
        assert not (out / "other/x").exists(), (moment, result)


@case
def what_the_command_says_reaches_no_terminal(w: World):
    out = w.top / "a\x1b[31mb\udcff"
    os.mkdir(out)
    result, decider = ask(w, DENY, *WORK, "--trace", "--", PROGRAM, "request", "--write", str(out), "--reason", "\x1b]11;?\x07")
    assert result.status == 1 and "\x1b" not in result.err + result.out, result
    assert decider.requests[0]["subject_base64"], decider.requests
    result = run(w, *WORK, "--trace", "--", PROGRAM, "request", "--write", str(out))
    assert result.status == 1 and "\x1b" not in result.err + result.out, result


if __name__ == "__main__":
    run_cases()
