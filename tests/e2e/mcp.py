#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon mcp`: the tools over the Model Context Protocol (docs/mcp.md)."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from cli import PROGRAM, Skip, World, case, run_cases, wait_for
from mcp_client import META, Client, content_of, error_of, meta

WORK = ("--mode", "workspace-write", "--network", "off")
READ = ("--mode", "read-only")
ELICITS = {"elicitation": {"form": {}}}
TOOLS = {"read_file", "write_file", "replace_in_file", "delete_file", "list_files", "search_files", "apply_patch",
         "execute_command", "open_project"}


def accept(decision):
    return lambda method, params: {"action": "accept", "content": {"decision": decision}}


def accept_longest_of(scope):
    def answer(_method, params):
        choices = params["requestedSchema"]["properties"]["decision"]["enum"]
        return {"action": "accept", "content": {"decision": next(each for each in choices if each.startswith(scope))}}
    return answer


accept_longest = accept_longest_of("session")  # what is narrowest may be had for a moment only


def policy_of(c):
    return json.loads(c.result("resources/read", {"uri": "cordon://policy"})["contents"][0]["text"])


def text_of(result):
    assert [each["type"] for each in result["content"]] == ["text"], result
    return result["content"][0]["text"]


def outside(w):
    """A directory that no mode makes writable, as a temporary one is."""
    return Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))


# ---- The protocol ----------------------------------------------------------------------------------


@case
def tools_work_through_a_session_of_each_version(w: World):
    (w.repo / "a.txt").write_text("one\ntwo\n")
    for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        with Client(w, *WORK) as c:
            assert c.initialize(version=version)["protocolVersion"] == version
            tools = {tool["name"]: tool for tool in c.result("tools/list")["tools"]}
            assert set(tools) == TOOLS, tools
            assert all(tool["inputSchema"]["type"] == "object" for tool in tools.values()), tools
            result = c.call("read_file", path="a.txt")
            assert "two" in text_of(result), result
            if version >= "2025-06-18":
                assert content_of(result)["content"] == "one\ntwo\n", result
            else:
                assert "structuredContent" not in result, result


@case
def what_was_written_is_there_and_a_command_sees_it(w: World):
    with Client(w, *WORK) as c:
        c.initialize()
        content_of(c.call("write_file", path="new.txt", content="hello\n"))
        assert (w.repo / "new.txt").read_text() == "hello\n"
        found = content_of(c.call("execute_command", command=["sh", "-c", "cat new.txt; echo wrong >&2; exit 3"]))
        assert (found["status"], found["stdout"], found["stderr"]) == (3, "hello\n", "wrong\n"), found


@case
def the_stateless_revision_needs_no_session(w: World):
    (w.repo / "a.txt").write_text("one\n")
    with Client(w, *WORK) as c:
        found = c.result("server/discover", {"_meta": meta()})
        assert "2026-07-28" in found["supportedVersions"] and found["resultType"] == "complete", found
        found = c.result("tools/list", {"_meta": meta()})
        assert {tool["name"] for tool in found["tools"]} == TOOLS and found["ttlMs"] >= 0, found
        found = c.result("tools/call", {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": meta()})
        assert found["resultType"] == "complete" and content_of(found)["content"] == "one\n", found
        assert c.code("tools/list", {"_meta": meta() | {META + "protocolVersion": "2031-01-01"}}) == -32022


@case
def bad_input_gets_an_error_and_the_server_goes_on(w: World):
    with Client(w, *WORK) as c:
        assert c.code("tools/list") == -32600
        c.initialize()
        c.send_bytes(b"nonsense\n")
        assert c.next_error() == -32700
        c.send_bytes(b'{"jsonrpc":"2.0","method":"x","params":{"a":"' + b"\xff" * 3 + b'"}}\n')
        assert c.next_error() == -32700
        c.send_bytes(b'{"jsonrpc":"2.0","method":"x","params":' + b"[" * 200000 + b"]" * 200000 + b"}\n")
        assert c.next_error() == -32600
        c.send_bytes(b"[]\n")
        assert c.next_error() == -32600
        # The id comes behind eleven megabytes, as the official client writes it.
        c.send_bytes(b'{"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a","content":"'
                     + b"a" * (11 << 20) + b'"}},"jsonrpc":"2.0","id":"big"}\n')
        assert c.wait("big")["error"]["code"] == -32600
        for params in ({}, {"name": 5}, {"name": "no_tool"}, {"name": "read_file", "arguments": "a"}):
            assert c.code("tools/call", params) == -32602, params
        assert c.code("no/method") == -32601
        assert c.code("resources/read", {"uri": "file:///etc/passwd"}) == -32002
        assert error_of(c.call("read_file"))["kind"] == "invalid"
        assert error_of(c.call("read_file", path=5))["kind"] == "invalid"
        assert error_of(c.call("read_file", path="a\nb" * 3000))["kind"] in ("invalid", "not_found")
        c.send_bytes(b'{"jsonrpc":"2.0","id":"half","method":"pi')
        time.sleep(0.05)
        c.send_bytes(b'ng"}\n')
        assert c.wait("half")["result"] == {}
        assert not (w.repo / "a").exists()


@case
def a_slow_call_blocks_no_fast_one(w: World):
    (w.repo / "a.txt").write_text("one\n")
    with Client(w, *WORK) as c:
        c.initialize()
        c.call("read_file", path="a.txt")
        slow = c.begin("tools/call", {"name": "execute_command", "arguments": {"command": ["sleep", "3"]}})
        begun = time.monotonic()
        for _ in range(20):
            c.call("read_file", path="a.txt")
        assert time.monotonic() - begun < 2.5 and slow not in c.answers
        assert c.wait(slow)["result"]["structuredContent"]["status"] == 0


@case
def a_command_that_floods_keeps_nobody_from_being_answered(w: World):
    """Its output is more than a client reads; what is left out is in the answer."""
    (w.repo / "a.txt").write_text("one\n")
    with Client(w, *WORK) as c:
        c.initialize()
        number = c.begin("tools/call", {"name": "execute_command", "arguments": {
            "command": ["sh", "-c", "head -c 400000000 /dev/zero; printf '\\033[2Jend'"]}, "_meta": {"progressToken": 1}})
        assert "\\x00" in c.told("notifications/progress")["message"]
        assert content_of(c.call("read_file", path="a.txt"))["content"] == "one\n"
        found = content_of(c.wait(number)["result"])
        assert found["truncated"] is True and found["status"] == 0, found["status"]
        told = [m for m in c.look() if m.get("method") == "notifications/progress"]
        assert all("\0" not in m["params"]["message"] for m in told) and sum(len(json.dumps(m)) for m in told) < 32 << 20


@case
def a_cancelled_command_is_gone_and_not_answered(w: World):
    with Client(w, *WORK) as c:
        c.initialize()
        number = c.begin("tools/call", {"name": "execute_command", "arguments": {
            "command": ["sh", "-c", "echo $$ >pid; while :; do date +%N >tick; sleep 0.05; done"]}})
        assert wait_for(lambda: (w.repo / "tick").exists())
        c.notify("notifications/cancelled", {"requestId": number, "reason": "test"})

        def is_still():
            before = (w.repo / "tick").read_text()
            time.sleep(0.3)
            return (w.repo / "tick").read_text() == before

        assert wait_for(is_still)
        assert c.result("ping") == {} and number not in c.answers


@case
def output_comes_as_progress_before_the_answer(w: World):
    with Client(w, *WORK) as c:
        c.initialize()
        number = c.begin("tools/call", {"name": "execute_command", "arguments": {
            "command": ["sh", "-c", "echo first; sleep 1; echo second"]}, "_meta": {"progressToken": "t"}})
        told = c.told("notifications/progress")
        assert told["progressToken"] == "t" and "first" in told["message"], told
        assert number not in c.answers
        assert c.wait(number)["result"]["structuredContent"]["stdout"] == "first\nsecond\n"


@case
def everything_ends_within_a_second(w: World):
    for by in (None, signal.SIGTERM, signal.SIGINT):
        with Client(w, *WORK) as c:
            c.initialize()
            c.begin("tools/call", {"name": "execute_command", "arguments": {
                "command": ["sh", "-c", "trap '' TERM; setsid sh -c 'while :; do date +%N >tick; sleep 0.05; done' & wait"]}})
            assert wait_for(lambda: (w.repo / "tick").exists())
            took = c.close(by)
            assert took < 2, (by, took)  # a second, and what a loaded machine adds
            before = (w.repo / "tick").read_text()
            time.sleep(0.2)
            assert (w.repo / "tick").read_text() == before, by
            assert c.process.returncode == 0, c.process.returncode
            (w.repo / "tick").unlink()


@case
def a_last_request_before_the_end_is_answered(w: World):
    (w.repo / "a.txt").write_text("one\n")
    lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "read_file",
                                                                          "arguments": {"path": "a.txt"}}}]
    file = w.write("requests", "\n".join(json.dumps(line) for line in lines))
    with open(file, "rb") as stdin:
        done = subprocess.run([PROGRAM, "mcp", *WORK], cwd=w.repo, env=w.env, stdin=stdin, capture_output=True, timeout=30,
                              check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [1, 2] and done.returncode == 0, done
    done = subprocess.run([PROGRAM, "mcp", *WORK], cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done


@case
def what_can_not_start_says_so_on_stderr_alone(w: World):
    w.write_config("[permissions.x]\nnonsense = 1\n")
    done = subprocess.run([PROGRAM, "mcp"], cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=30,
                          check=False)
    assert done.returncode == 125 and done.stdout == b"" and b"nonsense" in done.stderr, done
    assert w.run("mcp", "extra", check=125).out == ""


# ---- The policy ------------------------------------------------------------------------------------


@case
def a_denied_call_is_refused_with_the_rule_and_nothing_happens(w: World):
    out = outside(w)
    try:
        with Client(w, *READ) as c:
            c.initialize()
            assert text_of(c.call("execute_command", command=["echo", "it works"])).find("it works") >= 0
            error = error_of(c.call("write_file", path="new.txt", content="x"))
            assert error["kind"] == "violation" and error["rule"], error
            error = error_of(c.call("write_file", path=str(out / "x"), content="x"))
            assert error["kind"] == "violation", error
            assert not (w.repo / "new.txt").exists() and not os.listdir(out)
        with Client(w, *WORK) as c:  # beside an allow
            c.initialize()
            content_of(c.call("write_file", path="new.txt", content="x"))
            error = error_of(c.call("write_file", path=str(out / "x"), content="x"))
            assert error["kind"] == "violation" and not os.listdir(out), error
            resource = json.loads(c.result("resources/read", {"uri": "cordon://denials"})["contents"][0]["text"])
            assert str(out / "x") in json.dumps(resource), resource
            resource = policy_of(c)
            assert str(w.repo) in json.dumps(resource), resource
    finally:
        shutil.rmtree(out)


@case
def secrets_of_the_server_stay_with_it(w: World):
    (w.repo / "passwd").symlink_to("/proc/self/environ")
    with Client(w, *WORK, env={"API_TOKEN": "sesame-4711"}) as c:
        c.initialize()
        answers = [c.call("read_file", path=path) for path in ("/proc/self/environ", f"/proc/{c.process.pid}/environ",
                                                               "passwd", "/proc/thread-self/environ", "/dev/fd/0")]
        answers.append(c.call("search_files", pattern="sesame", path="/proc/self"))
        answers.append(c.call("execute_command", command=["sh", "-c", f"env; cat /proc/{c.process.pid}/environ; ls -l /proc/self/fd"]))
        assert "sesame-4711" not in json.dumps(answers), answers
        assert all(answer.get("isError") for answer in answers[:-1]), answers


@case
def roots_are_projects_if_the_policy_lets_them_be_read(w: World):
    other, secret = w.top / "other", w.top / "secret"
    for path in (other, secret):
        path.mkdir()
        (path / "f").write_text(path.name)

    def answer(method, params):
        assert method == "roots/list", method
        return {"roots": [{"uri": other.as_uri(), "name": "other"}, {"uri": secret.as_uri()}, {"uri": "https://x/"}]}

    with Client(w, *WORK, "--deny", str(secret), answer=answer) as c:
        c.initialize({"roots": {"listChanged": True}})
        assert wait_for(lambda: c.asked)
        assert content_of(c.call("read_file", path=str(other / "f")))["content"] == "other"
        assert error_of(c.call("read_file", path=str(secret / "f")))["kind"] == "violation"
        policy = policy_of(c)
        roots = json.dumps(policy["roots"])
        assert str(other) in roots and str(secret) not in roots, policy
    with Client(w, *WORK, answer=lambda *_: {"roots": []}) as c:  # takes nothing away
        c.initialize({"roots": {}})
        assert wait_for(lambda: c.asked)
        content_of(c.call("write_file", path="a", content="b"))


def command(c, text, **more):
    return content_of(c.call("execute_command", command=text, **more))


@case
def a_project_opened_to_be_read_stays_so_for_commands(w: World):
    """Also where it was announced by the client, or named by --root."""
    other = w.home / "other"
    other.mkdir()
    (other / "f").write_text("x\n")
    try_it = f"echo no >{other}/made; cat {other}/f"

    def answer(method, _params):
        return {"roots": [{"uri": other.as_uri()}]} if method == "roots/list" else None

    def check(c):
        for where in ({}, {"cwd": str(other)}, {"cwd": str(w.repo)}):
            done = command(c, try_it, **where)
            assert done["stdout"] == "x\n" and not (other / "made").exists(), (where, done)
        assert error_of(c.call("write_file", path=str(other / "made"), content="x"))["kind"] == "violation"
        command(c, "echo yes >made")
        assert (w.repo / "made").read_text() == "yes\n"
        (w.repo / "made").unlink()

    with Client(w, *WORK) as c:
        c.initialize()
        assert content_of(c.call("open_project", path=str(other)))["access"] == "read"
        check(c)
    with Client(w, *WORK, "--root", str(other)) as c:
        c.initialize()
        check(c)
    with Client(w, *WORK, answer=answer) as c:
        c.initialize({"roots": {}})
        assert wait_for(lambda: str(other) in json.dumps(policy_of(c)["roots"]))
        check(c)
    # Beside an allow: a person lets it be written.
    with Client(w, *WORK, answer=accept_longest_of("run")) as c:
        c.initialize(ELICITS)
        assert content_of(c.call("open_project", path=str(other)))["access"] == "read" and not c.asked
        assert content_of(c.call("open_project", path=str(other), access="write"))["access"] == "write" and c.asked
        done = command(c, try_it, cwd=str(other))
        assert done["status"] == 0 and (other / "made").read_text() == "no\n", done


@case
def what_the_first_workspace_denies_stays_denied_in_another_project(w: World):
    (w.repo / "private").mkdir()
    (w.repo / "private/key").write_text("sesame")
    (w.repo / "sub").mkdir()
    (w.repo / ".git/hooks").mkdir(parents=True, exist_ok=True)
    w.write_config('default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n'
                   '[permissions.dev.filesystem]\n":workspace_roots" = { "private" = "deny" }\n')
    look = f"cat {w.repo}/private/key; echo x >{w.repo}/.git/hooks/pre-commit; echo open >{w.repo}/sub/made"
    with Client(w) as c:
        c.initialize()
        for _ in range(2):
            done = command(c, look, cwd="sub")
            assert "sesame" not in json.dumps(done) and (w.repo / "sub/made").read_text() == "open\n", done
            assert not (w.repo / ".git/hooks/pre-commit").exists()
            (w.repo / "sub/made").unlink()
            content_of(c.call("open_project", path="sub", access="write"))
        assert error_of(c.call("read_file", path="private/key"))["kind"] == "violation"


@case
def no_answer_tells_which_denied_directories_there_are(w: World):
    hidden = w.home / "hidden"
    (w.repo / "deny/there").mkdir(parents=True)
    (hidden / "there").mkdir(parents=True)
    (w.repo / "link").symlink_to(hidden)
    with Client(w, *WORK, "--deny", str(w.repo / "deny"), "--deny", str(hidden)) as c:
        c.initialize()
        for tool, argument, more in (("execute_command", "cwd", {"command": "true"}), ("open_project", "path", {})):
            for parent in ("deny", "link", str(hidden)):
                answers = [json.dumps(error_of(c.call(tool, **more, **{argument: f"{parent}/{name}"})))
                           for name in ("there", "none")]
                assert answers[0].replace("/there", "/none") == answers[1], answers


@case
def no_tool_reaches_a_program_but_through_the_sandbox(w: World):
    """Every exec is traced: there is cordon itself, and the one command that was asked for, which is inside."""
    if not shutil.which("strace"):
        raise Skip("there is no strace")
    trace = w.top / "trace"
    strace = ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-e", "signal=none", "-o", str(trace)]
    if subprocess.run([*strace, PROGRAM, "--version"], env=w.env, capture_output=True, check=False).returncode:
        raise Skip("nothing can be traced here")
    (w.repo / "a.txt").write_text("one\n")
    shutil.copy2(shutil.which("readlink"), w.repo / "marker")
    evil = "$(touch pwned); `touch pwned` | sh -c 'touch pwned'"
    subprocess.run(["git", "init", "-q"], cwd=w.repo, env=w.env, check=True)
    with Client(w, *WORK, before=strace) as c:
        c.initialize({"roots": {}})
        c.call("read_file", path="a.txt")
        c.call("read_file", path=evil)
        c.call("write_file", path="b.txt", content=evil)
        c.call("replace_in_file", path="b.txt", old="touch", new="true")
        c.call("list_files", path=".")
        c.call("search_files", pattern=evil)
        c.call("search_files", pattern="one")
        c.call("apply_patch", patch="*** Begin Patch\n*** Add File: c.txt\n+" + evil + "\n*** End Patch\n")
        c.call("delete_file", path="b.txt")
        c.call("open_project", path=str(w.top))
        c.call("execute_command", command=["true"], cwd=evil)
        found = content_of(c.call("execute_command", command=[str(w.repo / "marker"), "/proc/self/ns/mnt"]))
        assert found["stdout"].startswith("mnt:") and found["stdout"].strip() != os.readlink("/proc/self/ns/mnt"), found
        assert found["sandbox"]["enforced"] is True, found
    traced = [re.search(r"exec(?:ve\(|veat\(.*?, )(?:\"([^\"]*)\"|0x)", line)
              for line in trace.read_text().splitlines() if "exec" in line and "= 0" in line]
    ran = [each.group(1) for each in traced]
    foreign = [program for program in ran if program and program != PROGRAM and not program.startswith("/proc/self/fd/")]
    assert ran.count(PROGRAM) >= 1, ran
    if os.getuid() == 0:
        assert foreign == [str(w.repo / "marker")] and None not in ran, ran
    else:  # strace can't read what a process executes that may not be dumped: two workers and the command
        assert not foreign and ran.count(None) <= 3, ran
    assert not (w.repo / "pwned").exists()


# ---- Questions -------------------------------------------------------------------------------------


def command_that_writes(path):
    return {"name": "execute_command", "arguments": {"command": ["sh", "-c", f"echo begun >begun; echo granted >{path} && echo done"]}}


@case
def an_elicitation_grants_and_the_same_command_goes_on(w: World):
    out = outside(w)
    try:
        with Client(w, *WORK, answer=accept("once")) as c:
            c.initialize(ELICITS)
            found = content_of(c.result("tools/call", command_that_writes(out / "x")))
            assert found["status"] == 0 and found["stdout"] == "done\n", found
            assert (out / "x").read_text() == "granted\n"
            asked = c.asked[0]["params"]
            field = asked["requestedSchema"]["properties"]["decision"]
            assert asked["requestedSchema"]["required"] == ["decision"] and "default" not in field, asked
            assert "deny" in field["enum"] and not any("always" in each for each in field["enum"]), asked
            assert str(out) in asked["message"], asked
        for answer in ({"action": "decline"}, {"action": "cancel"}, {"action": "accept"}, {"action": "accept", "content": {}},
                       {"action": "accept", "content": {"decision": "always"}}, None):
            with Client(w, *WORK, answer=lambda *_, answer=answer: answer) as c:
                c.initialize(ELICITS)
                found = content_of(c.result("tools/call", command_that_writes(out / "y")))
                assert found["status"] != 0 and not (out / "y").exists() and c.asked, (answer, found)
    finally:
        shutil.rmtree(out)


@case
def a_client_that_can_not_be_asked_gets_what_would_allow_it(w: World):
    out = outside(w)
    try:
        with Client(w, *WORK) as c:
            c.initialize()
            error = error_of(c.call("write_file", path=str(out / "x"), content="x"))
            assert error["kind"] == "violation" and error["grant"] == str(out), error
            deeper = error_of(c.call("write_file", path=str(out / "new/er/x"), content="x"))
            assert deeper["grant"] == str(out), deeper
            (out / "there").write_text("x")
            there = error_of(c.call("write_file", path=str(out / "there"), content="y"))
            assert there["grant"] == str(out / "there"), there
            assert error["needs"] == {"type": "SandboxPermissionNeeded", "capability": "write", "call": "write_file",
                                      "path": str(out / "x")}, error
            result = c.result("tools/call", command_that_writes(out / "x"))
            found = content_of(result)
            assert f'; ask the user to allow writes to "{out}"]' in result["content"][0]["text"], result
            assert [each["advice"].endswith(f'; ask the user to allow writes to "{out}"') for each in found["denials"]] == [True]
            assert found["status"] != 0 and any(str(out) in json.dumps(each) for each in found["denials"]), found
            needs = [each["needs"] for each in found["denials"] if "needs" in each]
            assert [(each["type"], each["capability"], each["call"]) for each in needs] == \
                [("SandboxPermissionNeeded", "write", "create")] and needs[0]["path"].startswith(str(out)), found
            # What nothing could allow has no such thing.
            found = command(c, "echo x >.git/config; mkdir .claude")
            assert found["denials"] and not any("needs" in each for each in found["denials"]), found
            assert not c.asked
    finally:
        shutil.rmtree(out)


@case
def a_question_leaves_with_the_answer_and_the_call_goes_on(w: World):
    out = outside(w)
    call = command_that_writes(out / "x")
    try:
        with Client(w, *WORK) as c:
            params = {**call, "_meta": meta(ELICITS)}
            asked = c.result("tools/call", params)
            assert asked["resultType"] == "input_required" and (w.repo / "begun").exists(), asked
            (w.repo / "begun").unlink()
            key, question = next(iter(asked["inputRequests"].items()))
            assert question["method"] == "elicitation/create", asked
            yes = {key: {"action": "accept", "content": {"decision": "once"}}}
            # Of other arguments it is nothing.
            other = command_that_writes(out / "y")
            found = c.result("tools/call", {**other, "inputResponses": yes, "requestState": asked["requestState"],
                                            "_meta": meta(ELICITS)})
            assert found["resultType"] == "input_required" and not (out / "y").exists(), found
            (w.repo / "begun").unlink()
            found = c.result("tools/call", {**params, "inputResponses": yes, "requestState": asked["requestState"]})
            assert content_of(found)["stdout"] == "done\n" and (out / "x").read_text() == "granted\n", found
            assert not (w.repo / "begun").exists()  # it did not begin anew
            (out / "x").unlink()
            found = c.result("tools/call", {**params, "inputResponses": yes, "requestState": asked["requestState"]})
            assert found["resultType"] == "input_required" and not (out / "x").exists(), found
    finally:
        shutil.rmtree(out)


@case
def what_was_granted_for_the_session_counts_after_a_restart(w: World):
    out = outside(w)
    try:
        for expected in (1, 0):
            with Client(w, *WORK, "--session", "mcp-test", answer=accept_longest) as c:
                c.initialize(ELICITS)
                found = content_of(c.result("tools/call", command_that_writes(out / "x")))
                assert found["status"] == 0 and len(c.asked) == expected, (found, c.asked)
                (out / "x").unlink()
        log = (w.home / ".local/state/cordon/audit/approvals.jsonl").read_text()
        assert '"client tester"' in log, log
    finally:
        shutil.rmtree(out)


@case
def a_file_tool_is_asked_about_logged_and_remembered(w: World):
    """Also where a command was granted it; and until it is revoked."""
    out = outside(w)
    log = w.home / ".local/state/cordon/audit/approvals.jsonl"
    try:
        with Client(w, *WORK, "--session", "mcp-files", answer=accept_longest) as c:
            c.initialize(ELICITS)
            content_of(c.call("write_file", path=str(out / "x"), content="one\n"))
            assert (out / "x").read_text() == "one\n" and len(c.asked) == 1
            lines = [json.loads(line) for line in log.read_text().splitlines()]
            assert [(line["program"], line["by"], line["decision"]) for line in lines] == \
                [("write_file", "client tester", "allow")], lines
            command(c, f"echo two >>{out}/x")
            assert (out / "x").read_text() == "one\ntwo\n" and len(c.asked) == 1, c.asked
            counters = policy_of(c)["counters"]
            assert counters["write_file"]["elevations_granted"] == 1 and counters["write_file"]["hits"] == 1, counters
        with Client(w, *WORK, "--session", "mcp-files", answer=accept("deny")) as c:
            c.initialize(ELICITS)
            content_of(c.call("write_file", path=str(out / "x"), content="three\n"))
            assert not c.asked
            ids = [each["id"] for each in w.ok("approvals", "list", "--json", "--session", "mcp-files").json["approvals"]]
            assert ids
            w.run("approvals", "revoke", *ids, "--session", "mcp-files")
            assert error_of(c.call("write_file", path=str(out / "x"), content="four\n"))["kind"] == "violation"
            assert len(c.asked) == 1 and (out / "x").read_text() == "three\n", c.asked
        found = {each["tool"]: each for each in w.ok("audit", "--summary", "--json").json["tools"]}
        assert found["write_file"]["calls"] == 3 and found["write_file"]["hits"] == 2, found
        assert found["write_file"]["denials"] == 1 and found["write_file"]["elevations_asked"] == 2, found
        metrics = w.run("audit", "--metrics").out
        assert 'cordon_tool_calls_total{tool="write_file",result="hit"} 2\n' in metrics, metrics
    finally:
        shutil.rmtree(out)


@case
def a_command_makes_further_files_where_a_file_tool_was_granted_the_directory(w: World):
    """The file alone could be had once; what was granted is the directory, for the run."""
    out = outside(w)
    try:
        for scope in ("run", "session"):
            with Client(w, *WORK, "--session", "mcp-create", answer=accept_longest_of(scope)) as c:
                c.initialize(ELICITS)
                content_of(c.call("write_file", path=str(out / scope), content="one\n"))
                schema = c.asked[0]["params"]["requestedSchema"]["properties"]["decision"]
                assert len(c.asked) == 1 and not any(each.startswith("once") for each in schema["enum"]), schema
                named = [title for title in schema["enumNames"] if "ends" in title]
                assert named and all(title.endswith("until this server ends") for title in named), schema
                for name in ("d1", "d2"):
                    found = command(c, f"touch {out}/{name}")
                    assert found["status"] == 0 and (out / name).exists(), found
                    (out / name).unlink()
                assert len(c.asked) == 1, c.asked
        # The grant of the session is loaded; without it there is a question.
        for session, asked in (("mcp-create", 0), ("mcp-other", 1)):
            with Client(w, *WORK, "--session", session, answer=accept("deny")) as c:
                c.initialize(ELICITS)
                found = command(c, f"touch {out}/d3")
                assert (found["status"] == 0, len(c.asked)) == (not asked, asked), (found, c.asked)
    finally:
        shutil.rmtree(out)


@case
def who_waits_for_the_same_answer_is_asked_when_the_other_gives_up(w: World):
    out = outside(w)
    try:
        with Client(w, *WORK, answer=lambda *_: "later") as c:
            c.initialize(ELICITS)
            call = {"name": "write_file", "arguments": {"path": str(out / "x"), "content": "x"}}
            first, second = c.begin("tools/call", call), c.begin("tools/call", call)
            assert wait_for(lambda: c.asked)
            c.notify("notifications/cancelled", {"requestId": first})
            assert wait_for(lambda: len(c.asked) == 2)
            c.send({"jsonrpc": "2.0", "id": c.asked[0]["id"],  # nobody waits for this one any more
                    "result": {"action": "accept", "content": {"decision": "deny"}}})
            choices = c.asked[1]["params"]["requestedSchema"]["properties"]["decision"]["enum"]
            c.send({"jsonrpc": "2.0", "id": c.asked[1]["id"], "result": {"action": "accept", "content": {
                "decision": next(each for each in choices if each.startswith("run"))}}})
            content_of(c.wait(second)["result"])
            assert (out / "x").read_text() == "x" and first not in c.answers
    finally:
        shutil.rmtree(out)


@case
def what_a_command_was_refused_is_told_and_counted(w: World):
    out = outside(w)
    try:
        with Client(w, *WORK) as c:
            c.initialize()
            command(c, f"echo x >{out}/x")
            command(c, "echo fine")
            found = json.loads(c.result("resources/read", {"uri": "cordon://denials"})["contents"][0]["text"])["denials"]
            assert any(each["tool"] == "execute_command" and each["path"] == str(out / "x") and each["rule"]
                       for each in found), found
            counters = policy_of(c)["counters"]["execute_command"]
            assert (counters["calls"], counters["hits"], counters["denials"]) == (2, 1, 1), counters
    finally:
        shutil.rmtree(out)


if __name__ == "__main__":
    run_cases()
