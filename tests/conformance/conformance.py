#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""conformance.py [--backend NAME]... [--only PATTERN]...: the table, as TAP.

Every case is run with every backend as root (when this is root) and as an
ordinary user. $CORDON is the program under test, $PROBE the probe. Skips have to
be predicted by support.txt; $CORDON_MUST_WORK names backends (comma-separated)
that may skip nothing at all.
"""

import argparse
import fnmatch
import json
import os
import select
import shutil
import subprocess
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import conform
from conform import CASES, FIRST_UID, Arena, Skip, Wrong

import cases_files  # noqa: F401  pylint: disable=unused-import
import cases_metadata  # noqa: F401  pylint: disable=unused-import
import cases_nested  # noqa: F401  pylint: disable=unused-import
import cases_denials  # noqa: F401  pylint: disable=unused-import
import cases_kernel  # noqa: F401  pylint: disable=unused-import
import cases_network  # noqa: F401  pylint: disable=unused-import
import cases_streams  # noqa: F401  pylint: disable=unused-import
import cases_reach  # noqa: F401  pylint: disable=unused-import
import cases_life  # noqa: F401  pylint: disable=unused-import
import cases_agents  # noqa: F401  pylint: disable=unused-import
import cases_escalate  # noqa: F401  pylint: disable=unused-import
import cases_peers  # noqa: F401  pylint: disable=unused-import
import cases_guarantees  # noqa: F401  pylint: disable=unused-import

HERE = Path(__file__).resolve().parent
WORKERS = 2  # for each user
CASE_SECONDS = 120


def give_up(_signal, _frame):
    raise Wrong(f"the case took more than {CASE_SECONDS} s")


def outcome_of(function):
    try:
        function()
        return "ok", ""
    except Skip as reason:
        return "skip", str(reason)
    except AssertionError as wrong:
        return "failed", str(wrong)
    except Exception:  # pylint: disable=broad-except
        return "failed", traceback.format_exc()


def run_case(case, backend, programs, lacks):
    missing = [g for g in conform.GUARANTEES if g in case.needs and g in lacks]
    if missing:
        return "lacks", f"{backend} lacks {missing[0]}: {lacks[missing[0]]}"
    arena = Arena(backend, *programs, lacks=frozenset(lacks), needs=case.needs)
    signal.alarm(CASE_SECONDS)
    try:
        state, text = outcome_of(lambda: case.run(arena))
        closed, why = outcome_of(arena.close)
        return (closed, why) if state == "ok" else (state, text)
    finally:
        signal.alarm(0)


def work(jobs, who, programs, support, pipe):
    """A worker: one case at a time, so that all that lives below it is the case's."""
    if who == "user" and os.getuid() == 0:
        os.setgroups([])
        os.setresgid(FIRST_UID, FIRST_UID, FIRST_UID)
        os.setresuid(FIRST_UID, FIRST_UID, FIRST_UID)
    os.setsid()
    os.umask(0o022)
    os.chdir("/")
    conform.become_reaper()
    signal.signal(signal.SIGALRM, give_up)
    # A shell starts what is in its background with some of them ignored.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="cordon-conf-cache-", dir="/var/tmp") as cache:
        Arena.cache = cache
        run_jobs(jobs, who, programs, support, pipe)


def run_jobs(jobs, who, programs, support, pipe):
    must_work = os.environ.get("CORDON_MUST_WORK", "").split(",")
    lacks = {backend: support.lacking(backend) for _, backend, _ in jobs}
    for index, backend, case in jobs:
        start = time.monotonic()
        state, text = run_case(case, backend, programs, lacks[backend])
        limit = conform.known_limit(support, backend, who, case.name)
        if limit and state == "failed":
            state, text = "limit", f"known limit: {limit}\n{text}"
        elif limit and state == "ok":
            state, text = "failed", "support.txt calls this a limit, but it holds: take the line out"
        if state == "ok" and conform.must_skip(support, backend, who, case.name):
            state, text = "failed", "support.txt says that this is always skipped, but it holds: take the line out"
        if state == "skip" and (
            backend in must_work or not conform.predicts_skip(support, backend, who, case.name)
        ):
            state, text = "failed", f"skipped, which support.txt does not predict: {text}"
        took = time.monotonic() - start
        os.write(pipe, json.dumps([index, state, text, took]).encode() + b"\n")


def start_worker(jobs, who, programs, support):
    ours, theirs = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.close(ours)
        try:
            work(jobs, who, programs, support, theirs)
        except BaseException:  # pylint: disable=broad-except
            traceback.print_exc()
        os._exit(0)
    os.close(theirs)
    return pid, ours


def collect(workers):
    """{index: (state, text, seconds)} of all cases."""
    results, pending = {}, {pipe: b"" for _, pipe in workers}
    while pending:
        for pipe in select.select(list(pending), [], [])[0]:
            data = os.read(pipe, 65536)
            if not data:
                del pending[pipe]
                continue
            *lines, pending[pipe] = (pending[pipe] + data).split(b"\n")
            for line in lines:
                index, *rest = json.loads(line)
                results[index] = rest
    for pid, _ in workers:
        os.waitpid(pid, 0)
    return results


def print_tap(table, results, slowest, absent):
    failed = 0
    print(f"1..{len(table) + len(absent)}")
    for index, (backend, who, case) in enumerate(table):
        state, text, _ = results.get(index, ("failed", "the worker died", 0))
        label = f"{index + 1} - {backend} {who}: {case.name}"
        if state in ("skip", "limit", "lacks"):
            reason, *more = text.splitlines() or [""]
            print(f"ok {label} # SKIP {reason}")
            for line in more:
                print(f"# {line}")
            continue
        print(f"{'ok' if state == 'ok' else 'not ok'} {label}")
        failed += state != "ok"
        for line in text.splitlines():
            print(f"# {line}")
    for index, reason in enumerate(absent, len(table) + 1):
        print(f"ok {index} - {reason[0]} # SKIP {reason[1]}")
    if slowest:
        for index, result in sorted(results.items(), key=lambda r: -r[1][2])[:slowest]:
            print(f"# {result[2]:.2f} s: {table[index][1]} {table[index][2].name}")
    sys.exit(failed > 0)


def refuse_without_landlock(program, probe, everyone):
    """Mounts do not govern named pipes: a kernel that has nothing else is refused, by name."""
    print(f"1..{len(everyone)}")
    failed = 0
    for number, who in enumerate(everyone, 1):
        ids = {"user": FIRST_UID, "group": FIRST_UID, "extra_groups": []} if who == "user" and os.getuid() == 0 else {}
        run = [program, "run", "--", "/bin/true"]
        ids["env"] = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        control = subprocess.run(run, cwd="/", **ids)
        done = subprocess.run([probe, "--without-landlock", *run], cwd="/", capture_output=True, text=True, **ids)
        is_right = control.returncode == 0 and done.returncode == 125 and "no Landlock" in done.stderr
        failed += not is_right
        print(f"{'ok' if is_right else 'not ok'} {number} - native {who}: a_kernel_without_landlock_is_refused")
        if not is_right:
            print(f"# control {control.returncode}, {done.returncode}: {done.stderr!r}")
    sys.exit(failed > 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", action="append")
    parser.add_argument("--only", action="append", metavar="PATTERN")
    parser.add_argument("--without-landlock", action="store_true", help="such a kernel is refused")
    parser.add_argument("--who", choices=["root", "user"])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--slowest", type=int, default=0)
    options = parser.parse_args()
    backends = options.backend or ["native"]
    everyone = [options.who] if options.who else ["root", "user"]
    support = conform.read_support(HERE / "support.txt")
    absent = []
    if os.getuid() != 0 and "root" in everyone:
        everyone.remove("root")
        absent = [(f"{backend} root: all cases", "this is not root") for backend in backends]
    table = [
        (backend, who, case)
        for backend in backends
        for who in everyone
        for case in CASES
        if who in case.who and any(fnmatch.fnmatchcase(case.name, p) for p in options.only or "*")
    ]
    if options.list:
        for row in table:
            print(row[0], row[1], row[2].name)
        return
    # The ordinary user may not be able to reach the build directory.
    with tempfile.TemporaryDirectory(prefix="cordon-conf-bin-", dir="/var/tmp") as binaries:
        os.chmod(binaries, 0o755)
        program = shutil.copy(os.environ["CORDON"], f"{binaries}/cordon")
        probe = shutil.copy(os.environ["PROBE"], f"{binaries}/probe")
        if options.without_landlock:
            refuse_without_landlock(program, probe, everyone)
            return
        programs = (program, probe, [])
        conform.probe_of_facts = probe
        workers = []
        for who in everyone:
            jobs = [(i, b, c) for i, (b, w, c) in enumerate(table) if w == who]
            for n in range(WORKERS):
                workers.append(start_worker(jobs[n::WORKERS], who, programs, support))
        results = collect(workers)
    print_tap(table, results, options.slowest, absent)


if __name__ == "__main__":
    main()
