#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Grants that outlive a run: what is in force, what is refused, and `cordon approvals`."""

import json
import os
import pty
import socket
import subprocess
import sys
import time

from cli import PROGRAM, SECONDS, Skip, World, case, run, run_cases

NOBODY = 65534
WORK = ("--mode", "workspace-write")


def entry(kind, subject, profile=":workspace", number=0, **more):
    lines = ["[[grant]]", f'id = "{number:012x}"', f'kind = "{kind}"',
             f"subject = {json.dumps(subject)}", f"profile = {json.dumps(profile)}"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in more.items()]
    return "\n".join([*lines, "date = 2026-11-18T19:42:06Z", 'by = "tty"', ""])


def always_file(w: World):
    return w.config.parent / "approvals.toml"


def put_always(w: World, *entries, version=1):
    path = always_file(w)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"version = {version}\n\n" + "\n".join(entries) + "\n# end\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def session_file(w: World, name="work"):
    return w.home / ".local/state/cordon/sessions" / name


def put_session(w: World, *entries, name="work", version=1, uid=None):
    path = session_file(w, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    uid = os.getuid() if uid is None else uid
    path.write_text(f'version = {version}\nsession = "{name}"\nuid = {uid}\n\n' +
                    "\n".join(entries) + "\n# end\n", encoding="utf-8")
    path.chmod(0o600)
    return path


def make_dir(w: World, name="out"):
    path = w.top / name
    path.mkdir()
    return path


def touch(w: World, path, *options, **more):
    return run(w, *WORK, *options, "--", "sh", "-c", f'echo yes >"{path}"', **more)


@case
def what_was_always_allowed_is_allowed_and_named(w: World):
    out = make_dir(w)
    other = make_dir(w, "other")
    assert touch(w, out / "x").status != 0
    put_always(w, entry("write", str(out), dir=True), entry("connect", "example.com:443", number=1))
    assert touch(w, out / "x").status == 0 and (out / "x").read_text() == "yes\n"
    assert touch(w, other / "x").status != 0 and not (other / "x").exists()
    found = w.ok("why", *WORK, "--json", str(out / "y")).json
    assert found["access"] == "write", found
    assert found["rule"]["kind"] == "grant", found["rule"]
    assert found["rule"]["file"] == str(always_file(w)), found["rule"]
    assert found["rule"]["line"] == 3, found["rule"]
    assert w.decision("example.com:443", *WORK) == "allow"
    assert w.decision("example.org:443", *WORK) == "deny"
    assert w.access(out) == "read"  # another profile


@case
def a_grant_removes_no_deny_and_no_protection(w: World):
    out = make_dir(w)
    (out / "secret").mkdir()
    (out / ".git").mkdir()
    put_always(w, entry("write", str(out), profile="p", dir=True))
    w.write_config(f'[permissions.p]\nextends = ":workspace"\n[permissions.p.filesystem]\n"{out}/secret" = "deny"\n')
    options = ("-P", "p")
    assert w.access(out / "x", *options) == "write"
    assert w.access(out / "secret/x", *options) == "deny"
    assert w.access(out / ".git/config", *options) == "read"
    for path, want in ((out / "x", 0), (out / "secret/x", 2), (out / ".git/config", 2)):
        assert (run(w, *options, "--", "sh", "-c", f'echo x >"{path}"').status == 0) == (want == 0), path


@case
def approvals_can_be_read_and_not_written_by_a_command(w: World):
    out = make_dir(w)
    path = put_always(w, entry("write", str(out), dir=True))
    before = path.read_bytes()
    session = put_session(w)
    options = (*WORK, "--add-write", str(w.home))
    for script in (f'echo x >>"{path}"', f'rm "{path}"', f'mv "{path}" "{path}2"', f'echo x >"{path.parent}/new"',
                   f'ln "{path}" "{w.home}/second"', f'mv "{path.parent}" "{path.parent}2"',
                   f'echo x >>"{session}"', f'rm "{session}"', f'echo x >"{session.parent}/new"',
                   f'exec 9>"{path.parent}/.approvals.toml.lock"'):
        assert run(w, *options, "--", "sh", "-c", script).status != 0, script
    assert run(w, *options, "--", "sh", "-c", f'echo x >"{w.home}/x" && cat "{path}"').status == 0
    assert path.read_bytes() == before and session.exists()


@case
def a_file_that_is_not_ours_is_refused(w: World):
    out = make_dir(w)
    good = entry("write", str(out), dir=True)

    def check(path, cause, *options):
        assert w.cause("run", *WORK, *options, "--", "true") == cause
        w.fails("run", *WORK, *options, "--", "true")

    for path, options in ((put_always(w, good), ()), (put_session(w, good), ("--session", "work"))):
        text = path.read_text()
        check_ok = text if path == always_file(w) else put_session(w).read_text()
        path.write_text(check_ok)
        assert run(w, *WORK, *options, "--", "true").status == 0
        path.chmod(0o620)
        check(path, "file_untrusted", *options)
        path.chmod(0o600)
        os.link(path, w.top / "second")
        check(path, "file_untrusted", *options)
        (w.top / "second").unlink()
        path.rename(w.top / "target")
        path.symlink_to(w.top / "target")
        check(path, "file_untrusted", *options)
        path.unlink()
        path.write_text(check_ok[:-3])
        check(path, "approvals_damaged", *options)
        path.write_text("")
        check(path, "approvals_damaged", *options)
        path.write_text(check_ok)
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
            check(path, "file_untrusted", *options)
        path.unlink()
    put_session(w, uid=os.getuid() + 1)
    check(session_file(w), "file_untrusted", "--session", "work")
    put_session(w).parent.chmod(0o770)
    check(session_file(w), "file_untrusted", "--session", "work")


@case
def a_newer_file_is_refused_where_it_was_named_and_else_left_out(w: World):
    out = make_dir(w)
    put_always(w, entry("write", str(out), dir=True), version=2)
    said = w.ok("why", *WORK, "--json", str(out)).json
    assert said["access"] == "read" and "newer version" in said["warnings"][0]["message"], said
    put_session(w, version=2)
    assert w.cause("run", *WORK, "--session", "work", "--", "true") == "approvals_newer"
    assert w.ok("run", *WORK, "--", "true").status == 0


@case
def a_name_that_no_session_has_is_refused(w: World):
    for name in (".x", "a/b", "..", "x" * 65, "a b", ""):
        assert w.cause("run", *WORK, "--session", name, "--", "true") == "session_name", name
    assert w.cause("run", *WORK, "--", "true", env={"CORDON_SESSION": "../x"}) == "session_name"
    w.ok("run", *WORK, "--session", "a.B_9-", "--", "true")


@case
def what_is_too_wide_is_refused_with_its_line(w: World):
    out = make_dir(w)
    good = entry("write", str(out), dir=True)
    for number, path in enumerate((w.home, w.top, "/", w.home / ".config", w.config.parent,
                                   w.home / ".local/state/cordon/sessions", w.home / ".local")):
        put_always(w, good, entry("write", str(path), number=number, dir=True))
        error = w.run("run", "--json", *WORK, "--", "true", check=125).json["error"]
        assert error["cause"] == "approval_too_wide", (path, error)
        assert error["file"] == str(always_file(w)) and error["line"] >= 11, (path, error)
    put_always(w, good)
    w.ok("run", *WORK, "--", "true")


@case
def metadata_is_refused_with_its_line(w: World):
    out = make_dir(w)
    good = entry("write", str(out), dir=True)
    bare = w.top / "store"
    for name in (".git/hooks", "sub/.vscode", ".github/hooks"):
        (out / name).mkdir(parents=True)
    for name in ("objects", "refs", "hooks"):
        (bare / name).mkdir(parents=True)
    (bare / "HEAD").write_text("ref: refs/heads/main\n")
    for path in (out / ".git", out / ".git/hooks", out / "sub/.vscode", out / ".github", out / ".github/hooks",
                 bare / "hooks"):
        put_always(w, good, entry("write", str(path), number=1, dir=True))
        error = w.run("run", "--json", *WORK, "--", "true", check=125).json["error"]
        assert error["cause"] == "approval_too_wide", (path, error)
        assert error["file"] == str(always_file(w)) and error["line"] >= 11, (path, error)
    put_always(w, good)
    w.ok("run", *WORK, "--", "true")


@case
def a_session_counts_in_its_workspace_and_with_its_policy_alone(w: World):
    out = make_dir(w)
    put_session(w, entry("write", str(out), dir=True, workspace=str(w.repo), policy="sha256:0"))
    said = w.ok("why", *WORK, "--session", "work", "--json", str(out)).json
    assert said["access"] == "read", said
    assert "1 approval of the session is not in force: given for another policy" in said["warnings"][0]["message"], said
    assert said["warnings"][0]["file"] == str(session_file(w)), said


@case
def what_replaced_the_thing_that_was_approved_is_not_opened(w: World):
    out = make_dir(w)
    secret = w.write("secret", "old\n")
    file = w.write("out/file", "old\n")
    put_always(w, entry("write", str(file)), entry("write", str(out / "dir"), dir=True, number=1))
    (out / "dir").mkdir()
    assert touch(w, file).status == 0 and touch(w, out / "dir/x").status == 0
    file.unlink()
    file.symlink_to(secret)
    (out / "dir/x").unlink()
    (out / "dir").rmdir()
    (out / "dir").symlink_to(w.top)
    assert touch(w, file).status != 0 and touch(w, out / "dir/secret").status != 0
    assert secret.read_text() == "old\n"
    file.unlink()
    file.mkdir()
    assert touch(w, file / "x").status != 0
    said = w.ok("why", *WORK, "--json", str(file)).json
    assert any("a directory is there now" in note["message"] for note in said["warnings"]), said
    file.rmdir()
    assert w.access(file, *WORK) == "read"  # missing: left out, and no error


@case
def a_network_that_was_turned_off_stays_off(w: World):
    put_always(w, entry("connect", "example.com:443"))
    assert w.decision("example.com:443", *WORK) == "allow"
    assert w.decision("example.com:443", *WORK, "--network", "off") == "deny"


@case
def another_user_layer_has_no_approvals(w: World):
    out = make_dir(w)
    put_always(w, entry("write", str(out), dir=True))
    other = w.write("other.toml", "")
    assert w.access(out, *WORK) == "write"
    assert w.access(out, *WORK, "--config-file", str(other)) == "read"

# ---- cordon approvals -----------------------------------------------------------------


def ids(w: World, *options):
    return w.ok("approvals", "list", "-q", *options).out.split()


@case
def the_list_has_what_was_approved(w: World):
    assert w.ok("approvals").out == "Nothing is approved for later runs.\n"
    assert not always_file(w).exists()
    put_always(w, entry("write", "/opt/x", dir=True), entry("connect", "a.com:443", number=1))
    put_session(w, entry("unix_socket", "/run/x.sock", number=2, workspace=str(w.repo), policy="sha256:0"))
    found = w.ok("approvals", "list", "--json").json
    assert [(a["id"], a["scope"], a["session"], a["kind"], a["subject"]) for a in found["approvals"]] == [
        ("0" * 12, "always", None, "write", "/opt/x"), ("0" * 11 + "1", "always", None, "connect", "a.com:443"),
        ("0" * 11 + "2", "session", "work", "unix_socket", "/run/x.sock")], found
    assert ids(w, "--session", "work") == ["0" * 11 + "2"]
    text = w.ok("approvals").out
    assert "write to /opt/x/**" in text and "session work" in text, text
    shown = w.ok("approvals", "show", "0" * 12).out
    assert "approvals.toml:3" in shown and "2026-11-18T19:42:06Z" in shown and "tty" in shown, shown


@case
def what_is_revoked_is_not_in_force_any_more(w: World):
    out = make_dir(w)
    other = make_dir(w, "other")
    put_always(w, entry("write", str(out), dir=True), entry("write", str(other), number=1, dir=True))
    assert touch(w, out / "x").status == 0 and touch(w, other / "x").status == 0
    # One that does not exist: nothing at all is ended.
    assert w.cause("approvals", "revoke", "0" * 12, "nothing") == "unknown_approval"
    assert len(ids(w)) == 2
    said = w.ok("approvals", "revoke", "0" * 12, "--json").json
    assert said["ended"] and [a["subject"] for a in said["approvals"]] == [str(out)], said
    assert ids(w) == ["0" * 11 + "1"]
    assert touch(w, out / "x").status != 0 and touch(w, other / "x").status == 0
    w.fails("approvals", "revoke", "0" * 12)


@case
def the_begin_of_an_id_is_enough_to_revoke(w: World):
    def put():
        put_always(w, entry("write", "/opt/x", dir=True), entry("write", "/opt/y", number=1, dir=True),
                   entry("write", "/opt/z", number=0x111122223333, dir=True))

    put()
    # Of two, too short, of none, and one that is right beside one that is not: nothing is ended.
    for words in (["0" * 11], ["1"], ["111"], ["1111ff"], [""], ["1111", "2222"]):
        assert w.cause("approvals", "revoke", *words) == "unknown_approval", words
    assert len(ids(w)) == 3
    assert w.ok("approvals", "show", "1").out.startswith("111122223333"), "show takes less"
    assert w.ok("approvals", "revoke", "1111", "--json").json["approvals"][0]["subject"] == "/opt/z"
    assert ids(w) == ["0" * 12, "0" * 11 + "1"]
    put()
    w.ok("approvals", "revoke", "1111", "111122223333", "0" * 12)
    assert ids(w) == ["0" * 11 + "1"]


@case
def clear_ends_all_and_has_to_be_told_so(w: World):
    put_always(w, entry("write", "/opt/x", dir=True))
    put_session(w, entry("write", "/opt/y", number=1, workspace=str(w.repo), policy="sha256:0"))
    said = w.fails("approvals", "clear").err
    assert "to end all that is always allowed (sessions stay), add --yes" in said and len(ids(w)) == 2, said
    w.ok("approvals", "clear", "--yes")
    assert ids(w) == ["0" * 11 + "1"]
    # Of a session that is named, in whatever way, and of no other.
    assert "to end all that is allowed in the session work, add --yes" in w.fails("approvals", "clear", env={"CORDON_SESSION": "work"}).err
    w.ok("approvals", "clear", "--yes", env={"CORDON_SESSION": "work"})
    assert not ids(w)
    assert "There was nothing to end" in w.ok("approvals", "clear").out
    w.ok("approvals", "clear", "--yes")
    assert w.cause("approvals", "clear", "--yes", "--session", "other") == "unknown_approval"
    assert not session_file(w, "other").exists()


def clear_at_a_terminal(w, typed):
    ours, theirs = pty.openpty()
    os.write(ours, typed)
    done = subprocess.run([PROGRAM, "approvals", "clear"], cwd=w.repo, env=w.env, stdin=theirs,
                          stdout=subprocess.PIPE, stderr=theirs, timeout=SECONDS, check=False)
    os.write(theirs, b"\0")
    said = b""
    while not said.endswith(b"\0"):
        said += os.read(ours, 65536)
    os.close(theirs)
    os.close(ours)
    return done.returncode, said.decode()


@case
def what_can_not_be_shown_is_not_ended(w: World):
    file = put_always(w, entry("write", "/opt/x", dir=True))
    kept = file.read_text()
    file.write_text("version = 1\n", encoding="ascii")
    status, said = clear_at_a_terminal(w, b"y\n")
    assert status != 0 and "[y/N]" not in said and file.read_text() == "version = 1\n", (status, said)
    file.write_text(kept, encoding="ascii")
    assert len(ids(w)) == 1
    status, said = clear_at_a_terminal(w, b"n\n")
    assert status != 0 and "[y/N]" in said and len(ids(w)) == 1, (status, said)
    status, said = clear_at_a_terminal(w, b"y\n")
    assert status == 0 and "/opt/x" in said and not ids(w), (status, said)


@case
def clear_shows_and_asks_about_nothing_that_stays(w: World):
    put_session(w, entry("write", "/opt/y", number=1, workspace=str(w.repo), policy="sha256:0"))
    status, said = clear_at_a_terminal(w, b"")
    assert status == 0 and "[y/N]" not in said and "/opt/y" not in said and len(ids(w)) == 1, (status, said)
    assert w.ok("approvals", "clear").status == 0
    put_always(w, entry("write", "/opt/x", dir=True))
    status, said = clear_at_a_terminal(w, b"y\n")
    assert status == 0 and "[y/N]" in said and "/opt/x" in said and "/opt/y" not in said, (status, said)
    assert ids(w) == ["0" * 11 + "1"]


@case
def words_that_make_no_sense_are_refused(w: World):
    for words in (["lsit"], ["revoke"], ["show"], ["list", "x"], ["clear", "x"], ["list", "--yes"],
                  ["revoke", *["x"] * 70]):
        assert w.cause("approvals", *words) == "argument", words
    assert "did you mean list?" in w.fails("approvals", "lsit").err
    assert w.cause("approvals", "--session", "../x") == "session_name"


@case
def an_unusable_file_is_named_and_the_others_are_listed(w: World):
    put_always(w, entry("write", "/opt/x", dir=True))
    put_session(w, name="torn").write_text("version = 1\n", encoding="utf-8")
    put_session(w, entry("write", "/opt/y", number=1, workspace=str(w.repo), policy="sha256:0"))
    put_session(w, name="future", version=2)
    found = w.run("approvals", "--json", check=125).json
    assert len(found["approvals"]) == 2, found
    assert sorted((u["session"], u["cause"]) for u in found["unusable"]) == [
        ("future", "approvals_newer"), ("torn", "approvals_damaged")], found
    assert w.cause("approvals", "--session", "torn") == "approvals_damaged"
    assert w.cause("approvals", "clear", "--yes", "--session", "torn") == "approvals_damaged"
    assert session_file(w, "torn").read_text() == "version = 1\n"
    w.ok("approvals", "revoke", "0" * 12)
    assert len(w.run("approvals", "-q", check=125).out.split()) == 1


@case
def an_entry_that_a_run_refuses_can_be_revoked(w: World):
    put_always(w, entry("write", str(w.home), dir=True))
    w.write_config("broken")
    w.fails("run", *WORK, "--", "true")
    w.ok("approvals", "revoke", "0" * 12)
    w.write_config("")
    w.ok("run", *WORK, "--", "true")


@case
def answers_name_what_was_approved_and_how_it_ends(w: World):
    out = make_dir(w)
    put_always(w, entry("write", str(out), dir=True), entry("connect", "a.com:443", number=1),
               entry("unix_socket", str(w.top / "x.sock"), number=2))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(w.top / "x.sock"))
    for asked in (str(out), "a.com:443", str(w.top / "x.sock")):
        said = w.ok("why", *WORK, asked).out
        assert "approvals.toml:" in said, said
        assert "cordon approvals revoke ID" in said or asked.endswith(".sock"), said
    found = w.ok("explain", *WORK, "--json").json
    assert [(r["pattern"], r["layer"]) for r in found["network"]["domains"]] == [("a.com:443", "approvals")], found
    assert [r["path"] for r in found["network"]["unix_sockets"]] == [str(w.top / "x.sock")], found["network"]
    text = w.ok("explain", *WORK).out
    assert "approved  ~/.config/cordon/approvals.toml:3" in text and "a.com:443" in text, text


@case
def hostile_names_are_shown_escaped(w: World):
    evil = "/opt/\x1b]0;owned\x07\n\u202e\u009b2Jx"
    put_always(w, entry("write", evil, profile="\x1b[2J", dir=True))
    for words in (["approvals"], ["approvals", "show", "0" * 12], ["approvals", "revoke", "0" * 12]):
        out = w.ok(*words).out
        assert "/opt/\\x1b]0;owned\\x07" in out, out
        assert not any(c in out for c in "\x1b\x07\u202e\u009b"), repr(out)


@case
def twenty_that_revoke_at_once_lose_nothing(w: World):
    count = 40
    put_always(w, *(entry("write", f"/opt/{i}", number=i, dir=True) for i in range(count)))
    running = [subprocess.Popen([PROGRAM, "approvals", "revoke", f"{i:012x}"], env=w.env, cwd=w.repo,
                                stdout=subprocess.DEVNULL) for i in range(0, count, 2)]
    assert all(p.wait(60) == 0 for p in running)
    assert ids(w) == [f"{i:012x}" for i in range(1, count, 2)]


@case
def a_revoke_that_is_killed_leaves_a_whole_file(w: World):
    for delay in range(0, 40):
        put_always(w, *(entry("write", f"/opt/{i}", number=i, dir=True) for i in range(50)))
        running = subprocess.Popen([PROGRAM, "approvals", "revoke", "0" * 12], env=w.env, cwd=w.repo,
                                   stdout=subprocess.DEVNULL)
        time.sleep(delay / 10000)
        running.kill()
        running.wait(60)
        assert len(ids(w)) in (49, 50), delay


@case
def an_ordinary_user_has_its_own(w: World):
    if os.geteuid() != 0:
        raise Skip("this test runs as an ordinary user anyway")
    out = make_dir(w)
    put_always(w, entry("write", str(out), dir=True))
    for root, dirs, files in os.walk(w.top):
        for name in [*dirs, *files, "."]:
            os.chown(os.path.join(root, name), NOBODY, NOBODY)
    os.chmod(w.top, 0o755)

    def as_user(*args):
        return subprocess.run([PROGRAM, *args], env=w.env, cwd=w.repo, capture_output=True, text=True,
                              user=NOBODY, group=NOBODY, extra_groups=[], timeout=60, check=False)

    assert as_user("why", *WORK, "-q", str(out)).stdout == "write\n"
    assert len(as_user("approvals", "list", "-q").stdout.split()) == 1
    assert w.cause("approvals", "revoke", "0" * 12) == "unknown_approval"  # root's view: not root's file
    os.chown(always_file(w), 0, 0)
    refused = as_user("why", *WORK, "--json", str(out))
    assert refused.returncode == 125, refused
    assert json.loads(refused.stdout)["error"]["cause"] in ("file_untrusted", "file_unreadable"), refused
    os.chown(always_file(w), NOBODY, NOBODY)
    done = as_user("approvals", "revoke", "0" * 12)
    assert done.returncode == 0, done
    assert as_user("why", *WORK, "-q", str(out)).stdout == "read\n"


@case
def what_is_approved_outside_does_not_end_a_run(w: World):
    """Its directory is read-only below a writable home: replacing a file in it must not look like an attack."""
    put_always(w, entry("write", "/opt/x", dir=True), entry("write", "/opt/y", number=1, dir=True))
    put_session(w, entry("write", "/opt/z", number=2, workspace=str(w.repo), policy="sha256:0"))
    script = 'echo up; read x; sleep 0.5; echo still here >"$HOME/done"'
    going = subprocess.Popen([PROGRAM, "run", *WORK, "--add-write", str(w.home), "--", "sh", "-c", script],
                             env=w.env, cwd=w.repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    assert going.stdout.readline() == b"up\n"
    for number in range(3):
        w.ok("approvals", "revoke", f"{number:012x}")
    w.write_config("# changed\n")
    going.stdin.write(b"\n")
    going.stdin.close()
    assert going.wait(60) == 0 and (w.home / "done").exists()
    going.stdout.close()
    assert not ids(w)


@case
def a_socket_that_was_approved_can_be_connected_to(w: World):
    """And another one beside it can't."""
    names = [w.top / "yes.sock", w.top / "no.sock"]
    servers = [socket.socket(socket.AF_UNIX) for _ in names]
    for server, name in zip(servers, names):
        server.bind(str(name))
        server.listen(8)
    put_always(w, entry("unix_socket", str(names[0])))
    script = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])"
    statuses = [run(w, *WORK, "--", sys.executable, "-c", script, str(name)).status for name in names]
    assert statuses[0] == 0 and statuses[1] != 0, statuses
    # A link in its place leads to no other socket.
    names[0].unlink()
    names[0].symlink_to(names[1])
    assert run(w, *WORK, "--", sys.executable, "-c", script, str(names[0])).status != 0
    assert run(w, *WORK, "--allow-socket", str(names[1]), "--", sys.executable, "-c", script,
               str(names[0])).status == 0
    for server in servers:
        server.close()


run_cases()
