#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""seatbelt_mutants.py BUILD: breaks the lowering for macOS in one place at a time and runs its tests.

Each mutant has to be caught. Works on the tree that it lies in, which must be clean, and puts every
file back. BUILD is a directory of Meson, as scripts/configure makes them. Not part of `make check`.
"""
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SEATBELT = TOP / "src/backend/seatbelt"
# (what it breaks, file, text, its replacement)
MUTANTS = (
    ("a narrower area is dropped", "lower_files.c", "if (except_area(l, below, count, e) < 0)",
     "if (count == NULL && except_area(l, below, count, e) < 0)"),
    ("what is reopened is dropped", "lower_files.c",
     "(area->around < least || area->above < least || area->is_lifted);", "area->around < least && area->path.len;"),
    ("a glob is dropped when reading", "lower_files.c", "if (path_is_under(fixed[i], area->path)) {",
     "if (i && path_is_under(fixed[i], area->path)) {"),
    ("no pins", "lower_files.c", "const bool is_pin = i >= l->area_count;\n",
     "const bool is_pin = i >= l->area_count;\n\n\t\tif (is_pin)\n\t\t\tbreak;\n"),
    ("an unescaped regex", "lower_regex.c", '"^$.*+?|()[]{}\\\\"', '"^$*+?|()[]{}\\\\."+1'),
    ("a regex without its end", "lower_regex.c", 'end_regex[] = "(/[^/]+)*$"', 'end_regex[] = ""'),
    ("one spelling", "lower_files.c", "*is_missing = file.type == HOST_MISSING;", "*is_missing = false;"),
    ("a star crosses slashes", "lower_regex.c", 'buf_add_text(out, "[^/]*");', 'buf_add_text(out, "([^/]|/)*");'),
    ("a glob from its start whatever was reopened", "lower_regex.c", "if (path_is_under(start, dir) && !str_eq(start, dir)) {",
     "if (path_is_under(start, dir) || dir.len) {"),
    ("order swapped: reading is writing", "lower_files.c", "if (!opens(area, ACCESS_WRITE))\n\t\t\tcontinue;\n\t\tif (add_note",
     "if (!opens(area, ACCESS_READ))\n\t\t\tcontinue;\n\t\tif (add_note"),
    ("a socket by its link", "lower.c", "*out = there.path;", "*out = path;"),
    ("the proxy's port is any", "lower.c", 'localhost:%u\\"))\\n",', 'localhost:*\\")) ; %u\\n",'),
    ("a listener is open to all", "lower.c", 'network-inbound (local ip \\"localhost:*\\"))\\n");',
     'network-inbound (local ip \\"*:*\\"))\\n");'),
    ("the proxy reads a directory", "../../proxy/seatbelt.c", '(literal \\"/private/etc/hosts\\")',
     '(subpath \\"/private/etc\\")'),
    ("the proxy may use unix sockets", "../../proxy/seatbelt.c", 'network-outbound (remote ip \\"*:*\\"))',
     'network-outbound)'),
    ("the proxy may write", "../../proxy/seatbelt.c", "(allow file-read*\\n", "(allow file*\\n"),
    ("the proxy may start programs", "../../proxy/seatbelt.c", '"(deny default)\\n"', '"(deny default)(allow process*)\\n"'),
    ("all may be executed", "lower_text.c", '"(allow process-fork)\\n"', '"(allow process-fork process-exec)\\n"'),
    ("an allow by an operation over a deny by its wildcard", "lower_text.c", '"(allow process-fork)\\n"',
     '"(allow process-fork)(deny file-write* (subpath \\"/w/r\\"))\\n"'),
    ("capitals of classes are forgotten", "lower_regex.c", "if (folds) { /* capitals", "if (folds && !class) { /* capitals"),
    ("too long is not refused", "lower.c", "if (bytes < SEATBELT_MAX_BYTES", "if (bytes != SEATBELT_MAX_BYTES"),
)


def build(directory):
    return subprocess.run(["ninja", "-C", directory, "src/cordon"], capture_output=True, check=False).returncode == 0


def is_caught(directory, change):
    name, text, other = change
    path = SEATBELT / name
    before = path.read_text()
    assert before.count(text) >= 1, f"{name} has no {text!r}"
    try:
        path.write_text(before.replace(text, other, 1))
        if not build(directory):
            return None
        env = dict(os.environ, CORDON=str(Path(directory) / "src/cordon"))
        env.setdefault("CORDON_SEATBELT_POLICIES", "120")
        test = subprocess.run([sys.executable, TOP / "tests/e2e/seatbelt.py"], env=env, capture_output=True, check=False)
        return b"not ok" in test.stdout
    finally:
        path.write_text(before)


def main():
    directory, caught = str(Path(sys.argv[1]).resolve()), 0
    for what, *change in MUTANTS:
        result = is_caught(directory, change)
        caught += bool(result)
        print({True: "caught    ", False: "NOT caught", None: "no program"}[result], what, flush=True)
    build(directory)
    print(f"{caught} of {len(MUTANTS)} caught")
    return caught != len(MUTANTS)


sys.exit(main())
