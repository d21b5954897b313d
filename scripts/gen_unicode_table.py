#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_unicode_table.py: writes src/base/unicode_table.c to standard output.

What regular expressions need of Unicode: the general category of every character, and which
characters are the same but for case (simple case folding). Python's unicodedata is the source.
"""

import unicodedata

LAST = 0x10FFFF
CATEGORIES = "Cc Cf Cn Co Cs Ll Lm Lo Lt Lu Mc Me Mn Nd Nl No Pc Pd Pe Pf Pi Po Ps Sc Sk Sm So Zl Zp Zs".split()


def write_table(rows):
    line = ""
    for row in rows:
        if len(line) + len(row) + 2 > 94:
            print("\t" + line.rstrip())
            line = ""
        line += row + ", "
    print("\t" + line.rstrip())


def category_runs():
    runs = []
    for c in range(LAST + 1):
        category = CATEGORIES.index(unicodedata.category(chr(c)))
        if not runs or runs[-1][1] != category:
            runs.append((c, category))
    return runs


def folded(c):
    """What CaseFolding.txt has with status C or S: the full folding where it is one character."""
    for text in (chr(c).casefold(), chr(c).lower()):
        if len(text) == 1:
            return ord(text)
    return c


def fold_steps():
    """(c, next): going from a character to the next leads around all that are the same."""
    orbits = {}
    for c in range(LAST + 1):
        orbits.setdefault(folded(c), set()).update((c, folded(c)))
    for orbit in orbits.values():
        members = sorted(orbit)
        if len(members) > 1:
            yield from zip(members, members[1:] + members[:1])


def fold_runs():
    """[first, last, step, delta]: c + delta follows c, for every `step`th c."""
    runs = []
    for c, following in sorted(fold_steps()):
        delta = following - c
        if runs and runs[-1][3] == delta:
            run = runs[-1]
            step = c - run[1]
            if (run[0] == run[1] and step <= 2) or step == run[2]:
                run[1], run[2] = c, step
                continue
        runs.append([c, c, 1, delta])
    # So that the table can be searched.
    for before, after in zip(runs, runs[1:]):
        assert before[1] < after[0]
    return runs


def main():
    print("/* SPDX-License-Identifier: MIT */")
    print("/*")
    print(f" * Unicode {unicodedata.unidata_version} as regular expressions need it. Made by")
    print(" * scripts/gen_unicode_table.py: change that, not this.")
    print(" */")
    print('#include "base/unicode_table.h"\n')
    print('#include "base/macros.h"\n')
    print("/* clang-format off */")
    print("const uint32_t unicode_categories[] = {")
    write_table(f"0x{first << 8 | category:X}" for first, category in category_runs())
    print("};\n")
    print("const struct unicode_fold unicode_folds[] = {")
    write_table(f"{{0x{first:X},0x{last:X},{step},{delta}}}" for first, last, step, delta in fold_runs())
    print("};")
    print("/* clang-format on */\n")
    for name in "categories", "folds":
        print(f"const size_t unicode_{name}_count = COUNT_OF(unicode_{name});")


main()
