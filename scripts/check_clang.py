#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_clang.py DIR: the fuzzers and what they call, seen by the compiler that makes them.

`make soak` builds with clang, `make check` with gcc: without this a warning of clang's shows
only there. Takes the sources and flags of the build directory DIR; nothing is generated. All
else is left to `make lint-clang`, which takes minutes.
"""

import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
PARTS = ("src/base", "src/policy", "src/plan", "src/proxy", "src/session/git_index.c", "tests/fuzz")
# What changes how a file is read; those with a word behind them apart.
FLAGS = ("-I", "-D", "-U", "-W", "-std=")
FLAGS_OF_TWO = ("-include", "-isystem")
MORE = ["-U_FORTIFY_SOURCE", "-fsyntax-only", "-Wno-unknown-warning-option"]
AT_ONCE = 16


def flags_of(command):
    words = shlex.split(command)
    flags = []
    for word, following in zip(words, [*words[1:], ""]):
        if word in FLAGS_OF_TWO:
            flags += [word, following]
        elif word.startswith(FLAGS) and not word.endswith(".p"):  # that is one file's own directory
            flags.append(word)
    return tuple(flags)


def read_jobs(build):
    """(flags, files) of one call each."""
    files = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = (Path(entry["directory"]) / entry["file"]).resolve()
        if any(path.is_relative_to(TOP / part) for part in PARTS):
            files.setdefault(flags_of(entry["command"]), set()).add(path)
    for flags, paths in files.items():
        paths = sorted(paths)
        for i in range(0, len(paths), AT_ONCE):
            yield flags, paths[i : i + AT_ONCE]


def main():
    build = Path(sys.argv[1]).resolve()
    jobs = list(read_jobs(build))

    def check(job):
        return subprocess.run(["clang", *job[0], *MORE, *job[1]], cwd=build, check=False).returncode

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = any(list(pool.map(check, jobs)))
    fuzzers = sum(path.name.startswith("fuzz_") for _, paths in jobs for path in paths)
    print(f"clang: {sum(len(paths) for _, paths in jobs)} files, {fuzzers} of them fuzzers'")
    sys.exit(failed or fuzzers == 0)


if __name__ == "__main__":
    main()
