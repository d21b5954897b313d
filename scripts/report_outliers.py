#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report_outliers.py: names the functions over 60 lines and the files over 800.

Only a report: past that size a thing usually holds two ideas, and people decide.
"""

import re
from pathlib import Path

FUNCTION_LINES = 60
FILE_LINES = 800
NAME = re.compile(r"(\w+)\(")


def functions(lines):
    """Yields (name, first line, length); the house style puts both braces in column 0."""
    opened = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            opened = number
        elif line == "}" and opened:
            head = opened - 1
            while head > 1 and lines[head - 1][:1] in ("\t", " "):
                head -= 1
            match = NAME.search(lines[head - 1])
            yield (match[1] if match else "?"), opened, number - opened - 1
            opened = None


def main():
    top = Path(__file__).parent.parent
    outliers = 0
    files = [path for part in ("src", "tests", "bench") for path in top.glob(f"{part}/**/*.[ch]")]
    for path in sorted(files):
        lines = path.read_text().splitlines()
        name = path.relative_to(top)
        if len(lines) > FILE_LINES:
            print(f"{name}: {len(lines)} lines")
            outliers += 1
        for function, line, length in functions(lines):
            if length > FUNCTION_LINES:
                print(f"{name}:{line}: {function}() has {length} lines")
                outliers += 1
    print(f"size: {outliers} outliers")


if __name__ == "__main__":
    main()
