# SPDX-License-Identifier: MIT
"""What a path that is opened while the command runs costs: a grant, and the calls that it is for.

    bench/run live

tests/unit/test_backend_live.c measures it with an instant answer, and here are the medians
of several runs of it.
"""

import re
import statistics
import subprocess

ROUNDS = 5
FREE, HELD, GRAFT = "in a writable root", "held and allowed once", "a grant of a file"
# Of Cordon's own time, in microseconds.
MOST = {HELD: 100, GRAFT: 100}


def measure(program):
    seen = {}
    for _ in range(ROUNDS):
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        for label, time in re.findall(r"^# ([a-z, ]+): (\d+(?:\.\d+)?) us", done.stdout, re.MULTILINE):
            seen.setdefault(label, []).append(float(time))
    results = {label: statistics.median(times) for label, times in seen.items()}
    for label, time in results.items():
        print(f"live: {label}: {time:.0f} us")
    return results


def print_judgement(results):
    missed = []
    for label, most in MOST.items():
        own = results.get(label, float("inf")) - (results.get(FREE, 0) if label == HELD else 0)
        if own > most:
            missed.append(f"live: {label}: {own:.0f} us of Cordon's own, {most} are the target")
    print("\n".join(missed))
    return missed
