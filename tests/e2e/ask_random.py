#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random grants and revokes in a real run (P18): after each, what the kernel lets the command write is the policy
with what is granted just then, and after the last it is the policy.

A process inside asks access(2) about every path of a tree: that is not held, and nobody is asked. The oracle is
the entries and the open grants, and nothing else. CORDON_SEED repeats a sequence.
"""

import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import time

from cli import PROGRAM, SECONDS, Skip, World, case, run_cases
from decider import Decider

SEED = int(os.environ.get("CORDON_SEED", time.time_ns() % 1_000_000))
STEPS = 14
REVOKED_WITHIN = 10  # seconds; a run looks once a second

DIRECTORIES = ("a", "ab", "a/x", "a/x/y", "a/.vscode", "b", "b/c", "b/c/d", "b/kept", "b/kept/z", "e")
# An entry holds against grants of what is above it, a deny also against one of itself.
ENTRIES = {"b/kept": "read", "a/x/y": "deny"}
PROTECTED = "/.vscode"

# Inside: a line "probe" is answered with what is writable; any other line is a command.
INSIDE = """
import json, os, subprocess, sys
paths = json.loads(sys.argv[1])
for line in sys.stdin:
    if line == "probe\\n":
        print(json.dumps([os.access(path, os.W_OK) for path in paths]), flush=True)
    else:
        print(subprocess.run(json.loads(line), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode, flush=True)
"""


class Live:
    """A run with a probe in it, and what was granted so far."""

    def __init__(self, w, backend):
        self.w, self.top = w, w.top / "out"
        for name in DIRECTORIES:
            (self.top / name).mkdir(parents=True)
            (self.top / name / "file").write_text("x")
        self.paths = sorted(str(p) for p in self.top.rglob("*"))
        self.grants = {}  # path: whether it is a directory
        self.answer = None
        w.write_config('[permissions.box]\nextends = ":workspace"\n[permissions.box.filesystem]\n'
                       + "".join(f'"{self.top}/{name}" = "{access}"\n' for name, access in ENTRIES.items()))
        self.decider = Decider(lambda request: self.answer(request))
        self.process = subprocess.Popen(
            [PROGRAM, "run", "-q", "-P", "box", *backend, "--session", "s", *self.decider.options, "--", sys.executable, "-c",
             INSIDE, json.dumps(self.paths)], cwd=w.repo, env=w.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            pass_fds=self.decider.fds)

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def wanted(self, path):
        name = os.path.relpath(path, self.top)
        entry = max((e for e in ENTRIES if f"{name}/".startswith(f"{e}/")), key=len, default=None)
        for grant, is_dir in self.grants.items():
            below = f"{path}/".startswith(f"{grant}/") if is_dir else path == grant
            beaten = entry and (len(f"{self.top}/{entry}") > len(grant) or ENTRIES[entry] == "deny")
            if below and not beaten and PROTECTED not in path[len(grant):]:
                return True
        return False

    def wrong(self):
        found = self.tell("probe")
        return [(path, got) for path, got in zip(self.paths, found) if got != self.wanted(path)]

    def check(self, what):
        assert not self.wrong(), (what, self.grants, self.wrong())

    def ask(self, path, choose):
        """Asks for the path; `choose` makes the answer of the request. What was granted, or None."""
        given = []

        def answer(request):
            given.append(choose(request))
            return given[-1]

        self.answer = answer
        status = self.tell(json.dumps([PROGRAM, "request", "-q", "--write", path]))
        assert not given or status == 0, (path, status, given)
        # What an entry denies is not asked about.
        assert not given or not f"{path}/".startswith(f"{self.top}/a/x/y/"), (path, given)
        if given:
            self.grants[given[0]["grant"]["path"]] = given[0]["grant"]["dir"]
            return given[0]["grant"]["path"]
        return None

    def revoke(self, path):
        listed = self.w.run("approvals", "list", "--json", "--session", "s").json
        [one] = [x["id"] for x in listed["approvals"] if x["subject"] == path]
        result = self.w.run("approvals", "revoke", one, "--session", "s")
        assert result.status == 0, result
        del self.grants[path]
        self.settle(f"revoke {path}")

    def settle(self, what, seconds=REVOKED_WITHIN):
        end = time.monotonic() + seconds
        while self.wrong() and time.monotonic() < end:
            time.sleep(0.1)
        self.check(what)

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(SECONDS)
        self.decider.close()
        assert status == 0, status


def allow(rng):
    def choose(request):
        offer = rng.choice([x for x in request["offers"] if "session" in x["scopes"]])
        return {"decision": "allow", "scope": "session", "grant": offer["grant"]}

    return choose


def try_sequence(w, seed, backend=()):
    rng = random.Random(seed)
    live = Live(w, backend)
    live.check("nothing was granted")
    granted = revoked = 0
    for number in range(STEPS):
        if live.grants and rng.random() < 0.4:
            live.revoke(rng.choice(sorted(live.grants)))
            revoked += 1
        else:
            path = rng.choice(live.paths)
            given = live.ask(path, allow(rng))
            live.check(f"step {number}: {path}, {given}")
            granted += given is not None
    assert granted, "no path could be granted"
    print(f"# {granted} granted, {revoked} revoked before the last", flush=True)
    while live.grants:
        live.revoke(rng.choice(sorted(live.grants)))
    # Not in the answers of access() alone.
    for path in live.paths:
        live.answer = lambda request: {"decision": "deny"}
        assert live.tell(json.dumps(["sh", "-c", f"echo y >>{shlex.quote(path)}"])) != 0, path
    live.end()
    assert all(p.read_text() == "x" for p in live.top.rglob("file"))


def exactly(path):
    def choose(request):
        [grant] = [x["grant"] for x in request["offers"] if x["grant"]["path"] == path]
        return {"decision": "allow", "scope": "session", "grant": grant}

    return choose


# Sequences that went wrong: "+" grants, "-" revokes.
SEQUENCES = (
    # A wider grant does not reach below a narrower entry, so what was granted there ends with its own grant.
    ("+b/kept/z/file", "+b", "-b/kept/z/file", "-b"),
    ("+b", "+b/kept/z/file", "-b/kept/z/file", "-b"),
    ("+b/kept/z", "+b", "-b", "-b/kept/z"),
    # What was closed is writable again in a wider grant, also below a pin.
    ("+a/x/file", "-a/x/file", "+a", "-a"),
)


@case
def grants_within_each_other_end_in_any_order(w: World):
    live = Live(w, ())
    for sequence in SEQUENCES:
        for step in sequence:
            path = f"{live.top}/{step[1:]}"
            if step[0] == "-":
                live.revoke(path)
            else:
                assert live.ask(path, exactly(path)) == path, (sequence, step)
                live.check((sequence, step))
    live.end()


@case
def what_an_entry_denies_is_not_asked_about(w: World):
    live = Live(w, ())
    for name in ("a/x/y", "a/x/y/file"):
        assert live.ask(f"{live.top}/{name}", exactly(None)) is None and not live.decider.requests, live.decider.requests
    # Nor does an answer name it that is narrower than what was offered.
    narrower = {"decision": "allow", "scope": "run", "grant": {"kind": "write", "path": f"{live.top}/a/x/y/file", "dir": False}}
    live.answer = lambda request: narrower
    assert live.tell(json.dumps([PROGRAM, "request", "-q", "--write", f"{live.top}/a"])) == 1
    live.check("a narrower answer")
    assert len(live.decider.requests) == 1, live.decider.requests
    live.end()


@case
def what_is_writable_is_the_policy_with_the_open_grants(w: World):
    print(f"# CORDON_SEED={SEED}", flush=True)
    try_sequence(w, SEED)


@case
def with_bwrap_as_well(w: World):
    if not shutil.which("bwrap"):
        raise Skip("no bwrap")
    try_sequence(w, SEED + 1, ("--backend", "bwrap"))


@case
def what_was_granted_for_a_minute_is_not_granted_after_it(w: World):
    live = Live(w, ())
    began = time.monotonic()
    short = live.ask(f"{live.top}/e", lambda r: {"decision": "allow", "scope": "minutes:1", "grant": r["offers"][0]["grant"]})
    live.ask(f"{live.top}/b", lambda r: {"decision": "allow", "scope": "run", "grant": r["offers"][0]["grant"]})
    assert short and len(live.grants) == 2, live.grants
    while time.monotonic() - began < 58:
        live.check("the minute is not over")
        time.sleep(1)
    del live.grants[short]
    live.settle("the minute is over")
    live.end()


if __name__ == "__main__":
    run_cases()
