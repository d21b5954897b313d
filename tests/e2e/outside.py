# SPDX-License-Identifier: MIT
"""What the tests of `cordon escalate` share."""

import json
import os
import subprocess

from cli import PROGRAM

WORK = ("--mode", "workspace-write")
FULL = ":danger-full-access"
ALLOW = {"decision": "allow", "scope": "once"}
DENY = {"decision": "deny", "message": "push it yourself"}


def rule(argv, decision="allow", profile=FULL, **more):
    text = f"[[exec]]\nargv = {json.dumps(argv)}\ndecision = \"{decision}\"\n"
    if decision != "deny":
        text += f'run = "{profile}"\n'
    return text + "".join(f"{key} = {json.dumps(value)}\n" for key, value in more.items())


def escalate(*words, options=()):
    return [PROGRAM, "escalate", *options, "--", *words]


def out_of_reach(w):
    path = w.top / "out"
    path.mkdir(exist_ok=True)
    return path


def touch(path):
    return ["touch", str(path)]


def audited(w, event="escalation"):
    path = next(w.top.rglob("approvals.jsonl"))
    return [x for x in map(json.loads, path.read_text().splitlines()) if x["event"] == event]


def git(*words, cwd):
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=cwd, env=env, check=True,
                   capture_output=True)


def repository_with_remote(w):
    bare = w.top / "bare"
    git("init", "-q", "--bare", str(bare), cwd=w.top)
    git("init", "-q", "-b", "main", cwd=w.repo)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=w.repo)
    git("remote", "add", "origin", str(bare), cwd=w.repo)
    return bare


def has_commit(bare):
    return any((bare / "refs/heads").iterdir()) or (bare / "packed-refs").exists()
