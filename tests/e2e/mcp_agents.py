#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon mcp` under agents (docs/mcp.md): what codex says of its own sandbox is a ceiling of each call, and what Claude
asks in the place of a person is answered by the policy."""

import json
import os
import random
import shutil
import tempfile
from pathlib import Path

from cli import PROGRAM, World, case, run_cases
from mcp_client import Client

WORK = ("--mode", "workspace-write", "--network", "off")
STATE = "codex/sandbox-state"
ORDER = ("deny", "read", "write")
NAMES = (".git", ".agents", ".codex", ".aws")


def special(kind, access):
    return {"path": {"type": "special", "value": {"kind": kind}}, "access": access}


def path(where, access, **more):
    return {"path": {"type": "path", "path": str(where)}, "access": access, **more}


def glob(pattern):
    return {"path": {"type": "glob_pattern", "pattern": pattern}, "access": "deny"}


def managed(*entries, network="restricted"):
    return {"type": "managed", "file_system": {"type": "restricted", "entries": list(entries)}, "network": network}


def state(profile, **more):
    """As codex 0.169 sends it."""
    return {"permissionProfile": profile, "codexLinuxSandboxExe": "/none", "sandboxCwd": "file:///none",
            "useLegacyLandlock": False, "useMxc": False, **more}


def workspace(where):
    return managed(special("root", "read"), path(where, "write"), special("slash_tmp", "write"), special("tmpdir", "write"),
                   *(path(f"{where}/{name}", "read", missing_path_behavior="skip") for name in NAMES))


READ_ONLY = managed(special("root", "read"))
DISABLED = {"type": "disabled"}


def call(c, profile, tool, **arguments):
    meta = {"_meta": {STATE: state(profile)}} if profile is not None else {}
    return c.result("tools/call", {"name": tool, "arguments": arguments, **meta})


def is_done(result):
    """Else it was refused by the policy."""
    if not result.get("isError"):
        return True
    assert result["structuredContent"]["error"]["kind"] == "violation", result
    return False


def error_of(result):
    assert result.get("isError") is True, result
    return result["structuredContent"]["error"]


def run(c, profile, text, **more):
    result = call(c, profile, "execute_command", command=text, **more)
    assert not result.get("isError"), result
    return result["structuredContent"]


@case
def the_sandbox_of_codex_is_a_ceiling_of_commands_and_tools(w: World):
    (w.repo / "f").write_text("one\n")
    with Client(w, *WORK) as c:
        said = c.initialize(version="2025-06-18")
        assert said["capabilities"]["experimental"] == {STATE: {}}, said
        for profile in (None, DISABLED, workspace(w.repo)):
            assert is_done(call(c, profile, "write_file", path="f", content="two\n"))
            assert run(c, profile, "echo x >>f; cat f")["stdout"] == "two\nx\n", profile
        assert not is_done(call(c, READ_ONLY, "write_file", path="f", content="three\n"))
        assert is_done(call(c, READ_ONLY, "read_file", path="f"))
        found = run(c, READ_ONLY, "echo x >f; echo x >/tmp/cordon-test-ceiling; cat f")
        assert found["stdout"] == "two\nx\n" and found["stderr"].count("Read-only file system") == 2, found
        assert not os.path.exists("/tmp/cordon-test-ceiling")
        denied = managed(special("root", "read"), path(w.repo / "f", "deny"))
        assert not is_done(call(c, denied, "read_file", path="f"))
        assert run(c, denied, "cat f")["status"] != 0
        # And afterwards the session is as it was.
        assert is_done(call(c, None, "write_file", path="f", content="four\n"))
        assert run(c, None, "echo x >f")["status"] == 0


@case
def a_ceiling_never_widens(w: World):
    """Its write entries open nothing that the policy of the session closes, nor does its network."""
    outside = Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))
    try:
        (w.repo / "secret").write_text("no\n")
        everything = managed(special("root", "write"), path(w.repo / "secret", "write"), path(w.repo / ".git", "write"),
                             network="enabled")
        for profile in (everything, DISABLED, None):
            with Client(w, *WORK, "--deny", str(w.repo / "secret")) as c:
                c.initialize()
                assert not is_done(call(c, profile, "read_file", path="secret"))
                assert not is_done(call(c, profile, "write_file", path=str(outside / "f"), content="x"))
                found = run(c, profile, f"cat secret; echo x >{outside}/f; mkdir -p .git/hooks && echo x >.git/hooks/pre-commit;"
                            " cat /proc/net/route | wc -l; echo y >made")
                assert "no\n" not in found["stdout"] and (w.repo / "made").read_text() == "y\n", found
                assert int(found["stdout"].split()[-1]) <= 1, found  # no route: no network
                assert not (outside / "f").exists() and not (w.repo / ".git/hooks/pre-commit").exists(), found
    finally:
        shutil.rmtree(outside)


@case
def what_codex_protects_stays_read_only(w: World):
    with Client(w, *WORK, "--unprotect", ".codex", "--unprotect", ".agents") as c:
        c.initialize()
        assert run(c, None, "mkdir .agents && rmdir .agents")["status"] == 0
        plain = managed(special("root", "read"), path(w.repo, "write"))
        for profile in (workspace(w.repo), plain):
            found = run(c, profile, "mkdir .agents; mkdir .aws; mkdir .codex; mkdir made && rmdir made; echo $?")
            assert found["stdout"] == "0\n" and found["stderr"].count("mkdir: ") == 3, found
        opened = managed(special("root", "read"), path(w.repo, "write"), path(w.repo / ".agents", "write"))
        (w.repo / ".agents").mkdir()
        assert run(c, opened, "echo >.agents/x")["status"] == 0
        assert run(c, plain, "echo >.agents/x")["status"] != 0


@case
def globs_and_what_is_not_named_are_denied(w: World):
    (w.repo / "sub").mkdir()
    for name in ("a.key", "sub/b.key", "c.txt"):
        (w.repo / name).write_text("x\n")
    keys = managed(special("root", "read"), glob(f"{w.repo}/**/*.key"))
    # The tools run this program, wherever it is.
    few = managed(special("minimal", "read"), path(w.repo / "sub", "read"), path(PROGRAM, "read"))
    with Client(w, *WORK) as c:
        c.initialize()
        assert run(c, None, "cat a.key sub/b.key c.txt")["stdout"] == "x\n" * 3
        assert run(c, keys, "cat a.key sub/b.key c.txt")["stdout"] == "x\n"
        assert not is_done(call(c, keys, "read_file", path="sub/b.key")) and is_done(call(c, keys, "read_file", path="c.txt"))
        assert is_done(call(c, few, "read_file", path="sub/b.key")) and not is_done(call(c, few, "read_file", path="c.txt"))
        found = run(c, few, "cat b.key; cat ../c.txt", cwd=str(w.repo / "sub"))
        assert found["stdout"] == "x\n" and found["status"] != 0, found
        # A directory that it hides is none to start in, as one that is missing.
        hidden = call(c, few, "execute_command", command="true", cwd=str(w.repo))
        missing = call(c, few, "execute_command", command="true", cwd=str(w.repo / "none"))
        assert hidden.get("isError") and hidden["structuredContent"]["error"] == missing["structuredContent"]["error"]


@case
def what_can_not_be_held_is_refused_and_nothing_happens(w: World):
    bad = [state(DISABLED, more=1), state({"type": "later"}), {}, [], "x",
           state({**READ_ONLY, "exec": "deny"}), state(managed(special("project_roots", "write"))),
           state(managed({"path": {"type": "glob_pattern", "pattern": "/a/{b,c}"}, "access": "deny"})),
           state(managed(special("root", "append"))), state(managed(path("relative", "read")))]
    with Client(w, *WORK) as c:
        c.initialize()
        for each in bad:
            for tool, arguments in (("execute_command", {"command": "echo x >made"}),
                                    ("write_file", {"path": "made", "content": "x"}), ("open_project", {"path": str(w.home)})):
                result = c.result("tools/call", {"name": tool, "arguments": arguments, "_meta": {STATE: each}})
                assert not is_done(result) and "codex" in result["structuredContent"]["error"]["message"], result
        assert not (w.repo / "made").exists()
        # Both names, if they differ; and a codex that says it by a request of its own.
        params = {"name": "read_file", "arguments": {"path": "f"}, "_meta": {STATE: state(DISABLED), STATE + "-meta": state(READ_ONLY)}}
        assert c.code("tools/call", params) == -32602
        assert c.code(STATE + "/update", {"sandboxPolicy": {"type": "read-only"}}) == -32601
        assert c.code("tools/call", {"name": "execute_command", "arguments": {"command": "echo x >made"}}) == -32600
        assert not (w.repo / "made").exists()
        assert is_done(call(c, DISABLED, "write_file", path="made", content="x"))
    # Nothing is there to hold it.
    for options in (("--mode", "danger-full-access"), (*WORK, "--backend", "none")):
        with Client(w, *options) as c:
            c.initialize()
            for tool, arguments in (("execute_command", {"command": "echo x >never"}), ("write_file", {"path": "never", "content": "x"})):
                assert call(c, READ_ONLY, tool, **arguments).get("isError"), (options, tool)
            assert not (w.repo / "never").exists(), options
            assert run(c, DISABLED, "echo yes")["stdout"] == "yes\n"


@case
def nobody_raises_a_ceiling(w: World):
    """Neither who is asked, nor what was granted to the session before."""
    outside = Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))

    def answer(method, params):
        choices = params["requestedSchema"]["properties"]["decision"]["enum"]
        return {"action": "accept", "content": {"decision": next(each for each in choices if each.startswith("run"))}}

    try:
        with Client(w, *WORK, answer=answer) as c:
            c.initialize({"elicitation": {"form": {}}})
            target = outside / "f"
            assert not is_done(call(c, READ_ONLY, "write_file", path=str(target), content="x")) and not c.asked
            assert not is_done(call(c, READ_ONLY, "open_project", path=str(outside), access="write")) and not c.asked
            run(c, READ_ONLY, f"echo x >{target}")
            assert not target.exists() and not c.asked, c.asked
            assert is_done(call(c, None, "write_file", path=str(target), content="one")) and c.asked
            assert is_done(call(c, DISABLED, "write_file", path=str(target), content="two"))
            assert not is_done(call(c, READ_ONLY, "write_file", path=str(target), content="three"))
            run(c, READ_ONLY, f"echo x >{target}")
            assert not is_done(call(c, READ_ONLY, "open_project", path=str(outside), access="write"))
            assert target.read_text() == "two"
    finally:
        shutil.rmtree(outside)


@case
def many_profiles_side_by_side_hold_each_for_its_call(w: World):
    """More than are kept, in turns and at once."""
    for number in range(8):
        (w.repo / f"d{number}").mkdir()

    def only(number):
        return managed(special("root", "read"), path(w.repo / f"d{number}", "write"))

    with Client(w, *WORK) as c:
        c.initialize()
        for number in list(range(8)) * 2:
            assert is_done(call(c, only(number), "write_file", path=f"d{number}/f", content="y\n"))
            assert not is_done(call(c, only(number), "write_file", path=f"d{(number + 1) % 8}/f", content="y\n"))
        begun = [(number, other, c.begin("tools/call", {"name": "execute_command", "arguments": {"command": f"sleep 1; echo z >d{other}/g"},
                                                        "_meta": {STATE: state(only(number))}}))
                 for number in range(3) for other in (number, number + 1)]
        for number, other, sent in begun:
            found = c.wait(sent)["result"]["structuredContent"]
            assert (found["status"] == 0) == (number == other), (number, other, found)
        # Five at once are more than there is room for; those that are refused are told so.
        sent = [c.begin("tools/call", {"name": "execute_command", "arguments": {"command": "sleep 2"},
                                       "_meta": {STATE: state(only(number))}}) for number in range(6)]
        results = [c.wait(each)["result"] for each in sent]
        refused = [r for r in results if r.get("isError")]
        assert len(refused) == 2 and all("try again later" in r["structuredContent"]["error"]["message"] for r in refused), results
        assert is_done(call(c, only(7), "write_file", path="d7/f", content="y\n"))


# ---- An oracle: codex's own resolution, and the least of both --------------------------------------


def resolve(entries, subject):
    """The longest entry wins; of equals the narrower. Nothing: deny."""
    parts = Path(subject).parts
    best, access = -1, "deny"
    for where, what in entries:
        its = Path(where).parts
        if its == parts[:len(its)] and (len(its) > best or (len(its) == best and ORDER.index(what) < ORDER.index(access))):
            best, access = len(its), what
    return access


def codex(entries, subject):
    found = resolve(entries, subject)
    for where, what in entries:
        for name in NAMES:
            protected = f"{where}/{name}"
            opened = any(o == "write" and (p + "/").startswith(protected + "/") for p, o in entries) or any(
                p == protected for p, _ in entries)
            if what == "write" and (subject + "/").startswith(protected + "/") and not opened and found == "write":
                found = resolve([(p, o) for p, o in entries if (p + "/").startswith(protected + "/")] + [(protected, "read")], subject)
    return found


@case
def the_answer_is_the_least_of_both(w: World):
    seed = int(os.environ.get("CORDON_SEED", "1"))
    choose = random.Random(seed)
    directories = ["", "a", "a/b", "a/b/c", "d", ".codex", "a/.codex"]
    for each in directories:
        (w.repo / each).mkdir(exist_ok=True)
        (w.repo / each / "f").write_text("x\n")
    repo = str(w.repo)
    own = [("/", "read"), (repo, "write"), (f"{repo}/a/b", "read"), (f"{repo}/.codex", "read"), (f"{repo}/d", "deny")]
    places = [f"{repo}/{each}".rstrip("/") for each in directories]
    files = [f"{place}/f" for place in places]
    with Client(w, *WORK, "--add-read", f"{repo}/a/b", "--deny", f"{repo}/d") as c:
        c.initialize()
        for turn in range(8):
            # Something has to be readable, or no command starts.
            entries = [("/", choose.choice(("read", "read", "write")))]
            entries += [(p, choose.choice(ORDER)) for p in choose.sample(places, choose.randint(1, 4)) if p != repo]
            entries += [(repo, choose.choice(("read", "write")))] * choose.randint(0, 1)
            profile = managed(*(path(p, a) for p, a in entries))
            wanted = {f: ORDER[min(ORDER.index(resolve(own, f)), ORDER.index(codex(entries, f)))] for f in files}
            script = "".join(f"if (: >>{f}) 2>/dev/null; then echo write; elif (: <{f}) 2>/dev/null; then echo read; else echo deny; fi\n"
                             for f in files)
            found = dict(zip(files, run(c, profile, script)["stdout"].split()))
            assert found == wanted, f"CORDON_SEED={seed} turn {turn}: {entries}\ngot {found}\nwanted {wanted}"
            for f in files:
                reads = is_done(call(c, profile, "read_file", path=f))
                writes = reads and is_done(call(c, profile, "write_file", path=f, content="x\n"))
                assert ("write" if writes else "read" if reads else "deny") == wanted[f], (turn, f, entries)


# ---- Claude's permission prompt ------------------------------------------------------------------


def approve(c, tool, **given):
    """(what is answered, as Claude reads it: the text)"""
    result = c.call("approve", tool_name=tool, input=given, tool_use_id="toolu_1")
    assert not result.get("isError") and [each["type"] for each in result["content"]] == ["text"], result
    answer = json.loads(result["content"][0]["text"])
    assert "structuredContent" not in result, "Claude refuses an answer that has more than the text"
    if answer["behavior"] == "allow":
        assert answer == {"behavior": "allow", "updatedInput": given}, answer
        return True
    assert set(answer) == {"behavior", "message"} and answer["behavior"] == "deny" and "\n" not in answer["message"], answer
    return answer["message"]


@case
def approve_is_there_only_where_it_is_asked_for(w: World):
    arguments = {"tool_name": "Read", "input": {"file_path": "/etc/hostname"}}
    with Client(w, *WORK) as c:
        c.initialize()
        assert "approve" not in {tool["name"] for tool in c.result("tools/list")["tools"]}
        assert c.code("tools/call", {"name": "approve", "arguments": arguments}) == -32602
    with Client(w, *WORK, "--approve-tool") as c:
        c.initialize()
        assert "approve" in {tool["name"] for tool in c.result("tools/list")["tools"]}
        assert approve(c, "Read", file_path="/etc/hostname") is True
        for bad in ({}, {"tool_name": "Read"}, {"tool_name": 5, "input": {}}, {"tool_name": "Read", "input": []},
                    {**arguments, "more": 1}):
            assert error_of(c.call("approve", **bad))["kind"] == "invalid", bad


@case
def files_are_judged_by_the_policy_and_nothing_is_granted(w: World):
    outside = Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))
    try:
        (w.repo / "secret").write_text("x\n")
        (w.repo / "f").write_text("x\n")
        (w.repo / "way-out").symlink_to(outside / "f")
        with Client(w, *WORK, "--approve-tool", "--deny", str(w.repo / "secret")) as c:
            c.initialize()
            for tool, given, is_allowed in (
                    ("Read", {"file_path": str(w.repo / "f"), "offset": 1, "limit": 2}, True),
                    ("Read", {"file_path": str(w.repo / "secret")}, False),
                    ("Write", {"file_path": str(w.repo / "new"), "content": "1.50 \u00e9\n"}, True),
                    ("Write", {"file_path": str(w.repo / "deep/er/new"), "content": ""}, True),
                    ("Write", {"file_path": str(w.repo / "secret"), "content": ""}, False),
                    ("Write", {"file_path": str(w.repo / ".git/hooks/x"), "content": ""}, False),
                    ("Write", {"file_path": str(w.repo / "way-out"), "content": ""}, False),
                    ("Write", {"file_path": str(outside / "f"), "content": ""}, False),
                    ("Write", {"file_path": str(w.repo / "../x"), "content": ""}, False),
                    ("Read", {"file_path": f"{w.repo}/deep/../f"}, False),
                    ("Read", {"file_path": f"{w.repo}/secret "}, False),
                    ("Read", {"file_path": f"{w.repo}/secret\u00a0"}, False),
                    ("Write", {"file_path": f"{w.repo}/.mcp.json\ufeff", "content": ""}, False),
                    ("Write", {"file_path": "f", "content": ""}, False),
                    ("Write", {"file_path": ["f"], "content": ""}, False),
                    ("Edit", {"file_path": str(w.repo / "f"), "old_string": "x", "new_string": "y", "replace_all": True}, True),
                    ("Edit", {"file_path": "/etc/hostname", "old_string": "x", "new_string": "y"}, False),
                    ("NotebookEdit", {"notebook_path": str(w.repo / "n.ipynb"), "new_source": "x"}, True),
                    ("NotebookEdit", {"notebook_path": "/etc/n.ipynb", "new_source": "x"}, False)):
                assert (approve(c, tool, **given) is True) == is_allowed, (tool, given)
            assert not is_done(call(c, None, "write_file", path=str(outside / "f"), content="x"))
            assert not (w.repo / "new").exists() and not (outside / "f").exists()
            # A name is no instruction.
            message = approve(c, "Write", file_path='/etc/"\n\u202eIGNORE' + "a" * 500, content="")
            assert "\n" not in message and "\u202e" not in message and '\\"' in message and "a" * 250 not in message, message
    finally:
        shutil.rmtree(outside)


@case
def what_is_not_known_is_denied(w: World):
    with Client(w, *WORK, "--approve-tool") as c:
        c.initialize()
        for tool, given in (("WebFetch", {"url": "https://registry.example/"}), ("mcp__cordon__execute_command", {"command": "x"}),
                            ("Later", {}), ("", {}), ("bash", {"command": "x"}), ("Read", {"file_path": "/etc/hostname", "also": "/x"})):
            assert "does not" in approve(c, tool, **given), tool
        # Outside of a sandbox nothing says that Claude's shell is in one; a variable does not.
        assert "execute_command" in approve(c, "Bash", command="true")
    with Client(w, *WORK, "--approve-tool", env={"CORDON_SANDBOX": "native", "CORDON_SOCKET": "/proc/cordon/ask"}) as c:
        c.initialize()
        assert "execute_command" in approve(c, "Bash", command="true")


@case
def a_server_that_is_inside_knows_that_commands_are(w: World):
    """As Claude starts both by its prefix. The kernel then says what may be written."""
    home_file = w.home / "beside"
    shell = w.top / "cordon-sh"
    shell.symlink_to(PROGRAM)
    start = {"before": (shell, "-c", 'exec "$@"', "sh"), "env": {"CORDON_MODE": "workspace-write"}}
    with Client(w, "--approve-tool", **start) as c:
        c.initialize()
        assert approve(c, "Bash", command="touch x", description="a step", run_in_background=True) is True
        assert "sandbox of Claude's own" in approve(c, "Bash", command="touch x", dangerouslyDisableSandbox=True)
        assert approve(c, "Read", file_path="/etc/hostname") is True
        assert approve(c, "Write", file_path=str(home_file), content="") is not True
        assert approve(c, "Write", file_path=str(w.repo / ".git/config"), content="") is not True
        assert approve(c, "Write", file_path="/proc/self/comm", content="") is not True
    # Claude, outside, would read another /tmp, and the kernel does not know a name that is still missing.
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\ntmp = "private"\n'
                   '[permissions.p.filesystem.":workspace_roots"]\n"**/*.key" = "deny"\n')
    made = f"/tmp/cordon-test-{os.getpid()}"
    line = f'echo x >{made}; exec "$@"'
    project = Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))
    try:
        with Client(w, "--approve-tool", cwd=project, before=(shell, "-c", line, "sh")) as c:
            c.initialize()
            assert approve(c, "Read", file_path=made) is not True and not os.path.exists(made)
            assert approve(c, "Read", file_path="/etc/hostname") is True
            assert approve(c, "Write", file_path=str(project / "new.key"), content="") is not True
            assert approve(c, "Write", file_path=str(project / "new.txt"), content="") is True
    finally:
        shutil.rmtree(project)
    w.write_config("")
    # A run of the server alone says nothing of Claude's shell.
    with Client(w, "--approve-tool", before=(PROGRAM, "run", *WORK, "--")) as c:
        c.initialize()
        assert "execute_command" in approve(c, "Bash", command="true")
    project = Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))
    try:
        with Client(w, "--approve-tool", cwd=project, **start) as c:
            c.initialize()
            assert approve(c, "Write", file_path=str(project / "new/er"), content="") is True
    finally:
        shutil.rmtree(project)


@case
def a_person_who_can_be_asked_is_asked(w: World):
    outside, other = (Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp")) for _ in range(2))
    decisions = ["deny", "run"]

    def answer(_method, params):
        choices = params["requestedSchema"]["properties"]["decision"]["enum"]
        wanted = decisions.pop(0)
        return {"action": "accept", "content": {"decision": next(each for each in choices if each.startswith(wanted))}}

    try:
        with Client(w, *WORK, "--approve-tool", answer=answer) as c:
            c.initialize({"elicitation": {"form": {}}})
            assert approve(c, "Write", file_path=str(outside / "f"), content="") is not True and len(c.asked) == 1
            # What was denied covers the directory, which nobody is asked about again.
            assert approve(c, "Write", file_path=str(outside / "g"), content="") is not True and len(c.asked) == 1
            assert approve(c, "Write", file_path=str(other / "f"), content="") is True and len(c.asked) == 2
            assert "'Write' wants to write" in c.asked[1]["params"]["message"], c.asked
            assert not (outside / "f").exists() and not (other / "f").exists()
    finally:
        shutil.rmtree(outside)
        shutil.rmtree(other)


if __name__ == "__main__":
    run_cases()
