#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""files.py [ROUNDS]: list_files and search_files through `cordon mcp` over a tree of 50,000 files, in turns with
`git ls-files` and a look at each file, with `grep -r`, and with `rg -j1` where it is installed.
"""

import fcntl
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mcp import PROGRAM, TOP, Server

ROUNDS = int(sys.argv[1]) if sys.argv[1:] else 9
FILES, PER_DIRECTORY, LINES = 50_000, 50, 40
STAT_NAMES = TOP / "build/lib/bench/stat_names"
MOST_FOR_LIST = 1.3
PATTERNS = [("a rare word", "needle_[0-9]+"), ("a literal", "needle_4711"), ("no literal", "[a-z]+[0-9]{5}[A-Z]"),
            ("a class of Unicode", r"\bx\w{30,}")]


def make_tree(top):
    rng = random.Random(1)
    words = [bytes(rng.choices(b"abcdefghijklmnopqrstuvwxyz", k=rng.randrange(2, 10))) for _ in range(5000)]
    block = b" ".join(rng.choices(words, k=500_000))
    for number in range(FILES):
        directory = top / f"d{number // PER_DIRECTORY // 20}" / f"e{number // PER_DIRECTORY % 20}"
        if number % PER_DIRECTORY == 0:
            directory.mkdir(parents=True, exist_ok=True)
        begin = rng.randrange(len(block) - 4000)
        text = b"\n".join(block[begin + n * 60:begin + n * 60 + 55] for n in range(LINES)) + b"\n"
        if number % 997 == 0:
            text += b"int needle_%d = 12345Q;\n" % number
        (directory / f"file-{number}.c").write_bytes(text)
    (top / ".gitignore").write_text("*.o\nbuild/\n/tags\n*.pyc\n.cache/\n")
    subprocess.run("git init -q . && git add -A .", shell=True, cwd=top, check=True)


class Call:
    """A call of a tool; what it answers is read but not looked at."""

    def __init__(self, server, tool, **arguments):
        self.server, self.params = server, {"name": tool, "arguments": arguments}
        self.line = server.process.stdout.fileno()
        fcntl.fcntl(self.line, fcntl.F_SETPIPE_SZ, 1 << 20)

    def __call__(self):
        self.server.number += 1
        self.server.send({"jsonrpc": "2.0", "id": self.server.number, "method": "tools/call", "params": self.params})
        first = part = os.read(self.line, 1 << 20)
        while not part.endswith(b"\n"):
            part = os.read(self.line, 1 << 20)
        assert b'"isError":true' not in first[:4096] and len(first) > 100, first[:500]


def shell(command, top):
    def run():
        done = subprocess.run(["sh", "-c", command], cwd=top, stdout=subprocess.PIPE, check=False)
        assert done.returncode == 0 and done.stdout, (command, done.returncode)
    return run


def measure(label, ways):
    """In turns; the medians, the first one compared with each other."""
    times = {name: [] for name in ways}
    for number in range(ROUNDS + 1):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            if number:
                times[name].append((time.perf_counter() - begun) * 1000)
    medians = {name: statistics.median(each) for name, each in times.items()}
    own = medians["cordon"]
    print(f"{label}: " + ", ".join(f"{name} {ms:.0f} ms" + (f" ({own / ms:.2f})" if name != "cordon" else "")
                                   for name, ms in medians.items()), flush=True)
    return {name: own / ms for name, ms in medians.items()}


def main():
    with tempfile.TemporaryDirectory(prefix="cordon-bench-", dir=os.environ.get("BENCH_DIR", "/var/tmp")) as name:
        top = Path(name)
        make_tree(top)
        server = Server([PROGRAM, "mcp", "--mode", "read-only", "--network", "off"], "read_file", top)
        ratios = measure(f"list_files of {FILES} files", {
            "cordon": Call(server, "list_files"),
            "git ls-files and lstat": shell(f"git ls-files -z | {STAT_NAMES}", top)})
        for label, pattern in PATTERNS:
            ways = {"cordon": Call(server, "search_files", pattern=pattern)}
            if shutil.which("rg"):
                ways["rg -j1"] = shell(f"rg -j1 -n '{pattern}' . || [ $? = 1 ] && echo", top)
            ways["grep -rP" if "\\" in pattern else "grep -rE"] = shell(
                f"LC_ALL=C.UTF-8 grep -rn --exclude-dir=.git {'-P' if chr(92) in pattern else '-E'} '{pattern}' . "
                "|| [ $? = 1 ] && echo", top)
            measure(f"search_files, {label}", ways)
        server.close()
        worst = max(ratios.values())
        if worst > MOST_FOR_LIST:
            print(f"list_files takes {worst:.2f} of `git ls-files` and lstat, {MOST_FOR_LIST} are the target")
            sys.exit(1)


if __name__ == "__main__":
    main()
