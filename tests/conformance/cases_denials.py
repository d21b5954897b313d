# SPDX-License-Identifier: MIT
"""Each refused access is named: what was tried, on what, which rule refused it, and with which error.
Beside it stands what is allowed and what the host's own modes refuse, and neither is named."""

import contextlib
import json
import os
import re
import socket

from cases_network import name_servers
from conform import SOURCES, case, check, these_need

these_need("fs_write")

OPERATIONS = re.findall(
    r'X\(\w+, "([\w-]+)", "', (SOURCES / "src/backend/denials.h").read_text(encoding="utf-8"))

POLICY = """
[permissions.box]
denials = "writes"
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{tmp}" = "write"
"""
DENYING = POLICY.replace('"writes"', '"all"') + """\
"{work}/never" = "deny"
"{top}/denied" = "deny"
"""
READ_RULE = '":root" = "read"'

# operation: [(attempt, what it is about)], below {p}, where each operation has a directory of its own.
CHANGES = {
    "open-write": [("open-write {p}/file", "{p}/file"), ("append {p}/file2", "{p}/file2"),
                   ("open-trunc {p}/file3", "{p}/file3"), ("touch {p}/file4", "{p}/file4"),
                   ("open-write {p}/link", "{p}/file5")],
    "create": [("create {p}/new", "{p}/new"), ("touch {p}/new2", "{p}/new2"), ("create-at {p} new3", "{p}/new3"),
               ("touch {p}/dir/../new4", "{p}/new4")],
    "mkdir": [("mkdir {p}/new", "{p}/new")],
    "mknod": [("mkfifo {p}/new", "{p}/new"), ("mknod {p}/new2 r 0 0", "{p}/new2")],
    "symlink": [("symlink x {p}/new", "{p}/new")],
    "link": [("link {p}/file {p}/new", "{p}/new")],
    "unlink": [("unlink {p}/file", "{p}/file"), ("unlink {p}/link", "{p}/link")],
    "rmdir": [("rmdir {p}/dir", "{p}/dir")],
    "rename": [("rename {p}/file {p}/new", "{p}/file"), ("noreplace {p}/file2 {p}/new2", "{p}/file2"),
               ("exchange {p}/file3 {p}/file4", "{p}/file3")],
    "truncate": [("truncate {p}/file", "{p}/file")],
    "chmod": [("chmod {p}/file 0600", "{p}/file"), ("fchmodat {p}/file2 0600", "{p}/file2")],
    "chown": [("chown {p}/file", "{p}/file"), ("lchown {p}/file2", "{p}/file2")],
    "utime": [("utimes {p}/file", "{p}/file"), ("utimes-link {p}/link", "{p}/link")],
    "xattr": [("setxattr {p}/file", "{p}/file")],
}
METADATA = ("chmod", "chown", "utime")
# These have their own cases below.
OTHERS = {"connect", "unix-connect", "lookup", "read", "exec"}


def tree_at(place):
    tree = {}
    for operation in CHANGES:
        for name in ("file", "file2", "file3", "file4", "file5"):
            tree[f"{place}/{operation}/{name}"] = "text\n"
        tree[f"{place}/{operation}/dir/"] = ""
        tree[f"{place}/{operation}/link"] = "->file5"
    return tree


def all_of(place, operations=tuple(CHANGES)):
    """[(operation, attempt, subject)] of one place."""
    return [(operation, *(text.replace("{p}", f"{place}/{operation}") for text in pair))
            for operation in operations for pair in CHANGES[operation]]


def shut(path):
    """Neither it nor what is in it can be changed by its owner without rights."""
    for where, _, files in os.walk(path, topdown=False):
        for name in files:
            if not os.path.islink(os.path.join(where, name)):
                os.chmod(os.path.join(where, name), 0o444)
        os.chmod(where, 0o555)


def theirs(box):
    """A file that another user owns, whose metadata the command's user could never change."""
    if os.getuid() != 0:
        return ["/etc/passwd"]
    paths = [box.write(name) for name in ("{out}/theirs", "{work}/theirs")]
    for path in paths:
        os.chown(path, 65534, 65534)
    return [str(path) for path in paths]


def line_of(box, text):
    path = box.path("{home}/.config/cordon/config.toml")
    return str(path), path.read_text(encoding="utf-8").splitlines().index(box.fill(text)) + 1


def expect_named(box, expected, found):
    """`expected`: [(operation, subject, line of the policy, errnos)]; these, and nothing else."""
    missing, rest = [], list(found)
    for operation, subject, rule, errors in expected:
        place = line_of(box, rule)
        for one in rest:
            if (one["operation"], one["subject"]) == (operation, box.fill(subject)):
                told = one["errno"], (one["rule"]["file"], one["rule"]["line"]), one["program"], one["guess"]
                check(told == (one["errno"], place, "probe", False) and one["errno"] in errors,
                      f"{operation} {subject}: {one}, not {errors} by {place}")
                rest.remove(one)
                break
        else:
            missing.append((operation, box.fill(subject)))
    shown = [(one["operation"], one["subject"], one["errno"]) for one in rest]
    check(not missing and not rest, f"not named: {missing}\nnamed, but not expected: {shown}")


def run_and_report(box, *attempts, **more):
    """What each attempt came to, and the denials of the report."""
    report = box.path("{top}/report.json")
    got = box.run(*attempts, options=(*box.options, "--report", str(report)), **more)
    found = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    check(found["denials_unlisted"] == 0, f"{found['denials_unlisted']} are not listed")
    return got, found["denials"]


def error_of(arena, operation):
    if arena.backend != "landlock":
        return "EROFS"
    return "EPERM" if operation in (*METADATA, "xattr") else "EACCES"


@case(needs=())
def every_operation_has_a_case_that_names_it(_arena):
    check(set(CHANGES) | OTHERS == set(OPERATIONS), f"{set(OPERATIONS) ^ (set(CHANGES) | OTHERS)}")


@case
def every_refused_change_is_named_and_nothing_else(arena):
    box = arena.box(tree={**tree_at("{out}"), **tree_at("{work}"), **tree_at("{work}/shut"), **tree_at("{top}/shut")},
                    policy=POLICY)
    shut(box.path("{work}/shut"))
    shut(box.path("{top}/shut"))
    allowed, refused = all_of("{work}"), all_of("{out}")
    # By the host's modes, where the policy allows it and where it does not.
    others = [row for place in ("{work}/shut", "{top}/shut") for row in all_of(
        place, [operation for operation in CHANGES if operation not in METADATA])]
    metadata = [f"{how.replace('{f}', path)}" for path in theirs(box)
                for how in ("chmod {f} 0640", "chown {f}", "utimes {f}")]
    attempts = [attempt for _, attempt, _ in allowed + refused + others] + metadata
    got, found = run_and_report(box, *attempts)
    for (_, attempt, _), outcome in zip(allowed, got):
        check(outcome.startswith("OK"), f"allowed, but {outcome}: {attempt}")
    expected = []
    for (operation, attempt, subject), outcome in zip(refused, got[len(allowed):]):
        wanted = error_of(arena, operation)
        check(outcome == wanted, f"{outcome} in place of {wanted}: {attempt}")
        expected.append((operation, subject, READ_RULE, {wanted}))
    for attempt, outcome in zip(attempts[len(allowed + refused):], got[len(allowed + refused):]):
        check(not outcome.startswith("OK"), f"the host's modes allow it: {attempt}")
    expect_named(box, expected, found)


@case(needs={"fs_write", "fs_carve"})
def every_refused_access_to_what_is_denied_is_named(arena):
    tree = {"{work}/tool": "#!/bin/sh\nexit 0\n", "{work}/shut": "#!/bin/sh\n", **tree_at("{out}")}
    for place in ("{work}/never", "{top}/denied"):
        tree.update({f"{place}/file": "text\n", f"{place}/tool": "#!/bin/sh\n", f"{place}/dir/": ""})
    box = arena.box(tree=tree, policy=DENYING)
    os.chmod(box.path("{work}/tool"), 0o755)
    os.chmod(box.path("{work}/shut"), 0o000)
    for place in ("{work}/never", "{top}/denied"):
        os.chmod(box.path(place + "/tool"), 0o755)
    allowed = ["open-read {work}/file", "open-read {out}/file", "exec {work}/tool"]
    attempts, expected = [], []
    for place in ("{work}/never", "{top}/denied"):
        for operation, attempt, subject in (
            ("read", "open-read {p}/file", "{p}/file"), ("read", "list {p}", "{p}"), ("exec", "exec {p}/tool", "{p}/tool"),
            ("open-write", "open-write {p}/file", "{p}/file"), ("create", "create {p}/new", "{p}/new"),
            ("unlink", "unlink {p}/file", "{p}/file"), ("mkdir", "mkdir {p}/new", "{p}/new"),
        ):
            attempts.append(attempt.replace("{p}", place))
            expected.append((operation, subject.replace("{p}", place), f'"{place}" = "deny"', {"EACCES"}))
    shut_ones = ["open-read {work}/shut", "exec {work}/shut"]
    got, found = run_and_report(box, *allowed, *attempts, *shut_ones)
    check(all(outcome.startswith("OK") for outcome in got[:3]), f"{list(zip(allowed, got))}")
    for attempt, outcome in zip(attempts + shut_ones, got[3:]):
        check(outcome == "EACCES", f"{outcome}: {attempt}")
    expect_named(box, expected, found)


@case(needs={"fs_write", "protect_missing"})
def names_that_stand_or_stay_are_named_with_the_error_that_they_give(arena):
    """File exists, where a placeholder stands; busy, where a mount is pinned; read-only, where git's files are."""
    box = arena.box(tree={"{work}/sub/.git/config": "[core]\n", "{work}/sub/.git/HEAD": "ref: refs/heads/main\n"},
                    options=("--mode", "workspace-write"))
    attempts = ["mkdir {work}/.git", "create {work}/.codex", "create {work}/new"]
    got, found = run_and_report(box, *attempts)
    check(got == ["EEXIST", "EEXIST", "OK"], f"{got}")
    named = [(one["operation"], one["subject"], one["errno"]) for one in found]
    check(named == [("mkdir", box.fill("{work}/.git"), "EEXIST"), ("create", box.fill("{work}/.codex"), "EEXIST")],
          f"{named}")


def serve(stack, paths):
    for path in paths:
        server = stack.enter_context(socket.socket(socket.AF_UNIX))
        server.bind(str(path))
        server.listen()
        os.chmod(path, 0o777)


def expect_refused(box, found, expected):
    """`expected`: [(operation, subject, errno, the rule's line of the policy)]; these, in any order, and nothing else.
    None: no line of it says so."""
    told = [(one["operation"], one["subject"], one["errno"], one["rule"]["file"], one["rule"]["line"])
            for one in found]
    wanted = [(operation, box.fill(subject), error, *(line_of(box, rule) if rule else (None, None)))
              for operation, subject, error, rule in expected]
    check(sorted(told, key=repr) == sorted(wanted, key=repr), f"{told}\nnot {wanted}")
    check(all(one["rule"]["text"] and one["program"] == "probe" and not one["guess"] for one in found), f"{found}")


NETWORK = """
[permissions.box]
extends = ":workspace"
[permissions.box.network]
enabled = true
"""


@case(needs=())
def a_refused_socket_of_the_host_is_named_with_its_rule_and_error(arena):
    box = arena.box()
    off = [box.path("{out}/" + name) for name in ("sock",)]
    with contextlib.ExitStack() as stack:
        serve(stack, off)
        got, found = run_and_report(box, "unix-stream {out}/sock", "unix-stream {out}/none", "unix-self {work}/own")
        check(box.bare("unix-stream {out}/sock") == ["OK"], "the control shows nothing")
    check(got[1:] == ["ENOENT", "OK"] and got[0] in ("EACCES", "EPERM"), f"{got}")
    check([(one["kind"], one["rule"]["text"]) for one in found] == [("unix_socket", "the network is off")], f"{found}")
    check((found[0]["operation"], found[0]["subject"], found[0]["errno"]) == ("unix-connect", str(off[0]), got[0]),
          f"{found}")


@case(needs={"net_managed"})
def a_socket_that_an_entry_denies_is_named_with_the_entry(arena):
    box = arena.box(policy=NETWORK + """\
[permissions.box.network.unix_sockets]
"{out}/denied" = "deny"
"{out}/allowed" = "allow"
""")
    with contextlib.ExitStack() as stack:
        serve(stack, [box.path("{out}/" + name) for name in ("other", "denied", "allowed")])
        got, found = run_and_report(box, *[f"unix-stream {{out}}/{name}" for name in ("other", "denied", "allowed")])
        check(box.bare("unix-stream {out}/denied", "unix-stream {out}/other") == ["OK", "OK"],
              "the control shows nothing")
    check(got == ["EACCES", "EACCES", "OK"], f"{got}")
    expect_refused(box, found, [("unix-connect", "{out}/other", "EACCES", None),
                                ("unix-connect", "{out}/denied", "EACCES", '"{out}/denied" = "deny"')])


@case(needs={"net_managed"})
def a_refused_host_is_named_with_its_rule_and_error(arena):
    """By the proxy there is no error, since it answers by its protocol; a plain connection gets one."""
    box = arena.box(policy=NETWORK + """\
[permissions.box.network.domains]
"allowed.example" = "allow"
"denied.example" = "deny"
"192.0.2.7" = "deny"
""")
    got, found = run_and_report(box, "proxy-connect denied.example 443", "proxy-connect other.example 80",
                                "tcp 192.0.2.7 443 0", "tcp 192.0.2.8 443 0", "tcp-self 127.0.0.1")
    check(got == ["EACCES"] * 4 + ["OK"], f"{got}")
    expect_refused(box, found, [("connect", "denied.example:443", None, '"denied.example" = "deny"'),
                                ("connect", "other.example:80", None, None),
                                ("connect", "192.0.2.7:443", "EACCES", '"192.0.2.7" = "deny"'),
                                ("connect", "192.0.2.8:443", "EACCES", None)])


@case(needs={"net_off"})
def a_name_that_is_looked_up_without_a_network_is_named(arena):
    """As long as somebody inside hears of it: not with landlock, where the query itself is refused."""
    box, servers = arena.box(), name_servers()
    got, found = run_and_report(box, *[f"ask-name {server} secret.example" for server in servers],
                                "tcp-self 127.0.0.1")
    named = {(one["kind"], one["operation"], one["subject"], one["rule"]["text"]) for one in found}
    if arena.backend == "landlock":
        check(set(got) <= {"EACCES", "EPERM"} and not named, f"{got} {found}")
        return
    check("OK 3" in got and got[-1] == "OK", f"{servers}: {got}")
    check(named == {("host", "lookup", "secret.example", "the network is off")}, f"{found}")
    allowing = arena.box(options=("--mode", "workspace-write", "--allow-host", "secret.example"))
    got, found = run_and_report(allowing, *[f"ask-name {server} secret.example" for server in servers])
    check(not [one for one in found if one["operation"] == "lookup"], f"{got} {found}")


@case(needs={"fs_write", "fs_carve"})
def what_is_denied_is_named_beside_a_private_tmp(arena):
    box = arena.box(tree={"{top}/denied/file": "text\n"}, policy=(
        '[permissions.box]\ntmp = "private"\n[permissions.box.filesystem]\n":root" = "read"\n"{work}" = "write"\n'
        '"/tmp" = "deny"\n"{top}/denied" = "deny"\n'))
    got, found = run_and_report(box, "create /tmp/new", "open-write {top}/denied/file", env={"TMPDIR": ""})
    check(got == ["OK", "EACCES"], f"{got}")
    expect_named(box, [("open-write", "{top}/denied/file", '"{top}/denied" = "deny"', {"EACCES"})], found)
