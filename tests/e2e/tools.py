#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The file tools of libcordon (docs/file-tools.md): what they give, what they refuse, and attacks on them."""

import ctypes
import fcntl
import json
import os
import random
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
from pathlib import Path

from cli import PROGRAM, SECONDS, Skip, case, run_cases

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
        assert why != "violation" or value["error"]["rule"], value
        return value["error"]

    def opened(self, how, path):
        """cordon_open(): what it says, or the cause of the error."""
        self.client.stdin.write(f"!open {how} {path}\n".encode())
        self.client.stdin.flush()
        kind, _, rest = self.client.stdout.readline().decode().partition(" ")
        value = json.loads(rest)
        return value if kind == "ok" else value["cause"]

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


ACL_ACCESS, ACL_DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def acl_of(user, named_access, others=4):
    """Version 2: owner rw, that user, group r, mask rwx, others."""
    entries = ((1, 6, -1), (2, named_access, user), (4, 4, -1), (0x10, 7, -1), (0x20, others, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *e) for e in entries)


@case
def the_acl_of_a_directory_does_not_open_a_file_that_was_there_before(w):
    path = w.repo / "f"
    path.write_text("one\n")
    path.chmod(0o600)
    try:
        os.setxattr(w.repo, ACL_DEFAULT, acl_of(os.getuid(), 7, 7))
    except OSError as error:
        raise Skip(f"no ACLs here: {error}") from error
    (w.repo / "control").write_text("x")
    assert ACL_ACCESS in os.listxattr(w.repo / "control"), "a new file inherits nothing, so this shows nothing"
    with Tools(w) as t:
        wrote = t.ok("write_file", path="f", content="two\n")
        assert ACL_ACCESS not in os.listxattr(path) and stat.S_IMODE(path.stat().st_mode) == 0o600, wrote
        # One that has an ACL keeps it, also where that takes writing in place.
        os.setxattr(path, ACL_ACCESS, acl_of(os.getuid(), 4, 0))
        before = os.getxattr(path, ACL_ACCESS)
        t.ok("write_file", path="f", content="three\n")
        assert os.getxattr(path, ACL_ACCESS) == before and path.read_text() == "three\n"


@case
def text_that_would_be_read_as_another_encoding_is_refused(w):
    (w.repo / "latin").write_bytes(b"caf\xe9\n")
    with Tools(w) as t:
        for text in "Ã©\n", "ÿþa\n":
            t.refused("write_file", "invalid", path="latin", content=text)
            assert (w.repo / "latin").read_bytes() == b"caf\xe9\n"
        t.ok("write_file", path="latin", content="é Ã©\n")
        assert t.ok("read_file", path="latin")["content"] == "é Ã©\n"


@case
def the_name_of_the_temporary_belongs_to_the_tools(w):
    (w.repo / "f").write_text("x\n")
    with Tools(w) as t:
        t.refused("write_file", "violation", path=".cordon-edit.tmp", content="x")
        t.refused("apply_patch", "violation",
                  patch="*** Begin Patch\n*** Add File: sub/.cordon-edit.tmp\n+x\n*** End Patch\n")
        t.ok("write_file", path="f", content="y\n")
    assert not leftovers(w)


@case
def a_directory_that_somebody_holds_delays_no_other_call(w):
    """A command may hold the lock of a directory as long as it likes."""
    from mcp_client import Client  # pylint: disable=import-outside-toplevel
    (w.repo / "held").mkdir()
    (w.repo / "f").write_text("x\n")
    w.write_config(DEV)
    lock = os.open(w.repo / "held", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    with Client(w) as c:
        c.initialize()
        c.call("read_file", path="f")
        order = []
        numbers = {c.begin("tools/call", {"name": name, "arguments": arguments}): name for name, arguments in (
            ("write_file", {"path": "held/f", "content": "x"}), ("read_file", {"path": "f"}))}
        first, second = numbers
        read = c.wait(second)
        order.append(first in c.answers)
        assert not read["result"].get("isError") and order == [False], "the read waited for the write"
        refused = c.wait(first)["result"]
        assert refused["structuredContent"]["error"]["kind"] == "conflict", refused
        os.close(lock)
        assert not c.call("write_file", path="held/f", content="x").get("isError")


@case
def host_programs_open_what_the_tools_may(w):
    outside = w.home / "outside"
    outside.write_text("outside\n")
    (w.repo / "f").write_text("0123456789\n")
    (w.repo / "link").symlink_to("f")
    (w.repo / "out").symlink_to(outside)
    (w.repo / "denied").write_text("no\n")
    (w.repo / "twin").write_text("two\n")
    os.link(w.repo / "twin", w.home / "twin")
    os.mkfifo(w.repo / "fifo")
    config = DEV + ('[permissions.dev.filesystem]\n":workspace_roots" = { denied = "deny", "ro" = "read" }\n')
    (w.repo / "ro").write_text("ro!")
    with Tools(w, config) as t:
        assert t.opened("read", "f") == {"bytes": 11, "text": "0123", "cloexec": True}
        assert t.opened("read", "link")["text"] == "0123"
        assert t.opened("write", "f")["text"] == "host" and (w.repo / "f").read_text() == "host456789\n"
        assert t.opened("write", "new") == t.opened("read", "new") == "not_found" and not (w.repo / "new").exists()
        assert t.opened("create", "d/e/new")["text"] == "host" and (w.repo / "d/e/new").read_text() == "host"
        for path in "denied", "denied/x", "/proc/self/environ", "/dev/null", "/dev/zero":
            for how in "read", "write", "create":
                assert t.opened(how, path) == "policy", (how, path)
        assert t.opened("write", "out") == t.opened("create", "out") == t.opened("write", "ro") == "policy"
        assert t.opened("read", "ro")["bytes"] == 3
        assert t.opened("write", "twin") == "policy" and (w.home / "twin").read_text() == "two\n"
        assert t.opened("read", "fifo") == t.opened("write", "fifo") == "syntax"
        assert t.opened("read", ".") == "syntax"
        t.ok("read_file", path="f")
    assert outside.read_text() == "outside\n"


@case
def a_question_about_a_path_is_answered_whether_it_exists_or_not(w):
    (w.repo / "shut").mkdir()
    (w.repo / ".gitignore").write_text("*.o\n")
    (w.repo / ".git").mkdir()
    (w.repo / "in").symlink_to("shut/there")
    (w.repo / "shut/there").write_text("x")
    config = DEV + '[permissions.dev.filesystem]\n":workspace_roots" = { shut = "deny" }\n'
    with Tools(w, config) as t:
        def check(path):
            kind, value = t.line(f"!check {path}")
            assert kind == "ok", value
            return value["access"], value["edit"], value.get("guard", "") != "", value["grant"] != ""
        assert check("f") == check("missing/far/away") == ("write", True, False, False)
        assert check("x.o") == check(".env") == ("write", False, True, False)
        assert check("shut/there") == check("shut/not") == check("in") == ("deny", False, False, False)
        assert check("/etc/passwd") == ("read", False, False, True)
        assert check("/proc/self/environ") == check("/proc/none") == ("deny", False, False, False)
        assert t.line("!check shut/there")[1]["rule"] != t.line("!check /proc/none")[1]["rule"] != ""


@case
def the_user_narrows_what_the_edit_tools_change_and_commands_are_not_held(w):
    (w.repo / ".gitignore").write_text("*.o\n")
    (w.repo / ".git").mkdir()
    for name in "a.o", ".env", "src/a.c", "src/deep/b.c", "c.c":
        w.write(f"repo/{name}", "old\n")

    def edits(t):
        return {name: t.any("write_file", path=name, content=f"{time.monotonic_ns()}\n") == "ok"
                for name in ("a.o", ".env", "src/a.c", "src/deep/b.c", "src/new.c", "c.c", "src/a.c/../n.h")}

    with Tools(w) as t:
        assert edits(t) == {"a.o": False, ".env": False, "src/a.c": True, "src/deep/b.c": True, "src/new.c": True,
                            "c.c": True, "src/a.c/../n.h": False}
    with Tools(w, DEV + '[files]\nignored = "allow"\n') as t:
        assert {n for n, may in edits(t).items() if not may} == {"src/a.c/../n.h"}
    with Tools(w, DEV + '[files]\nwritable = ["src/**/*.c"]\n') as t:
        assert {n for n, may in edits(t).items() if may} == {"src/a.c", "src/deep/b.c", "src/new.c"}
        refused = t.refused("delete_file", "violation", path="c.c")
        assert "files.writable" in refused["rule"] and refused["grant"] == "", refused
        assert t.ok("execute_command", command="echo c > c.c; echo o > a.o")["status"] == 0
        # apply_patch, and the program outside of a session
        patch = "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n"
        t.refused("apply_patch", "violation", patch=patch.format("top.c"))
        t.ok("apply_patch", patch=patch.format("src/top.c"))
        done = w.run("apply-patch", patch.format("top.c"), "--config-file", str(w.config), check=1)
        assert "files.writable" in done.err and not (w.repo / "top.c").exists(), done
        w.ok("apply-patch", patch.format("src/top.c"), "--config-file", str(w.config))
    # Only the user's own file, and only globs below a project.
    for bad in '["/src/**"]', '["../x"]', '[""]', r'["a\\"]', "true":
        w.write_config(DEV + f"[files]\nwritable = {bad}\n")
        w.fails("explain")
    w.write_config(DEV)
    w.write("repo/.cordon/config.toml", '[files]\nignored = "allow"\n')
    w.fails("explain")


@case
def doctor_removes_what_a_killed_edit_left_but_not_under_a_living_one(w):
    w.write_config(DEV)
    for name in "a", "b":
        w.write(f"repo/{name}/.cordon-edit.tmp", "half")
    w.write("repo/a/mine.tmp", "mine")
    lock = os.open(w.repo / "b", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    found = w.ok("doctor", "--clean", "--json").json["cleaned"]
    assert str(w.repo / "a/.cordon-edit.tmp") in found["removed"], found
    assert (w.repo / "b/.cordon-edit.tmp").exists() and (w.repo / "a/mine.tmp").exists()
    os.close(lock)
    w.ok("doctor", "--clean")
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
                for hunk in (f"*** Add File: {path}\n+evil", f"*** Delete File: {path}",
                             f"*** Update File: {path}\n@@\n-old\n+evil",
                             f"*** Update File: {path}\n*** Move to: stolen\n@@\n-old\n+evil",
                             f"*** Update File: inner\n*** Move to: {path}\n@@\n-old\n+evil"):
                    for atomic in False, True:
                        (w.repo / "inner").write_text("old\n")
                        t.refused("apply_patch", "violation", atomic=atomic,
                                  patch=f"*** Begin Patch\n{hunk}\n*** End Patch\n")
                assert t.opened("write", path) == t.opened("create", path) == "policy", path
            assert hook.read_text() == "old\n" and not (hook.parent / "new").exists()
            assert not (w.repo / "stolen").exists() and not list((w.repo / "sub/.git/hooks").iterdir())
            # the control: what lies beside it
            t.ok("write_file", path="hooks/pre-commit", content="fine\n")
            t.ok("apply_patch", patch="*** Begin Patch\n*** Update File: inner\n*** Move to: moved\n@@\n-old\n+new\n"
                 "*** End Patch\n")


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
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(w.repo / "socket"))
    bound.close()
    special = ["fifo", "to-fifo", "socket"]
    try:
        os.mknod(w.repo / "zero", 0o666 | stat.S_IFCHR, os.makedev(1, 5))
        special.append("zero")
    except PermissionError:
        print("# no device could be made here")
    started = time.monotonic()
    with Tools(w) as t:
        for path in special:
            assert t.opened("read", path) == t.opened("write", path) == "syntax", path
            t.refused("apply_patch", "invalid", patch=f"*** Begin Patch\n*** Update File: {path}\n@@\n-a\n+b\n*** End Patch\n")
            t.refused("read_file", "invalid", path=path)
            t.refused("write_file", "invalid", path=path, content="x")
            t.refused("delete_file", "invalid", path=path)
        t.refused("read_file", "invalid", path=".")
        assert t.ok("search_files", pattern=".")["matches"] == []
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
            begun = time.monotonic()
            while (tries := sum(seen.values())) < 8000 and time.monotonic() - begun < (6 if tries >= 3000 else SECONDS):
                kind, value = t.line('read_file {"path":"d/f"}')
                assert "outside" not in value.get("content", ""), value
                seen[value["error"]["kind"] if kind == "refused" else "ok"] += 1
                seen[t.any("write_file", path="d/f", content="inside\n")] += 1
                seen[t.any("write_file", path="d/n", content="inside\n")] += 1
    finally:
        os.kill(swapper, signal.SIGKILL)
        os.waitpid(swapper, 0)
    assert [p.name for p in outside.iterdir()] == ["f"] and (outside / "f").read_text() == "outside\n"
    print(f"# {seen}")
    assert seen["ok"] > 10 and seen["violation"] > 10 and sum(seen.values()) >= 3000, seen


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


def is_below(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def workers_of(t):
    found = subprocess.run(["pgrep", "-f", "-x", "cordon-tools"], capture_output=True, text=True,
                           check=False).stdout.split()
    mine = [int(p) for p in found if is_below(int(p), t.client.pid)]
    assert mine, found
    return mine


# What the worker calls once there is a temporary file, and nobody else in a session.
STEPS = ("pwrite64", "fdatasync", "renameat2", "unlinkat")
EXECVE = re.compile(r'^(\d+) +execve\("([^"]*)", \["([^"]*)"', re.M)


def traced(w, calls, words=()):
    """A whole session under strace: its answers, and what was traced."""
    if not shutil.which("strace"):
        raise Skip("strace is not there")
    w.write_config(DEV)
    log = w.top / "trace"
    done = subprocess.run(
        ["strace", "-f", "-o", str(log), "-e", "trace=execve,execveat," + ",".join(STEPS), *words, CLIENT, str(w.repo),
         str(w.config)], input="".join(f"{tool} {json.dumps(given)}\n" for tool, given in calls).encode(),
        env={**w.env, "CORDON_PROGRAM": PROGRAM}, capture_output=True, timeout=SECONDS * 3, check=False)
    text = log.read_text(errors="replace")
    if re.search(r"\bexecve\(0x", text):
        raise Skip("strace can't read what a process in a user namespace executes")
    return done.stdout.decode().splitlines(), text


@case
def a_kill_at_any_step_leaves_the_old_file_or_the_new_one(w):
    """Each worker is killed at the same step, so the call is given up with the second one."""
    path = w.repo / "f"
    old, new = "o" * 400000 + "\n", "n" * 300000 + "\n"
    calls = [("read_file", {"path": "f", "limit": 1}), ("write_file", {"path": "f", "content": new})]
    path.write_text(old)
    answers, log = traced(w, calls)
    assert [a.split()[0] for a in answers] == ["ok", "ok"] and path.read_text() == new, answers
    worker = next(pid for pid, _, name in EXECVE.findall(log) if name == "cordon-tools")
    made = re.findall(rf"^{worker} +(\w+)\(", log[log.index("cordon-tools"):], flags=re.M)
    steps = [(name, made[:i + 1].count(name)) for i, name in enumerate(made) if name in STEPS]
    assert {name for name, _ in steps} == set(STEPS), steps
    seen = set()
    for name, number in steps:
        path.write_text(old)
        answers, log = traced(w, calls, ["-e", f"inject={name}:signal=KILL:when={number}"])
        assert "killed by SIGKILL" in log, (name, number)
        # The supervisor removes what it has put there by the same calls, and then is killed too.
        assert [a.split()[0] for a in answers] in (["ok", "refused"], ["ok"]), (name, number, log[-3000:])
        text = path.read_text()
        assert text in (old, new), (name, number, len(text))
        assert len(leftovers(w)) <= 1, (name, number)
        seen.add((text == new, bool(leftovers(w))))
        with Tools(w) as t:
            t.ok("write_file", path="other", content=f"{name}{number}")
        assert not leftovers(w), (name, number)
    assert {(False, True), (True, True)} <= seen, seen


@case
def a_worker_that_is_killed_once_has_its_call_done_by_the_next(w):
    path = w.repo / "f"
    path.write_text("old\n")
    with Tools(w) as t:
        t.ok("read_file", path="f")
        for number in range(3):
            for pid in workers_of(t):
                os.kill(pid, signal.SIGKILL)
            assert t.ok("write_file", path="f", content=f"{number}\n")["changed"] is True
            assert path.read_text() == f"{number}\n"
    assert not leftovers(w)


@case
def no_tool_starts_a_program_but_execute_command_in_the_sandbox(w):
    """Whatever git, an editor or a shell would start something for: here it is nothing but a name."""
    subprocess.run(["git", "init", "-q", w.repo], check=True, env=w.env)
    evil = "$(touch evil);`touch evil`|touch evil"
    (w.repo / ".gitattributes").write_text("* diff=evil filter=evil\n")
    with open(w.repo / ".git/config", "a", encoding="utf-8") as config:
        config.write('[core]\n fsmonitor = touch evil\n pager = touch evil\n[filter "evil"]\n clean = touch evil\n smudge = '
                     'touch evil\n[diff "evil"]\n textconv = touch evil\n')
    hunk = f"*** Begin Patch\n*** Add File: p{evil.replace('/', '')}\n+{evil}\n*** End Patch\n"
    files = [("write_file", {"path": evil, "content": evil}), ("read_file", {"path": evil}),
             ("replace_in_file", {"path": evil, "old": evil, "new": "x"}), ("list_files", {}), ("apply_patch", {"patch": hunk}),
             ("search_files", {"pattern": "touch", "glob": "*"}), ("delete_file", {"path": evil}),
             ("open_project", {"path": str(w.repo)})]
    answers, log = traced(w, files)
    assert [a.split()[0] for a in answers] == ["ok"] * len(files), answers
    execs = [(file, name) for _, file, name in EXECVE.findall(log)][1:]
    assert execs == [(PROGRAM, "cordon-tools")] * len(execs) and execs and "execveat" not in log, execs
    # The control, and what it runs in.
    shell = "readlink /proc/self/ns/pid; grep Seccomp: /proc/self/status"
    answers, log = traced(w, [("execute_command", {"command": shell})])
    out = json.loads(answers[0].partition(" ")[2])["stdout"].split()
    assert out[1:] == ["Seccomp:", "2"] and out[0] != os.readlink("/proc/self/ns/pid"), answers
    assert {file for _, file, _ in EXECVE.findall(log)} >= {"/bin/sh"}, log[:2000]
    assert not (w.repo / "evil").exists()


@case
def commands_can_neither_see_nor_touch_the_worker(w):
    (w.repo / "f").write_text("x\n")
    look = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n'; kill -9 -1; true"
    with Tools(w) as t:
        t.ok("read_file", path="f")
        before = workers_of(t)
        done = t.ok("execute_command", command=["sh", "-c", look])
        assert "sh" in done["stdout"].split() and "cordon-tools" not in done["stdout"].split(), done
        t.ok("read_file", path="f")
        assert workers_of(t) == before, "the worker was replaced"


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
def what_a_host_program_names_is_read_only_in_each_project_for_tools_and_commands(w):
    other = w.top / "other"
    config = DEV + f'[permissions.dev.filesystem]\n"{other}" = "write"\n[files]\nignored = "allow"\n'
    for protects in {}, {"TOOLS_READ_ONLY": "1"}:
        for top in w.repo, other:
            w.write(f"{top.name}/deploy/keys/k", "old\n")
            w.write(f"{top.name}/.env", "old\n")
        with Tools(w, config, roots=[other], env=protects) as t:
            for top, there in (w.repo, other), (other, w.repo):
                for name in ".env", "deploy/keys/k", "deploy/keys/new":
                    got = t.any("write_file", path=str(top / name), content="tool\n")
                    assert got == ("violation" if protects else "ok"), (top, name, got)
                    done = t.ok("execute_command", command=["sh", "-c", f"echo x > {name}"], cwd=str(top))
                    assert (done["status"] == 0) == (not protects), (top, name, done)
                    # Nor by way of the other project.
                    done = t.ok("execute_command", command=["sh", "-c", f"echo x > {top / name}"], cwd=str(there))
                    assert done["status"] != 0 or not protects, (top, name, done)
                t.ok("write_file", path=str(top / "deploy/other"), content=str(protects))
        for top in w.repo, other:
            assert ((top / ".env").read_text() == "old\n") == bool(protects)
            (top / "deploy/keys/new").unlink(missing_ok=True)


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
def a_command_keeps_no_grant_that_ends(w):
    """It would count as long as the command runs. One for the session of tools is the control."""
    for scope, is_kept in ("minutes:5", False), ("run", True):
        place = w.home / scope.partition(":")[0]
        place.mkdir()
        with Tools(w) as t:
            t.line(f"!yes {scope}")
            t.ok("write_file", path=str(place / "f"), content="x\n")
            t.line("!no")
            t.ok("write_file", path=str(place / "f"), content="y\n")
            status = t.ok("execute_command", command=["touch", str(place / "g")])["status"]
            assert (status == 0) == (place / "g").exists() == is_kept, (scope, status)


RESULT, PROGRESS = 4, 5
FALSE_WORKER = Path(__file__).resolve().parent / "false_worker.py"


@case
def a_worker_that_was_taken_over_gives_nothing_but_one_answer(w):
    answers = w.home / "answers"
    os.mkfifo(w.home / "fifo")
    (w.home / "file").write_text("text")

    def result(body, text=b"t", length=None, passed=None, number=None, is_error=0):
        head = bytes([is_error]) + struct.pack("<I", len(text) if length is None else length)
        return (RESULT, head + text + body, number, passed)

    def answer(*given):
        answers.write_text(repr(given))

    good = result(b'{"a":1}\n')
    config = DEV + f'[permissions.dev.filesystem]\n"{w.home}/shut" = "deny"\n'
    with Tools(w, config, env={"CORDON_PROGRAM": str(FALSE_WORKER), "FALSE_ANSWERS": str(answers)}) as t:
        answer(good)
        assert t.ok("read_file", path="f") == {"a": 1}
        for bad in (b"", b"{", b"[]", b"{}{}", b'{}\n{"jsonrpc":"2.0"}', b'{}},"id":7,"result":{', b'{"a":"\xff"}',
                    b'{"a":"\x01"}', b'{"a":1,"a":2}', b'{\n}', b"{}\0"):
            answer(result(bad))
            t.refused("read_file", "conflict", path="f")
        for text in b"\xff", b"\0":
            answer(result(b"{}", text=text))
            t.refused("read_file", "conflict", path="f")
        answer(result(b"{}", length=1 << 31))
        t.refused("read_file", "conflict", path="f")
        answer((RESULT, b"\0\0", None, None))
        t.refused("read_file", "conflict", path="f")
        # Of calls that there are not, of progress that is none, and of a second answer nothing is seen.
        answer(result(b'{"b":2}', number=4000), (PROGRESS, b"\xff" * 24, None, None), good, result(b'{"c":3}'))
        assert t.ok("read_file", path="f") == {"a": 1}
        # It asks for what has dots in it, what the policy denies, or for a tool that only reads: nobody is asked.
        t.line("!yes")
        log = w.home / ".local/state/cordon/audit/approvals.jsonl"

        def asks(path, capability="write"):
            needs = {"type": "SandboxPermissionNeeded", "capability": capability, "call": "write_file", "path": path}
            answer(result(json.dumps({"error": {"kind": "violation", "message": "m", "rule": "r", "grant": path,
                                                "needs": needs}}).encode() + b"\n", is_error=1))

        for path, capability in ((f"{w.repo}/../home", "write"), (str(w.home / "shut"), "write"), ("/proc/self/mem", "write"),
                                 (str(w.repo / ".git/hooks/x"), "write"), (str(w.home / "place/x"), "read"), ("home", "write"),
                                 (str(w.home / ".config/cordon/config.toml"), "write")):
            asks(path, capability)
            t.refused("write_file", "violation", path="f", content="x")
        (w.home / "place").mkdir()
        asks(str(w.home / "place/x"))
        for tool, arguments in ("read_file", {"path": "f"}), ("list_files", {}), ("search_files", {"pattern": "x"}):
            t.refused(tool, "violation", **arguments)
        assert not log.exists() or "decision" not in log.read_text(), log.read_text()
        t.refused("write_file", "violation", path="f", content="x")  # the control
        assert [json.loads(line)["decision"] for line in log.read_text().splitlines() if "decision" in line] == ["allow"]
        # Descriptors: only a file, and only of the kind that was asked for; none is kept.
        for passed in "/dev/null", "/proc/self/status", str(w.home / "fifo"), str(w.home), None:
            answer(result(b"{}", passed=passed))
            assert t.opened("read", "f") == "system_call", passed
        answer(result(b"{}", passed=str(w.home / "file")))
        assert t.opened("read", "f")["text"] == "text" and t.opened("write", "f") == "system_call"
        fds = Path(f"/proc/{t.client.pid}/fd")
        before = len(list(fds.iterdir()))
        for _ in range(20):
            answer(result(b"{}", number=1, passed=str(w.home / "file")), result(b"{}\n", passed=str(w.home / "file")))
            t.ok("read_file", path="f")
        for count in (2, 3) * 10:
            answer(result(b"{}\n", passed=[str(w.home / "file")] * count))
            t.refused("read_file", "conflict", path="f")
        assert len(list(fds.iterdir())) <= before + 1
        # An answer longer than any may be ends it; what is asked next goes to a new one.
        answer((RESULT, bytes(11 << 20), None, None))
        t.refused("read_file", "conflict", path="f")
        answer(good)
        assert t.ok("read_file", path="f") == {"a": 1}


# For each path whether it can be read and be written; nothing is changed, and nothing stays.
PROBE = """for f in "$@"; do
    [ -e "$f" ] || { echo missing; continue; }
    r=no; w=no
    cat "$f" >/dev/null 2>&1 && r=yes
    ( : >> "$f" ) 2>/dev/null && w=yes
    echo $r $w
done"""


@case
def the_tools_answer_what_the_resolver_answers_and_a_command_gets(w):
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    places = ["p", "q", "r", "p/y", "q/x", "q/y", "r/y/z", "link", "link/y", "p/y/z"]
    names = [f"{a}/{b}" for a in ("p", "q", "r") for b in ("x", "y/z", "y/.env", "y/deep/f")]
    (w.repo / "link").symlink_to("q")
    (w.home / "l").symlink_to(w.repo / "p")
    seen = {}
    accesses = ["deny", "read", "write"]
    for turn in range(6):
        for name in names:
            w.write(f"repo/{name}", "text\n")
        rules = {rng.choice(places): rng.choice(accesses) for _ in range(rng.randrange(1, 6))}
        if turn < len(accesses):  # nothing but this rule speaks of p/x: each answer occurs, whatever the seed
            rules["p"] = accesses[turn]
        rules |= {rng.choice(["**/.env", "q/**/f", "p/y/*"]): "deny" for _ in range(rng.randrange(2))}
        table = "".join(f'"{k}" = "{v}"\n' for k, v in rules.items())
        context = (seed, table)
        with Tools(w, DEV + f'[permissions.dev.filesystem.":workspace_roots"]\n{table}') as t:
            paths = [*names, "link/x", "link/y/z", str(w.home / "l/x"), f"{w.home}/../repo/q/x", str(w.home / "l/../x")]
            got = t.ok("execute_command", command=["sh", "-c", PROBE, "sh", *paths])["stdout"].splitlines()
            assert len(got) == len(paths), (context, got)
            for path, line in zip(paths, got):
                kind, told = t.line(f"!check {path}")
                assert kind == "ok", (context, path, told)
                access = w.access(os.path.join(w.repo, path))
                exists = (w.repo / path).is_file()
                inside = {"no no": "deny", "yes no": "read", "yes yes": "write", "missing": "missing"}[line]
                read = t.any("read_file", path=path)
                edit = t.any("replace_in_file", path=path, old="text", new="text2")
                assert told["access"] == access, (context, path, told, access)
                assert inside == access or inside == "missing" and (access == "deny" or not exists), (context, path, line)
                assert (read == "ok") == (access != "deny" and exists), (context, path, access, read)
                assert (edit == "ok") == (told["edit"] and exists), (context, path, told, edit)
                if edit == "ok":
                    t.ok("replace_in_file", path=path, old="text2", new="text")
                seen[access] = seen.get(access, 0) + 1
    assert len(seen) == len(accesses), (seed, seen)


if __name__ == "__main__":
    run_cases()
