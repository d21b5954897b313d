# SPDX-License-Identifier: MIT
"""Beginning and end: nothing outlives a run, nothing stays behind, nothing is told that
was withheld, and nobody can swap a directory while a run begins."""

import json
import os
import pty
import resource
import shutil
import signal
import stat
import subprocess
import time

from conform import (
    HIDDEN,
    READ_ONLY,
    SECONDS,
    await_path,
    await_true,
    case,
    check,
    check_same,
    children,
    descendants,
    snapshot,
    state_of,
    these_need,
)
from sanitizer import is_instrumented, without_leaks

REFUSED = READ_ONLY | {"EEXIST", "EISDIR"}


def names_below(top):
    return {os.path.join(w, n) for w, ds, fs in os.walk(top) for n in ds + fs}


def ended(process):
    """Collects a process that was killed, so that its output ends too."""
    process.communicate(timeout=30)


def probes():
    return [pid for pid, name in descendants().items() if name == "probe"]


def kill_probes(arena):
    """The kernel's list of children may miss one while another ends: until there are none twice."""
    quiet = 0
    while quiet < 2:
        found = probes()
        quiet = 0 if found else quiet + 1
        arena.kill_all(found)
        time.sleep(0.005)


# ---- Survivors ------------------------------------------------------------------------------

these_need("tree_death")


@case
def daemons_end_with_the_command(arena):
    box = arena.box()
    got = box.run("daemon {work}/ready", "pid")
    check(got[0] == "OK", f"{got}")
    equal = arena.box()
    # It keeps its standard output, as the one inside did: that must not be a pipe to here.
    null = {"stdout": subprocess.DEVNULL}
    equal.start([arena.probe, *equal.words(["daemon {work}/ready"])], **null).wait(30)
    # The parent of the daemon may still be about to end.
    await_true(lambda: len(probes()) <= 2, "the control is a crowd")
    alive = probes()
    arena.kill_all(alive)
    check(len(alive) == 2, "the control shows nothing")
    arena.check_nothing_lives()


@case
def a_timeout_ends_everything(arena):
    box = arena.box(options=("--mode", "workspace-write", "--timeout", "300ms"))
    before = names_below(box.top)
    start = time.monotonic()
    box.finish(box.argv("hold {work}/ready"), status=124)
    check(time.monotonic() - start < 10, "it took too long")
    arena.check_nothing_lives()
    check(names_below(box.top) - before <= {str(box.path("{work}/ready"))}, "something was left")


def start_held(box, **more):
    process = box.start(box.argv("hold {work}/ready"), **more)
    try:
        await_path(box.path("{work}/ready"))
    except AssertionError:
        process.kill()
        raise AssertionError(f"did not start: {process.communicate()}") from None
    return process


def check_gone(arena, box, before, what):
    try:
        arena.check_nothing_lives(1.0)
    except AssertionError as error:
        raise AssertionError(f"{what}: {error}") from None
    left = names_below(box.top) - before - {str(box.path("{work}/ready"))}
    check(not left, f"{what}: left behind: {sorted(left)}")


@case
def nothing_survives_a_kill_of_cordon_at_any_stage(arena):
    box = arena.box()
    before = names_below(box.top)
    start = time.monotonic()
    process = start_held(box)
    whole = time.monotonic() - start
    process.kill()
    ended(process)
    check_gone(arena, box, before, "killed when it ran")
    steps = 40 if whole < 0.05 else 20
    for step in range(steps):
        box.path("{work}/ready").unlink(missing_ok=True)
        process = box.start(box.argv("hold {work}/ready"))
        time.sleep(whole * 1.2 * step / steps)
        process.kill()
        ended(process)
        check_gone(arena, box, before, f"killed {whole * 1.2 * step / steps * 1000:.1f} ms after its start")


@case
def nothing_survives_a_kill_of_cordons_group_at_any_stage(arena):
    """As a shell or `timeout -s KILL` does it: who looks after the rest is in another group by then."""
    box = arena.box()
    before = names_below(box.top)
    start = time.monotonic()
    process = start_held(box, start_new_session=True)
    whole = time.monotonic() - start
    os.killpg(process.pid, signal.SIGKILL)
    ended(process)
    check_gone(arena, box, before, "killed when it ran")
    for step in range(40):
        box.path("{work}/ready").unlink(missing_ok=True)
        process = box.start(box.argv("hold {work}/ready"), start_new_session=True)
        time.sleep(whole * step / 40)
        os.killpg(process.pid, signal.SIGKILL)
        ended(process)
        check_gone(arena, box, before, f"its group was killed {whole * step / 40 * 1000:.1f} ms after its start")


def kill_while_alive(pid):
    """False when it had ended by itself: who helps with the set-up does not stay."""
    try:
        os.kill(pid, signal.SIGSTOP)
        for _ in range(1000):
            state = state_of(pid)
            if state is None or state[0] in "ZXTt":
                break
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return state is not None and state[0] in "Tt"


@case
def nothing_survives_a_kill_of_any_part_at_any_stage(arena):
    """The youngest part that there is at some moment: set-up, PID 1, the warden."""
    box = arena.box()
    before = names_below(box.top)
    start = time.monotonic()
    process = start_held(box)
    whole = time.monotonic() - start
    process.kill()
    ended(process)
    check_gone(arena, box, before, "killed when it ran")
    for step in range(24):
        box.path("{work}/ready").unlink(missing_ok=True)
        process = box.start(box.argv("hold {work}/ready"))
        time.sleep(whole * 1.2 * step / 24)
        living = {pid: name for pid, name in descendants().items() if pid != process.pid}
        parts = sorted(pid for pid, name in living.items() if name != "probe")
        victim = parts[-1 - step % len(parts)] if parts else process.pid
        if not kill_while_alive(victim):
            process.kill()
        elif living.get(victim) == "bwrap":
            # Nobody needs it any more when PID 1 stands: Cordon would have killed it next.
            await_true(lambda: process.poll() is not None or box.path("{work}/ready").exists(), "it hangs")
            process.kill()
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            told = f"step {step}: {living} lost {victim}, and the run goes on: {descendants()}"
            process.kill()
            raise AssertionError(told) from None
        finally:
            ended(process)
        check_gone(arena, box, before, f"a part was killed {whole * 1.2 * step / 24 * 1000:.1f} ms after the start")


def parts_that_stay():
    """Without the probes, and without who helped with the set-up and is about to end."""

    def seen():
        return sorted(pid for pid, name in descendants().items() if name != "probe")

    found = seen()
    for _ in range(1000):
        time.sleep(0.02)
        last, found = found, seen()
        if found == last:
            break
    return found


@case(needs={"tree_death", "protect_missing"})
def nothing_survives_a_kill_of_any_part(arena):
    """PID 1, the warden, and whoever else there is: one after the other, then all at once."""
    box = arena.box()
    before = names_below(box.top)
    number = 0
    while True:
        box.path("{work}/ready").unlink(missing_ok=True)
        process = start_held(box)
        parts = parts_that_stay()
        check(len(parts) >= 2, f"only {parts} to kill")
        if number < len(parts):
            os.kill(parts[number], signal.SIGKILL)
        else:
            for pid in parts:
                os.kill(pid, signal.SIGSTOP)
            for pid in parts:
                os.kill(pid, signal.SIGKILL)
        ended(process)
        if number == len(parts):
            break
        check_gone(arena, box, before, f"part {number} of {len(parts)} was killed")
        number += 1
    # When every part dies at once nobody can remove a placeholder; the next run does.
    arena.check_nothing_lives(1.0)
    got = box.run("mkdir {work}/.codex")
    check(got[0] in REFUSED, f"{got}")
    check_gone(arena, box, before, "all parts were killed, and another run came by")


@case
def nothing_survives_a_kill_of_cordon_while_all_else_is_stopped(arena):
    """Who is stopped hears nothing; the kernel's hand reaches it. (Nor is there a warden to kill it.)"""
    box = arena.box()
    for name in (".git/objects", ".git/refs"):
        os.makedirs(box.path(f"{{work}}/{name}"), exist_ok=True)
    box.write("{work}/.git/HEAD", "ref: refs/heads/main\n")
    box.make_all_metadata()
    before = names_below(box.top)
    process = start_held(box)
    stopped = [pid for pid in parts_that_stay() if pid != process.pid]
    check(stopped and "cordon-warden" not in descendants().values(), f"{descendants()}")
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    process.kill()
    ended(process)
    check_gone(arena, box, before, "killed while PID 1 was stopped")


@case
def what_cleans_up_is_woken_when_cordon_is_killed(arena):
    box = arena.box()
    before = names_below(box.top)
    process = start_held(box)
    stopped = [pid for pid in parts_that_stay() if pid != process.pid]
    check("cordon-warden" in descendants().values(), f"{descendants()}")
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    process.kill()
    ended(process)
    check_gone(arena, box, before, "killed while all else was stopped")


@case
def nothing_survives_a_kill_of_cordon_under_a_deaf_parent(arena):
    """The caller ignores SIGCHLD and never waits."""
    box = arena.box()
    before = names_below(box.top)
    script = "trap '' CHLD; \"$@\" & echo $!; exec sleep 1000"
    shell = box.start(["/bin/sh", "-c", script, "sh", *box.argv("hold {work}/ready")])
    arena.guests.append(shell)
    await_path(box.path("{work}/ready"))
    os.kill(int(shell.stdout.readline()), signal.SIGKILL)
    check_gone(arena, box, before, "killed below a deaf parent")
    shell.kill()


TUNING = ("priority", "io-priority", "scheduler", "scheduler-param", "scheduler-attr", "affinity",
          "prlimit", "prlimit-none")


@case(needs={"tree_death", "proc"})
def pid_1_can_not_be_slowed_down_or_limited(arena):
    """A PID 1 that gets no processor does not die when it is killed, nor does anything else."""
    box = arena.box()
    groups = ["priority-group", "io-priority-group"]
    attempts = [*[f"{one} 1" for one in TUNING], *groups, "priority-user", "io-priority-user"]
    allowed = [f"on-child {one}" for one in TUNING]
    got = box.run(*allowed, *attempts)
    check(got == ["OK"] * len(allowed) + ["EPERM"] * len(attempts), f"{dict(zip(allowed + attempts, got))}")
    # The same calls; those on a user have no control: they would make all else here slow.
    got = box.bare(*allowed, *groups, process_group=0)
    check(got == ["OK"] * len(got), f"the control shows nothing: {got}")


@case(needs=())
def a_command_tunes_itself_and_its_children(arena):
    box = arena.box()
    attempts = [*[f"{one} 0" for one in TUNING], *[f"on-child {one}" for one in TUNING]]
    got = box.run(*attempts)
    check(got == ["OK"] * len(attempts), f"{dict(zip(attempts, got))}")
    check(box.bare(*attempts) == got, "it differs without a sandbox")
    box.finish([*box.argv(), "/bin/sh", "-c", "ulimit -S -c 0 && nice true"])


@case(needs=())
def signals_to_cordon_reach_the_command(arena):
    for name in ("TERM", "INT", "HUP", "QUIT"):
        box = arena.box()
        script = f"trap 'echo caught {name}; exit 7' {name}; : >ready; while :; do sleep 0.01; done"
        process = box.start([*box.argv(), "/bin/sh", "-c", script])
        await_path(box.path("{work}/ready"))
        process.send_signal(getattr(signal, "SIG" + name))
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{name} did not arrive in 30 s") from None
        check(process.returncode == 7 and b"caught" in out, f"{name}: {process.returncode} {out} {err}")
        arena.check_nothing_lives()


@case(needs=())
def the_command_starts_with_the_callers_signals(arena):
    """What the caller ignores or blocks is ignored or blocked, and nothing else."""
    box = arena.box()
    for line in ("trap '' INT HUP; exec \"$@\"", "trap - INT; exec \"$@\""):
        attempts = ["status SigBlk:", "status SigIgn:", "status SigCgt:"]
        inside = box.finish(["/bin/sh", "-c", line, "sh", *box.argv(*attempts)])[0]
        outside = box.finish(["/bin/sh", "-c", line, "sh", arena.probe, *box.words(attempts)])[0]
        check(inside == outside, f"{line}: {inside.split()} instead of {outside.split()}")


@case(needs=())
def a_run_leaves_no_file_anywhere(arena):
    box = arena.box()
    marked = ("/tmp", "/dev/shm", "/run", "/var/tmp", "/var/run")

    def seen():
        ours = {n for d in marked if os.path.isdir(d) for n in os.listdir(d) if "cordon" in n}
        return names_below(box.top), {n for n in ours if "cordon-" not in n}

    before = seen()
    box.run("pid")
    check(names_below(box.top) == before[0], f"left: {names_below(box.top) ^ before[0]}")
    # Another run beside this one may have a placeholder there for a moment.
    until = time.monotonic() + 20
    while seen()[1] - before[1] and time.monotonic() < until:
        time.sleep(0.05)
    check(not seen()[1] - before[1], f"left: {seen()[1] - before[1]}")


@case(needs=())
def a_report_is_not_written_through_a_link_that_the_command_made(arena):
    """--report names a file in the workspace, and the command puts a link there meanwhile."""
    for script in ("ln -sf {out}/file report.json", "ln -f ready report.json",
                   "rm -f report.json; mkfifo report.json", "mkdir report.json"):
        box = arena.box(tree={"{work}/ready": "r"})
        options = (*box.options, "--report", "report.json")
        before = box.snapshot()
        argv = [*box.argv(options=options), "/bin/sh", "-c", box.fill(script) + "; true"]
        out, err, status = box.finish(argv, status=None)
        check_same(before, box.snapshot(), f"was written to: {out} {err}")
        check(status in (0, 125), f"{script}: {status} {err}")
        check(box.path("{work}/ready").read_bytes() == b"r", f"{script}: another file was written to")


@case(needs=())
def what_a_command_leaves_behind_can_not_hold_cordon_up(arena):
    """After the run Cordon looks at repositories, which may be made to be looked at."""
    tricks = [
        "mkdir a; mkfifo a/.git a/HEAD; mkdir a/refs a/objects",
        "mkdir b; ln -s /dev/zero b/HEAD; ln -s /dev/zero b/.git; mkdir b/refs b/objects",
        "mkdir c; ln -s .. c/.git; ln -s ../c c/c",
        "mkdir d; head -c 3000000 /dev/zero >d/.git",
        "p=.; i=0; while [ $i -lt 400 ]; do p=$p/x; i=$((i+1)); done; mkdir -p $p/.git",
        "mkdir e; chmod 000 e; mkdir -p f/.git; chmod 000 f/.git",
        "mkdir -p $(seq -f m/%g/.git 200)",
    ]
    commit = '[permissions.box]\nextends = ":workspace"\ngit = "commit"\n'
    inside = [
        "rm -f .git/HEAD; mkfifo .git/HEAD",
        "rm -f .git/index; mkfifo .git/index",
        "rm -f .git/index; ln -s /dev/zero .git/index",
        "printf 'DIRC\\0\\0\\0\\2\\377\\377\\377\\377' >.git/index",
        "rm -rf .git/refs; mkfifo .git/refs",
        "rm -f .git/HEAD; ln -s /dev/zero .git/HEAD",
        "rm -rf .git/modules; mkdir -p .git/modules/x; mkfifo .git/modules/x/HEAD",
    ]
    tree = {"{work}/.git/HEAD": "ref: refs/heads/main\n", "{work}/.git/refs/heads/": "",
            "{work}/.git/objects/": "", "{work}/.git/config": "[core]\n", "{work}/.git/index": "DIRC"}
    for policy, scripts in ((None, tricks), (commit, inside))[: 1 if "fs_carve" in arena.lacks else 2]:
        for script in scripts:
            box = arena.box(policy=policy, tree=tree)
            start = time.monotonic()
            argv = [*box.argv(), "/bin/sh", "-c", script + "; exit 7"]
            box.finish(argv, status=7)
            check(time.monotonic() - start < 15, f"it took too long: {script}")


@case(needs=())
def cordon_is_ended_also_when_nobody_reads_what_it_says(arena):
    """The command fills the stream that both have; what Cordon has to say at the end finds no room."""
    box = arena.box(options=("--mode", "workspace-write", "--timeout", "1500ms"))
    for number in (signal.SIGTERM, signal.SIGINT):
        box.path("{work}/ready").unlink(missing_ok=True)
        process = box.start([*box.argv(), "/bin/sh", "-c", ": >ready; yes >&2"])
        try:
            await_path(box.path("{work}/ready"))
            await_true(lambda p=process: set(descendants()) == {p.pid} and state_of(p.pid)[0] == "S",
                       "the command goes on")
            time.sleep(0.1)
            process.send_signal(number)
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"signal {number} does not end it") from None
        finally:
            ended(process)
        check(process.returncode == -number, f"it ended with {process.returncode}")
    arena.check_nothing_lives()


@case(needs=())
def a_start_that_fails_for_lack_of_descriptors_leaves_nothing(arena):
    """Wherever it runs out of them: the run works, or is refused and was never there."""
    box = arena.box()
    before = names_below(box.top)
    works = 0
    for limit in (*range(5, 40), 64, 128):
        soft = lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))
        out, err, status = box.finish(box.argv("pid"), status=None, preexec_fn=soft)
        check(status in (0, 125), f"{limit} descriptors: {status} {out} {err}")
        check(status == 0 or err.startswith("cordon: "), f"{limit} descriptors: no word: {err}")
        check_gone(arena, box, before, f"with {limit} descriptors: {err}")
        works += status == 0
    check(works > 0, "it never works")


# Of an ordinary user's processes others may run: the least that is sure to work is not asked for.
OTHER_LIMITS = (("FSIZE", (0, 1, 100, 4096, 1 << 20)), ("STACK", (64 << 10, 256 << 10)),
                ("AS", (4 << 20, 16 << 20)), ("DATA", (4 << 20,)), ("NPROC", (0, 2, 4)))


@case(needs=())
def a_start_that_fails_for_another_limit_leaves_nothing_and_is_told(arena):
    """Never without a word, nor by a signal that a limit brings."""
    box = arena.box()
    before = names_below(box.top)
    works = 0
    for name, limits in OTHER_LIMITS:
        if name in ("AS", "DATA") and is_instrumented(arena.program):
            continue
        for limit in limits:
            which = getattr(resource, f"RLIMIT_{name}")
            soft = lambda n=limit, which=which: resource.setrlimit(which, (n, n))
            out, err, status = box.finish(box.argv("pid"), status=None, preexec_fn=soft, env=without_leaks())
            check(status in (0, 125), f"{name} {limit}: {status} {out} {err}")
            check(status == 0 or err.startswith("cordon: "), f"{name} {limit}: no word: {err}")
            check_gone(arena, box, before, f"with {name} of {limit}: {err}")
            works += status == 0
    check(works > 0, "it never works")


# ---- Stopped ---------------------------------------------------------------------------------------


class Job:
    """A job of a shell, on a terminal of its own; the shell leaves it stopped."""

    def __init__(self, box, argv, is_behind=False):
        self.shell, self.master = pty.fork()
        if self.shell == 0:
            self.be_shell(box, argv, is_behind)

    @staticmethod
    def be_shell(box, argv, is_behind):
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            if not is_behind:
                signal.signal(signal.SIGTTOU, signal.SIG_IGN)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            os.chdir(box.work)
            os.execve(argv[0], argv, box.env)
        while os.WIFSTOPPED(status := os.waitpid(job, os.WUNTRACED)[1]):
            pass
        os._exit(os.waitstatus_to_exitcode(status) & 255)

    def is_stopped(self):
        return any((state_of(pid) or " ")[0] == "T" for pid in children(self.shell))

    def await_stop(self):
        await_true(self.is_stopped, "it was not stopped")

    def send(self, number):
        for pid in children(self.shell):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def end(self):
        """Lets it go on, and waits for its end. Its status."""
        # Only then: a sanitizer stops the program at its end, and would wait for ever for what this takes away.
        if self.is_stopped():
            self.send(signal.SIGCONT)
        status = os.waitstatus_to_exitcode(os.waitpid(self.shell, 0)[1])
        os.close(self.master)
        return status

    def kill(self):
        self.send(signal.SIGKILL)
        self.end()


@case(needs=())
def the_time_is_over_also_for_who_is_stopped_with_cordon(arena):
    """The command stops itself, and Cordon with it; what the kernel wakes goes on."""
    box = arena.box(options=("--mode", "workspace-write", "--timeout", "1500ms"))
    job = Job(box, box.argv("wake {work}/ready"))
    try:
        await_path(box.path("{work}/ready"))
        await_true(lambda: box.path("{work}/ready").stat().st_size, "it was not woken")
        job.await_stop()
        await_true(lambda: not probes(), "it goes on")
    except AssertionError:
        job.kill()
        raise
    check(job.end() == 124, "it was not its time that ended it")
    arena.check_nothing_lives()


@case(needs=())
def what_a_stopped_command_has_started_is_stopped_with_it(arena):
    """While Cordon is stopped nobody looks after it."""

    def is_stopped(pid):
        return (state_of(pid) or "T")[0] in "Tt"

    def ticks(argv, box, goes_on):
        job = Job(box, argv)
        try:
            job.await_stop()
            await_path(box.path("{work}/ticks"))
            if not goes_on:
                await_true(lambda: all(map(is_stopped, probes())), "it goes on")
            before = box.path("{work}/ticks").stat().st_size
            time.sleep(0.3)
            return box.path("{work}/ticks").stat().st_size - before
        finally:
            job.kill()
            kill_probes(arena)

    box = arena.box()
    check(ticks(box.argv("tick {work}/ticks"), box, False) == 0, "it goes on")
    arena.check_nothing_lives()
    for _ in range(10):
        equal = arena.box()
        if ticks([arena.probe, *equal.words(["tick {work}/ticks"])], equal, True) > 0:
            return
    raise AssertionError("the control shows nothing")


@case(needs=())
def a_command_does_not_have_cordon_stopped_by_its_terminal(arena):
    """It is in the background, and what it sets on the terminal stops whoever writes to it."""
    box = arena.box(options=("--mode", "workspace-write", "--timeout", "1500ms"))
    job = Job(box, box.argv("stop-writers {work}/ready"), is_behind=True)
    try:
        await_path(box.path("{work}/ready"))
        await_true(lambda: not probes() or job.is_stopped(), "it goes on")
        check(not job.is_stopped(), "it was stopped")
    except AssertionError:
        job.kill()
        raise
    check(job.end() == 124, "it was not its time that ended it")
    arena.check_nothing_lives()
    equal = arena.box()
    script = equal.fill(f"{arena.probe} stop-writers {{work}}/ready </dev/tty & until test -e ready; do sleep 0.05; done; echo told; wait")
    job = Job(equal, ["/bin/sh", "-c", script], is_behind=True)
    try:
        job.await_stop()
    finally:
        job.kill()
        kill_probes(arena)


# ---- Several runs in one directory -------------------------------------------------------------

these_need("protect_missing")


@case
def two_runs_in_one_directory_do_not_undo_each_other(arena):
    for first_ends_by in (signal.SIGTERM, signal.SIGKILL):
        box = arena.box()
        before = names_below(box.top)
        one = start_held(box)
        two = box.start(box.argv("create {work}/two", "await {work}/go", "mkdir {work}/.git",
                                 "create {work}/.codex", "create {work}/new"))
        await_path(box.path("{work}/two"))
        one.send_signal(first_ends_by)
        one.kill()
        ended(one)
        time.sleep(0.3)
        box.write("{work}/go")
        out, err = two.communicate(timeout=30)
        got = out.decode().split()
        check(len(got) == 5 and got[4] == "OK", f"{got} {err}")
        check(set(got[2:4]) <= REFUSED, f"the second run lost its protection: {got}")
        mine = {str(box.path("{work}/" + n)) for n in ("two", "go", "new")}
        check_gone(arena, box, before | mine, "both runs are over")
    equal = arena.box()
    check(equal.bare("mkdir {work}/.git") == ["OK"], "the control shows nothing")


@case
def many_runs_in_one_directory_at_once(arena):
    box = arena.box()
    before = names_below(box.top)
    running = []
    for number in range(24):
        argv = box.argv("mkdir {work}/.git", "mkdir {work}/.codex", f"create {{work}}/n{number}")
        running.append(box.start(argv))
        if len(running) >= 6:
            finish_one(running.pop(0))
    for process in running:
        finish_one(process)
    mine = {str(box.path(f"{{work}}/n{n}")) for n in range(24)}
    check_gone(arena, box, before | mine, "all are over")


def finish_one(process):
    out, err = process.communicate(timeout=30)
    got = out.decode().split()
    check(process.returncode == 0 and len(got) == 3, f"{process.returncode} {got} {err}")
    check(set(got[:2]) <= REFUSED and got[2] == "OK", f"{got}")


# ---- A directory swapped while a run begins --------------------------------------------------------

these_need("fs_write", "fs_read", "fs_carve")

def try_swaps(arena, box, swapped, attempt, seconds=1.2):
    """Runs again and again while another process exchanges two names; `out` must stay.

    The policy denies `out`, so it is not granted when the link is followed in time either.
    """
    before = snapshot(box.out)
    arena.guest([arena.probe, "exchange-for-ever", *[str(box.path(p)) for p in swapped]])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        out, err, status = box.finish(box.argv(attempt, "create {out}/new"), status=None)
        check(status in (0, 125), f"status {status}: {out} {err}")
        check(status == 125 or out.split()[1] in READ_ONLY | HIDDEN, f"{out} {err}")
        check_same(before, snapshot(box.out), "was written to through a swapped name")


@case(needs={"fs_carve"})
def a_stream_swapped_for_a_fifo_is_not_waited_for(arena):
    """It is opened again, by the sandbox's own mount; a fifo opens when another comes, or never."""
    box = arena.box(tree={"{work}/.git/config": "[core]\n"})
    names = [box.path("{work}/.git/" + name) for name in ("config", "fifo")]
    os.mkfifo(names[1])
    arena.guest([arena.probe, "exchange-for-ever", *map(str, names)])
    end, runs = time.monotonic() + 1.2, 0
    while time.monotonic() < end or not runs:
        fd = os.open(names[0], os.O_RDONLY | os.O_NONBLOCK)
        try:
            if stat.S_ISREG(os.fstat(fd).st_mode):
                os.set_blocking(fd, True)
                out, err, status = box.finish(box.argv("fd-blocks 0"), status=None, stdin=fd)
                check(status in (0, 125), f"status {status}: {out} {err}")
                check(status or out == "OK\n", f"it is not as it was given: {out}")
                runs += 1
        finally:
            os.close(fd)


WRITE_ONE = """
[permissions.box.filesystem]
":root" = "read"
"{top}/x/swap" = "write"
"{out}" = "deny"
"""


@case
def a_write_root_swapped_for_a_link_is_not_written_through(arena):
    tree = {"{top}/x/swap/": "", "{top}/x/alt": "->{out}"}
    box = arena.box(policy=WRITE_ONE, tree=tree)
    try_swaps(arena, box, ("{top}/x/swap", "{top}/x/alt"), "create {top}/x/swap/new")


@case(needs={"fs_write", "fs_read", "fs_carve", "protect_missing"})
def nothing_is_left_in_a_write_root_that_is_swapped_for_another(arena):
    """Who makes what is missing by its name may make it in the other one."""
    box = arena.box(policy=WRITE_ONE, tree={"{top}/x/swap/": "", "{top}/x/other/": ""})
    roots = [str(box.path("{top}/x/" + name)) for name in ("swap", "other")]
    swapper = arena.guest([arena.probe, "exchange-for-ever", *roots])

    def is_clear(may_be_cleared):
        left = [f"{root}/{name}" for root in roots for name in os.listdir(root)]
        # One that is being killed may still add to it: then the next look finds that.
        if may_be_cleared and left:
            subprocess.run(["rm", "-rf", *left], check=False)
        return not left

    end, is_bwraps = time.monotonic() + 1.2, False
    while time.monotonic() < end:
        swapper.send_signal(signal.SIGCONT)
        out, err, status = box.finish(box.argv("mkdir {top}/x/swap/.git"), status=None)
        check(status == 125 or (status == 0 and out.strip() in REFUSED), f"status {status}: {out} {err}")
        swapper.send_signal(signal.SIGSTOP)
        await_true(lambda: state_of(swapper.pid)[0] == "T", "it can't be stopped")
        # bwrap knows names alone, and finds out too late that one is another now: SECURITY.md.
        # One that was refused then may add to it as late as in the next round.
        is_bwraps = is_bwraps or (status == 125 and arena.backend == "bwrap")
        await_true(lambda known=is_bwraps: is_clear(known), f"left behind after {status}: {err}")


@case
def a_parent_swapped_for_a_link_is_not_written_through(arena):
    tree = {"{top}/x/mid/leaf/": "", "{out}/leaf/": "", "{top}/x/alt": "->{out}"}
    policy = WRITE_ONE.replace("x/swap", "x/mid/leaf") + '"{out}/leaf" = "deny"\n'
    box = arena.box(policy=policy, tree=tree)
    try_swaps(arena, box, ("{top}/x/mid", "{top}/x/alt"), "create {top}/x/mid/leaf/new")


@case(needs={"fs_write", "fs_read", "fs_carve", "protect_missing"})
def metadata_swapped_for_a_link_is_not_written_through(arena):
    tree = {"{work}/.git/config": "[core]\n", "{work}/alt": "->{out}"}
    policy = WRITE_ONE.replace("{top}/x/swap", "{work}")
    box = arena.box(policy=policy, tree=tree)
    try_swaps(arena, box, ("{work}/.git", "{work}/alt"), "create {work}/.git/new")


@case(needs={"fs_write"})
def the_working_directory_swapped_for_a_link_is_not_what_it_leads_to(arena):
    """Who stands in a directory means that one, whatever its name leads to for a moment."""
    box = arena.box(tree={"{top}/x/ws/": "", "{top}/x/alt": "->{out}"})
    before = snapshot(box.out)
    here = os.open(box.path("{top}/x/ws"), os.O_PATH)
    cwd = f"/proc/self/fd/{here}"
    out, err, _ = box.finish(box.argv("create new"), cwd=cwd)
    check(out.split()[-1] == "OK", f"it can't be worked in at all: {out} {err}")
    arena.guest([arena.probe, "exchange-for-ever", str(box.path("{top}/x/ws")), str(box.path("{top}/x/alt"))])
    end = time.monotonic() + 1.2
    while time.monotonic() < end:
        out, err, status = box.finish(box.argv("create {out}/new"), status=None, cwd=cwd)
        check(status in (0, 125), f"status {status}: {out} {err}")
        check(status == 125 or out.split()[-1] in READ_ONLY, f"{out} {err}")
        check_same(before, snapshot(box.out), "was written to as the working directory")
    os.close(here)


# ---- What must not be told ----------------------------------------------------------------------------

these_need()


@case
def secrets_of_the_environment_are_nowhere_inside(arena):
    names = ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "OPENAI_API_KEY", "MY_CREDENTIALS",
             "SIGNING_KEY"]
    # Of each run its own: without a pid namespace the words of one beside it are seen.
    value = f"s3cr3t-value-of-the-host-{os.urandom(8).hex()}"
    secrets = {name: value for name in names}
    box = arena.box()
    got = box.run(*[f"env {n}" for n in names], "env PLAIN", f"grep /proc/1/environ {value}",
                  f"grep /proc/1/cmdline {value}", f"grep /proc/self/environ {value}",
                  env={**secrets, "PLAIN": "plain"})
    check(got[: len(names)] == ["ENOENT"] * len(names), f"{dict(zip(names, got))}")
    check(got[len(names)] == "OK plain", f"{got}")
    check(all(one != "OK" for one in got[len(names) + 1 :]), f"found: {got}")
    got = box.run(f"scan {value[::-1]}", env=secrets)
    check(got == ["OK"], f"{got}")
    check(box.bare(f"scan {value[::-1]}", env=secrets)[0] != "OK", "the control shows nothing")
    got = box.bare(*[f"env {n}" for n in names], env=secrets)
    check(all(one.startswith("OK") for one in got), "the control shows nothing")


@case
def a_secret_that_is_included_is_passed_on(arena):
    policy = '[permissions.box]\nextends = ":workspace"\nenvironment = { include = ["GITHUB_*"] }\n'
    box = arena.box(policy=policy)
    got = box.run("env GITHUB_TOKEN", "env DB_PASSWORD", env={"GITHUB_TOKEN": "x", "DB_PASSWORD": "y"})
    check(got == ["OK x", "ENOENT"], f"{got}")


@case
def marks_say_what_the_sandbox_is(arena):
    box = arena.box()
    got = box.run("env CORDON_SANDBOX", "env CORDON_SANDBOX_NETWORK_DISABLED",
                  "env CODEX_SANDBOX_NETWORK_DISABLED")
    check(got == [f"OK {arena.backend}", "OK 1", "OK 1"], f"{got}")
    got = box.run("env CORDON_SANDBOX_NETWORK_DISABLED", options=(*box.options, "--network", "full"))
    check(got == ["ENOENT"], f"{got}")


# ---- What another program does to the files meanwhile ------------------------------------------

these_need("fs_carve")

NARROW = """
[permissions.box]
extends = ":workspace"
git = "commit"
[permissions.box.filesystem]
"{work}/key" = "deny"
"{work}/keys" = "deny"
"{work}/fixed" = "read"
"{work}/*.pem" = "deny"
"""
NARROW_TREE = {
    "{work}/key": "old\n",
    "{work}/keys/one": "old\n",
    "{work}/fixed": "old\n",
    "{work}/one.pem": "old\n",
    "{work}/plain": "old\n",
    "{work}/.git/HEAD": "ref: refs/heads/main\n",
    "{work}/.git/config": "[core]\n",
    "{work}/.git/objects/": "",
    "{work}/.git/refs/": "",
}


def save(path):
    """As editors do, and `git config`."""
    new = path.with_name(".new")
    new.write_text("new\n", encoding="utf-8")
    shutil.copystat(path, new)
    os.chown(new, path.stat().st_uid, path.stat().st_gid)
    os.replace(new, path)


def make_anew(path):
    os.rename(path, path.with_name("moved"))
    path.mkdir()
    (path / "one").write_text("new\n", encoding="utf-8")


# {path: (what is done to it outside, what the command must not be able to do)}
TAKEN_AWAY = {
    "{work}/key": (save, "cat key"),
    "{work}/keys": (make_anew, "cat keys/one"),
    "{work}/fixed": (save, "true >>fixed"),
    "{work}/.git/config": (save, "true >>.git/config"),
}


def wait_inside(box, attempt):
    """A command that goes on for a while after the attempt was refused."""
    script = f"{attempt} && exit 9; : >ready; sleep 20; exit 3"
    argv = box.argv(options=(*box.options, "--json"))
    process = box.start([*argv, "/bin/sh", "-c", script])
    try:
        await_path(box.path("{work}/ready"))
    except AssertionError:
        process.kill()
        raise AssertionError(f"did not start: {process.communicate()}") from None
    return process


@case
def a_run_ends_when_a_narrower_file_is_replaced_outside(arena):
    """The kernel takes the mount away with the name below it: the run must not go on without."""
    for path, (change, attempt) in TAKEN_AWAY.items():
        box = arena.box(policy=NARROW, tree=NARROW_TREE)
        process = wait_inside(box, attempt)
        change(box.path(path))
        out, err = process.communicate(timeout=30)
        check(process.returncode == 125, f"{path}: {process.returncode} {out} {err}")
        error = json.loads(out)["error"]
        check(error["cause"] == "protection_lost", f"{path}: {out} {err}")
        check(f"'{box.path(path)}'" in err.decode(), f"{path}: {err}")
        arena.check_nothing_lives()
        equal = arena.box(tree=NARROW_TREE)
        equal.finish(["/bin/sh", "-c", attempt])
    box = arena.box(policy=NARROW, tree=NARROW_TREE)
    process = wait_inside(box, "cat key")
    box.path("{work}/key").unlink()
    _, err = process.communicate(timeout=30)
    check(process.returncode == 125 and str(box.path("{work}/key")) in err.decode(), f"removed: {err}")


@case
def a_run_goes_on_when_other_files_are_replaced_outside(arena):
    """Also a name that a glob denies: it is covered again. And what is below a narrower directory."""
    box = arena.box(policy=NARROW, tree=NARROW_TREE)
    script = (": >ready; until test -e go; do sleep 0.02; done; sleep 0.3; i=0; "
              "while cat one.pem >/dev/null && [ $i -lt 200 ]; do sleep 0.1; i=$((i+1)); done; "
              "cat plain; ! cat one.pem keys/one key")
    process = box.start([*box.argv(), "/bin/sh", "-ec", script])
    await_path(box.path("{work}/ready"))
    for name in ("plain", "one.pem", "keys/one", ".git/HEAD", "file"):
        save(box.path("{work}/" + name))
    box.write("{work}/key", "written in place\n")
    box.write("{work}/go")
    out, err = process.communicate(timeout=30)
    check(process.returncode == 0 and out == b"new\n", f"{process.returncode} {out} {err}")
    arena.check_nothing_lives()
