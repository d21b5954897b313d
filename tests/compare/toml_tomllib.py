#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our TOML with python's tomllib over thousands of damaged documents:
both must accept and refuse the same ones, and mean the same by them.
toml_tomllib.py TOML2JSON CORPUS_DIR; CORDON_SEED repeats a run, CORDON_CASES
sets how many."""
import datetime
import os
import pathlib
import random
import re
import sys
import time

from toml_peer import Peer, plain_float, plain_time

try:
    import tomllib
except ImportError:
    tomllib = None

PIECES = [
    b"=", b".", b",", b"[", b"]", b"[[", b"]]", b"{", b"}", b"#", b'"', b"'", b'"""', b"'''",
    b"\\", b"\\u00e9", b"\\U0001F600", b"\\uD800", b"\\x41", b"\\\n", b"\n", b"\r\n", b"\r", b"\t",
    b" ", b"\0", b"\x1f", b"\x7f", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"a", b"a.b", b"a = 1\n",
    b"[a]\n", b"[[a]]\n", b"[a.b]\n", b"a.b.c = 1\n", b"{a = 1}", b"{}", b"[]", b"[1, 2]", b"true",
    b"false", b"inf", b"nan", b"+", b"-", b"_", b"0", b"1", b"9", b"0x", b"0o", b"0b", b"e", b"E5",
    b"1.5", b"1e400", b"1_0", b"1979-05-27", b"1979-05-27T07:32:00Z", b"07:32:00", b".5", b"+01:00",
    b"-00:00", b"T", b"t", b"z", b"9223372036854775807", b"-9223372036854775808",
]

SEEDS = [
    b"",
    b"a = 1\nb = 'two'\nc = [3.0, 4]\n",
    b'[x]\ny = """\nline \\\n   more"""\n[x.z]\nw = {k = 1, l.m = 2}\n',
    b"[[p]]\nq = 1\n[[p]]\nr.s = 2\n[p.t]\n",
    b"d = 1987-07-05T17:45:00.123456Z\ne = 1987-07-05\nf = 17:45:00\ng = 1987-07-05 17:45:00-03:30\n",
    b"h = [0xff, 0o17, 0b11, 1_000, +1, -1, 6.26e-34, -inf, nan]\n",
    b"\"quoted \\t key\".'raw key' = \"\\\"\\\\\\u00e9\"\n",
    b"i = [\n  1, # one\n  2,\n]\n",
]


def plain(value):
    """A value of tomllib in the form of toml_peer.plain_tagged()."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bool):
        return "bool", "true" if value else "false"
    if isinstance(value, int):
        return "integer", value
    if isinstance(value, float):
        return "float", plain_float(repr(value))
    if isinstance(value, datetime.datetime):
        kind = "datetime" if value.tzinfo else "datetime-local"
        return kind, plain_time(value.isoformat())
    if isinstance(value, datetime.date):
        return "date-local", value.isoformat()
    if isinstance(value, datetime.time):
        return "time-local", plain_time(value.isoformat())
    return "string", value


def cut_fractions(value):
    """tomllib keeps microseconds, we keep nanoseconds."""
    if isinstance(value, dict):
        return {name: cut_fractions(item) for name, item in value.items()}
    if isinstance(value, list):
        return [cut_fractions(item) for item in value]
    kind, text = value
    if "date" in kind or "time" in kind:
        return kind, plain_time(re.sub(r"(\.[0-9]{6})[0-9]+", r"\1", text))
    return value


def has_large_integer(value):
    if isinstance(value, dict):
        return any(has_large_integer(item) for item in value.values())
    if isinstance(value, list):
        return any(has_large_integer(item) for item in value)
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def explain(text, ours, theirs, error):
    """Why a difference is tomllib's and known, or None. Each names what TOML 1.0 says."""
    accepted, answer = ours
    if accepted == "+" and theirs is None:
        # The same text with a second and a year that python has must be fine.
        mended = re.sub(rb"([0-2][0-9]:[0-5][0-9]):60", rb"\1:59", text)
        mended = re.sub(rb"0000(-[01][0-9]-[0-3][0-9])", rb"0004\1", mended)
        if mended != text and read_theirs(mended)[0] is not None:
            return "RFC 3339 has leap seconds and the year 0; python's datetime has not"
    if accepted == "-" and theirs is not None:
        if has_large_integer(theirs) and "an integer must lie between" in answer:
            return "an integer over 64 bits must be an error; python's have no limit"
        if "nested more than" in answer:
            return "our depth limit"
    if accepted == "-" and isinstance(error, RecursionError):
        return "our depth limit"
    return None


def damage(rng, text, documents):
    """One small change: a piece put in, bytes cut or changed, lines moved, documents joined."""
    at = rng.randint(0, len(text))
    kind = rng.randrange(6)
    if kind == 0:
        return text[:at] + rng.choice(PIECES) + text[at + rng.randrange(3):]
    if kind == 1:
        return text[:at] + text[at + rng.randint(1, 4):]
    if kind == 2:
        return text[:at] + bytes([rng.randrange(256)]) + text[at + 1:]
    if kind == 3:
        lines = text.split(b"\n")
        lines.insert(rng.randint(0, len(lines)), rng.choice(lines))
        return b"\n".join(lines)
    if kind == 4:
        lines = text.split(b"\n")
        rng.shuffle(lines)
        return b"\n".join(lines)
    return text + b"\n" + rng.choice(documents)


def read_theirs(text):
    """The value or None, and the error. A byte order mark is left to tomllib's caller."""
    try:
        return tomllib.loads(text.removeprefix(b"\xef\xbb\xbf").decode("utf-8")), None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return None, error


def main():
    if tomllib is None:
        print("1..0 # SKIP this python has no tomllib (3.11 and later have)")
        return 0
    program, corpus = sys.argv[1], pathlib.Path(sys.argv[2])
    seed = int(os.environ.get("CORDON_SEED") or time.time_ns() % 2**32)
    cases = int(os.environ.get("CORDON_CASES") or 20000)
    print(f"# CORDON_SEED={seed}", flush=True)
    rng = random.Random(seed)
    files = [path.read_bytes() for path in sorted(corpus.iterdir())]
    documents = SEEDS + [text for text in files if len(text) < 2000]
    peer = Peer(program)
    accepted, known, failures = 0, {}, 0
    for _ in range(cases):
        text = rng.choice(documents)
        for _ in range(rng.randrange(4)):
            text = damage(rng, text, documents)
        ours = peer.read(text)
        theirs, error = read_theirs(text)
        if ours[0] == "+" and theirs is not None and cut_fractions(ours[1]) == plain(theirs):
            accepted += 1
            continue
        if ours[0] == "-" and theirs is None:
            continue
        reason = explain(text, ours, theirs, error)
        if reason:
            known[reason] = known.get(reason, 0) + 1
            continue
        failures += 1
        if failures <= 10:
            print(f"# {text!r}\n#   ours {ours}\n#   tomllib {error or plain(theirs)}")
    status = peer.close()
    print(f"# {cases} documents, both accepted {accepted}")
    for reason, count in sorted(known.items()):
        print(f"# known, {count}: {reason}")
    mixed = cases / 20 < accepted < cases
    print(f"{'not ' if failures else ''}ok 1 - our TOML agrees with tomllib")
    print(f"{'' if mixed else 'not '}ok 2 - enough documents are accepted, and not all")
    print(f"{'not ' if status else ''}ok 3 - toml2json ends cleanly")
    print("1..3")
    return 1 if failures or status or not mixed else 0


if __name__ == "__main__":
    sys.exit(main())
