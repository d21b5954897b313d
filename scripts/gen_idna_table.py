#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gen_idna_table.py: writes src/base/idna_table.c to standard output.

The tables say which characters a host name may hold and what else has to be
known about them. They are derived by the rules of RFC 5892 from the Unicode
data of the Python that runs this, whose version the output states; the same
version gives the same bytes.
"""

import unicodedata as ud

# RFC 5892, 2.6 (F). CONTEXTO and CONTEXTJ are left out of the table: refused.
EXCEPTIONS_PVALID = {0xDF, 0x3C2, 0x6FD, 0x6FE, 0xF0B, 0x3007}
EXCEPTIONS_REFUSED = {
    0xB7, 0x375, 0x5F3, 0x5F4, 0x30FB, *range(0x660, 0x66A), *range(0x6F0, 0x6FA),
    0x640, 0x7FA, 0x302E, 0x302F, *range(0x3031, 0x3036), 0x303B,
}  # fmt: skip
JOIN_CONTROL = {0x200C, 0x200D}
# Default_Ignorable_Code_Point, those that would pass the other rules (RFC 5892, 2.3).
IGNORABLE = {
    0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, 0xFFA0,
    *range(0xFE00, 0xFE10), *range(0xE0000, 0xE1000),
}  # fmt: skip
# RFC 5892, 2.4: Combining Diacritical Marks for Symbols, two blocks of musical notation.
IGNORABLE_BLOCKS = [range(0x20D0, 0x2100), range(0x1D100, 0x1D250)]
# RFC 5892, 2.9: Hangul_Syllable_Type L, V or T.
OLD_HANGUL = [range(0x1100, 0x1200), range(0xA960, 0xA97D), range(0xD7B0, 0xD7FC)]
LETTER_DIGITS = {"Ll", "Lu", "Lo", "Nd", "Lm", "Mn", "Mc"}

# The classes that RFC 5893 tells apart.
BIDI = {
    "L": "L", "R": "R", "AL": "R", "AN": "AN", "EN": "EN", "NSM": "NSM",
    "ES": "OTHER", "CS": "OTHER", "ET": "OTHER", "ON": "OTHER", "BN": "OTHER",
}  # fmt: skip


def is_pvalid(cp):
    c = chr(cp)
    category = ud.category(c)
    if cp in EXCEPTIONS_PVALID:
        return True
    if cp in EXCEPTIONS_REFUSED or category in ("Cn", "Cs"):
        return False
    if c == "-" or "0" <= c <= "9" or "a" <= c <= "z":
        return True
    if cp in JOIN_CONTROL or cp in IGNORABLE or any(cp in r for r in IGNORABLE_BLOCKS + OLD_HANGUL):
        return False
    if ud.normalize("NFKC", ud.normalize("NFKC", c).casefold()) != c:
        return False
    return category in LETTER_DIGITS


def mapping(cp):
    """What the character is an upper case or width variant of, where all agree; else None."""
    c = chr(cp)
    if ud.normalize("NFC", c) != c:
        return None
    decomposed = ud.decomposition(c).split()
    if decomposed and decomposed[0] in ("<wide>", "<narrow>"):
        c = chr(int(decomposed[1], 16))
    lower = c.lower()
    if lower != c.casefold() or len(lower) != 1 or ord(lower) == cp or not is_pvalid(ord(lower)):
        return None
    return ord(lower)


def kind_of(cp):
    c = chr(cp)
    return (BIDI[ud.bidirectional(c)], ud.category(c)[0] == "M", ud.combining(c))


def allowed_runs(allowed):
    """(first, last, step, kind) of equal characters one or two apart."""
    runs = []
    for cp in allowed:
        kind = kind_of(cp)
        if runs and runs[-1][3] == kind:
            first, last, step, _ = runs[-1]
            gap = cp - last
            if gap == step or (first == last and gap == 2):
                runs[-1] = (first, cp, gap, kind)
                continue
        runs.append((cp, cp, 1, kind))
    return runs


def mapping_runs(maps):
    """(first, last, step, target of the first) where characters and targets advance alike."""
    runs = []
    for cp, target in maps:
        if runs:
            first, last, step, to = runs[-1]
            gap = cp - last
            if target - cp == to - first and (gap == step or (first == last and gap <= 2)):
                runs[-1] = (first, cp, gap, to)
                continue
        runs.append((cp, cp, 1, target))
    return runs


def compositions(allowed):
    """The pairs that NFC would make one character of, both allowed in a name."""
    pairs = []
    for cp in range(0x110000):
        decomposed = ud.decomposition(chr(cp)).split()
        if len(decomposed) != 2 or decomposed[0].startswith("<"):
            continue
        first, second = (int(d, 16) for d in decomposed)
        if ud.normalize("NFC", chr(first) + chr(second)) != chr(cp):
            continue
        if first in allowed and second in allowed:
            pairs.append((second, first, cp))
        elif cp in allowed:
            raise ValueError(f"U+{cp:04X} is allowed, but not what it is composed of")
    return sorted(pairs)


def print_table(type_name, name, rows):
    print(f"const struct {type_name} {name}[] = {{")
    line = ""
    for row in rows:
        if len(line) + len(row) + 2 > 92:
            print("\t" + line)
            line = ""
        line += (" " if line else "") + row + ","
    print("\t" + line)
    print("};")
    print(f"const size_t {name}_count = COUNT_OF({name});")


def main():
    allowed = [cp for cp in range(0x110000) if is_pvalid(cp)]
    maps = [(cp, to) for cp in range(0x110000) if (to := mapping(cp)) is not None]
    runs = allowed_runs(allowed)
    folds = mapping_runs(maps)
    pairs = compositions(set(allowed))
    print("/* SPDX-License-Identifier: MIT */")
    print("/*")
    print(f" * Unicode {ud.unidata_version} as host names need it. Made by")
    print(" * scripts/gen_idna_table.py: change that, not this.")
    print(" */")
    print('#include "base/idna_table.h"\n')
    print('#include "base/macros.h"\n')
    print("/* clang-format off */")
    for name in ("L", "R", "AN", "EN", "NSM", "OTHER"):
        print(f"#define {name} IDNA_{name}")
    print("#define MARK IDNA_MARK\n")
    print_table(
        "idna_run",
        "idna_allowed",
        [
            f"{{0x{first:X},0x{last:X},{step},{bidi}{'|MARK' if mark else ''},{ccc}}}"
            for first, last, step, (bidi, mark, ccc) in runs
        ],
    )
    print()
    print_table(
        "idna_fold",
        "idna_folds",
        [f"{{0x{first:X},0x{last:X},{step},0x{to:X}}}" for first, last, step, to in folds],
    )
    print()
    print_table(
        "idna_pair",
        "idna_pairs",
        [f"{{0x{second:X},0x{first:X},0x{both:X}}}" for second, first, both in pairs],
    )


if __name__ == "__main__":
    main()
