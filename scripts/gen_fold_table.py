#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_fold_table.py: writes src/base/fold_table.c to standard output.

For each character that changes when names are compared without case and without regard to
composition (full case folding of the canonical decomposition, decomposed again): what it becomes.
Hangul syllables are left out, their decomposition is computed. The data is Python's.
"""
import sys
import unicodedata


def folded(text):
    nfd = unicodedata.normalize
    return nfd("NFD", nfd("NFD", text).casefold())


def is_left_out(c):
    return 0xD800 <= c <= 0xDFFF or 0xAC00 <= c <= 0xD7A3


def find_bytes(blob, known, text):
    data = text.encode()
    if data not in known:
        known[data] = len(blob)
        blob.extend(data)
    return known[data], len(data)


def find_marks():
    runs = []
    for c in range(0x110000):
        ccc = unicodedata.combining(chr(c))
        if not ccc:
            continue
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == ccc:
            runs[-1][1] = c
        else:
            runs.append([c, c, ccc])
    return runs


def print_rows(rows, row_format, on_a_line):
    for i in range(0, len(rows), on_a_line):
        print("\t" + " ".join(row_format(*row) for row in rows[i : i + on_a_line]))


def print_blob(blob):
    for i in range(0, len(blob), 22):
        text = "".join(f"\\{b:03o}" for b in blob[i : i + 22])
        print(f'\t"{text}"')


def main():
    blob, known, rows = bytearray(), {}, []
    for c in range(0x110000):
        if is_left_out(c) or folded(chr(c)) == chr(c):
            continue
        rows.append((c, *find_bytes(blob, known, folded(chr(c)))))
    assert len(blob) < 1 << 16 and max(row[2] for row in rows) < 32
    print("/* SPDX-License-Identifier: MIT */")
    print("/*")
    print(f" * Unicode {unicodedata.unidata_version}, case folding and canonical decomposition. Made by")
    print(" * scripts/gen_fold_table.py: change that, not this.")
    print(" */")
    print('#include "base/fold_table.h"\n')
    print('#include "base/macros.h"\n')
    print("/* clang-format off */")
    print("const struct fold_row fold_rows[] = {")
    print_rows(rows, lambda c, at, n: f"{{0x{c:X},{at},{n}}},", 7)
    print("};\nconst size_t fold_row_count = COUNT_OF(fold_rows);\n")
    print("const struct fold_marks fold_marks[] = {")
    print_rows(find_marks(), lambda a, b, ccc: f"{{0x{a:X},0x{b:X},{ccc}}},", 5)
    print("};\nconst size_t fold_marks_count = COUNT_OF(fold_marks);\n")
    print("const char fold_bytes[] =")
    print_blob(blob)
    print("\t;")
    return 0


sys.exit(main())
