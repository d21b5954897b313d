# SPDX-License-Identifier: MIT
"""Talks to toml2json, and brings TOML values into one comparable form."""
import json
import math
import struct
import subprocess


class Peer:
    """A running toml2json; read() gives ('+', value) or ('-', error text)."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, text):
        self.process.stdin.write(struct.pack(">I", len(text)) + text)
        self.process.stdin.flush()
        head = self.process.stdout.read(5)
        if len(head) < 5:
            raise SystemExit(f"Bail out! toml2json died on {text!r}")
        status, length = struct.unpack(">cI", head)
        answer = self.process.stdout.read(length).decode()
        status = status.decode()
        return (status, plain_tagged(json.loads(answer)) if status == "+" else answer)

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


def plain_float(text):
    value = float(text)
    if math.isnan(value):
        return "nan"
    return value.hex()


def plain_time(text):
    """One spelling of what RFC 3339 lets be spelled in several ways."""
    text = text.upper().replace(" ", "T").replace("Z", "+00:00")
    if text.endswith("-00:00"):
        text = text[:-6] + "+00:00"
    if "." in text:
        head, rest = text.split(".")
        digits = rest[: len(rest) - len(rest.lstrip("0123456789"))]
        fraction = digits[:9].rstrip("0")
        text = head + ("." + fraction if fraction else "") + rest[len(digits):]
    return text


def plain_tagged(value):
    """Tagged JSON to (type, value) pairs, tables to dicts, arrays to lists."""
    if isinstance(value, list):
        return [plain_tagged(item) for item in value]
    if set(value) == {"type", "value"} and isinstance(value["type"], str):
        kind, text = value["type"], value["value"]
        if kind == "float":
            return kind, plain_float(text)
        if kind == "integer":
            return kind, int(text)
        if "date" in kind or "time" in kind:
            return kind, plain_time(text)
        return kind, text
    return {name: plain_tagged(item) for name, item in value.items()}
