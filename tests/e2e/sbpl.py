# SPDX-License-Identifier: MIT
"""A model of SBPL: what a profile of sandbox-exec answers, as far as anybody has found out.

Two readings of how rules rank. "lists": each operation has a list of its own, of the rules for
exactly that name; a rule without a filter is only the default of its operation; in a list the last
rule that matches counts; what a list does not decide goes to the wildcard above it. "text": the last
rule in the text that matches counts, whatever name of the operation it has. Cordon's profiles must
mean the same under both. It is a model: nothing here was compared with a Mac.
"""

import re

READINGS = ("lists", "text")
SPECIAL = b"[]^-\\"


class ProfileError(Exception):
    """What sandbox-exec refuses as a whole."""


# ---- Text -----------------------------------------------------------------------


def read_string(text, at):
    """The bytes of "…", and where it ends."""
    out = bytearray()
    while True:
        c = text[at : at + 1]
        if not c:
            raise ProfileError("a string without an end")
        if c == b'"':
            return bytes(out), at + 1
        if c != b"\\":
            out += c
            at += 1
            continue
        escape = text[at + 1 : at + 2]
        if escape == b"x":
            out.append(int(text[at + 2 : at + 4], 16))
            at += 4
            continue
        if escape not in b'"\\ntr' or not escape:
            raise ProfileError(f"unknown escape {escape!r}")
        out += {b"n": b"\n", b"t": b"\t", b"r": b"\r"}.get(escape, escape)
        at += 2


def parse(text):
    """Lists of lists; a string is ("string", bytes), a symbol is str, a number is int."""
    stack, at = [[]], 0
    while at < len(text):
        c = text[at : at + 1]
        if c in b" \t\r\n":
            at += 1
        elif c == b";":
            end = text.find(b"\n", at)
            at = len(text) if end < 0 else end
        elif c == b"(":
            stack.append([])
            at += 1
        elif c == b")":
            if len(stack) < 2:
                raise ProfileError("a ) too many")
            done = stack.pop()
            stack[-1].append(done)
            at += 1
        elif text[at : at + 2] == b'#"':
            end = text.index(b'"', at + 2)
            stack[-1].append(("string", text[at + 2 : end]))
            at = end + 1
        elif c == b'"':
            value, at = read_string(text, at + 1)
            stack[-1].append(("string", value))
        else:
            word = re.compile(rb'[^\s()";]+').match(text, at)
            if not word:
                raise ProfileError(f"unexpected {c!r}")
            name = word.group().decode()
            stack[-1].append(int(name) if name.isdigit() else name)
            at = word.end()
    if len(stack) != 1:
        raise ProfileError("a ( too many")
    return stack[0]


# ---- Regexes --------------------------------------------------------------------


def compile_regex(pattern):
    """The subset that everybody agrees on, as a regex of Python; the rest is refused."""
    at, in_class, out = 0, False, bytearray()
    while at < len(pattern):
        c = pattern[at : at + 1]
        if in_class:
            if c == b"\\":
                raise ProfileError("an escape in a class")
            in_class = c != b"]"
            out += c if c in b"]^-/" or c.isalnum() else b"\\x%02x" % c[0]
            at += 1
            continue
        if c == b"\\":
            if pattern[at + 1 : at + 2].isalnum() or at + 1 == len(pattern):
                raise ProfileError("an escape of a letter")
            out += re.escape(pattern[at + 1 : at + 2])
            at += 2
            continue
        if c in b"{}" or pattern[at : at + 2] == b"(?":
            raise ProfileError("what nobody has shown")
        if c == b".":
            raise ProfileError("a dot, of which nobody knows whether it matches a newline")
        if c == b"[":
            in_class = True
            out += c
            at += 1
            if pattern[at : at + 1] == b"^":
                out += b"^"
                at += 1
            if pattern[at : at + 1] in (b"]", b""):
                raise ProfileError("an empty class")
            continue
        out += b"\\Z" if c == b"$" else c if c in b"^*+?|()" else re.escape(c)
        at += 1
    if in_class:
        raise ProfileError("a class without an end")
    return re.compile(bytes(out), re.DOTALL)


# ---- Rules ----------------------------------------------------------------------

PATH_FILTERS = ("literal", "subpath", "path", "regex", "prefix")
OTHER_FILTERS = (
    "target", "sysctl-name", "sysctl-name-prefix", "global-name", "local-name", "extension",
    "iokit-registry-entry-class", "ipc-posix-name-regex", "ipc-posix-name-prefix", "socket-domain",
    "socket-protocol", "vnode-type",
)


class Profile:
    def __init__(self, text, params):
        self.params = {k: v.encode("utf-8", "surrogateescape") for k, v in params.items()}
        self.rules = []
        self.regexes = {}
        forms = parse(text.encode("utf-8", "surrogateescape"))
        if forms[:1] != [["version", 1]]:
            raise ProfileError("no version")
        for form in forms[1:]:
            if not isinstance(form, list) or form[0] not in ("allow", "deny"):
                raise ProfileError(f"unknown form {form!r}")
            operations = [x for x in form[1:] if isinstance(x, str)]
            filters = [x for x in form[1:] if isinstance(x, list)]
            if len(operations) + len(filters) != len(form) - 1 or not operations:
                raise ProfileError(f"unknown rule {form!r}")
            self.rules.append((form[0] == "allow", operations, [self.filter(x) for x in filters]))

    def value(self, x):
        if isinstance(x, list) and x[0] == "param":
            if x[1][1].decode() not in self.params:
                raise ProfileError("a parameter that is not given")
            return self.params[x[1][1].decode()]
        if not isinstance(x, tuple):
            raise ProfileError(f"no string: {x!r}")
        return x[1]

    def filter(self, x):
        kind = x[0]
        if kind in ("require-all", "require-any", "require-not"):
            return (kind, [self.filter(y) for y in x[1:]])
        if kind == "regex":
            return (kind, [compile_regex(self.value(y)) for y in x[1:]])
        if kind in PATH_FILTERS:
            values = [self.value(y) for y in x[1:]]
            for value in values:
                if not value.startswith(b"/") or (value != b"/" and value.endswith(b"/")):
                    raise ProfileError("a path that no filter matches")
            return (kind, values)
        if kind in ("remote", "local"):
            address = self.value(x[2]) if len(x) > 2 else b"*:*"
            if address.rpartition(b":")[0] not in (b"*", b"localhost"):
                raise ProfileError("an address that no profile takes")
            return (kind, address)
        if kind in OTHER_FILTERS:
            return ("other", x)
        raise ProfileError(f"unknown filter {kind}")

    def matches(self, f, subject):
        kind, values = f
        if kind == "require-all":
            return all(self.matches(y, subject) for y in values)
        if kind == "require-any":
            return any(self.matches(y, subject) for y in values)
        if kind == "require-not":
            return not any(self.matches(y, subject) for y in values)
        if kind in ("remote", "local"):
            if not isinstance(subject, tuple) or subject[0] != kind:
                return False
            host, _, port = values.rpartition(b":")
            return host in (b"*", subject[1]) and port in (b"*", subject[2])
        if not isinstance(subject, bytes):
            return False
        if kind in ("literal", "path"):
            return subject in values
        if kind == "subpath":
            return any(subject == v or subject.startswith(v.rstrip(b"/") + b"/") for v in values)
        if kind == "regex":
            return any(v.search(subject) for v in values)
        return False

    # ---- Answers ----

    def allows(self, operation, subject, reading):
        return getattr(self, "by_" + reading)(operation, subject)

    def applies(self, filters, subject):
        return any(self.matches(f, subject) for f in filters)

    def by_text(self, operation, subject):
        names, answer = wildcards(operation), None
        for allow, operations, filters in self.rules:
            if set(names) & set(operations) and (not filters or self.applies(filters, subject)):
                answer = allow
        return bool(answer)

    def by_lists(self, operation, subject):
        for name in wildcards(operation):
            default = answer = None
            for allow, operations, filters in self.rules:
                if name not in operations:
                    continue
                if not filters:
                    default = allow
                elif self.applies(filters, subject):
                    answer = allow
            if answer is None:
                answer = default
            if answer is not None:
                return answer
        return False


def wildcards(operation):
    """file-write-unlink, file-write*, file*, default."""
    parts = operation.split("-")
    names = [operation]
    for n in range(len(parts), 0, -1):
        names.append("-".join(parts[:n]) + "*")
    return names + ["default"]
