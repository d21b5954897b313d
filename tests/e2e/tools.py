#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The file tools of libcordon (docs/file-tools.md): what they give, what they refuse, and attacks on them."""

import ctypes
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import threading
import time
from pathlib import Path

from cli import NONE, PROGRAM, SECONDS, case, run, run_cases  # noqa: F401

CLIENT = os.environ["TOOL_CLIENT"]
DEV = 'default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n'


class Tools:
    """A session, in a process of its own."""

    def __init__(self, w, config=DEV, roots=(), env=None):
        w.write_config(config)
        self.errors = open(w.top / "tools.err", "ab+")
        self.client = subprocess.Popen(
            [CLIENT, str(w.repo), str(w.config), *map(str, roots)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, env={**w.env, "CORDON_PROGRAM": PROGRAM, **(env or {})})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.stdin.close()
        try:
            self.client.wait(SECONDS)
        finally:
            if self.client.poll() is None:
                self.client.kill()
                self.client.wait()
        self.client.stdout.close()
        self.errors.close()

    def line(self, text):
        self.client.stdin.write(text.encode() + b"\n")
        self.client.stdin.flush()
        answer = self.client.stdout.readline().decode()
        kind, _, rest = answer.partition(" ")
        assert kind in ("ok", "refused"), answer
        return kind, json.loads(rest)

    def ok(self, tool, **arguments):
        kind, value = self.line(f"{tool} {json.dumps(arguments)}")
        assert kind == "ok" and "error" not in value, value
        return value

    def refused(self, tool, why, **arguments):
        kind, value = self.line(f"{tool} {json.dumps(arguments)}")
        assert kind == "refused" and value["error"]["kind"] == why, value
        return value["error"]

    def any(self, tool, **arguments):
        kind, value = self.line(f"{tool} {json.dumps(arguments)}")
        return value["error"]["kind"] if kind == "refused" else "ok"


def leftovers(w):
    return [p for p in w.repo.rglob("*") if p.name.startswith(".cordon-edit")]


@case
def what_is_read_is_written_back_byte_for_byte(w):
    texts = {"lf": b"a\nb\n", "crlf": b"a\r\nb\r\n", "mixed": b"a\r\nb\nc", "bom": b"\xef\xbb\xbfx\n", "empty": b"",
             "latin": b"caf\xe9\n", "utf16le": b"\xff\xfe" + "häß 😀\r\n".encode("utf-16-le"),
             "utf16be": b"\xfe\xff" + "x\n".encode("utf-16-be"), "no-newline": "ü".encode()}
    with Tools(w) as t:
        for name, data in texts.items():
            path = w.repo / name
            path.write_bytes(data)
            read = t.ok("read_file", path=name)
            wrote = t.ok("write_file", path=name, content=read["content"], if_version=read["version"])
            assert path.read_bytes() == data and not wrote["changed"], name
        assert t.ok("read_file", path="latin")["encoding"] == "latin-1"
        assert t.ok("read_file", path="utf16be")["bom"] is True
        assert t.ok("read_file", path="no-newline")["final_newline"] is False
        # A change elsewhere keeps what the file has.
        t.ok("replace_in_file", path="crlf", old="a\nb", new="c\nd")
        assert (w.repo / "crlf").read_bytes() == b"c\r\nd\r\n"
        t.ok("write_file", path="crlf", content="x\ny\n")
        assert (w.repo / "crlf").read_bytes() == b"x\r\ny\r\n"
        t.refused("write_file", "invalid", path="latin", content="€")
        assert (w.repo / "latin").read_bytes() == b"caf\xe9\n"
        (w.repo / "binary").write_bytes(b"a\0b")
        t.refused("read_file", "binary", path="binary")
        t.refused("replace_in_file", "binary", path="binary", old="a", new="b")


@case
def random_bytes_are_binary_or_come_back_as_they_were(w):
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    starts = [b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"a\r\n"]
    with Tools(w) as t:
        for _ in range(150):
            data = rng.choice(starts) + bytes(rng.choice([rng.randrange(256), 10, 13, 65, 0xd8, 0xc3])
                                              for _ in range(rng.randrange(40)))
            (w.repo / "f").write_bytes(data)
            kind, value = t.line('read_file {"path":"f"}')
            if kind == "ok":
                t.ok("write_file", path="f", content=value["content"])
            else:
                assert value["error"]["kind"] == "binary", (seed, value)
            assert (w.repo / "f").read_bytes() == data, (seed, data)


@case
def lines_are_counted_and_cut(w):
    (w.repo / "f").write_text("".join(f"line {i}\n" for i in range(1, 5001)))
    with Tools(w) as t:
        first = t.ok("read_file", path="f")
        assert first["line_count"] == 2000 and first["truncated"] and first["next_offset"] == 2001
        part = t.ok("read_file", path="f", offset=4999, limit=10)
        assert part["content"] == "line 4999\nline 5000\n" and not part["truncated"]
        t.refused("read_file", "invalid", path="f", offset=6000)


@case
def a_replacement_is_exact_or_says_why_not(w):
    path = w.repo / "f.c"
    path.write_text("if (a) {\n\tb();\n}\nx\nx\n")
    with Tools(w) as t:
        t.refused("replace_in_file", "invalid", path="f.c", old="x\n", new="y\n")
        t.refused("replace_in_file", "invalid", path="f.c", old="nothing", new="y")
        assert t.ok("replace_in_file", path="f.c", old="x", new="y", all=True)["replaced"] == 2
        loose = t.ok("replace_in_file", path="f.c", old="if (a) {\n    b();\n", new="if (a) {\n\tc();\n")
        assert loose["matched"] == "whitespace"
        assert path.read_text() == "if (a) {\n\tc();\n}\ny\ny\n"


@case
def a_file_that_changed_is_a_conflict_and_stays_as_it_is(w):
    path = w.repo / "f"
    path.write_text("one\n")
    with Tools(w) as t:
        version = t.ok("read_file", path="f")["version"]
        path.write_text("two\n")
        t.refused("write_file", "conflict", path="f", content="x", if_version=version)
        t.refused("delete_file", "conflict", path="f", if_version=version)
        assert path.read_text() == "two\n"
        version = t.ok("read_file", path="f")["version"]
        after = t.ok("write_file", path="f", content="three\n", if_version=version)["version"]
        t.ok("write_file", path="f", content="four\n", if_version=after)


@case
def a_changed_file_keeps_its_mode_and_attributes_but_no_set_id_bits(w):
    path = w.repo / "f"
    path.write_text("one\n")
    path.chmod(0o4751)
    try:
        os.setxattr(path, "user.kept", b"yes")
        has_xattr = True
    except OSError:
        has_xattr = False
    with Tools(w) as t:
        assert t.ok("write_file", path="f", content="two\n")["atomic"] is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o751
    assert not has_xattr or os.getxattr(path, "user.kept") == b"yes"
    assert not leftovers(w)


@case
def a_hard_link_is_never_written_through(w):
    other = w.write("outside", "theirs\n")
    os.link(other, w.repo / "f")
    with Tools(w) as t:
        t.ok("write_file", path="f", content="mine\n")
    assert other.read_text() == "theirs\n" and (w.repo / "f").read_text() == "mine\n"


@case
def a_single_file_entry_is_written_in_place(w):
    file = w.home / "one.txt"
    file.write_text("old and longer\n")
    with Tools(w, DEV + f'[permissions.dev.filesystem]\n"{file}" = "write"\n') as t:
        assert t.ok("write_file", path=str(file), content="new\n")["atomic"] is False
        assert file.read_text() == "new\n"
        t.refused("write_file", "violation", path=str(file.parent / "two"), content="x")
        t.refused("delete_file", "violation", path=str(file))


@case
def nothing_in_a_git_directory_is_changed_by_any_tool(w):
    subprocess.run(["git", "init", "-q", w.repo], check=True, env=w.env)
    hook = w.repo / ".git/hooks/pre-commit"
    shutil.rmtree(hook.parent, ignore_errors=True)
    hook.parent.mkdir()
    hook.write_text("old\n")
    (w.repo / "way").symlink_to(".git/hooks")
    paths = [".git/hooks/pre-commit", "x/../.git/hooks/pre-commit", "way/pre-commit", str(hook), ".git/hooks/new",
             "sub/.git/hooks/pre-commit"]
    (w.repo / "sub/.git/hooks").mkdir(parents=True)
    for config in DEV, DEV + 'git = "write"\n':
        with Tools(w, config) as t:
            for path in paths:
                t.refused("write_file", "violation", path=path, content="evil")
                t.refused("replace_in_file", "violation", path=path, old="old", new="evil")
                t.refused("delete_file", "violation", path=path)
                patch = f"*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch\n"
                assert t.any("apply_patch", patch=patch) != "ok"
            assert hook.read_text() == "old\n" and not (hook.parent / "new").exists()
            # the control: what lies beside it
            t.ok("write_file", path="hooks/pre-commit", content="fine\n")


@case
def kernel_file_systems_and_what_is_denied_are_violations(w):
    secret = w.write("secret/key", "key\n")
    (w.repo / "in").symlink_to(secret)
    (w.repo / "proc").symlink_to("/proc/self")
    config = DEV + f'[permissions.dev.filesystem]\n"{secret.parent}" = "deny"\n'
    with Tools(w, config) as t:
        for path in ("/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/1/cwd", "/sys/kernel/uevent_seqnum",
                     "/dev/null", "/dev/zero", "proc/environ", str(secret), "in", f"../{secret.parent.name}/key",
                     f"/proc/self/root{secret}", str(secret.parent / "not-there"), "/proc/not-there"):
            assert t.refused("read_file", "violation", path=path)["rule"], path
            t.refused("write_file", "violation", path=path, content="x")
        (w.repo / "f").write_text("x")
        t.ok("read_file", path="f")
        t.refused("read_file", "not_found", path="not-there")
    assert secret.read_text() == "key\n"


@case
def pipes_and_devices_never_block(w):
    os.mkfifo(w.repo / "fifo")
    (w.repo / "to-fifo").symlink_to("fifo")
    started = time.monotonic()
    with Tools(w) as t:
        for path in "fifo", "to-fifo":
            t.refused("read_file", "invalid", path=path)
            t.refused("write_file", "invalid", path=path, content="x")
            t.refused("delete_file", "invalid", path=path)
        t.refused("read_file", "invalid", path=".")
    assert stat.S_ISFIFO((w.repo / "fifo").stat().st_mode) and time.monotonic() - started < 10


@case
def bad_paths_and_arguments_are_invalid_and_the_session_goes_on(w):
    (w.repo / "loop").symlink_to("loop")
    deep = "/".join(["d" * 200] * 19)
    with Tools(w) as t:
        for path in "", "x" * 300, "/".join(["ab"] * 2000), "loop", "a\u0000b"[:1] + "/" + "y" * 5000:
            t.refused("read_file", "invalid", path=path)
            t.refused("write_file", "invalid", path=path, content="x")
        t.refused("read_file", "invalid", path=1)
        t.refused("read_file", "invalid", path="f", unknown=True)
        t.refused("read_file", "invalid")
        t.refused("read_file", "invalid", path="f", offset=0)
        t.ok("write_file", path=deep + "/f", content="deep\n")
        assert t.ok("read_file", path=deep + "/f")["content"] == "deep\n"
        t.ok("write_file", path="new\nline", content="x\n")
        t.ok("write_file", path="../repo/dots", content="x\n")
    shutil.rmtree(w.repo / ("d" * 200))


@case
def a_link_is_written_through_or_refused_but_stays_a_link(w):
    (w.repo / "target").write_text("old\n")
    (w.repo / "link").symlink_to("target")
    (w.repo / "dangling").symlink_to("made")
    (w.repo / "out").symlink_to("/etc/cordon-tools-test")
    with Tools(w) as t:
        t.ok("write_file", path="link", content="new\n")
        t.ok("write_file", path="dangling", content="new\n")
        t.refused("write_file", "violation", path="out", content="new\n")
    assert (w.repo / "target").read_text() == (w.repo / "made").read_text() == "new\n"
    assert all((w.repo / n).is_symlink() for n in ("link", "dangling", "out"))
    assert not os.path.lexists("/etc/cordon-tools-test")


@case
def a_swapped_link_never_leads_out(w):
    """Two processes: one swaps a directory for a link, the other writes and reads through it."""
    outside = w.home / "outside"
    outside.mkdir()
    (outside / "f").write_text("outside\n")
    inside = w.repo / "d"
    inside.mkdir()
    (inside / "f").write_text("inside\n")
    (w.repo / "l").symlink_to(outside)
    libc = ctypes.CDLL(None, use_errno=True)
    swapper = os.fork()
    if swapper == 0:
        while True:
            libc.renameat2(-100, bytes(w.repo / "d"), -100, bytes(w.repo / "l"), 2)
    config = DEV + f'[permissions.dev.filesystem]\n"{outside}" = "deny"\n'
    seen = {"ok": 0, "violation": 0, "conflict": 0, "not_found": 0}
    try:
        with Tools(w, config) as t:
            ends = time.monotonic() + 6
            while time.monotonic() < ends and sum(seen.values()) < 8000:
                kind, value = t.line('read_file {"path":"d/f"}')
                assert "outside" not in value.get("content", ""), value
                seen[value["error"]["kind"] if kind == "refused" else "ok"] += 1
                seen[t.any("write_file", path="d/f", content="inside\n")] += 1
                seen[t.any("write_file", path="d/n", content="inside\n")] += 1
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    assert [p.name for p in outside.iterdir()] == ["f"] and (outside / "f").read_text() == "outside\n"
    assert seen["ok"] > 10 and seen["violation"] > 10, seen


@case
def a_parent_that_is_renamed_during_the_call_moves_no_write_elsewhere(w):
    away = w.home / "away"
    away.mkdir()
    (w.repo / "a").mkdir()
    stop = threading.Event()

    def move():
        while not stop.is_set():
            try:
                os.rename(w.repo / "a", w.repo / "b")
                os.rename(w.repo / "b", w.repo / "a")
            except OSError:
                shutil.rmtree(w.repo / "b", ignore_errors=True)

    thread = threading.Thread(target=move)
    thread.start()
    try:
        with Tools(w) as t:
            results = {t.any("write_file", path="a/f", content=f"{i}\n") for i in range(300)}
    finally:
        stop.set()
        thread.join()
    assert "ok" in results and results <= {"ok", "conflict", "not_found"}, results
    assert not list(away.iterdir())


@case
def a_root_that_was_replaced_is_a_conflict(w):
    (w.repo / "f").write_text("x")
    with Tools(w) as t:
        t.ok("read_file", path="f")
        w.repo.rename(w.top / "old")
        w.repo.mkdir()
        t.refused("read_file", "conflict", path="f")
        t.refused("write_file", "conflict", path="f", content="y")
        t.refused("execute_command", "conflict", command="true")


@case
def after_a_kill_there_is_the_old_file_or_the_new_one(w):
    """The worker and all of its sandbox is killed at random moments of a write."""
    path = w.repo / "f"
    old, new = "o" * 400000 + "\n", "n" * 400000 + "\n"
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    path.write_text(old)
    seen = set()
    for _ in range(25):
        t = Tools(w)
        t.ok("read_file", path="f", limit=1)
        content = new if path.read_text() == old else old
        t.client.stdin.write(f"write_file {json.dumps({'path': 'f', 'content': content})}\n".encode())
        t.client.stdin.flush()
        time.sleep(rng.random() * 0.012)
        t.client.kill()
        t.client.wait()
        t.client.stdin.close()
        t.client.stdout.close()
        t.errors.close()
        # The sandbox ends with its supervisor, but that takes a moment.
        time.sleep(0.05)
        text = path.read_text()
        assert text in (old, new), (seed, len(text))
        seen.add(text == content)
        assert len(leftovers(w)) <= 1, seed
    with Tools(w) as t:
        t.ok("write_file", path="other", content="x")
    assert not leftovers(w), seed


@case
def commands_run_in_the_sandbox_and_say_what_it_refused(w):
    with Tools(w) as t:
        done = t.ok("execute_command", command="echo out; echo err >&2; cat; exit 3")
        assert (done["status"], done["stdout"], done["stderr"]) == (3, "out\n", "err\n")
        done = t.ok("execute_command", command=["touch", str(w.home / "no")])
        assert done["status"] != 0 and not (w.home / "no").exists() and done["sandbox"]["enforced"] is True
        done = t.ok("execute_command", command="echo begun; sleep 30", timeout_ms=300)
        assert done["timed_out"] is True and done["stdout"] == "begun\n"
        done = t.ok("execute_command", command="yes | head -c 5000000")
        assert done["truncated"] is True and len(done["stdout"]) <= 1 << 20
        done = t.ok("execute_command", command=["head", "-c", "3000000", "/dev/urandom"])
        assert done["status"] == 0
        (w.repo / "sub").mkdir()
        assert t.ok("execute_command", command="pwd", cwd="sub")["stdout"] == f"{w.repo}/sub\n"
        t.refused("execute_command", "violation", command="true", cwd="/")
        assert t.ok("execute_command", command="kill -9 $$")["signal"] == 9
        assert t.ok("execute_command", command=["not-there-at-all"])["status"] == 127


@case
def a_project_more_opens_itself_and_nothing_else(w):
    other = w.top / "other"
    (other / ".cordon").mkdir(parents=True)
    (other / ".cordon/config.toml").write_text('[filesystem]\n":workspace_roots" = { "private" = "deny" }\n')
    (other / "private").write_text("p")
    (other / "f").write_text("x\n")
    with Tools(w) as t:
        t.refused("write_file", "violation", path=str(other / "f"), content="y")
        t.refused("open_project", "violation", path=str(other), access="write")
    with Tools(w) as t:
        t.line("!yes")
        assert t.ok("open_project", path=str(other), access="write")["access"] == "write"
        t.line("!no")
        t.ok("write_file", path=str(other / "f"), content="y\n")
        t.refused("read_file", "violation", path=str(other / "private"))
        t.ok("write_file", path="here", content="y\n")
        t.refused("write_file", "violation", path=str(w.home / "f"), content="y\n")
        t.refused("write_file", "violation", path=str(other / ".git/config"), content="y\n")
        assert t.ok("execute_command", command="pwd", cwd=str(other))["stdout"] == f"{other}\n"


@case
def what_is_granted_is_done_and_nothing_else(w):
    place = w.home / "place"
    place.mkdir()
    with Tools(w) as t:
        error = t.refused("write_file", "violation", path=str(place / "f"), content="x\n")
        assert error["grant"] and error["rule"]
        t.line("!yes")  # too late: who said no is not asked again in this session
        t.refused("write_file", "violation", path=str(place / "f"), content="x\n")
    with Tools(w) as t:
        t.line("!yes")
        t.ok("write_file", path=str(place / "g"), content="x\n")
        t.line("!no")
        t.ok("write_file", path=str(place / "g"), content="y\n")
        t.refused("write_file", "violation", path=str(w.home / "h"), content="x\n")


@case
def the_worker_is_started_again_when_it_was_killed(w):
    (w.repo / "f").write_text("x\n")
    with Tools(w) as t:
        t.ok("read_file", path="f")
        workers = subprocess.run(["pgrep", "-f", "-x", "cordon-tools"], capture_output=True, text=True,
                                 check=False).stdout.split()
        mine = [p for p in workers if is_below(int(p), t.client.pid)]
        assert mine, workers
        for pid in mine:
            os.kill(int(pid), signal.SIGKILL)
        assert t.ok("read_file", path="f")["content"] == "x\n"


def is_below(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


@case
def the_tools_answer_what_the_resolver_answers_and_a_command_gets(w):
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    names = [f"{a}/{b}" for a in ("p", "q", "r") for b in ("x", "y/z", "y/.env")]
    for name in names:
        w.write(f"repo/{name}", "text\n")
    for _ in range(4):
        rules = {rng.choice(["p", "q", "r", "p/y", "q/x", "**/.env"]): rng.choice(["deny", "read", "write"])
                 for _ in range(3)}
        table = "".join(f'"{k}" = "{v if "*" not in k else "deny"}"\n' for k, v in rules.items())
        with Tools(w, DEV + f'[permissions.dev.filesystem.":workspace_roots"]\n{table}') as t:
            for name in names:
                access = w.access(w.repo / name)
                read = t.any("read_file", path=name)
                write = t.any("write_file", path=name, content="text\n")
                edit = t.any("replace_in_file", path=name, old="text", new="text2")
                if edit == "ok":
                    t.ok("replace_in_file", path=name, old="text2", new="text")
                got = t.ok("execute_command", command=f"cat {name}")["status"] == 0
                assert (read == "ok") == (access != "deny") == got, (seed, table, name, access, read, got)
                private = name.endswith(".env")
                assert (edit == "ok") == (access == "write" and not private), (seed, table, name, access, edit)
                assert write != "ok" or access == "write", (seed, table, name, access, write)


if __name__ == "__main__":
    run_cases()
