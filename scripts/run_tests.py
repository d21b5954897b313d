#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_tests.py BUILD_DIR...: runs the tests of each build directory and sums up.

The tests print TAP; meson counts programs, so the cases are counted here, from
the TAP itself. Failures are shown with what was said about them, skips with their
reason, and the last line is "N passed, N failed, N skipped". All that a program
printed is in BUILD_DIR/meson-logs/testlog.txt.

One more runs at a time than there are processors: much of their time they wait, for
processes to end and for what must not happen to have had its time. More would be quicker
yet, but what has to happen soon would then not always.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

CASE = re.compile(r"(not )?ok\b\s*\d*\s*-?\s*([^#]*)(?:#\s*SKIP\b\s*(.*))?", re.IGNORECASE)
PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*SKIP\b\s*(.*))?", re.IGNORECASE)
LAST_LINES = 100


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skips = []

    def read_program(self, where, entry):
        """Counts the cases of one program; returns why it failed, if it did."""
        planned, seen, failed = None, 0, []
        for line in (entry.get("stdout") or "").splitlines():
            if plan := PLAN.fullmatch(line.strip()):
                planned = int(plan[1])
                if planned == 0:
                    self.skips.append((where, plan[2] or "no reason given"))
            elif case := CASE.fullmatch(line.strip()):
                seen += 1
                name = case[2].strip()
                if case[1]:
                    failed.append(name)
                elif case[3] is not None:
                    self.skips.append((f"{where}: {name}", case[3] or "no reason given"))
                else:
                    self.passed += 1
        ending = f"{entry['result'].lower()}, exit status {entry['returncode']}"
        if planned is None:
            failed.append(f"no TAP plan ({ending})")
        elif planned != seen:
            failed.append(f"{planned} cases planned, {seen} seen ({ending})")
        # A sanitizer complains at exit, after the last case: that is a failure too.
        elif not failed and (entry["returncode"] != 0 or entry["result"] not in ("OK", "SKIP")):
            failed.append(ending)
        self.failed += len(failed)
        return failed


def find_complaints(text):
    """Each case that failed, with all from the case before it to the one after it. Where none
    did, the program did: its last words."""
    lines = text.splitlines()
    ends = [-1] + [i for i, line in enumerate(lines) if CASE.fullmatch(line.strip())] + [len(lines)]
    shown = [line for before, at, after in zip(ends, ends[1:], ends[2:]) if lines[at].lstrip().startswith("not ")
             for line in lines[before + 1:after]]
    return "\n".join(shown or lines[-LAST_LINES:])


def default_signals():
    """A shell starts what is in its background with some of them ignored, which is inherited."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def run_directory(build, tally):
    print(f"== tests in {build}", flush=True)
    log = Path(build, "meson-logs", "testlog.json")
    log.unlink(missing_ok=True)
    at_a_time = str((os.cpu_count() or 1) + 1)
    words = ["meson", "test", "-C", build, "--num-processes", at_a_time]
    status = subprocess.run(words, preexec_fn=default_signals).returncode
    if not log.exists():
        print(f"FAILED {build}: the tests could not be built or started (status {status})")
        tally.failed += 1
        return
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        entry = json.loads(line)
        where = f"{build}: {entry['name']}"
        if failed := tally.read_program(where, entry):
            print(f"\nFAILED {where}: {'; '.join(failed)}")
            print(find_complaints(entry.get("stdout") or ""))
            print("\n".join((entry.get("stderr") or "").splitlines()[-LAST_LINES:]))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tally = Tally()
    for build in sys.argv[1:]:
        run_directory(build, tally)
    for where, reason in tally.skips:
        print(f"skipped {where}: {reason}")
    if tally.passed + tally.failed == 0:
        print("no test ran")
    print(f"{tally.passed} passed, {tally.failed} failed, {len(tally.skips)} skipped", flush=True)
    sys.exit(tally.failed > 0 or tally.passed == 0)


if __name__ == "__main__":
    main()
