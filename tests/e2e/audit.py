#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon audit`: a log that is written, rotated, broken, hostile, and what is shown of it."""

import json
import os
import re
import select
import shutil
import subprocess
import time

from cli import PROGRAM, SECONDS, World, case, run_cases

BASE = {
    "time": "2026-01-02T03:04:05.678Z", "run": "r1", "pid": 7, "program": "curl",
    "protocol": "connect", "host": "example.com", "port": 443, "address": "192.0.2.1",
    "method": None, "decision": "allow", "reason": "allowed", "code": None, "rule": "*.com",
    "file": "/c.toml", "line": 5, "bytes_up": 100, "bytes_down": 2000, "duration_ms": 12, "count": 1,
}
DENIED = {"decision": "deny", "reason": "unlisted", "code": "blocked-by-allowlist",
          "host": "evil.test", "rule": None, "file": None, "line": None, "bytes_up": 0,
          "bytes_down": 0, "address": None}


def entry(**changes):
    return json.dumps({**BASE, **changes}, separators=(",", ":")) + "\n"


def log_of(w):
    return w.home / ".local/state/cordon/audit/network.jsonl"


def write_log(w, *lines):
    return w.write(log_of(w).relative_to(w.top), "".join(lines))


@case
def the_default_log_is_in_the_state_directory(w: World):
    assert w.cause("audit") == "log_not_found"
    write_log(w, entry(), entry(**DENIED, program="wget", count=12))
    lines = w.ok("audit").out.splitlines()
    assert len(lines) == 3 and lines[0].startswith("TIME"), lines
    assert re.search(r"2026-01-02 03:04:05  r1        allow +curl\[7\] +connect .* example\.com:443 +100 B "
                     r"+2\.0 kB +allowed by \"\*\.com\" \(/c\.toml:5\) 192\.0\.2\.1", lines[1]), lines
    assert re.search(r"deny +wget\[7\].* evil\.test:443 .*unlisted: no rule allows it \(12 times\)", lines[2]), lines
    other = w.write("elsewhere/cordon/audit/network.jsonl", entry(host="other.test"))
    assert "other.test" in w.ok("audit", env={"XDG_STATE_HOME": str(other.parents[2])}).out
    assert "other.test" in w.ok("audit", str(other)).out
    assert "TIME" not in w.ok("audit", "-q").out
    write_log(w, entry(**{**DENIED, "reason": "tunnel", "rule": 'mode = "limited"'}))
    assert 'tunnel: the proxy can\'t see what is inside, by mode = "limited"\n' in w.ok("audit").out


@case
def json_is_the_log_itself(w: World):
    log = write_log(w, entry(), entry(**DENIED))
    assert w.ok("audit", "--json").out == log.read_text()
    assert w.ok("audit", "--json", "--denied").out == entry(**DENIED)


@case
def entries_are_chosen(w: World):
    write_log(w, entry(run="a", host="one.test"), entry(run="b", host="two.test"),
              entry(run="a", host="three.test", time="2026-02-01T00:00:00.000Z"))

    def hosts(*options):
        out = w.ok("audit", "--json", *options).out
        return [json.loads(line)["host"] for line in out.splitlines()]

    assert hosts("--run", "a") == ["one.test", "three.test"]
    assert hosts("--run", "b") == ["two.test"]
    assert re.findall(r"  ([ab]) {7}  allow .*?(\w+)\.test", w.ok("audit").out) == [
        ("a", "one"), ("b", "two"), ("a", "three")]
    assert hosts("--run", "last") == ["one.test", "three.test"]
    assert hosts("--since", "2026-01-15") == ["three.test"]
    assert hosts("--since", "2026-01-02T03:04:05Z", "--run", "b") == ["two.test"]
    assert hosts("--since", "2026-01-02T03:04:06Z") == ["three.test"]
    assert hosts("--denied") == []
    recent = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 30))
    write_log(w, entry(), entry(host="now.test", time=recent))
    assert hosts("--since", "10m") == ["now.test"]
    # What is shown of a run is enough to ask for it.
    write_log(w, entry(run="0000beef01234567", host="one.test"), entry(run="20260102T030405-beef0000"))
    assert "  0000beef  allow" in w.ok("audit").out
    assert hosts("--run", "0000beef") == hosts("--run", "0000beef01234567") == ["one.test"]
    assert "no entry" in w.run("audit", "--run", "beef", check=1).err
    write_log(w, entry(), entry(host="now.test", time=recent))
    assert hosts("--since", "5s") == []
    for bad in ("yesterday", "2026-13-01", "1x", ""):
        assert "is not a time" in w.fails("audit", "--since", bad).err, bad
    assert w.cause("audit", "--follow", "--summary") == "option_conflict"


@case
def a_run_that_is_not_there_is_said_and_status_1(w: World):
    write_log(w, entry(run="a"), entry(run="b"))
    for options in ([], ["--summary"], ["--denied"], ["-q"], ["--json"], ["--json", "--summary"]):
        result = w.run("audit", "--run", "typo", *options, check=1)
        assert result.err.startswith("cordon: error: the log has no entry of a run 'typo'"), repr(result)
        assert (result.json["error"]["code"] == "notfound") if "--json" in options else not result.out, repr(result)
        w.ok("audit", "--run", "a", *options)
    assert "no matching entries" in w.ok("audit", "--summary", "--run", "a", "--denied").out
    # Which it may still become.
    with Follower(w, "--run", "later") as follower:
        time.sleep(0.5)
        with open(log_of(w), "a", encoding="ascii") as f:
            f.write(entry(run="a", host="not.test") + entry(run="later", host="later.test"))
        assert follower.next() == "later.test"


@case
def what_began_first_comes_first(w: World):
    def at(second, host):
        return entry(time=f"2026-01-02T03:04:0{second}.000Z", host=host)

    log = write_log(w, at(5, "quick.test"), at(1, "tunnel.test"), at(5, "equal.test"), at(3, "other.test"))
    log.with_name(f"{log.name}.1").write_text(at(2, "rotated.test"))
    order = ["tunnel", "rotated", "other", "quick", "equal"]
    assert re.findall(r"(\w+)\.test", w.ok("audit").out) == order
    assert [json.loads(line)["host"] for line in w.ok("audit", "--json").out.splitlines()] == [
        f"{name}.test" for name in order]
    with Follower(w) as follower:
        assert [follower.next() for _ in order] == [f"{name}.test" for name in order]
        with open(log, "a", encoding="ascii") as f:
            f.write(at(0, "late.test"))
        assert follower.next() == "late.test"


@case
def the_summary_adds_up(w: World):
    write_log(w, entry(), entry(program="git", bytes_down=1000000),
              entry(**DENIED, count=3), entry(**{**DENIED, "count": 4, "program": "npm"}),
              entry(host="2001:db8::1", decision="failed", reason="refused", rule=None,
                    code="connection-refused", bytes_up=0, bytes_down=0))
    found = w.ok("audit", "--summary", "--json").json
    assert (found["entries"], found["broken"]) == (5, 0)
    first, second, third = found["hosts"]
    assert (first["host"], first["port"], first["allowed"], first["denied"]) == ("example.com", 443, 2, 0)
    assert (first["bytes_up"], first["bytes_down"]) == (200, 1002000)
    assert first["programs"] == ["curl", "git"] and first["refused"] == []
    assert (second["host"], second["denied"]) == ("evil.test", 7)
    assert [(r["reason"], r["count"]) for r in second["refused"]] == [("unlisted", 7)]
    assert (third["failed"], third["refused"][0]["code"]) == (1, "connection-refused")
    assert (found["total"]["allowed"], found["total"]["denied"], found["total"]["failed"]) == (2, 7, 1)
    text = w.ok("audit", "--summary").out
    assert re.search(r"^example\.com:443 +2 +0 +0 +200 B +1\.0 MB  curl, git$", text, re.MULTILINE), text
    assert re.search(r"^    7 deny: unlisted: no rule allows it$", text, re.MULTILINE), text
    assert re.search(r"^\[2001:db8::1\]:443 ", text, re.MULTILINE), text
    assert w.ok("audit", "--summary", "-q").out.split() == ["example.com:443", "evil.test:443",
                                                            "[2001:db8::1]:443"]
    assert "no matching entries" in w.ok("audit", "--summary", "--since", "2030-01-01").out
    huge = 2**63 - 1
    write_log(w, entry(bytes_up=huge, count=huge), entry(bytes_up=huge, count=huge))
    assert w.ok("audit", "--summary", "--json").json["total"]["bytes_up"] == huge


@case
def what_has_two_lines_is_one_entry(w: World):
    is_open = {"count": 0, "bytes_up": 0, "bytes_down": 0, "open": True}
    lasts = entry(run="a", connection=1, **is_open)
    ended = entry(run="a", connection=1, open=False)
    cut_off = entry(run="b", connection=1, host="cut.test", **is_open)  # of another run
    brief = entry(run="a", connection=None, open=False)
    log = write_log(w, lasts, cut_off, brief, ended)
    assert w.ok("audit", "--json").out == cut_off + brief + ended
    assert w.ok("audit", "--json", "--run", "b").out == cut_off
    shown = w.ok("audit").out.splitlines()
    assert len(shown) == 4 and [line.endswith("(open)") for line in shown[1:]] == [True, False, False], shown
    found = w.ok("audit", "--summary", "--json").json
    assert (found["entries"], found["total"]["allowed"], found["total"]["open"]) == (3, 3, 1), found
    assert [(h["host"], h["allowed"], h["open"]) for h in found["hosts"]] == [("example.com", 2, 0), ("cut.test", 1, 1)]
    text = w.ok("audit", "--summary").out
    assert re.search(r"^cut\.test:443 +1 +0 +0 +0 B +0 B  curl\n    1 open: the log does not say how it ended$", text, re.MULTILINE)
    # A refusal at the end is the end, and the open line is in a file that was rotated.
    log.with_name(f"{log.name}.1").write_text(lasts)
    write_log(w, entry(**{**DENIED, "run": "a", "connection": 1, "open": False}))
    total = w.ok("audit", "--summary", "--json").json["total"]
    assert (total["allowed"], total["denied"], total["open"]) == (0, 1, 0), total
    # Who follows sees both.
    with Follower(w) as follower:
        assert follower.next() == "evil.test"
        for line in (cut_off, entry(run="b", connection=1, host="cut.test", open=False)):
            with open(log, "a", encoding="ascii") as f:
                f.write(line)
            assert follower.next() == "cut.test"


@case
def broken_lines_are_counted_and_named(w: World):
    write_log(w, entry(), "garbage\n", '{"time": 1}\n', "\n", entry(host="after.test"),
              "\0\x1b[2J\n", entry(bytes_up=-1), entry(port="x"), "x" * 100000 + "\n",
              entry(host="last.test"), entry()[:40])
    found = w.ok("audit")
    assert "after.test" in found.out and "last.test" in found.out
    assert len(found.out.splitlines()) == 4, found.out
    assert re.search(r"7 lines of the log are not entries and left out; the first is .*:2: ", found.err)
    assert found.err.count("\n") == 1 and "\x1b" not in found.err
    assert w.ok("audit", "-q").err == ""
    assert w.ok("audit", "--summary", "--json").json["broken"] == 7


@case
def no_terminal_is_spoken_to(w: World):
    evil = "\x1b[2J\x07\r\n\u202e\u009b\u2028\x7f"
    texts = ["program", "host", "method", "rule", "file", "reason", "run", "protocol", "address"]
    write_log(w, entry(**{name: evil for name in texts}), entry(**{name: evil * 10 for name in texts}))
    for options in ([], ["--summary"], ["--json"], ["--summary", "--json"]):
        out = w.ok("audit", *options).out
        # The JSON writer of this test leaves nothing raw either: its escapes stay escapes.
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", out), (options, out)
    shown = w.ok("audit")
    assert len(shown.out.splitlines()) == 3, shown


@case
def what_was_rotated_away_comes_first(w: World):
    log = write_log(w, entry(host="new.test"))
    for number, host in ((1, "middle.test"), (5, "old.test"), (6, "gone.test")):
        log.with_name(f"{log.name}.{number}").write_text(entry(host=host))
    hosts = [json.loads(line)["host"] for line in w.ok("audit", "--json").out.splitlines()]
    assert hosts == ["old.test", "middle.test", "new.test"], hosts


class Follower:
    def __init__(self, w, *options):
        self.process = subprocess.Popen([PROGRAM, "audit", "--follow", "--json", *options], env=w.env, bufsize=0,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def next(self):
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        assert ready, "nothing came"
        return json.loads(self.process.stdout.readline())["host"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@case
def following_survives_rotation(w: World):
    log = write_log(w, entry(host="0.test"))
    with Follower(w) as follower:
        assert follower.next() == "0.test"
        for number in range(1, 8):
            with open(log, "a", encoding="ascii") as f:
                f.write(entry(host=f"{number}.test"))
            for suffix in range(4, 0, -1):
                if log.with_name(f"{log.name}.{suffix}").exists():
                    os.rename(f"{log}.{suffix}", f"{log}.{suffix + 1}")
            os.rename(log, f"{log}.1")
            log.write_text(entry(host=f"{number}b.test"))
            assert [follower.next(), follower.next()] == [f"{number}.test", f"{number}b.test"]
        # Half a line is not shown before its end has come.
        half = entry(host="half.test")
        with open(log, "a", encoding="ascii") as f:
            f.write(half[:50])
            f.flush()
            time.sleep(0.5)
            f.write(half[50:])
        assert follower.next() == "half.test"
        # Several rotations between two looks: none is left out.
        for number in range(3):
            for suffix in range(4, 0, -1):
                if log.with_name(f"{log.name}.{suffix}").exists():
                    os.rename(f"{log}.{suffix}", f"{log}.{suffix + 1}")
            os.rename(log, f"{log}.1")
            log.write_text(entry(host=f"fast{number}.test"))
        assert [follower.next() for _ in range(3)] == [f"fast{n}.test" for n in range(3)]


@case
def what_is_no_log_is_an_error(w: World):
    assert "not a regular file" in w.fails("audit", "/dev/null").err
    assert "not a regular file" in w.fails("audit", str(w.repo)).err
    link = w.top / "link"
    link.symlink_to(write_log(w, entry()))
    w.fails("audit", str(link))
    assert w.cause("audit", "absent") == "log_not_found"
    assert "takes one operand" in w.fails("audit", "a", "b").err


# What a command may try with the log of its user; prints what worked.
ATTACK = """
import fcntl, os, sys
log = sys.argv[1]
def attempt(name, call):
    try: call(); print(name)
    except OSError: pass
attempt('append', lambda: os.write(os.open(log, os.O_WRONLY | os.O_APPEND), b'forged\\n'))
attempt('create', lambda: os.open(os.path.dirname(log) + '/other', os.O_WRONLY | os.O_CREAT))
attempt('rename', lambda: os.rename(log, log + '.9'))
attempt('unlink', lambda: os.unlink(log + '.1'))
attempt('truncate', lambda: os.truncate(log, 0))
attempt('chmod', lambda: os.chmod(log + '.lock', 0o600))
attempt('lock', lambda: fcntl.flock(os.open(log + '.lock', os.O_RDONLY), fcntl.LOCK_EX))
attempt('move', lambda: os.rename(os.path.dirname(log), os.path.dirname(log) + '2'))
"""


@case
def no_sandbox_changes_or_holds_it(w: World):
    for backend in ("native", "bwrap"):
        if backend == "bwrap" and not shutil.which("bwrap"):
            continue
        log = write_log(w, entry())
        log.with_name("network.jsonl.1").write_text(entry())
        log.with_name("network.jsonl.lock").touch(0o200)
        before = log.read_text()
        done = subprocess.run([PROGRAM, "run", "-q", "--backend", backend, "--mode", "workspace-write",
                               "--add-write", str(w.home), "--", "python3", "-c", ATTACK, str(log)],
                              env=w.env, cwd=w.repo, capture_output=True, text=True, check=True)
        assert done.stdout == "", (backend, done)
        # A deny is no proof without its control: beside the state it may write.
        subprocess.run([PROGRAM, "run", "-q", "--backend", backend, "--mode", "workspace-write",
                        "--add-write", str(w.home), "--", "touch", str(w.home / "mine")],
                       env=w.env, cwd=w.repo, check=True)
        assert (w.home / "mine").exists() and log.read_text() == before
    # Unsandboxed all of it works, but for the lock that only root reads without a chmod.
    done = subprocess.run(["python3", "-c", ATTACK, str(log)], capture_output=True, text=True,
                          check=True)
    assert {"append", "create", "rename", "unlink", "chmod", "lock"} <= set(done.stdout.split()), done


run_cases()
