# SPDX-License-Identifier: MIT
"""What it costs that refused accesses are named: each job in turns with denials = "off", "writes" and "all".

    bench/run naming        (all jobs)
    bench/naming.py PROGRAM JOB...

Only ratios are told, medians over the rounds: of the time that passes, and of the time that processors were
busy with the command, Cordon included, which other work on the machine disturbs less.
"""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("CORDON_BENCH_NAMING_ROUNDS", "9"))
MODES = tuple(os.environ.get("CORDON_BENCH_NAMING_MODES", "off writes all").split())
BULK_FILES = 10_000
WORK_BELOW = os.environ.get("CORDON_BENCH_NAMING_DIR", "/var/tmp")

CONFIG = "".join(f'[permissions.{mode}]\nextends = ":workspace"\ndenials = "{mode}"\n' for mode in MODES)

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int function_%d(int x);
int function_%d(int x) { printf("%%d\\n", x); return x + %d; }
"""
TESTS = """
import os, tempfile, unittest
class Test(unittest.TestCase):
    pass
def make(i):
    def test(self):
        with tempfile.TemporaryDirectory() as top:
            path = os.path.join(top, "file")
            with open(path, "w") as file:
                file.write(str(i) * 100)
            with open(path) as file:
                self.assertEqual(len(set(file.read() * 300)), len(set(str(i))))
    return test
for i in range(100):
    setattr(Test, f"test_{i}", make(i))
unittest.main(verbosity=0)
"""


def make_sources(top):
    directory = top / "sources"
    directory.mkdir()
    for i in range(40):
        (directory / f"{i}.c").write_text(SOURCE % (i, i, i))
    (directory / "Makefile").write_text(
        "all: prog.a\nprog.a: " + " ".join(f"{i}.o" for i in range(40)) + "\n\tar rc $@ $^\n"
        "%.o: %.c\n\tgcc -O2 -g -c -o $@ $<\n")


def make_package(top):
    """A wheel, which pip unpacks and compiles."""
    directory = top / "package"
    (directory / "many").mkdir(parents=True)
    (directory / "many/__init__.py").write_text("")
    text = "".join(f"def function_{i}(a, b):\n    return [a * {i} + b for _ in range({i})]\n\n" for i in range(60))
    for i in range(150):
        (directory / f"many/module{i}.py").write_text(text)
    info = directory / "many-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: many\nVersion: 1.0\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    (info / "RECORD").write_text("")
    shutil.make_archive(str(top / "many-1.0-py3-none-any"), "zip", directory)
    os.rename(top / "many-1.0-py3-none-any.zip", top / "many-1.0-py3-none-any.whl")


def make_files(top):
    for i in range(BULK_FILES):
        directory = top / f"files/{i // 100}"
        if i % 100 == 0:
            directory.mkdir(parents=True)
        (directory / f"file{i}").write_text("some text\n" * 20)
    subprocess.run(["tar", "cf", top / "files.tar", "-C", top, "files"], check=True)


# name: (limit, command, what is run before it, unmeasured)
JOBS = {
    "build": (1.05, ["make", "-s", "-j2", "-C", "{top}/sources"], ["make", "-s", "-C", "{top}/sources", "-t"]),
    "test": (1.05, ["python3", "{top}/tests.py"], None),
    "install": (1.05, ["python3", "-m", "pip", "-q", "--disable-pip-version-check", "--no-cache-dir", "install",
                       "--no-index", "--no-deps", "--target", "{work}/site", "{top}/many-1.0-py3-none-any.whl"], None),
    "tar x": (1.5, ["tar", "xf", "{top}/files.tar", "-C", "{work}"], None),
    "cp -r": (1.5, ["cp", "-r", "{top}/files", "{work}/files"], None),
    "rm -rf": (1.5, ["rm", "-rf", "{work}/files"], ["cp", "-r", "{top}/files", "{work}/files"]),
    "read": (None, ["grep", "-r", "no such text", "{top}/files", "-s", "-q"], None),
    "start": (1.03, ["sh", "-c", ":"], None),
}


def busy():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def time_one(cordon, top, name, mode, environment):
    _, command, before = JOBS[name]
    work = top / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / ".git").mkdir()
    fill = lambda words: [word.replace("{top}", str(top)).replace("{work}", str(work)) for word in words]
    if name == "build":
        shutil.copytree(top / "sources", work / "sources")
        command, before = [word.replace("{top}", "{work}") for word in command], None
    if before:
        subprocess.run(fill(before), check=True)
    words = [cordon, "run", "-q", "-P", mode, "--", *fill(command)]
    started, used = time.monotonic(), busy()
    done = subprocess.run(words, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0 and name != "read":
        sys.exit(f"naming: {name}: {done.stderr.decode()[:500]}")
    return time.monotonic() - started, busy() - used


def median(values):
    return sorted(values)[len(values) // 2]


def find_missed(found):
    return [f"MISSED: {name} takes ×{modes['writes'][0]:.2f} while refused writes are named"
            for name, modes in found.items() if JOBS[name][0] and modes["writes"][0] > JOBS[name][0]]


def print_judgement(found):
    missed = find_missed(found)
    print("\n".join(missed))
    return missed


def measure(cordon):
    print(f"== naming refused accesses, {ROUNDS} rounds in turns, ÷ denials = \"off\"", flush=True)
    return run(str(cordon))


def run(cordon, jobs=tuple(JOBS), modes=MODES, rounds=ROUNDS):
    """{job: {mode: (ratio of time, ratio of work)}}, both to "off"."""
    top = pathlib.Path(tempfile.mkdtemp(prefix="cordon-bench-", dir=WORK_BELOW))
    try:
        (top / "home/.config/cordon").mkdir(parents=True)
        (top / "home/.config/cordon/config.toml").write_text(CONFIG)
        environment = {**os.environ, "HOME": str(top / "home"), "CCACHE_DISABLE": "1"}
        make_sources(top)
        make_package(top)
        make_files(top)
        (top / "tests.py").write_text(TESTS)
        found = {}
        for name in jobs:
            rows = {mode: [] for mode in modes}
            for i in range(rounds * 20 if name == "start" else rounds):
                for mode in modes[i % len(modes):] + modes[: i % len(modes)]:
                    rows[mode].append(time_one(cordon, top, name, mode, environment))
            found[name] = {mode: tuple(median([row[k] / max(off[k], 1e-6) for row, off in zip(rows[mode], rows["off"])])
                                       for k in (0, 1)) for mode in modes if mode != "off"}
            print(f"  {name:8} limit {JOBS[name][0] or 0:.2f}   " + "   ".join(
                f"{mode} {time_ratio:.2f} (work {work_ratio:.2f})"
                for mode, (time_ratio, work_ratio) in found[name].items())
                + f"   off takes {median([row[0] for row in rows['off']]):.2f} s", flush=True)
        return found
    finally:
        shutil.rmtree(top)


if __name__ == "__main__":
    words = sys.argv[2:]
    run(os.path.abspath(sys.argv[1]), jobs=tuple(words) or tuple(JOBS))
