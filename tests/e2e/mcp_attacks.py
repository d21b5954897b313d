#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon mcp` under a hostile client and over a hostile project: each case is an attack that has to end in a
clear answer, beside one of the same kind that is allowed."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from cli import World, case, run_cases, wait_for
from mcp_client import Client, meta

WORK = ("--mode", "workspace-write", "--network", "off")
ELICITS = {"elicitation": {"form": {}}}
MAX_PROJECTS = 64
DEV = 'default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n[permissions.dev.filesystem]\n'


def policy_of(c):
    return json.loads(c.result("resources/read", {"uri": "cordon://policy"})["contents"][0]["text"])


def kind_of(result):
    if not result.get("isError"):
        return "ok"
    error = result["structuredContent"]["error"]
    assert error["kind"] != "violation" or error["rule"], error
    return error["kind"]


def kind(c, tool, **arguments):
    return kind_of(c.call(tool, **arguments))


def outside():
    """A directory that no mode makes writable, as a temporary one is."""
    return Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))


def roots_of(*paths):
    return lambda method, _params: {"roots": [{"uri": Path(p).as_uri()} for p in paths]} if method == "roots/list" else None


# ---- Projects ----------------------------------------------------------------------------------------


@case
def roots_at_the_whole_host_or_a_home_open_nothing(w: World):
    (w.home / "f").write_text("home\n")
    (w.top / "other").mkdir()
    w.write_config(DEV + f'"{w.top / "shut"}" = "deny"\n')
    (w.top / "shut").mkdir()
    hostile = ["/", "/proc/self/root", w.home, w.top, w.top / "shut", w.top / "shut/none", w.top / "none"]
    with Client(w, answer=roots_of(*hostile, w.top / "other")) as c:
        c.initialize({"roots": {}})
        assert wait_for(lambda: c.asked) and wait_for(lambda: len(policy_of(c)["roots"]) > 1)
        assert [each["path"] for each in policy_of(c)["roots"]] == [str(w.repo), str(w.top / "other")]
        for path in hostile:
            assert kind(c, "execute_command", command="true", cwd=str(path)) == "violation", path
        assert kind(c, "write_file", path=str(w.home / "f"), content="x") == "violation"
        assert kind(c, "execute_command", command="true", cwd=str(w.top / "other")) == "ok"
        assert kind(c, "write_file", path="new", content="x") == "ok"
        # What is denied and what is missing there are told in one way.
        told = [line.replace("shut/none", "shut") for line in c.errors if "/shut" in line]
        assert len(told) == 2 and told[0] == told[1], c.errors
    assert (w.home / "f").read_text() == "home\n"


@case
def a_client_that_announces_ever_more_roots_gets_some_and_is_answered(w: World):
    tops = [w.top / f"p{i}" for i in range(3 * MAX_PROJECTS)]
    for top in tops:
        top.mkdir()
    lists = [tops[i:i + MAX_PROJECTS] for i in range(0, len(tops), MAX_PROJECTS)]

    def answer(method, _params):
        return {"roots": [{"uri": p.as_uri()} for p in lists.pop()] if lists else []} if method == "roots/list" else None

    with Client(w, *WORK, answer=answer) as c:
        c.initialize({"roots": {"listChanged": True}})
        begun = time.monotonic()
        for asked in 1, 2, 3:
            assert wait_for(lambda n=asked: len(c.asked) >= n)
            c.result("ping")
            c.notify("notifications/roots/list_changed")
        # 64 took 24 s once, as each one hashed all that were there before.
        assert time.monotonic() - begun < 10
        assert len(policy_of(c)["roots"]) == MAX_PROJECTS
        assert kind(c, "open_project", path=str(w.home)) != "ok"
        assert kind(c, "read_file", path=str(tops[0] / "none")) == "not_found"
        assert kind(c, "write_file", path="f", content="x") == "ok"


@case
def a_project_is_guarded_whichever_path_leads_to_it(w: World):
    """A path decides which worker is asked: by dots or a link it is one of another project."""
    other, third = w.top / "other", w.top / "third"
    for top in other, third:
        (top / "sub").mkdir(parents=True)
    w.write_config(DEV + f'"{other}" = "write"\n"{third}" = "write"\n')
    (w.repo / "link").symlink_to(other)
    (w.repo / "link3").symlink_to(third)
    with Client(w, "--root", str(other)) as c:
        c.initialize()
        assert kind(c, "write_file", path="../third/a", content="x\n") == "ok"  # the control: the policy lets it
        assert kind(c, "open_project", path=str(third), access="read") == "ok"
        for name in ".env", "sub/.env", ".git/config":
            for path in str(other / name), f"../other/{name}", f"link/{name}":
                assert kind(c, "write_file", path=path, content="x\n") == "violation", path
                assert kind(c, "apply_patch", patch=f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n") \
                    == "violation", path
        for path in str(third / "b"), "../third/b", "link3/b", "../other/../third/b":
            assert kind(c, "write_file", path=path, content="x\n") == "violation", path
        for number, path in enumerate((str(other / "f"), "../other/f", "link/f")):
            assert kind(c, "write_file", path=path, content=f"{number}\n") == "ok", path
    assert not list(other.rglob(".env")) and not (third / "b").exists() and (other / "f").read_text() == "2\n"


@case
def an_edit_is_done_once_when_the_policy_changes_meanwhile(w: World):
    """The workers are replaced then, and what they were doing must not begin anew."""
    out = outside()
    count = 16
    for i in range(count):
        (w.repo / f"f{i}").write_text("old\n" * 500)
        (w.top / f"p{i}").mkdir()

    def request(number, tool, **arguments):
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}

    def send_together(c, *messages):
        c.send_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in messages))

    def edit(i):
        return request(f"e{i}", "replace_in_file", path=f"f{i}", old="old", new="new", all=True)

    try:
        with Client(w, *WORK, answer=lambda *_: "later") as c:
            c.initialize(ELICITS)
            for i in range(count // 2):
                kind(c, "read_file", path="f0")  # so that there is a worker
                send_together(c, edit(i), request(f"p{i}", "open_project", path=str(w.top / f"p{i}")))
                assert [kind_of(c.wait(f"{which}{i}")["result"]) for which in "ep"] == ["ok", "ok"], i
            # The same for grants, each of which starts a worker.
            for i in range(count // 2, count):
                (out / str(i)).mkdir()
                c.send(request(f"w{i}", "write_file", path=str(out / str(i) / "f"), content="x"))
                assert wait_for(lambda n=i: len(c.asked) == n - count // 2 + 1)
                kind(c, "read_file", path="f0")
                send_together(c, edit(i), {"jsonrpc": "2.0", "id": c.asked[-1]["id"], "result": {
                    "action": "accept", "content": {"decision": "run"}}})
                assert [kind_of(c.wait(f"{which}{i}")["result"]) for which in "ew"] == ["ok", "ok"], i
            assert policy_of(c)["worker_restarts"] == 0
            assert len(workers_below(c.process.pid)) < 3, "workers were left behind"
        assert all((w.repo / f"f{i}").read_text() == "new\n" * 500 for i in range(count))
    finally:
        shutil.rmtree(out)


def parent_of(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def workers_below(top):
    """The processes called cordon-tools that descend from it."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        above = int(pid)
        while above not in (0, 1, top):
            above = parent_of(above)
        if name.startswith(b"cordon-tools") and above == top:
            found.append(int(pid))
    return found


# ---- Messages ----------------------------------------------------------------------------------------


@case
def what_is_no_message_gets_one_error_and_changes_nothing(w: World):
    """By its id where that can be seen, and without one where it can't."""
    call = b'"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a","content":"x"}}'
    with Client(w, *WORK) as c:
        c.initialize()
        for number, (line, code) in enumerate((
                (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","name":"write_file",'
                 b'"arguments":{"path":"a","content":"x"}}}', -32700),
                (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":%d,' + call + b"}", -32700),
                (b'{"jsonrpc":"1.0","id":%d,' + call + b"}", -32600),
                (b'{"id":%d,' + call + b"}", -32600),
                (b'{"jsonrpc":"2.0","id":%d,"method":"ping","params":[1]}', -32602),
                (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":'
                 + b'{"path":' * 5000 + b"1" + b"}" * 5000 + b"}}", -32600),
                (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read_file","arguments":{"path":"a",'
                 b'"offset":1e400}}}', -32700),
                (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write_file","arguments":{"path":"a\\u0000b",'
                 b'"content":"x"}}}', -32700)), 1000):
            c.send_bytes(line.replace(b"%d", str(number).encode()) + b"\n")
            assert c.wait(number)["error"]["code"] == code, line[:100]
        for line in (b'{"jsonrpc":"2.0","id":5,"id":6,' + call + b"}", b'{"jsonrpc":"2.0","id":1e3,' + call + b"}",
                     b'{"jsonrpc":"2.0","id":{},' + call + b"}", b'{"jsonrpc":"2.0","id":null,' + call + b"}",
                     b'{"jsonrpc":"2.0","id":"' + b"x" * 5000 + b'",' + call + b"}", b"null", b"[[]]", b"[" + b"{}," * 99 + b"{}]",
                     b'{"jsonrpc":"2.0","id":5,' + call):
            c.send_bytes(line + b"\n")
            if line.endswith(b'"}}') and line.startswith(b'{"jsonrpc":"2.0","id":5,"m'):
                assert c.wait(5)["error"]["code"] == -32700
            else:
                assert c.next_error() in (-32600, -32700), line[:100]
        for arguments in ({"command": []}, {"command": [1]}, {"command": "true", "timeout_ms": -1}, {"command": {}},
                          {"command": "true", "cwd": 1}, {"command": "true", "env": {"A": "b"}}):
            assert kind(c, "execute_command", **arguments) == "invalid", arguments
        assert not (w.repo / "a").exists()
        # The control: the same between spaces, with a carriage return, and with an id that is not small.
        c.send_bytes(b' \n\n{"jsonrpc":"2.0","id":9007199254740993,' + call + b"}\r\n")
        assert kind_of(c.wait(9007199254740993)["result"]) == "ok" and (w.repo / "a").read_text() == "x"


@case
def a_state_that_was_forged_replayed_or_is_of_another_server_asks_again(w: World):
    out = outside()
    call = {"name": "write_file", "arguments": {"path": str(out / "x"), "content": "granted\n"}}
    params = {**call, "_meta": meta(ELICITS)}

    def ask(c, **more):
        found = c.result("tools/call", {**params, **more})
        assert found["resultType"] == "input_required" and not (out / "x").exists(), found
        key, question = next(iter(found["inputRequests"].items()))
        assert question["params"]["requestedSchema"]["properties"]["decision"]["enum"][:2] == ["deny", "run"], found
        return found["requestState"], key

    def yes(key, decision="run"):
        return {key: {"action": "accept", "content": {"decision": decision}}}

    try:
        with Client(w, *WORK) as other:
            foreign, foreign_key = ask(other)
            with Client(w, *WORK) as c:
                state, key = ask(c)
                head, number, expiry, mac = state.split(".")
                forged = [foreign, "", "c1", ".".join((head, number, expiry, "0" * len(mac))),
                          ".".join((head, number, str(int(expiry) + 1), mac)), ".".join((head, str(int(number) + 1), expiry, mac)),
                          ".".join((head, number, expiry, mac.upper() + " ")), ".".join((head, number, expiry, mac[:-1])),
                          state + "x", "c1." + "9" * 400, "c1.1.1." + "é" * 32]
                for bad in forged:
                    for name in key, foreign_key:
                        ask(c, requestState=bad, inputResponses=yes(name))
                # Answers without a state, and a state without answers, or with those that are none.
                ask(c, inputResponses=yes(key))
                for answers in ({}, {key: None}, {key: {"action": "accept"}}, yes(key, "always"), yes(key, "session"), yes(key, ""),
                                {key: {"action": "accept", "content": {"decision": ["run"]}}}, {"q0": yes(key)[key]}):
                    state, key = ask(c)
                    found = c.result("tools/call", {**params, "requestState": state, "inputResponses": answers})
                    assert found.get("isError") or found["resultType"] == "input_required", (answers, found)
                    assert not (out / "x").exists(), answers
        # Beside them the one that counts; it counts once. Who said no is not asked again, so by a new server.
        with Client(w, *WORK) as c:
            state, key = ask(c)
            found = c.result("tools/call", {**params, "requestState": state, "inputResponses": yes(key)})
            assert found["resultType"] == "complete" and (out / "x").read_text() == "granted\n", found
        with Client(w, *WORK) as c:  # where nothing is granted so far
            (out / "x").unlink()
            ask(c, requestState=state, inputResponses=yes(key))
    finally:
        shutil.rmtree(out)


@case
def an_answer_to_no_question_or_a_second_one_grants_nothing(w: World):
    out = outside()
    try:
        with Client(w, *WORK, answer=lambda *_: "later") as c:
            c.initialize(ELICITS)
            for number in range(1, 20):  # before there is any
                c.send({"jsonrpc": "2.0", "id": number, "result": {"action": "accept", "content": {"decision": "run"}}})
            call = c.begin("tools/call", {"name": "write_file", "arguments": {"path": str(out / "x"), "content": "x"}})
            assert wait_for(lambda: c.asked) and call not in c.answers
            first = c.asked[0]
            yes = {"jsonrpc": "2.0", "result": {"action": "accept", "content": {"decision": "run"}}}
            for number in (first["id"] + 1, str(first["id"]), -first["id"], 0, first["id"] + (1 << 32)):
                c.send({**yes, "id": number})
            c.result("ping")
            assert call not in c.answers and not (out / "x").exists()
            c.send({"jsonrpc": "2.0", "id": first["id"], "result": {"action": "decline"}})
            c.send({**yes, "id": first["id"]})  # too late
            assert kind_of(c.wait(call)["result"]) == "violation" and not (out / "x").exists()
    finally:
        shutil.rmtree(out)


# ---- Files -----------------------------------------------------------------------------------------------


@case
def a_file_that_somebody_holds_by_a_lease_blocks_nobody(w: World):
    """Whoever opens such a file waits up to 45 seconds for its holder."""
    for name in "f", "g":
        (w.repo / name).write_text("text\n")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    fd = os.open(w.repo / "f", os.O_RDWR)
    try:
        with Client(w, *WORK) as c:
            c.initialize()
            patch = "*** Begin Patch\n*** Update File: f\n@@\n-text\n+new\n*** End Patch\n"
            for tool, arguments, expected in (
                    ("read_file", {"path": "f"}, "conflict"), ("write_file", {"path": "f", "content": "x"}, "conflict"),
                    ("replace_in_file", {"path": "f", "old": "text", "new": "x"}, "conflict"),
                    ("apply_patch", {"patch": patch}, "conflict"), ("search_files", {"pattern": "text"}, "ok"),
                    ("list_files", {}, "ok"), ("read_file", {"path": "g"}, "ok")):
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                begun = time.monotonic()
                assert kind(c, tool, **arguments) == expected, tool
                assert time.monotonic() - begun < 10, tool
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            assert kind(c, "read_file", path="f") == "ok"
    finally:
        os.close(fd)
        signal.signal(signal.SIGIO, before)
    assert (w.repo / "f").read_text() == "text\n"


@case
def pipes_where_a_project_has_its_settings_block_nobody(w: World):
    """Also not the server, which reads the file of a project itself."""
    subprocess.run(["git", "init", "-q", w.repo], check=True, env=w.env)
    (w.repo / ".gitignore").write_text("*.o\n")
    (w.repo / "sub").mkdir()
    with Client(w, *WORK) as c:
        c.initialize()
        for name in "sub/.gitignore", ".git/info/exclude", ".git/index", ".gitignore":
            (w.repo / name).unlink(missing_ok=True)
            os.mkfifo(w.repo / name)
            begun = time.monotonic()
            for tool, arguments, expected in (
                    ("list_files", {}, "ok"), ("search_files", {"pattern": "x"}, "ok"),
                    ("write_file", {"path": "sub/a.c", "content": name}, "ok"),
                    ("write_file", {"path": "sub/a.o", "content": name}, "ok" if name == ".gitignore" else "violation"),
                    ("execute_command", {"command": "echo fine"}, "ok")):
                assert kind(c, tool, **arguments) == expected, (name, tool)
            assert time.monotonic() - begun < 20, name
        for number, (name, expected) in enumerate(((".cordon/config.toml", "violation"), (".git", "ok"), (".git/config", "ok"),
                                                   (".git/HEAD", "ok"), (".git/commondir", "ok"))):
            other = w.top / f"other{number}"
            (other / name).parent.mkdir(parents=True)
            os.mkfifo(other / name)
            begun = time.monotonic()
            assert kind(c, "open_project", path=str(other)) == expected, name
            assert kind(c, "execute_command", command="true", cwd=str(other)) == expected, name
            assert kind(c, "write_file", path="sub/b.c", content=name) == "ok"
            assert time.monotonic() - begun < 20, name


@case
def a_file_that_changes_during_the_call_is_given_whole_or_is_a_conflict(w: World):
    """Two processes: one replaces `f`, a file of a single letter, and rewrites `h` in place; the other reads and changes
    both. What a write has done so far nobody can tell from a whole one, so of `h` no more is asked than an answer."""
    size = 200_000
    for name in "f", "h":
        (w.repo / name).write_text("a" * size)
    writer = subprocess.Popen(["python3", "-c", f"""
import os
os.chdir({str(w.repo)!r})
for round in range(1 << 30):
    letter = b"abcdefgh"[round % 8:][:1]
    with open("g", "wb") as file:
        file.write(letter * {size})
    os.rename("g", "f")
    fd = os.open("h", os.O_RDWR | os.O_CREAT | os.O_TRUNC * (round % 2))
    os.pwrite(fd, letter * {size}, 0)
    os.close(fd)
"""])
    seen = {}
    try:
        with Client(w, *WORK) as c:
            c.initialize()
            for tool, arguments in (("read_file", {}), ("write_file", {"content": "x" * size}),
                                    ("replace_in_file", {"old": "a" * 9, "new": "b"}), ("delete_file", {})):
                for number in range(100):
                    path = "fh"[number % 2]
                    result = c.call(tool, path=path, **arguments)
                    seen[tool, path, kind_of(result)] = seen.get((tool, path, kind_of(result)), 0) + 1
                    if tool == "read_file" and path == "f" and not result.get("isError"):
                        content = result["structuredContent"]["content"]
                        assert len(set(content)) == 1 and len(content) == size, (set(content), len(content))
            assert kind(c, "write_file", path="after", content="fine") == "ok"
    finally:
        writer.kill()
        writer.wait()
    print(f"# {seen}")
    told = {each for _, _, each in seen}
    assert told <= {"ok", "conflict", "not_found", "invalid"} and ("read_file", "f", "ok") in seen, seen
    assert not [p for p in w.repo.iterdir() if p.name.startswith(".cordon-edit")], list(w.repo.iterdir())


@case
def names_in_the_text_for_a_model_are_escaped(w: World):
    """A line of its own, colours, and a text that runs backwards can't be made by a name."""
    evil = ["a\nb: fine", "c\x1b[2J", "d\u202egpj", "e\x7f", "f\u2028g"]
    for name in evil:
        (w.repo / name).write_text("found it\n")
    with open(os.path.join(bytes(w.repo), b"g\xff\xfe"), "wb") as file:
        file.write(b"found it\n")
    with Client(w, *WORK) as c:
        c.initialize()
        results = [c.call("list_files"), c.call("search_files", pattern="found"), c.call("read_file", path="none\x1b[2J\nx"),
                   c.call("write_file", path="/etc/x\x1b[2J\nx\u202e", content=""),
                   c.call("open_project", path="/none\x1b[2J\nx\u202e"),
                   c.call("execute_command", command="true", cwd="/etc/x\x1b[2J\nx\u202e")]
        for result, lines in zip(results, (6, 6, 1, 1, 1, 1)):
            text = result["content"][0]["text"].rstrip("\n")
            assert len(text.split("\n")) == lines and not set(text) & set("\x1b\x7f\u202e\u2028"), text
        assert {each["path"] for each in results[0]["structuredContent"]["entries"]} >= set(evil)
        assert {each["path"] for each in results[1]["structuredContent"]["matches"]} >= set(evil)
    assert not any(set(line) & set("\x1b\u202e") for line in c.errors), c.errors


if __name__ == "__main__":
    run_cases()
