#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon run` as a user meets it: options, statuses, what may be touched, messages, reports.

What is enforced, and how well, is the matter of tests/conformance; here each kind of
refusal stands once, beside what is allowed and beside a control without a sandbox. Streams,
signals, terminals and time are in cli_run_life.py.
"""

import fcntl
import json
import os
import pwd
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

from cli import (BOTH, NONE, PROGRAM, SECONDS, World, case, ok, refused, run, run_cases, start,
                 wait_for)

ORDINARY = 61235
P17 = "cordon: warning: "


# ---- The home is no workspace (P5) --------------------------------------------------


PLANT = ("sh", "-c", "echo planted >>.bashrc")


@case
def the_home_is_not_made_writable_by_standing_in_it(w: World):
    bashrc = w.write("home/.bashrc", "mine\n")
    above = w.home.parent
    for cwd in (w.home, above, "/"):
        for words in (("run", "--full-auto", "--", *PLANT), ("run", "--dry-run", "--full-auto", "--", "true"),
                      ("explain", "--full-auto"), ("why", "--full-auto", bashrc)):
            said = w.fails(*words, cwd=cwd).err
            assert "-C DIR" in said and "--add-write" in said and "~/.bashrc" in said, said
            # cordon-sh takes no options.
            assert "CORDON_WORKSPACE=DIR" in said and f'"{cwd}" = "write"' in said, said
    assert bashrc.read_text() == "mine\n"
    # Nothing is writable there, what is below may be, and so may what is named.
    assert ok(w, "--", "cat", ".bashrc", cwd=w.home).out == "mine\n"
    (w.home / "project").mkdir()
    ok(w, "--full-auto", "--", "touch", "new", cwd=w.home / "project")
    assert (w.home / "project/new").exists()
    ok(w, "--full-auto", "--add-write", str(w.home), "--", *PLANT, cwd=w.home)
    assert bashrc.read_text() == "mine\nplanted\n"
    # A configuration, and what this host can do, are judged at home too.
    w.write_config('default_permissions = ":workspace"\n')
    w.ok("check", cwd=w.home)


@case
def a_tilde_in_the_path_of_an_option_is_the_home(w: World):
    """A shell leaves it alone behind '=', and a deny that names nothing would be lost."""
    secret = w.write("home/sub/secret", "mine\n")
    assert ok(w, "--", "cat", secret).out == "mine\n"
    for words in (("--deny=~/sub",), ("--deny", "~/sub/secret"), ("--deny=~/x/../sub",)):
        (w.home / "x").mkdir(exist_ok=True)
        assert w.run("run", *words, "--", "cat", secret, check=1).out == ""
    ok(w, "--full-auto", "--add-write=~/sub", "--", "touch", w.home / "sub/new", cwd=w.repo)


@case
def the_end_of_the_options_is_no_value(w: World):
    for option in ("--report", "--audit", "--timeout", "-P"):
        assert "needs a value" in w.fails("run", option, "--", "true").err
    assert not (w.repo / "--").exists()


@case
def a_home_is_told_by_its_inode_and_by_the_list_of_users(w: World):
    """HOME may say what it likes, and a link is its target."""
    listed = next((user.pw_dir for user in pwd.getpwall() if user.pw_uid == os.getuid()), "")
    (w.top / "link").symlink_to(w.home)
    refused(w, "--full-auto", "--", "true", cwd=w.home, env={"HOME": str(w.top / "link")})
    refused(w, "--full-auto", "-C", str(w.top / "link"), "--", "true")
    if os.path.isdir(listed):
        refused(w, "--full-auto", "-C", listed, "--", "true")
        refused(w, "--full-auto", "-C", listed, "--", "true", env={"HOME": ""})
    if listed:
        ok(w, "--full-auto", "--", "true", env={"HOME": ""})


@case
def without_a_known_home_no_workspace_is_writable(w: World):
    if os.getuid() != 0:
        return
    unlisted = ("setpriv", "--reuid", str(ORDINARY), "--regid", str(ORDINARY), "--clear-groups")
    w.top.chmod(0o755)
    os.chown(w.repo, ORDINARY, ORDINARY)
    env = {**w.env, "TMPDIR": ""}
    del env["HOME"]

    def attempt(*options):
        return subprocess.run([*unlisted, PROGRAM, "run", *options, "--", "true"], cwd=w.repo, env=env,
                              capture_output=True, text=True, timeout=SECONDS, check=False)

    done = attempt("--full-auto")
    assert done.returncode == 125 and "HOME" in done.stderr, done
    assert attempt().returncode == 0
    assert attempt("--full-auto", "--add-write", str(w.repo)).returncode == 0


@case
def root_works_in_nobodys_home(w: World):
    """With a list of users of its own, in a mount namespace of its own."""
    if os.getuid() != 0:
        return
    users = w.write("users", f"root:x:0:0::/root:/bin/sh\nyou:x:1000:1000::{w.top}/people/you:/bin/sh\n"
                             f"www:x:33:33::{w.top}/www:/bin/sh\nsys:x:3:3::/var:/bin/sh\n")
    for name in ("people/you/project", "www", "again"):
        (w.top / name).mkdir(parents=True)

    def attempt(cwd):
        script = ('mount --bind "$1" /etc/passwd && mount --bind "$2/people/you" "$2/again" && '
                  'cd "$2/$3" && exec "$4" run --full-auto -- true')
        return subprocess.run(["unshare", "-m", "sh", "-ec", script, "sh", users, w.top, cwd, PROGRAM], env=w.env,
                              capture_output=True, text=True, timeout=SECONDS, check=False)

    if "mount" in attempt("www").stderr:
        return
    for cwd in ("people/you", "people", "again"):
        done = attempt(cwd)
        assert done.returncode == 125 and "home" in done.stderr, (cwd, done)
    for cwd in ("people/you/project", "www"):
        done = attempt(cwd)
        assert done.returncode == 0, (cwd, done)


# ---- Where the workspace is (P4) --------------------------------------------------------


def make_repository(w, top):
    env = {**w.env, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "init", "-q", str(top)], env=env, check=True)


@case
def the_workspace_is_fixed_by_option_and_environment(w: World):
    deep, other = w.repo / "src/deep", w.top / "other"
    deep.mkdir(parents=True)
    other.mkdir()
    named, env = ("--workspace", str(w.repo)), {"CORDON_WORKSPACE": str(w.repo)}
    touch = ("sh", "-c", 'touch "$0"/new 2>/dev/null && rm "$0"/new')
    for cwd in (deep, other):
        here = cwd == deep
        for options, more in ((named, {}), ((), env)):
            ok(w, "--full-auto", *options, "--", *touch, str(w.repo), cwd=cwd, env=more)
            assert run(w, "--full-auto", *options, "--", *touch, str(other), cwd=cwd, env=more).status == 1
            assert ok(w, "--full-auto", *options, "--", "pwd", cwd=cwd, env=more).out == f"{cwd}\n"
            answer = w.ok("why", "--json", "--full-auto", *options, w.repo / "new", cwd=cwd, env=more).json
            assert answer["access"] == "write", answer
            shown = w.ok("explain", "--json", "--full-auto", *options, cwd=cwd, env=more).json
            assert (shown["directory"], shown["workspace"]) == (str(cwd), str(w.repo)), shown
        # Without, it is where one stands.
        assert run(w, "--full-auto", "--", *touch, str(w.repo), cwd=cwd).status == 1
        assert run(w, "--full-auto", "--", *touch, str(cwd), cwd=cwd).status == 0, here
    # The option wins; it is relative to the process, the variable must not be.
    ok(w, "--full-auto", "--workspace", "..", "-C", str(deep), "--", *touch, str(deep.parent), cwd=deep,
       env={"CORDON_WORKSPACE": str(other)})
    refused(w, "--full-auto", "--", "true", env={"CORDON_WORKSPACE": "."})
    ok(w, "--full-auto", "--", "true", env={"CORDON_WORKSPACE": ""})
    refused(w, "--full-auto", "--workspace", str(w.top / "gone"), "--", "true")
    refused(w, "--full-auto", "--workspace", str(w.home), "--", "true")
    refused(w, "--full-auto", "--", "true", env={"CORDON_WORKSPACE": str(w.home)})
    # Its project narrows, and no other.
    w.write("repo/.cordon/config.toml", '[filesystem]\n"%s" = "read"\n' % w.repo)
    assert run(w, "--full-auto", *named, "--", *touch, str(w.repo), cwd=deep).status == 1


PROFILE = '[permissions.p]\nextends = ":workspace"\ngit = "commit"\n'


@case
def a_profile_may_take_the_repository_for_the_workspace(w: World):
    make_repository(w, w.repo)
    deep = w.repo / "src/deep"
    deep.mkdir(parents=True)
    commit = ("git", "-c", "user.name=a", "-c", "user.email=b@c", "commit", "-qm", "x", "--allow-empty")
    w.write_config(PROFILE)
    said = run(w, "-P", "p", "--", *commit, cwd=deep)
    assert said.status != 0 and said.err.count("--workspace") == 2, said  # before and after
    assert ok(w, "-P", "p", "--", *commit).err == ""
    assert ok(w, "-P", "p", "--workspace", str(w.repo), "--", *commit, cwd=deep).err == ""
    w.write_config(PROFILE + 'workspace = "repo"\n')
    assert ok(w, "-P", "p", "--", *commit, cwd=deep).err == ""
    assert w.ok("explain", "--json", "-P", "p", cwd=deep).json["workspace"] == str(w.repo)
    assert 'workspace = "repo"' in w.ok("profiles", "p").out
    # Where there is none it is the directory; and a home is none.
    (w.top / "plain").mkdir()
    assert w.ok("explain", "--json", "-P", "p", cwd=w.top / "plain").json["workspace"] == str(w.top / "plain")
    make_repository(w, w.home)
    (w.home / "project").mkdir()
    shown = w.ok("explain", "--json", "-P", "p", cwd=w.home / "project").json
    assert shown["workspace"] == str(w.home / "project"), shown
    refused(w, "-P", "p", "--", "true", cwd=w.home)
    # What everybody may write was made by nobody in particular.
    w.repo.chmod(0o777)
    said = ok(w, "-P", "p", "--", "true", cwd=deep)
    assert "everybody" in said.err, said
    assert w.ok("explain", "-q", "--json", "-P", "p", cwd=deep).json["workspace"] == str(deep)
    # A project has no say in it.
    w.repo.chmod(0o755)
    w.write("repo/.cordon/config.toml", 'workspace = "repo"\n')
    w.fails("run", "-P", "p", "--", "true", cwd=deep)
    w.write_config(PROFILE + 'workspace = "git"\n')
    w.fails("run", "-P", "p", "--", "true")


# ---- Statuses (P24) ---------------------------------------------------------------


@case
def the_status_is_that_of_the_command(w: World):
    for how in BOTH:
        for status in (0, 1, 3, 77, 124, 125, 126, 127, 128, 255):
            result = run(w, *how, "sh", "-c", f"exit {status}")
            assert result.status == status, (how, status, result)
            if not how:
                assert result.err == "", "nothing is said about a status that is the command's"


@case
def a_command_that_a_signal_killed_gives_128_and_its_number(w: World):
    for how in BOTH:
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV):
            result = run(w, *how, "sh", "-c", f"kill -{int(number)} $$")
            assert result.status == 128 + number, (how, number, result)


@case
def a_command_that_is_not_found_gives_127_and_says_so(w: World):
    w.write("repo/dangling").unlink()
    (w.repo / "dangling").symlink_to("gone")
    for how in BOTH:
        for name in ("no-such-program", "./no-such-program", "/nonexistent/program", "./dangling"):
            result = run(w, *how, name, "x")
            assert result.status == 127, (how, name, result)
            assert name in result.err and result.err.count("\n") == (2 if how else 1), result


@case
def a_name_that_is_a_line_or_a_variable_gets_advice(w: World):
    assert "sh -c" in run(w, "ls -l").err and "--env" in run(w, "A=1", "ls").err
    assert run(w, "sh", "-c", "exit 127").err == ""
    assert run(w, "-q", "ls -l").err == (
        "cordon: error: 'ls -l' was not found in PATH inside the sandbox\n")


@case
def a_command_that_can_not_be_executed_gives_126_and_says_so(w: World):
    w.write("repo/plain", "#!/bin/sh\n").chmod(0o644)
    (w.repo / "dir").mkdir()
    for how in BOTH:
        for name in ("./plain", "./dir"):
            result = run(w, *how, name)
            assert result.status == 126, (how, name, result)
            assert name in result.err and result.err.count("\n") == (2 if how else 1), result


@case
def whether_the_file_or_its_interpreter_is_closed_is_told_apart(w: World):
    tool, interpreter = w.write("bin/tool", "#!/bin/sh\n"), w.write("bin/interpreter", "#!/bin/sh\n")
    script = w.write("bin/own-script", f"#!{interpreter}\n")
    for path in (tool, interpreter, script):
        path.chmod(0o755)
    path = {"PATH": f"{w.top}/bin:{w.env['PATH']}"}
    inside = "inside the sandbox"
    for name in ("tool", "own-script"):
        assert ok(w, name, env=path).err == ""
    denied = f"cordon: warning: '{{}}' can't be executed {inside}: the policy denies it; to see which rule: cordon why"
    for how in (["--backend", "native"], *([["--backend", "bwrap"]] if os.path.exists("/usr/bin/bwrap") else [])):
        result = run(w, *how, "--deny", str(tool), "tool", env=path)
        assert result.status == 126 and result.err == f"{denied.format(tool)} --deny {tool} {tool}\n", result
    # From where the command would run, and not from here.
    result = run(w, "-C", str(w.top / "bin"), "--deny", str(tool), "./tool")
    assert result.status == 126, result
    assert result.err == f"{denied.format('./tool')} --cd {w.top}/bin --deny {tool} {tool}\n", result
    result = run(w, "--deny", str(interpreter), "own-script", env=path)
    assert result.status == 126, result
    assert f"'{script}' can't be executed {inside}, perhaps because its interpreter is missing" in result.err, result
    # What nobody can execute is no matter of the policy.
    tool.chmod(0o644)
    result = run(w, "tool", env=path)
    assert result.err == f"cordon: warning: '{tool}' can't be executed {inside}: Permission denied\n", result
    # That it can't be read is the file's own mode: root's rights end at the sandbox.
    if os.geteuid() == 0:
        tool.chmod(0o700)
        os.chown(tool, ORDINARY, ORDINARY)
        result = run(w, "tool", env=path)
        assert result.err == f"cordon: warning: '{tool}' can be neither read nor executed {inside}: Permission denied\n", result


@case
def a_pipe_that_is_taken_for_a_program_is_not_opened(w: World):
    os.mkfifo(w.repo / "pipe", 0o777)
    writer = subprocess.Popen(["sh", "-c", "echo >pipe; echo done >written"], cwd=w.repo)
    try:
        for how in BOTH:
            result = run(w, *how, "./pipe")
            assert result.status == 126 and "'./pipe' can't be executed" in result.err, result
        time.sleep(0.2)
        assert not (w.repo / "written").exists()
        (w.repo / "pipe").read_bytes()
        assert writer.wait(SECONDS) == 0 and (w.repo / "written").exists()
    finally:
        writer.kill()
        writer.wait()


@case
def that_nothing_was_run_is_said_even_when_quiet(w: World):
    assert run(w, "-q", "nosuch").err == (
        "cordon: error: 'nosuch' was not found in PATH inside the sandbox\n")
    result = run(w, "-q", w.write("repo/data"))
    assert result.status == 126 and result.err.startswith("cordon: error: '"), result
    assert run(w, "-q", "no\x1bsuch").err.count("\x1b") == 0
    # What the command itself says is its own affair.
    assert run(w, "-q", "sh", "-c", "exit 127").err == ""


@case
def a_directory_of_the_path_that_can_not_be_searched_holds_no_program(w: World):
    closed = w.top / "closed"
    closed.mkdir()
    w.write("open/tool", "").chmod(0o644)
    closed.chmod(0)
    who = {}
    if os.geteuid() == 0:
        for path in (w.top, w.home, w.repo):
            os.chown(path, ORDINARY, ORDINARY)
        who = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []}
    for how in BOTH:
        for path, name, status in ((f"{closed}:/usr/bin", "nosuch", 127),
                                   (f"{closed}:/usr/bin", "true", 0),
                                   # This one is there, and is no program.
                                   (f"{closed}:{w.top}/open", "tool", 126),
                                   # And of this one the very place was named.
                                   ("/usr/bin", f"{closed}/tool", 126)):
            done = subprocess.run([PROGRAM, "run", *how, name], cwd=w.repo,
                                  env={**w.env, "PATH": path}, capture_output=True, check=False,
                                  timeout=SECONDS, **who)
            assert done.returncode == status, (how, path, name, done)


@case
def a_limit_that_ended_the_command_is_named(w: World):
    w.write_config("[permissions.x]\nextends = ':read-only'\n"
                   "[permissions.x.limits]\ncpu_time = '1s'\n")
    busy = ["sh", "-c", "while :; do :; done"]
    result = run(w, "-P", "x", *busy)
    assert result.status == 152 and result.err == (
        "cordon: warning: the command was killed: it reached the limit cpu_time\n"), result
    # One that does not listen is killed, a second later.
    result = run(w, "-P", "x", "sh", "-c", "trap '' XCPU; while :; do :; done")
    assert result.status == 137 and "it reached the limit cpu_time" in result.err, result
    assert run(w, "-P", "x", "sh", "-c", "kill -KILL $$").err == ""


@case
def a_program_later_in_the_path_is_found_behind_one_that_can_not_be_executed(w: World):
    w.write("one/tool", "#!/bin/sh\necho one\n").chmod(0o644)
    w.write("two/tool", "#!/bin/sh\necho two\n").chmod(0o755)
    path = {"PATH": f"{w.top}/one:{w.top}/two:{w.env['PATH']}"}
    for how in BOTH:
        assert ok(w, *how, "tool", env=path).out == "two\n"
        assert run(w, *how, "tool", env={"PATH": f"{w.top}/one:/usr/bin:/bin"}).status == 126


@case
def an_empty_command_is_refused_with_usage(w: World):
    for words in ([], ["--"], ["--full-auto"], [""], ["--", ""]):
        for command in ("run", "sandbox"):
            result = refused(w, *words, command=command)
            first, *usage = result.err.splitlines()
            assert first == "cordon: error: no command is given", result
            assert usage == [f"usage: cordon {command} [OPTIONS] [--] COMMAND [ARG...]"], result
    found = json.loads(refused(w, "--json").out)
    assert found["error"]["cause"] == "no_command", found


# ---- Options ------------------------------------------------------------------------


@case
def options_end_at_the_first_word_of_the_command(w: World):
    script = ["sh", "-c", 'printf "<%s>" "$0" "$@"']
    words = ["--json", "-P", "none", "--help", "--", "-V", "", "a b"]
    shown = "".join(f"<{word}>" for word in words)
    for command in ("run", "sandbox"):
        assert ok(w, *script, *words, command=command).out == shown
        assert ok(w, "--", *script, *words, command=command).out == shown
        assert ok(w, "--full-auto", "--", *script, *words, command=command).out == shown
    # A "--json" of the command does not make Cordon's errors JSON.
    assert run(w, "--timeout", "x", "ls", "--json").out == ""


@case
def options_may_stand_before_the_name_of_the_command(w: World):
    done = subprocess.run([PROGRAM, "--full-auto", "run", "touch", "made"], cwd=w.repo, env=w.env,
                          check=False)
    assert done.returncode == 0 and (w.repo / "made").exists()


@case
def wrong_options_say_what_why_and_the_way_out(w: World):
    for words, said in (
        (["--network", "on"], "must be off, managed or full"),
        (["--timeout", "1.5"], "like 250ms, 90s, 5m or 1h"),
        (["--timeout", "5 m"], "like 250ms"),
        (["--timeout", "-5"], "like 250ms"),
        (["--timeout", ""], "like 250ms"),
        (["--timeout", "0"], "at least 1"),
        (["--timeout", "99999999999999999999"], "too long"),
        (["--timeout", "9999999999999999h"], "too long"),
        (["--timeout", "1", "--timeout", "2"], "given twice"),
        (["--full-auto", "-P", ":read-only"], "can't be used together"),
        (["--full-auto", "--mode", "read-only"], "--mode workspace-write"),
        (["--mode", "workspace"], "workspace-write"),
        (["-P", "nope"], "there is no profile 'nope'"),
        (["--env", "=x"], "NAME=VALUE"),
        (["--env", ""], "NAME=VALUE"),
        (["--backend", "natve"], "native"),
        (["--backend", "seatbelt"], "not in this version"),
        (["--sandbox", "maybe"], "require"),
        (["--accept-missing", "everything"], "everything"),
        (["--accept-missing", "proc,tree_death"], "takes one guarantee"),
        (["--platform", "plan9"], "macos"),
        (["--platform", "macos"], "macos"),
        (["--platform", "windows"], "windows"),
        (["--add-write", ""], "empty"),
        (["-C", "missing"], "missing"),
        (["--report", "no/such/dir"], "No such file or directory"),
        (["--report", "."], "directory"),
        (["--report", "/dev/fd/77"], "Bad file descriptor"),
        (["--dry-run", "--report", "x"], "--dry-run and --report can't be used together"),
        (["--config", "nonsense=1"], "nonsense"),
        (["--jsno"], "did you mean --json?"),
        (["--write"], "no option --write"),
    ):
        result = refused(w, *words, "touch", "ran")
        # A headline, and what to do indented below it.
        assert said in result.err and all(line.startswith("  ") for line in result.err.splitlines()[1:]), (words, result)
        assert not (w.repo / "ran").exists(), words
        found = json.loads(refused(w, "--json", *words, "touch", "ran").out)
        assert said in json.dumps(found["error"], ensure_ascii=False), (words, found)
    assert sorted(os.listdir(w.repo)) == []


@case
def the_first_backend_of_the_order_that_gives_all_is_taken(w: World):
    shows = ["sh", "-c", "echo $CORDON_SANDBOX"]

    def by(*names, more=()):
        listed = ", ".join(f'"{name}"' for name in names)
        return run(w, "-c", f"linux.backends=[{listed}]", *more, *shows)

    assert by("native", "landlock").out == "native\n" and by("native").err == ""
    # One that is passed over is named once, with what it lacks.
    result = by("landlock", "native")
    assert result.out == "native\n" and result.err.count("\n") == 1, result
    assert result.err.startswith("cordon: warning: using native; earlier backends failed: "
                                 "landlock: "), result
    assert "proc: " in result.err and "tree_death: " in result.err, result
    (found,) = json.loads(run(w, "-c", 'linux.backends=["landlock", "native"]', "--dry-run", "--json",
                              "true").out)["passed_over"]
    assert found["name"] == "landlock" and "tree_death: " in found["reason"], found
    # It is taken when its losses are accepted by name, and then they are said.
    losses = ["--accept-missing", "proc", "--accept-missing", "tree_death"]
    result = by("landlock", "native", more=losses)
    assert result.out == "landlock\n" and result.err.count("its loss was accepted") == 2, result
    # All that are left have fallen short: each is named.
    result = refused(w, "-c", 'linux.backends=["landlock"]', *shows)
    assert "tried landlock: " in result.err and "native" not in result.err, result
    assert "--accept-missing proc --accept-missing tree_death" in result.err, result
    # One that is asked for is the only one.
    result = refused(w, "--backend", "landlock", *shows)
    assert "native" not in result.err and "bwrap" not in result.err, result
    result = refused(w, "--sandbox", "require", "-c", 'linux.backends=["landlock"]',
                     "-c", 'accept_missing=["proc", "tree_death"]', *shows)
    assert "tried landlock: proc: " in result.err, result
    assert result.err.endswith("not allowed with --sandbox require: --accept-missing proc --accept-missing tree_death\n"), result


@case
def this_platform_may_be_named(w: World):
    for name in ("linux", "landlock"):
        ok(w, "--platform", name, "true")


@case
def every_key_of_isolation_can_be_turned(w: World):
    for key, value in (("ipc", "false"), ("proc", "false"), ("userns", "true")):
        ok(w, "--config", f'permissions.p={{extends=":workspace",isolation={{{key}={value}}}}}', "-P", "p",
           "--", "/bin/true")


# ---- What may be touched ---------------------------------------------------------------


@case
def nothing_can_be_written_unless_it_is_allowed(w: World):
    outside = w.top / "outside"
    outside.mkdir()
    script = f'touch inside; touch "{outside}/file"; cat "{w.home}/note"'
    w.write("home/note", "read me\n")

    def attempt(*words):
        for path in (w.repo / "inside", outside / "file"):
            path.unlink(missing_ok=True)
        result = run(w, *words, "sh", "-c", script)
        return ((w.repo / "inside").exists(), (outside / "file").exists(), result.out)

    assert attempt() == (False, False, "read me\n")
    assert attempt("--mode", "read-only") == (False, False, "read me\n")
    assert attempt("-P", ":read-only") == (False, False, "read me\n")
    assert attempt("--full-auto") == (True, False, "read me\n")
    assert attempt("--mode", "workspace-write") == (True, False, "read me\n")
    assert attempt("-P", ":workspace", "--add-write", str(outside)) == (True, True, "read me\n")
    assert attempt("--add-write", str(outside)) == (False, True, "read me\n")
    assert attempt("--full-auto", "--deny", str(w.home)) == (True, False, "")
    assert attempt("-c", "default_permissions=:workspace") == (True, False, "read me\n")
    assert attempt(*NONE) == (True, True, "read me\n")
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   '[permissions.p.filesystem]\n"~" = "deny"\n')
    assert attempt() == (True, False, "")
    assert attempt("--add-read", str(w.home / "note")) == (True, False, "read me\n")


@case
def relative_paths_of_options_are_taken_from_where_cordon_was_started(w: World):
    (w.top / "data").mkdir()
    (w.repo / "sub").mkdir()
    ok(w, "-C", "sub", "--add-write", "../data", "touch", f"{w.top}/data/file")
    assert (w.top / "data/file").exists()


@case
def the_network_is_off_unless_it_is_allowed(w: World):
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = ("import socket, sys\n"
                  f"socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 5)\n")
        command = [sys.executable, "-c", script]
        for words, status in (([], 1), (["--full-auto"], 1), (["--network", "off"], 1),
                              (["--network", "full"], 0), (NONE, 0)):
            assert run(w, *words, *command).status == status, words


@case
def the_directory_is_where_it_runs(w: World):
    (w.repo / "a b").mkdir()
    (w.top / "link").symlink_to("repo/a b")
    for words, cwd in ((["-C", "a b"], None), (["--cd", "a b"], None), (["--cd=a b"], None),
                       ([], w.repo / "a b"), (["-C", f"{w.top}/link"], None)):
        for how in BOTH:
            assert ok(w, *how, *words, "/bin/pwd", cwd=cwd).out == f"{w.repo}/a b\n", words


@case
def a_directory_that_is_missing_or_gone_is_refused(w: World):
    assert "missing" in refused(w, "-C", "missing", "true").err
    w.write("repo/file")
    assert "file" in refused(w, "-C", "file", "true").err
    gone = w.top / "gone"
    gone.mkdir()
    script = f'cd "{gone}" && rmdir "{gone}" && exec "{PROGRAM}" run true'
    done = subprocess.run(["sh", "-c", script], env=w.env, capture_output=True, check=False)
    assert done.returncode == 125 and b"working directory" in done.stderr, done


@case
def bytes_that_are_not_utf_8_are_passed_as_they_are(w: World):
    odd = b"odd \xff\xfe\x80 \xc3name"
    top = os.path.join(os.fsencode(w.repo), odd)
    os.mkdir(top)
    for how in BOTH:
        done = run(w, *how, "--env", b"ODD=" + odd, "sh", "-c",
                   '/bin/pwd; printf "%s\\n" "$1" "$ODD" "$PASSED"', "sh", odd, cwd=top,
                   env={"PASSED": os.fsdecode(odd)}, raw=True)
        assert done.returncode == 0, done
        assert done.stdout == b"\n".join([top, odd, odd, odd, b""]), done
    done = run(w, "--full-auto", "touch", odd, cwd=top, raw=True)
    assert done.returncode == 0 and os.listdir(top) == [odd], done
    # A name that can't be run is shown, but its bytes do not reach the terminal.
    done = run(w, b"./\x1b[31m\xff", raw=True)
    assert done.returncode == 127 and b"\x1b" not in done.stderr and b"\xff" not in done.stderr


@case
def long_arguments_are_passed_whole(w: World):
    for size in (100 << 10, 127 << 10):
        assert ok(w, "sh", "-c", 'echo "${#1}"', "sh", "x" * size).out == f"{size}\n"
    many = ["0123456789"] * 10000
    assert ok(w, "sh", "-c", 'echo "$#"', "sh", *many).out == "10000\n"


# ---- The environment ---------------------------------------------------------------------


@case
def the_environment_is_passed_on_but_for_secrets(w: World):
    env = {"PLAIN": "1", "MY_TOKEN": "t", "DB_PASSWORD": "p", "X_API_KEY": "k"}
    show = ["sh", "-c", 'echo "$PLAIN-$MY_TOKEN-$DB_PASSWORD-$X_API_KEY-$NEW"']
    for how in BOTH:
        assert ok(w, *how, *show, env=env).out == "1----\n"
        assert ok(w, *how, "--env", "MY_TOKEN", *show, env=env).out == "1-t---\n"
        assert ok(w, *how, "--env", "NEW=a=b", "--env", "PLAIN=", "--env", "DB_PASSWORD=q", *show,
                  env=env).out == "--q--a=b\n"
    ok(w, "--env", "NOT_SET", "true")


@case
def the_marks_say_what_kind_of_sandbox_it_is(w: World):
    show = ["sh", "-c", 'echo "$CORDON_SANDBOX,$CORDON_SANDBOX_NETWORK_DISABLED,'
                        '$CODEX_SANDBOX_NETWORK_DISABLED"']
    assert ok(w, *show).out == "native,1,1\n"
    assert ok(w, "--network", "full", *show).out == "native,,\n"
    assert ok(w, *NONE, *show).out == "none,,\n"
    # What the caller has there does not count; but inside another sandbox, which may have
    # set it, the network stays off.
    assert ok(w, *NONE, *show, env={"CORDON_SANDBOX": "native"}).out == "none,,\n"


# ---- No sandbox (P17) ------------------------------------------------------------------------


@case
def a_run_without_a_sandbox_says_so_even_when_quiet(w: World):
    for words in (NONE, ["--sandbox", "forbid"], ["--mode", "danger-full-access"],
                  ["-P", ":danger-full-access"]):
        for quiet in ([], ["-q"]):
            result = ok(w, *words, *quiet, "sh", "-c", "touch made; echo $CORDON_SANDBOX")
            assert result.out == "none\n", (words, result)
            assert result.err.startswith(P17) and result.err.count("\n") == 1, (words, result)
            assert "no sandbox" in result.err or "without a sandbox" in result.err, result
    result = ok(w, "--sandbox", "require", "true")
    assert result.err == "", result
    refused(w, "--sandbox", "require", *NONE, "true")
    refused(w, "--sandbox", "forbid", "--backend", "native", "true")


# ---- What is told -----------------------------------------------------------------------------

CONNECT = ("import socket, sys\n"
           "s = socket.socket(socket.AF_UNIX)\n"
           "try: s.connect(sys.argv[1])\n"
           "except OSError as e: print(e.strerror)\n"
           "else: print('connected')\n")


@case
def a_run_that_goes_well_says_nothing(w: World):
    result = ok(w, "--full-auto", "true")
    assert (result.out, result.err) == ("", ""), result


@case
def known_denials_are_listed_when_the_command_fails(w: World):
    path = str(w.top / "host.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        command = [sys.executable, "-c", CONNECT, path]
        assert ok(w, *NONE, *command).out == "connected\n"
        result = ok(w, *command)
        assert (result.out, result.err) == ("Permission denied\n", ""), result
        assert f"'{path}'" in ok(w, "--log-denials", *command).err
        assert ok(w, "--log-denials", "-q", *command).err == ""
        assert ok(w, "--log-denials", "true").err == ""
        failing = ["sh", "-c", '"$@"; exit 5', "sh", *command]
        # It does not change the status.
        result = run(w, *failing)
        assert result.status == 5, result
        first, way = result.err.splitlines()
        assert first.startswith("cordon: ") and f"connect to the socket '{path}' (" in first, result
        assert way.endswith(f"add: --allow-socket {path}"), result
        assert run(w, *way.split("add: ")[1].split(), *failing).out == "connected\n"
        assert run(w, "-q", *failing).err == ""
        assert run(w, *failing, env={"CORDON_LOG": "quiet"}).err == ""
        ok(w, "-q", "--report", f"{w.top}/report.json", *command)
        found = json.loads((w.top / "report.json").read_text())
        (denial,) = found["denials"]
        assert (denial["kind"], denial["operation"], denial["subject"]) == ("unix_socket", "unix-connect", path), found
        assert denial["errno"] in ("EACCES", None) and denial["guess"] is False, found
        assert set(found["naming"]) == {"what", "why"}, found
        trace = ok(w, "--trace", *command).err
        assert f"connect to the socket '{path}'" in trace, trace


REFUSED = (
    # operation, what is tried, the name of what it is about
    ("create", "echo x > {}/new", "new"), ("mkdir", "mkdir {}/new", "new"), ("unlink", "rm {}/file", "file"),
    ("rmdir", "rmdir {}/empty", "empty"), ("rename", "mv {}/file {}/other", "file"),
    ("symlink", "ln -s x {}/new", "new"), ("link", "ln {}/file {}/new", None), ("open-write", "echo x >> {}/file", "file"),
    ("chmod", "chmod 600 {}/file", "file"), ("utime", "touch -d 2020-01-01 {}/file", "file"),
)


@case
def a_refused_access_to_a_file_is_named_with_an_option_that_is_enough(w: World):
    report = w.top / "report.json"
    for operation, script, name in REFUSED:
        place = w.top / f"place-{operation}"
        place.mkdir()
        (place / "file").write_text("text")
        (place / "empty").mkdir()
        words = ["sh", "-c", script.replace("{}", str(place))]
        result = run(w, "--full-auto", "--report", str(report), "--", *words)
        assert result.status != 0, result
        found = json.loads(report.read_text())
        assert found["naming"]["what"] in ("writes", "all") and found["naming"]["why"], found["naming"]
        # A program may try more than one way.
        (denial, *_) = [one for one in found["denials"] if one["operation"] == operation] or [found["denials"]]
        assert (denial["kind"], denial["operation"], denial["guess"]) == ("path", operation, False), denial
        assert not name or denial["subject"] == str(place / name), denial
        assert denial["errno"] == "EROFS" and denial["rule"]["file"] == "built-in", denial
        assert denial["program"] in result.err and denial["subject"] in result.err, (denial, result)
        first, second = denial["suggestions"]
        assert (first["scope"], second["scope"]) == ("run", "config") and first["text"] in result.err, denial
        # It is enough, and what a person pastes is the same.
        assert " ".join(first["argv"]) in result.err.splitlines()[-1].split("add: ")[1], (denial, result)
        assert ok(w, "--full-auto", *first["argv"], "--log-denials", "--", *words).err == ""


@case
def what_no_option_should_open_gets_none(w: World):
    report = w.top / "report.json"
    (w.repo / ".git").mkdir(exist_ok=True)
    (w.repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    home = ok(w, "sh", "-c", "echo $HOME").out.strip()
    for path in (f"{home}/new", str(w.repo / ".git" / "config"), str(w.repo / ".cordon" / "x"), "/new"):
        result = run(w, "--full-auto", "--report", str(report), "--", "sh", "-c", f"echo x > {path}")
        assert result.status != 0 and "add: " not in result.err, result
        denials = json.loads(report.read_text())["denials"]
        assert all(one["scope"] != "run" for denial in denials for one in denial["suggestions"]), denials


@case
def a_commit_that_is_refused_names_the_key_of_the_profile_and_the_repository(w: World):
    """Never the .git as a whole: git outside the sandbox runs what is in it."""
    report = w.top / "report.json"
    repo = w.top / "clone"
    (repo / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(repo)], check=True)
    (repo / "sub/file").write_text("text\n")
    add = ("--report", str(report), "--", "git", "add", "file")
    for cwd in (repo / "sub", repo):
        (cwd / "file").write_text("text\n")
        result = run(w, "--full-auto", *add, cwd=cwd)
        assert result.status != 0 and "add: " not in result.err and 'git = "commit"' in result.err, result
        (denial,) = json.loads(report.read_text())["denials"]
        assert denial["subject"] == str(repo / ".git/index.lock"), denial
        for one in denial["suggestions"]:
            assert one["scope"] == "config" and all(edit["key"] == "git" for edit in one["edits"]), one
    w.write_config('default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\ngit = "commit"\n')
    result = run(w, *add, cwd=repo / "sub")
    assert result.status != 0 and f"--workspace {repo}" in result.err, result
    ok(w, "--workspace", str(repo), *add, cwd=repo / "sub")
    ok(w, *add, cwd=repo)


@case
def a_name_that_speaks_to_terminals_is_escaped(w: World):
    place = w.top / "place"
    place.mkdir()
    result = run(w, "python3", "-c", f"open({str(place)!r} + '/\\x1b[2J\\n', 'w')")
    lines = [line for line in result.err.splitlines() if line.startswith("cordon: ")]
    assert result.status != 0 and len(lines) == 2 and "\x1b" not in "".join(lines), result
    assert "\\x1b[2J" in lines[0], lines


@case
def events_come_at_once_and_never_from_the_command(w: World):
    lines = lambda text: [json.loads(line)["event"] for line in text.splitlines()]
    for backend in ([], [*NONE]):
        read, write = os.pipe()
        with subprocess.Popen([PROGRAM, "run", *backend, "--events", str(write), "sh", "-c",
                               f"test -e /proc/self/fd/{write} && exit 9; read x; exit 3"], stdin=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, pass_fds=[write], cwd=w.repo) as child:
            os.close(write)
            # While the command runs.
            assert lines(os.read(read, 1 << 16).decode()) == ["start"]
            child.communicate(b"\n")
            assert child.returncode == 3, child.returncode
        assert lines(os.read(read, 1 << 16).decode()) == ["end"] and os.read(read, 1) == b""
        os.close(read)
    # Nobody reads any more: the run goes on.
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([PROGRAM, "run", "--events", str(write), "true"], pass_fds=[write], cwd=w.repo, check=False,
                          capture_output=True, text=True)
    os.close(write)
    assert done.returncode == 0 and "no more events" in done.stderr, done
    log = w.top / "events"
    for _ in range(2):
        ok(w, "--events", str(log), "true")
    assert lines(log.read_text()) == ["start", "end"] * 2
    (w.top / "link").symlink_to(log)
    (w.top / "file").write_text("")
    for words in (["--events", "2"], ["--events", "99"], ["--events", ""], ["--events", "-"],
                  ["--full-auto", "--events", "here"], ["--events", str(w.top / "link")],
                  ["--events", str(w.top / "no" / "such")], ["--events", str(w.top)]):
        refused(w, *words, "true")
    with open(w.repo / "inside", "w", encoding="utf-8") as file:
        done = subprocess.run([PROGRAM, "run", "--full-auto", "--events", str(file.fileno()), "true"], cwd=w.repo,
                              pass_fds=[file.fileno()], check=False, capture_output=True, text=True)
        assert done.returncode == 125, done


MANY = """
import socket, sys
for name in sys.argv[1:]:
    try: socket.socket(socket.AF_UNIX).connect(name)
    except PermissionError: pass
sys.exit(3)
"""


@case
def a_long_list_of_denials_is_cut(w: World):
    servers = [socket.socket(socket.AF_UNIX) for _ in range(7)]
    paths = [str(w.top / f"{i}.sock") for i in range(7)]
    for server, path in zip(servers, paths):
        server.bind(path)
        server.listen()
    result = run(w, "python3", "-c", MANY, *paths)
    lines = result.err.splitlines()
    assert result.status == 3 and len(lines) == 7, result
    assert all(path in line for path, line in zip(paths, lines[:5])), result
    assert "and 2 more (--report FILE lists them)" in lines[5], result
    assert lines[6].count("--allow-socket") == 5, result
    for server in servers:
        server.close()


@case
def who_was_refused_is_named_as_the_sandbox_counts(w: World):
    """Whatever namespaces of its own it is in: there anybody can be 1."""
    w.write_config('[permissions.p]\nextends = ":workspace"\nisolation = { userns = true }\n')
    path = str(w.top / "host.sock")
    connect = f"import socket; socket.socket(socket.AF_UNIX).connect({path!r})"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()
        for prefix in ([], ["unshare", "--user", "--pid", "--fork"]):
            result = run(w, "-q", "-P", "p", "--report", f"{w.top}/report.json", "sh", "-c", '"$@"; exit 7', "sh",
                         *prefix, "python3", "-c", connect)
            assert result.status == 7 and "Permission denied" in result.err, result
            (denial,) = json.loads((w.top / "report.json").read_text())["denials"]
            assert denial["subject"] == path and denial["pid"] > 2, denial


@case
def a_trace_is_on_stderr_and_can_come_from_the_environment(w: World):
    result = ok(w, "--trace", "true")
    assert result.out == "" and "cordon: trace: " in result.err, result
    assert ok(w, "true", env={"CORDON_LOG": "trace"}).err.count("cordon: trace: ") > 0
    for value in ("warn", ""):
        assert ok(w, "true", env={"CORDON_LOG": value}).err == ""
    result = ok(w, "true", env={"CORDON_LOG": "\x1b[31m"})
    assert result.err.startswith("cordon: warning: ignoring CORDON_LOG") and "\x1b" not in result.err
    # An option wins.
    assert ok(w, "-q", "true", env={"CORDON_LOG": "trace"}).err == ""


@case
def warnings_of_the_policy_are_shown_unless_quiet(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   '[permissions.p.filesystem]\n"/nonexistent/x" = "write"\n')
    assert "cordon: warning: " in ok(w, "true").err
    assert ok(w, "-q", "true").err == ""


# ---- Reports ----------------------------------------------------------------------------------


def check_report(found, status, started=True):
    assert found["status"] == status and found["executed"] is started, found


@case
def a_report_is_written_when_the_run_is_over(w: World):
    path = w.top / "report.json"
    for how, backend in (([], "native"), (NONE, "none")):
        assert run(w, *how, "--report", str(path), "sh", "-c", "exit 3").status == 3
        found = json.loads(path.read_text())
        check_report(found, 3)
        assert found["backend"] == backend, found
    result = run(w, "--report", "-", "sh", "-c", "echo out; exit 4")
    assert result.status == 4 and result.out.startswith("out\n{"), result
    check_report(json.loads(result.out[4:]), 4)
    reader, writer = os.pipe()
    run(w, "--report", f"/dev/fd/{writer}", "true", fds=(writer,))
    os.close(writer)
    with open(reader, "rb") as file:
        check_report(json.loads(file.read()), 0)
    result = run(w, "-q", "--report", "/dev/stderr", "sh", "-c", "kill -KILL $$")
    check_report(json.loads(result.err), 137)
    assert json.loads(result.err)["signal"] == 9, result


@case
def a_report_is_written_also_of_what_was_refused(w: World):
    path = w.top / "report.json"
    assert run(w, "--report", str(path), "-P", "nope", "true").status == 125
    found = json.loads(path.read_text())
    check_report(found, 125, started=False)
    assert "nope" in found["error"]["message"], found


@case
def a_command_can_not_lead_the_report_astray(w: World):
    victim = w.write("home/victim", "keep me")
    report = w.repo / "report.json"
    # A link that stands there is replaced, not followed.
    report.symlink_to(victim)
    ok(w, "--full-auto", "--report", "report.json", "true")
    assert victim.read_text() == "keep me" and not report.is_symlink()
    check_report(json.loads(report.read_text()), 0)
    # Neither is one that the command puts there, and its own text does not stay.
    ok(w, "--full-auto", "--report", "report.json", "sh", "-c",
       f'rm report.json; ln -s "{victim}" report.json')
    assert victim.read_text() == "keep me"
    check_report(json.loads(report.read_text()), 0)
    ok(w, "--full-auto", "--report", "report.json", "sh", "-c", "echo forged >report.json")
    check_report(json.loads(report.read_text()), 0)
    # A directory that was exchanged: the report is in neither place without a word.
    (w.repo / "out").mkdir()
    result = run(w, "--full-auto", "--report", "out/report.json", "sh", "-c",
                 f'mv out moved; ln -s "{w.home}" out')
    assert result.status == 125 and "moved or replaced" in result.err, result
    assert sorted(os.listdir(w.home)) == ["victim"]
    assert not list(w.repo.glob("**/.cordon-report*"))


@case
def a_pipe_is_written_to_as_it_is(w: World):
    os.mkfifo(w.top / "pipe")
    with subprocess.Popen(["cat", str(w.top / "pipe")], stdout=subprocess.PIPE) as reader:
        ok(w, "--report", str(w.top / "pipe"), "true")
        check_report(json.loads(reader.communicate(timeout=SECONDS)[0]), 0)


FILLS_ITS_OUTPUT = """
import fcntl, os
fcntl.fcntl(1, fcntl.F_SETFL, fcntl.fcntl(1, fcntl.F_GETFL) | os.O_NONBLOCK)
try:
    while True:
        os.write(1, b"x" * 4096)
except BlockingIOError:
    pass
"""


def waits_for_room(process):
    """Whether it has no child any more, and somebody has filled its output."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        children = file.read()
    filled = struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0" * 4))[0]
    return not children and filled > 0


@case
def a_command_that_fills_its_output_does_not_cost_the_report(w: World):
    words = ("-q", "--report", "-", "python3", "-c", FILLS_ITS_OUTPUT)
    with start(w, *words) as process:
        # Nobody reads until all but cordon have ended; what it then says of the run is whole.
        wait_for(lambda: waits_for_room(process))
        out, err = process.communicate(timeout=SECONDS)
        assert process.returncode == 0 and not err, (process.returncode, err)
        check_report(json.loads(out[out.index(b"{"):]), 0)
    # Who waits for room is ended by what is meant to end it.
    with start(w, *words) as process:
        wait_for(lambda: waits_for_room(process))
        process.terminate()
        assert process.wait(SECONDS) == -signal.SIGTERM, process.returncode


@case
def a_report_that_nobody_reads_is_an_error_that_is_told(w: World):
    reader, writer = os.pipe()
    os.close(reader)
    result = run(w, "--report", f"/dev/fd/{writer}", "sh", "-c", "exit 3", fds=(writer,))
    os.close(writer)
    assert result.status == 125 and "Broken pipe" in result.err, result
    # The command has the signals as ever.
    for how in BOTH:
        assert run(w, *how, "sh", "-c", "kill -PIPE $$").status == 128 + signal.SIGPIPE


@case
def a_report_may_be_a_file_in_shared_memory(w: World):
    path = f"/dev/shm/cordon-report-{os.getpid()}"
    try:
        ok(w, "--report", path, "true")
        with open(path, encoding="utf-8") as file:
            check_report(json.load(file), 0)
    finally:
        if os.path.exists(path):
            os.unlink(path)
    assert "No such file" in refused(w, "--report", "/dev/nonexistent", "true").err


@case
def a_name_in_dev_that_leads_to_a_file_is_not_replaced(w: World):
    who = {}
    # Who may write to /dev would see the failure of this in their own /dev.
    if os.geteuid() == 0:
        for path in (w.top, w.home, w.repo):
            os.chown(path, ORDINARY, ORDINARY)
        who = {"user": ORDINARY, "group": ORDINARY, "extra_groups": []}
    path = w.write("repo/report", "before\n")
    path.chmod(0o666)
    with open(path, encoding="utf-8") as file:
        done = subprocess.run([PROGRAM, "run", "--report", "/dev/stdin", "true"], cwd=w.repo, env=w.env,
                              stdin=file, capture_output=True, check=False, timeout=SECONDS, **who)
    assert done.returncode == 0, done
    before, report = path.read_text().split("\n", 1)
    assert before == "before", before
    check_report(json.loads(report), 0)


@case
def a_dry_run_runs_nothing_and_says_what_would_be_done(w: World):
    before = sorted(os.listdir(w.repo))
    result = ok(w, "--full-auto", "--dry-run", "touch", "ran")
    assert "native" in result.out and str(w.repo) in result.out, result
    found = json.loads(ok(w, "--full-auto", "--dry-run", "--json", "touch", "ran").out)
    assert found["backend"] == "native", found
    assert sorted(os.listdir(w.repo)) == before
    assert "none" in ok(w, *NONE, "--dry-run", "touch", "ran").out
    refused(w, "--dry-run", "--platform", "macos", "true")
    assert sorted(os.listdir(w.repo)) == before


@case
def a_dry_run_names_the_placeholders(w: World):
    found = json.loads(ok(w, "--full-auto", "--dry-run", "--json", "true").out)
    assert str(w.repo / ".codex") in found["placeholders"], found
    held = [step for step in found["steps"] if step.startswith("hold by ")]
    assert len(held) == len(found["placeholders"]), found
    text = ok(w, "--full-auto", "--dry-run", "true").out
    for path in found["placeholders"]:
        assert any(f" {path}  (" in step for step in held), held
        assert re.search(rf" {re.escape(os.path.basename(path))}( |$)", text, re.MULTILINE), (path, text)
    by_socket = re.search(rf"keep missing in {re.escape(str(w.repo))}, by a socket of that name\n((    .*\n)*)", text)
    assert by_socket and ".mcp.json" in by_socket.group(1).split(), text
    # They are what a run makes, and where none are made none are named.
    made = ok(w, "--full-auto", "ls", "-A").out.split()
    assert set(made) == {os.path.basename(path) for path in found["placeholders"]}, made
    for words in (NONE, ["--dry-run", "--mode", "read-only"]):
        found = json.loads(ok(w, *words, "--dry-run", "--json", "true").out)
        assert found["placeholders"] == [], found
        assert not [step for step in found["steps"] if step.startswith("hold by ")], found
    assert os.listdir(w.repo) == []


@case
def a_network_that_can_not_be_managed_is_refused(w: World):
    rules = ("-P", "p", "-c", 'permissions.p={extends=":workspace",'
             'network={enabled=true,domains={"example.org"="allow"}}}')
    report = w.top / "report.json"
    words = ("--report", str(report), "sh", "-c", "cat /proc/net/route; env")

    def network(*options):
        result = ok(w, *options, *words)
        routes = [line for line in result.out.splitlines() if re.match(r"\w+\t[0-9A-F]{8}\t", line)]
        is_marked = "CORDON_SANDBOX_NETWORK_DISABLED=1" in result.out.splitlines()
        return json.loads(report.read_text())["network"], bool(routes), is_marked, result

    alone = (*rules, "--backend", "landlock")
    said = refused(w, *alone, "true").err
    assert "net_managed: a managed network needs a network namespace" in said, said
    lost = re.findall(r"--accept-missing \w+", said)
    said = run(w, *alone, *(word for loss in lost for word in loss.split()), "true").err
    assert "no mode has a managed network" in said, said
    outside = network(*NONE)[1]
    assert network(*rules, "--network", "off")[:3] == ("off", False, True)
    assert network(*rules, "--network", "full")[:3] == ("full", outside, False)


@case
def what_a_run_changed_for_other_programs_is_named(w: World):
    report = w.top / "report.json"
    w.write("repo/AGENTS.md", "old\n")
    w.write("repo/GEMINI.md", "old\n")
    w.write("repo/sub/.claude/settings.json", "{}")
    time.sleep(0.05)  # the clock of a file system is coarse: what is older has to be older for it too

    def named(script, *options):
        said = ok(w, "--full-auto", *options, "--report", str(report), "sh", "-c", script)
        found = {os.path.relpath(n["path"], w.repo): n["new"] for n in json.loads(report.read_text())["names"]}
        for name in found:
            assert str(w.repo / name) in said.err, said
        return found

    assert named("cat AGENTS.md GEMINI.md >/dev/null; echo x >other") == {}
    script = "echo new >>AGENTS.md; echo x >CLAUDE.md; mkdir -p .github/hooks; echo x >lefthook.yml"
    assert named(script) == {"AGENTS.md": False, "CLAUDE.md": True, ".github/hooks": True, "lefthook.yml": True}
    # What is replaced, and by what is older; where the directory is there the name can't be made.
    time.sleep(0.05)
    os.rmdir(w.repo / ".github/hooks")
    assert named("mv other GEMINI.md; ! mkdir .github/hooks 2>/dev/null") == {"GEMINI.md": False}
    assert named("mkdir .github/hooks", "--unprotect", ".github/hooks") == {}
    # Further down where the tree is looked through.
    w.write_config('[permissions.c]\nextends = ":workspace"\ngit = "commit"\n')
    time.sleep(0.05)
    ok(w, "-P", "c", "--report", str(report), "sh", "-c", "echo 2 >sub/.claude/settings.json; echo x >sub/.mcp.json; mkdir a")
    found = {os.path.relpath(f["path"], w.repo): f["new"] for f in json.loads(report.read_text())["git"]["findings"]
             if f["kind"] == "name"}
    assert found == {"sub/.claude/settings.json": False, "sub/.mcp.json": True}, found


@case
def help_shows_the_options_and_examples(w: World):
    for command in ("run", "sandbox"):
        text = ok(w, "--help", command=command).out
        assert "cordon run --full-auto -- make test" in text and "--timeout" in text, text
        assert max(map(len, text.splitlines())) <= 90, text
        short = ok(w, "-h", command=command).out
        assert short.startswith(f"usage: cordon {command}") and len(short) < 400, short


run_cases()
