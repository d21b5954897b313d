#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""list_files and search_files under a policy: what it denies is in no answer (docs/file-tools.md)."""

import os
import random
import shutil

from cli import World, case, run_cases
from mcp_client import Client

DEV = 'default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n'
ROOTS = '[permissions.dev.filesystem.":workspace_roots"]\n'


def session(w):
    client = Client(w)
    client.initialize()
    return client


def ask(client, tool, **arguments):
    """All that a client sees of a call."""
    result = client.call(tool, **arguments)
    return result["content"], result["structuredContent"], result.get("isError", False)


QUESTIONS = [
    ("list_files", {}), ("list_files", {"depth": 1}), ("list_files", {"ignored": True}), ("list_files", {"path": "d"}),
    ("list_files", {"path": "secret"}), ("list_files", {"path": "secret/none"}), ("list_files", {"path": "d/in/here"}),
    ("list_files", {"path": "a.key"}), ("search_files", {"pattern": "needle"}),
    ("search_files", {"pattern": "needle", "limit": 1}), ("search_files", {"pattern": "needle", "limit": 2}),
    ("search_files", {"pattern": "needle", "context": 2}), ("search_files", {"pattern": "needle", "glob": "*.key"}),
    ("search_files", {"pattern": "needle", "glob": "secret/**"}), ("search_files", {"pattern": "needle", "glob": "!z"}),
    ("search_files", {"pattern": "needle", "path": "secret"}), ("search_files", {"pattern": "needle", "path": "a.key"}),
    ("search_files", {"pattern": "needle", "path": "secret/f"}), ("search_files", {"pattern": "("}),
    ("search_files", {"pattern": "needle", "path": "link"}),
]


@case
def an_answer_does_not_tell_whether_what_is_denied_exists(w: World):
    """Each question twice: the denied files are not there, and they are."""
    for name in ("d/in/other", "z", "d/e"):
        w.write(f"repo/{name}", "a needle\n")
    w.write("repo/.gitignore", "x\n")
    (w.repo / "link").symlink_to("secret/f")
    denied = {"secret/f": "a needle\n", "secret/.gitignore": "*\n", "secret/x": "a needle\n", "a.key": "a needle\n",
              "d/b.key": b"\0binary", "d/in/here/f": "a needle\n", "d/in/here/deep/f": "a needle\n"}
    rules = '"secret" = "deny"\n"**/*.key" = "deny"\n"d/in/here" = "deny"\n'
    answers = {}
    for policy in (DEV + ROOTS + rules, DEV):
        w.write_config(policy)
        for exists in (False, True):
            for name, content in denied.items():
                if exists:
                    w.write(f"repo/{name}", content)
            with session(w) as client:
                answers[policy == DEV, exists] = [ask(client, tool, **arguments) for tool, arguments in QUESTIONS]
            for name in ("secret", "a.key", "d/b.key", "d/in/here"):
                path = w.repo / name
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
    for question, without, there in zip(QUESTIONS, answers[False, False], answers[False, True]):
        assert without == there, (question, without, there)
    # The control: without the rules they are seen, and some of what was asked finds something either way.
    differ = [a != b for a, b in zip(answers[True, False], answers[True, True])]
    assert sum(differ) >= len(QUESTIONS) - 5, [q for q, d in zip(QUESTIONS, differ) if not d]
    assert answers[False, True][8][1]["count"] == 3, answers[False, True][8]


@case
def what_is_listed_and_searched_is_what_the_resolver_gives_and_a_command_reads(w: World):
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    files = [f"{a}/{b}" for a in ("p", "q", "r") for b in ("x", "y/z", "y/w.key", "y/v/u")]
    for name in files:
        w.write(f"repo/{name}", "text\n")
    names = sorted({parent for name in files for parent in (name, *list_parents(name))})
    for _ in range(3):
        rules = {rng.choice(["p", "q", "r/y", "q/x", "p/y/v", "**/*.key", "*/y/z"]): rng.choice(["deny", "read"])
                 for _ in range(4)}
        table = "".join(f'"{k}" = "{"deny" if "*" in k else v}"\n' for k, v in rules.items())
        w.write_config(DEV + ROOTS + table)
        access = {name: w.access(w.repo / name) for name in names}
        # A directory that is not shown is not entered.
        shown = {name for name in names if all(access[each] != "deny" for each in (name, *list_parents(name)))}
        with session(w) as client:
            listed = client.call("list_files")["structuredContent"]
            assert {each["path"] for each in listed["entries"]} == shown, (seed, table, listed)
            found = client.call("search_files", pattern="^text$")["structuredContent"]
            assert {each["path"] for each in found["matches"]} == shown & set(files), (seed, table, found)
            command = "grep -rl text . | sed 's|^./||'"
            read = set(client.call("execute_command", command=command)["structuredContent"]["stdout"].split())
        assert shown & set(files) <= read, (seed, table, read)
        for name in read - shown:
            assert access[name] != "deny", (seed, table, name)


def list_parents(name):
    parts = name.split("/")
    return ["/".join(parts[:n]) for n in range(1, len(parts))]


@case
def an_ignore_file_that_is_a_link_and_the_settings_of_a_user_are_not_followed(w: World):
    outside = w.write("outside", "*\n")
    for name in ("one", "two", "sub/three"):
        w.write(f"repo/{name}", "text\n")
    os.makedirs(w.repo / ".git/info")
    w.write("repo/.git/HEAD", "ref: refs/heads/main\n")
    w.write("home/.gitconfig", f"[core]\nexcludesFile = {outside}\n")
    w.write("home/.config/git/ignore", "*\n")
    (w.repo / "sub/.gitignore").symlink_to(outside)
    os.mkfifo(w.repo / ".gitignore")
    (w.repo / ".git/info/exclude").symlink_to(outside)
    w.write_config(DEV)
    with session(w) as client:
        listed = client.call("list_files")["structuredContent"]
        assert {"one", "two", "sub/three"} <= {each["path"] for each in listed["entries"]}, listed
        assert listed["hidden"] == 0, listed
    # The control: files that are none of that are obeyed.
    for name in (".gitignore", "sub/.gitignore", ".git/info/exclude"):
        (w.repo / name).unlink()
    w.write("repo/.gitignore", "one\n")
    w.write("repo/sub/.gitignore", "three\n")
    w.write("repo/.git/info/exclude", "two\n")
    with session(w) as client:
        listed = client.call("list_files")["structuredContent"]
        assert listed["hidden"] == 3, listed


@case
def the_rules_of_a_repository_count_in_a_project_within_it(w: World):
    """The sandbox puts a placeholder where the project has no .git; it is the beginning of no repository."""
    w.write(".git/HEAD", "ref: refs/heads/main\n")
    w.write(".gitignore", "*.o\n")
    for name in ("x.o", "x.c", "sub/y.o", "sub/y.c"):
        w.write(f"repo/{name}", "text\n")
    w.write_config(DEV)
    with session(w) as client:
        listed = client.call("list_files")["structuredContent"]
        assert [each["path"] for each in listed["entries"]] == ["sub", "sub/y.c", "x.c"], listed
        assert listed["hidden"] == 2 and not listed["notes"], listed
        assert client.call("write_file", path="x.o", content="new\n").get("isError"), "git ignores it"
        assert not client.call("write_file", path="x.c", content="new\n").get("isError")


if __name__ == "__main__":
    run_cases()
