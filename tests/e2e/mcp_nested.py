#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon mcp` and `cordon run --backend outer` inside a sandbox of Cordon: the one that is around them holds them."""

import json
import subprocess

from cli import PROGRAM, World, case, run_cases
from mcp_client import Client, content_of, error_of

POLICY = ('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
          '[permissions.other]\nextends = ":workspace"\n[permissions.other.filesystem]\n"{secret}" = "deny"\n')


class Desk:
    """A policy, what lies outside of the workspace, and ways to start in a sandbox."""

    def __init__(self, w):
        self.w = w
        self.outside = w.top / "outside"
        self.secret = w.repo / "secret"
        for path in (self.outside, self.secret):
            path.mkdir()
        (self.secret / "file").write_text("x")
        w.write_config(POLICY.format(secret=self.secret))
        (w.top / "cordon-sh").symlink_to(PROGRAM)
        self.shell = [str(w.top / "cordon-sh"), "-c", 'exec "$@"', "sh"]
        self.run = [PROGRAM, "run", "-P", "p", "--"]

    def asking(self, decision):
        program = self.w.home / "decide"
        program.write_text("#!/bin/sh\nread line\nid=$(printf %s \"$line\" | sed 's/.*\"id\": *\\([0-9]*\\).*/\\1/')\n"
                           f'echo "{{\\"id\\": $id, \\"decision\\": \\"{decision}\\"}}"\n')
        program.chmod(0o755)
        return [PROGRAM, "run", "--ask", f"cmd:{program}", "--"]


def execute(c, line):
    return content_of(c.result("tools/call", {"name": "execute_command", "arguments": {"command": line}}))


@case
def tools_and_commands_run_in_the_sandbox_around_them(w: World):
    d = Desk(w)
    for before in (d.shell, d.run):
        with Client(w, before=before) as c:
            c.initialize()
            found = content_of(c.call("write_file", path="new", content="x"))
            sandbox = found["sandbox"]
            assert sandbox["enforced"] and sandbox["outer"] == "p" and sandbox["backend"] not in ("outer", "none"), found
            assert content_of(c.call("read_file", path="new"))["content"] == "x"
            assert error_of(c.call("write_file", path=str(d.outside / "a"), content="x"))["kind"] == "violation"
            result = c.result("tools/call", {"name": "execute_command", "arguments": {
                "command": f"touch made; touch {d.outside}/b; echo $CORDON_SANDBOX"}})
            found = content_of(result)
            assert found["stdout"].strip() == sandbox["backend"] and found["sandbox"] == sandbox, found
            # The supervisor's words, in the answer of the tool.
            assert f'create "{d.outside}/b"' in result["content"][0]["text"], result
        assert (w.repo / "made").exists() and (w.repo / "new").exists() and not list(d.outside.iterdir())
        (w.repo / "made").unlink()
        (w.repo / "new").unlink()
    # Outside, it makes a sandbox of its own.
    with Client(w) as c:
        c.initialize()
        assert "outer" not in execute(c, "true")["sandbox"]


@case
def another_policy_is_not_taken_for_that_of_the_sandbox(w: World):
    d = Desk(w)
    for words in (("-P", "other"), ("--mode", "read-only"), ("--deny", str(d.secret)), ("--network", "full"),
                  ("-c", 'permissions.p.tmp="private"')):
        with Client(w, *words, before=d.run) as c:
            c.initialize()
            error = error_of(c.call("execute_command", command="touch made"))
            assert "another policy" in error["message"] and "'p'" in error["message"], error
            # The file tools hold themselves to the narrower one.
            if "read-only" in words:
                assert error_of(c.call("write_file", path="made", content="x"))["kind"] == "violation"
            elif str(d.secret) in words or "other" in words:
                assert error_of(c.call("read_file", path=str(d.secret / "file")))["kind"] == "violation"
                assert content_of(c.call("write_file", path="control", content="x"))
        assert not (w.repo / "made").exists()
    # Nor is a wider one wider.
    with Client(w, "--add-write", str(d.outside), before=d.run) as c:
        c.initialize()
        assert error_of(c.call("write_file", path=str(d.outside / "a"), content="x"))
        assert error_of(c.call("execute_command", command=f"touch {d.outside}/a"))
    assert not list(d.outside.iterdir())
    with Client(w, "--add-write", str(d.outside)) as c:
        c.initialize()
        assert content_of(c.call("write_file", path=str(d.outside / "a"), content="x"))


@case
def what_is_refused_is_asked_of_the_supervisor(w: World):
    d = Desk(w)
    for decision in ("deny", "allow"):
        with Client(w, before=d.asking(decision)) as c:
            c.initialize(capabilities={"elicitation": {}})
            result = c.call("write_file", path=str(d.outside / "a"), content="x")
            status = execute(c, f"touch {d.outside}/of-a-command")["status"]
            assert (status == 0) == (decision == "allow"), status
            if decision == "deny":
                assert error_of(result)["kind"] == "violation" and not list(d.outside.iterdir())
            else:
                assert content_of(result)["created"] and (d.outside / "a").read_text() == "x"
            # What is denied by an entry, and what is protected, nobody is asked about.
            assert error_of(c.call("write_file", path=".git/hooks/x", content="x"))["kind"] == "violation"
            assert not c.asked, "the client is not asked: it is not who decides about the sandbox"


@case
def run_can_use_the_sandbox_around_it(w: World):
    d = Desk(w)

    def nested(before, *words):
        return subprocess.run([*before, PROGRAM, "run", *words], cwd=w.repo, env=w.env, capture_output=True, text=True, check=False)
    inner = ("--backend", "outer", "--", "sh", "-c")
    done = nested(d.run, "-P", "p", *inner, f"touch made; touch {d.outside}/a; exit 7")
    assert done.returncode == 7 and (w.repo / "made").exists() and not list(d.outside.iterdir()), done
    assert "outer" not in done.stderr and "no sandbox" not in done.stderr, done
    done = nested(d.run, "-P", "p", "--json", "--report", "-", "--backend", "outer", "--", "true")
    report = json.loads(done.stdout)
    assert (report["backend"], report["sandboxed"]) == ("outer", False), report
    # Not wider, not narrower, and not from outside, whatever variables say.
    for words in (["-P", "other"], ["-P", "p", "--deny", str(d.secret)], ["-P", "p", "--add-write", str(d.outside)]):
        done = nested(d.run, "--json", *words, *inner, "true")
        assert done.returncode == 125 and json.loads(done.stdout)["error"]["cause"] == "outer_policy", done
    for env in ({}, {"CORDON_SANDBOX": "native", "CORDON_SOCKET": "/proc/cordon/ask"}):
        done = nested(["env", *(f"{k}={v}" for k, v in env.items())], "--json", "-P", "p", *inner, "true")
        assert done.returncode == 125 and json.loads(done.stdout)["error"]["cause"] == "nobody_asked", done
    for words in (["--sandbox", "forbid"], ["--mode", "danger-full-access"]):
        assert nested(d.run, *words, *inner, "true").returncode == 125
    # It is asked for, or nothing is run. A shell of Cordon's never does without a sandbox of its own.
    done = nested(d.run, "-P", "p", "--", "true")
    assert done.returncode == 125 and "--backend outer" in done.stderr, done
    done = subprocess.run([*d.run, str(w.top / "cordon-sh"), "-c", "touch made2"], cwd=w.repo, env=w.env, capture_output=True, check=False)
    assert done.returncode == 125 and not (w.repo / "made2").exists(), done


@case
def an_equal_policy_of_another_place_is_another_one(w: World):
    """A profile alone does not say what may be written: the workspace, the home, $TMPDIR and the network do."""
    d = Desk(w)
    for name in ("a", "b"):
        (w.top / name).mkdir()
        (w.top / name / "x").touch()
    work, other = w.top / "a", w.top / "b"
    tmp = w.top / "other-tmp"
    tmp.mkdir()

    def nested(outer, inner, line, before=()):
        words = [PROGRAM, "run", "-P", "p", *outer, "--", *before, PROGRAM, "run", "--json", "-P", "p", "--backend", "outer",
                 *inner, "--", "sh", "-c", line]
        return subprocess.run(words, cwd=w.repo, env=w.env, capture_output=True, text=True, check=False)
    on, of = ("-C", str(work)), ("-C", str(other))
    assert nested(on, on, f"echo 1 >{work}/x").returncode == 0 and (work / "x").read_text() == "1\n"
    # As the inner run alone would have it.
    alone = subprocess.run([PROGRAM, "run", "-P", "p", *of, "--", "sh", "-c", f"echo 2 >{work}/x"], cwd=w.repo, env=w.env,
                           capture_output=True, check=False)
    assert alone.returncode != 0 and (work / "x").read_text() == "1\n", alone
    for outer, inner, before in (
            (on, of, ()), ((), on, ()), (on, on, ("env", f"HOME={other}", f"XDG_CONFIG_HOME={w.home}/.config")),
            (on, on, ("env", f"TMPDIR={tmp}"))):
        done = nested(outer, inner, f"echo 2 >{work}/x", before)
        assert done.returncode == 125 and json.loads(done.stdout)["error"]["cause"] == "outer_policy", (outer, inner, before, done)
    assert (work / "x").read_text() == "1\n"
    # --ask lets nothing through unasked; an allowed host is.
    for more, cause in (((), None), (("--ask", d.asking("deny")[3]), None), (("--allow-host", "registry.example"), "outer_policy")):
        done = nested((*on, *more), on, "true")
        assert (json.loads(done.stdout)["error"]["cause"] if done.returncode == 125 else done.returncode or None) == cause, done
    with Client(w, "-P", "p", cwd=w.repo, before=[PROGRAM, "run", "-P", "p", *on, "--", "env", "-C", str(w.repo)]) as c:
        c.initialize()
        assert "another policy" in error_of(c.call("execute_command", command=f"touch {work}/x"))["message"]


@case
def a_log_that_can_not_be_written_does_not_end_the_server(w: World):
    """What it says at its end is for a client that is gone."""
    Desk(w)
    state = w.home / ".local/state/cordon"
    state.mkdir(parents=True, mode=0o700)
    (state / "audit").write_text("no directory")
    with Client(w, "--network", "off") as c:
        c.initialize()
        assert content_of(c.call("read_file", path="secret/file"))
    assert c.process.returncode == 0, c.process.returncode
    assert any("could not be logged" in line for line in c.errors), c.errors


run_cases()
