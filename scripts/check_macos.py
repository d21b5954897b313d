#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_macos.py PROGRAM: looks at a program for macOS, which nothing here can run.

Both architectures are in it; each asks for macOS 11 and for libSystem alone, loads at a random address,
is signed (ad hoc), and imports only what tests/abi/macos_imports.txt lists. What the list has in vain is an
error too.
"""

import struct
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LIST = TOP / "tests/abi/macos_imports.txt"
CPUS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
FAT, MACHO_64, EXECUTABLE, PIE = 0xCAFEBABE, 0xFEEDFACF, 2, 0x200000
SYMTAB, DYSYMTAB, LOAD_DYLIB, SIGNATURE, BUILD_VERSION = 0x2, 0xB, 0xC, 0x1D, 0x32
OTHER_DYLIBS = {0x80000018: "weak", 0x8000001F: "reexported", 0x20: "lazy"}
MACOS, OLDEST, ADHOC = 1, 11 << 16, 0x2


def text_at(data, at):
    return data[at : data.index(b"\0", at)].decode()


def slices(data):
    magic, count = struct.unpack_from(">II", data)
    if magic != FAT:
        sys.exit("it has no fat header")
    for i in range(count):
        cpu, _, offset, size, align = struct.unpack_from(">5I", data, 8 + 20 * i)
        if offset % (1 << align):
            sys.exit(f"the part for {CPUS.get(cpu, hex(cpu))} is not aligned")
        yield CPUS.get(cpu, hex(cpu)), data[offset : offset + size]


def commands(part):
    count = struct.unpack_from("<8I", part)[4]
    at = 32
    for _ in range(count):
        kind, size = struct.unpack_from("<II", part, at)
        yield kind, at
        at += size


def imports(part, symtab):
    symbols, count, strings, _ = struct.unpack_from("<4I", part, symtab + 8)
    for i in range(count):
        name, kind, section, _, _ = struct.unpack_from("<IBBHQ", part, symbols + 16 * i)
        if kind & 0xE0 == 0 and kind & 0x0E == 0 and section == 0:
            yield text_at(part, strings + name)


def is_adhoc(part, at):
    """The flags of the code directory, which is big-endian."""
    offset, _ = struct.unpack_from("<II", part, at + 8)
    magic, _, count = struct.unpack_from(">III", part, offset)
    if magic != 0xFADE0CC0 or count < 1:
        return False
    directory = offset + struct.unpack_from(">II", part, offset + 12)[1]
    magic, _, _, flags = struct.unpack_from(">4I", part, directory)
    return magic == 0xFADE0C02 and flags & ADHOC != 0


def examine(name, part, allowed, used):
    wrong = []
    magic, _, _, kind, _, _, flags, _ = struct.unpack_from("<8I", part)
    found = {"version": False, "signature": False}
    if magic != MACHO_64 or kind != EXECUTABLE or not flags & PIE:
        wrong.append("is no program that loads at a random address")
    for kind, at in commands(part):
        if kind == BUILD_VERSION:
            platform, oldest = struct.unpack_from("<II", part, at + 8)
            found["version"] = platform == MACOS and oldest == OLDEST
        elif kind == SIGNATURE:
            found["signature"] = is_adhoc(part, at)
        elif kind == LOAD_DYLIB:
            library = text_at(part, at + struct.unpack_from("<I", part, at + 8)[0])
            if library != "/usr/lib/libSystem.B.dylib":
                wrong.append(f"loads {library}")
        elif kind in OTHER_DYLIBS:
            wrong.append(f"has a {OTHER_DYLIBS[kind]} library")
        elif kind == SYMTAB:
            names = set(imports(part, at))
            used |= names
            wrong += [f"imports {symbol}, which is not in {LIST.name}" for symbol in sorted(names - allowed)]
    wrong += [f"has no right {what}" for what, is_right in found.items() if not is_right]
    return [f"{name}: {text}" for text in wrong]


def main():
    data = Path(sys.argv[1]).read_bytes()
    allowed = {line for line in LIST.read_text().splitlines() if line and not line.startswith("#")}
    used, wrong, found = set(), [], []
    for name, part in slices(data):
        found.append(name)
        wrong += examine(name, part, allowed, used)
    if sorted(found) != ["arm64", "x86_64"]:
        wrong.append(f"it is for {', '.join(found)}")
    wrong += [f"{LIST.name} has {symbol} in vain" for symbol in sorted(allowed - used)]
    for text in wrong:
        print(text, file=sys.stderr)
    print(f"macos: {len(data)} bytes, {', '.join(found)}, {len(used)} imports, {len(wrong)} problems")
    sys.exit(bool(wrong))


main()
