#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_upcase_table.py: writes src/base/upcase_table.c to standard output.

NTFS compares names by a table of capitals that each volume has, made by the version of Windows that
formatted it. This one has the pairs that each of them has: both characters are in Unicode 3.2, one
unit of UTF-16 each, and each is the other's only counterpart. The data is Python's.
"""
import sys
import unicodedata


def folded(text):
    nfd = unicodedata.normalize
    return nfd("NFD", nfd("NFD", text).casefold())


def capital(c):
    upper = chr(c).upper()
    if len(upper) != 1 or ord(upper) == c or ord(upper) > 0xFFFF or upper.lower() != chr(c):
        return None
    if any(unicodedata.ucd_3_2_0.category(x) == "Cn" for x in (chr(c), upper)):
        return None
    assert folded(upper) == folded(chr(c)), hex(c)
    return ord(upper)


def main():
    runs = []
    for c in range(0x80, 0x10000):
        upper = capital(c)
        if upper is None:
            continue
        add = upper - c
        if runs and runs[-1][3] == add and (c - runs[-1][1] in (1, 2)):
            first, last, step, _ = runs[-1]
            if first == last or c - last == step:
                runs[-1] = (first, c, c - last, add)
                continue
        runs.append((c, c, 1, add))
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Made by scripts/gen_upcase_table.py: change that, not this. */")
    print('#include "base/upcase_table.h"\n')
    print('#include "base/macros.h"\n')
    print("/* clang-format off */")
    print("const struct upcase_run upcase_runs[] = {")
    for i in range(0, len(runs), 4):
        print("\t" + " ".join(f"{{0x{a:X},0x{b:X},{s},{n}}}," for a, b, s, n in runs[i : i + 4]))
    print("};\nconst size_t upcase_run_count = COUNT_OF(upcase_runs);")
    return 0


sys.exit(main())
