#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Globs over a large tree take their time before the command runs: one who waits is
told so, and can end it as any other program."""

import atexit
import contextlib
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cli import PROGRAM, SECONDS, case, run_cases

CONFIG = """default_permissions = "dev"
[permissions.dev]
extends = ":workspace"
[permissions.dev.filesystem]
":workspace_roots" = { "**/*.secret" = "deny" }
"""
DIRECTORIES = 8000


class Tree:
    """Made once, for all cases: it takes some tenths of a second to look through, twice."""

    top = None

    @classmethod
    def get(cls):
        if not cls.top:
            cls.top = tempfile.mkdtemp(prefix="cordon-e2e-", dir="/var/tmp")
            atexit.register(shutil.rmtree, cls.top)
            for i in range(DIRECTORIES):
                os.makedirs(f"{cls.top}/{i // 100}/{i}")
        return Path(cls.top)


def fill(world):
    """Works in the tree; gives the file that the command makes."""
    world.write_config(CONFIG)
    world.repo = Tree.get()
    ran = world.repo / "0/ran"
    ran.unlink(missing_ok=True)
    return ran


def start(world, *options, before=None):
    return subprocess.Popen([PROGRAM, "run", *options, "--", "touch", "0/ran"], cwd=world.repo, env=world.env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=before)


def left(world):
    """What of a run is still in the workspace, once there was time for it to go."""
    end = time.monotonic() + 10
    while (world.repo / ".codex").exists() and time.monotonic() < end:
        time.sleep(0.02)
    return [name for name in os.listdir(world.repo) if name.startswith(".")]


def descriptors(pid):
    """What each of them leads to; the process may be closing some."""
    found = []
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return found


def is_searching(pid, top):
    """Whether it is in one of the tree's directories, which are all numbers."""
    return any(name.startswith(f"{top}/") and name[len(f"{top}/")].isdigit() for name in descriptors(pid))


def is_watching(pid):
    """Whether the sandbox is there, and its directories are being watched."""
    return "anon_inode:inotify" in descriptors(pid)


def wait_until(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end, f"never {what}"


@case
def without_a_signal_the_command_runs(world):
    ran = fill(world)
    run = start(world)
    _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 0 and ran.exists() and left(world) == [], (run.returncode, err)


def send_to_self(number):
    """It waits for the program, however soon that asks."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    os.kill(os.getpid(), number)


@case
def a_signal_ends_the_search(world):
    ran = fill(world)
    for number in (signal.SIGTERM, signal.SIGHUP):
        run = start(world, before=lambda n=number: send_to_self(n))
        _, err = run.communicate(timeout=SECONDS)
        assert run.returncode == -number and "nothing was run" in err, (run.returncode, err)
        assert not ran.exists() and left(world) == []


@case
def a_signal_that_is_ignored_does_not(world):
    ran = fill(world)

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        send_to_self(signal.SIGHUP)

    run = start(world, before=ignore)
    _, err = run.communicate(timeout=SECONDS)
    assert run.returncode == 0 and ran.exists(), (run.returncode, err)


def in_time(attempt):
    """What is to happen meanwhile may come too late where others use the machine: then once more."""
    for _ in range(40):
        if attempt():
            return
    raise AssertionError("it always came too late")


@case
def a_signal_ends_it_also_when_the_sandbox_stands(world):
    def attempt():
        ran = fill(world)
        run = start(world)
        wait_until(lambda: is_watching(run.pid) or run.poll() is not None, "watched")
        run.send_signal(signal.SIGTERM)
        _, err = run.communicate(timeout=SECONDS)
        assert left(world) == []
        # The command had begun, and it was the command that heard it.
        if ran.exists() or run.returncode == 128 + signal.SIGTERM:
            return False
        assert run.returncode == -signal.SIGTERM and "nothing was run" in err, (run.returncode, err)
        return True

    in_time(attempt)


@case
def a_key_ends_it_also_when_the_sandbox_stands(world):
    def attempt():
        ran = fill(world)
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(world.repo)
            os.execve(PROGRAM, [PROGRAM, "run", "--", "touch", "0/ran"], world.env)
        wait_until(lambda: is_watching(pid) or ran.exists(), "watched")
        os.write(terminal, b"\x03")
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(terminal)
        assert left(world) == []
        if ran.exists():
            return False
        assert status == -signal.SIGINT, status
        return True

    in_time(attempt)


def stop_for_a_while(world, run):
    """The time that passes is as good as time that was spent; whether it was still searching."""
    wait_until(lambda: is_searching(run.pid, world.repo) or run.poll() is not None, "searched")
    run.send_signal(signal.SIGSTOP)
    time.sleep(1.1)
    is_early = is_searching(run.pid, world.repo)
    run.send_signal(signal.SIGCONT)
    return is_early


@case
def after_a_second_it_says_what_it_does(world):
    def attempt():
        fill(world)
        run = start(world)
        is_early = stop_for_a_while(world, run)
        _, err = run.communicate(timeout=SECONDS)
        assert run.returncode == 0, err
        if not is_early:
            return False
        assert err.count("still searching") == 1 and str(world.repo) in err and "-C DIR" in err, err
        return True

    in_time(attempt)


@case
def nothing_is_said_to_one_who_wants_no_words(world):
    fill(world)
    run = start(world, "--quiet")
    stop_for_a_while(world, run)
    _, err = run.communicate(timeout=SECONDS)
    assert (run.returncode, err) == (0, ""), (run.returncode, err)


if __name__ == "__main__":
    sys.exit(run_cases())
