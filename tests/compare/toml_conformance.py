#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""toml_conformance.py TOML2JSON SOURCE_ROOT: runs the official TOML 1.0 suite.

The suite (toml-lang/toml-test) is not part of this tree. CORDON_TOML_TEST names the
directory that it is in, by default shared/data/toml-test beside the checkout.
"""
import json
import os
import pathlib
import re
import sys

from toml_peer import Peer, plain_tagged


def check_valid(peer, path):
    status, value = peer.read(path.read_bytes())
    if status != "+":
        return f"refused: {value}" if status == "-" else f"changed by printing: {value}"
    want = plain_tagged(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
    return None if value == want else f"got {value}, want {want}"


def check_invalid(peer, path):
    status, value = peer.read(path.read_bytes())
    if status != "-":
        return f"accepted as {value}"
    if not re.match(r"input:[1-9][0-9]*:[1-9][0-9]*: .", value):
        return f"the error does not say where: {value}"
    return None


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    beside = root.resolve().parent / "shared/data/toml-test"
    suite = pathlib.Path(os.environ.get("CORDON_TOML_TEST") or beside)
    listed = suite / "files-toml-1.0.0"
    if not listed.is_file():
        print(f"1..0 # SKIP no toml-test suite at {suite}; CORDON_TOML_TEST says where it is")
        return 0
    peer = Peer(program)
    failures = 0
    number = 0
    for name in listed.read_text(encoding="utf-8").split("\n"):
        if not name.endswith(".toml"):
            continue
        number += 1
        check = check_valid if name.startswith("valid/") else check_invalid
        problem = check(peer, suite / name)
        if problem:
            print(f"# {problem}")
            failures += 1
        print(f"{'not ' if problem else ''}ok {number} - {name}")
    status = peer.close()
    number += 1
    print(f"{'not ' if status else ''}ok {number} - toml2json ends cleanly")
    print(f"1..{number}")
    return 1 if failures or status else 0


if __name__ == "__main__":
    sys.exit(main())
