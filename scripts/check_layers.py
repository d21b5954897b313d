#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_layers.py [TOP]: holds the files of src/ to src/layers.txt and to the house rules.

The direction of the dependencies is checked by a script because nobody sees it
by reading one file. The rules that go with it: memory comes from base/mem.c,
only cli/ prints or exits, nothing searches our own messages, and a difference
between platforms is a file that the build picks, not an #ifdef.
"""

import re
import sys
from fnmatch import fnmatchcase
from pathlib import Path

HARMLESS = {
    f"<{name}.h>"
    for name in "errno float inttypes limits math stdalign stdarg stdbool stddef stdint stdio stdlib string".split()
}
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
COMMENT_OR_LITERAL = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)

ALLOCATE = re.compile(r"\b(?:malloc|calloc|realloc|reallocarray|free)\s*\(")
PRINT_OR_EXIT = re.compile(
    r"\b(?:v?f?printf|f?puts|f?putc|putchar|perror|exit|_Exit|quick_exit|abort|assert)\s*\("
)
# What the harmless headers hold besides: files, the environment, chance.
REACH_OUT = re.compile(
    r"\b(?:f(?:d|re)?open|fclose|fread|fwrite|fgets|getline|tmpfile|remove|rename|realpath|mkd?s?temp"
    r"|(?:secure_)?getenv|system|random|arc4random\w*)\s*\("
)
# Nothing reads an error's text to decide anything: it has a cause. bwrap's stderr has none, and
# `why` looks for the "://" of a URL.
SEARCH_TEXT = re.compile(r"\bstr(?:case)?str\s*\(")
MAY_SEARCH = ("*/bwrap/*", "cli/cmd_why.c")
EXTERN = re.compile(r"^\s*extern\b")
PLATFORM = re.compile(
    r"^\s*#\s*(?:el)?if.*\b(?:__linux__|__unix__|__APPLE__|__MACH__|_WIN(?:32|64)|__MINGW\w*|_MSC_VER"
    r"|__CYGWIN__|__FreeBSD__|__OpenBSD__|__NetBSD__|__GLIBC__|__x86_64__|__aarch64__|__GNUC__|__clang__)\b"
)


def blank(text):
    """The text without comments and the insides of literals, line numbers kept."""

    def keep_lines(match):
        found = match[0]
        return '""' if found[0] in "\"'" else "\n" * found.count("\n")

    return COMMENT_OR_LITERAL.sub(keep_lines, text)


def read_layers(path):
    layers = []
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            pattern, _, allowed = line.partition(":")
            layers.append((pattern.strip(), allowed.split()))
    return layers


def find_layer(layers, name):
    matching = [allowed for pattern, allowed in layers if fnmatchcase(name, pattern)]
    return matching[-1] if matching else None


def may_include(allowed, name, kind, target):
    if kind == "<":
        return "<*>" in allowed or f"<{target}>" in HARMLESS or f"<{target}>" in allowed
    own = name.rpartition("/")[0] + "/"
    return any(
        target.startswith(entry) if entry.endswith("/") else target == entry
        for entry in [own, *allowed]
    )


def check_includes(name, text, allowed):
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if match and not may_include(allowed, name, match[1], match[2]):
            yield number, f"may not include {match[2]} (src/layers.txt)"


def check_rules(name, text, allowed):
    inside_cli = name.startswith("cli/")
    for number, line in enumerate(blank(text).splitlines(), 1):
        if name != "base/mem.c" and ALLOCATE.search(line):
            yield number, "memory comes from base/mem.h"
        if not inside_cli and PRINT_OR_EXIT.search(line):
            yield number, "only cli/ prints or exits"
        if "<*>" not in allowed and REACH_OUT.search(line):
            yield number, "pure code can't reach the operating system"
        if SEARCH_TEXT.search(line) and not any(fnmatchcase(name, p) for p in MAY_SEARCH):
            yield number, "compare the cause of an error, not its text"
        if name.endswith(".c") and EXTERN.match(line):
            yield number, "a declaration belongs in a header, not in a .c file"
        if name != "base/macros.h" and not name.startswith("os/") and PLATFORM.match(line):
            yield number, "platforms differ by file, not by #if"
    if name.endswith(".h") and "\n#pragma once\n" not in text:
        yield 1, "a header needs #pragma once"
    if not text.startswith("/* SPDX-License-Identifier: MIT */\n"):
        yield 1, "the first line must be the SPDX line"


def main():
    top = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    layers = read_layers(top / "src/layers.txt")
    files = sorted(p for p in (top / "src").rglob("*.[ch]"))
    problems = 0
    for path in files:
        name = path.relative_to(top / "src").as_posix()
        text = path.read_text()
        # base/banned.h reads the headers whose functions it bans.
        allowed = ["<*>"] if name == "base/banned.h" else find_layer(layers, name)
        found = [(1, "no line of src/layers.txt matches")] if allowed is None else []
        found += check_includes(name, text, allowed or [])
        found += check_rules(name, text, allowed or [])
        for number, problem in sorted(found):
            print(f"src/{name}:{number}: {problem}")
        problems += len(found)
    print(f"layers: {len(files)} files, {problems} problems")
    sys.exit(problems > 0)


if __name__ == "__main__":
    main()
