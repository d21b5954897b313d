#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Directories that their owner closed, on real files and as an ordinary user.

A command may close what it may write, in one run, and open it again in the
next. What the policy would have found in there must not be lost by that: P3.
Root sees everything, so where the tests run as root they become another user.
"""

import os
import shutil
import sys
import tempfile

import cli
from cli import World, case, run_cases

NOBODY = 65534


def profile(world: World, entries="", more=""):
    world.write_config(
        f'default_permissions = "dev"\n[permissions.dev]\n{more}\n'
        f'[permissions.dev.filesystem]\n":root" = "read"\n{entries}\n'
    )


def git_dir(world: World, name):
    world.write(f"{name}/HEAD", "ref: refs/heads/main\n")
    for directory in ("objects", "refs", "hooks"):
        (world.top / name / directory).mkdir()
    world.write(f"{name}/config")


def refused_while_closed(world: World, closed, path, access, mode=0, hint="chmod"):
    """`path` has that access, `closed` being open; while it is closed all is refused."""
    directory = world.top / closed
    before = directory.stat().st_mode
    assert world.access(world.top / path) == access
    directory.chmod(mode)
    said = world.fails("why", "-q", "--path", str(world.top / path)).err
    assert str(directory) in said and hint in said, said
    directory.chmod(before)
    assert world.access(world.top / path) == access


@case
def a_submodule(world: World):
    git_dir(world, "repo/.git")
    git_dir(world, "repo/.git/modules/sub")
    world.write("repo/.git/modules/sub/config", "[core]\n\tworktree = ../../../sub\n")
    world.write("repo/sub/.git", "gitdir: ../.git/modules/sub\n")
    profile(world, '":workspace_roots" = "write"')
    refused_while_closed(world, "repo/sub", "repo/sub/.git", "read")


@case
def a_submodule_with_a_git_directory_of_its_own(world: World):
    git_dir(world, "repo/.git")
    git_dir(world, "repo/old/.git")
    world.write("repo/.gitmodules", '[submodule "old"]\n\tpath = old\n')
    profile(world, '":workspace_roots" = "write"')
    refused_while_closed(world, "repo/old", "repo/old/.git/config", "read")


@case
def a_link_on_the_way_to_a_deny(world: World):
    world.write("repo/v1/key")
    (world.repo / "conf").mkdir()
    (world.repo / "conf/cur").symlink_to("../v1")
    profile(world, '":workspace_roots" = { "." = "write", "conf/cur/key" = "deny" }')
    refused_while_closed(world, "repo/conf", "repo/v1/key", "deny")


@case
def a_link_that_a_glob_matches(world: World):
    world.write("repo/v1/k2")
    (world.repo / "pems").mkdir()
    (world.repo / "pems/a.pem").symlink_to("../v1/k2")
    profile(world, '":workspace_roots" = { "." = "write", "**/*.pem" = "deny" }')
    refused_while_closed(world, "repo/pems", "repo/v1/k2", "deny")
    # Neither searched nor listed, only searched, only listed.
    refused_while_closed(world, "repo/pems", "repo/v1/k2", "deny", 0o311)
    refused_while_closed(world, "repo/pems", "repo/v1/k2", "deny", 0o644)


@case
def a_workspace_root_and_its_project_file(world: World):
    world.write("outer/ws/.cordon/config.toml", '[filesystem]\n":workspace_roots" = { "s" = "deny" }\n')
    world.write("outer/ws/s")
    roots = f'workspace_roots = {{ "{world.top}/outer/ws" = true }}'
    profile(world, f'"{world.top}/outer" = "write"\n":workspace_roots" = "write"', roots)
    refused_while_closed(world, "outer", "outer/ws/s", "deny")
    refused_while_closed(world, "outer", "outer/ws/.git", "read")
    refused_while_closed(world, "outer/ws", "outer/ws/.git", "read", hint="denied")
    refused_while_closed(world, "outer/ws/.cordon", "outer/ws/s", "deny", hint="denied")


@case
def what_is_closed_and_matters_to_nobody(world: World):
    (world.repo / "closed").mkdir()
    profile(world, '":workspace_roots" = { "." = "write", "*.pem" = "deny" }')
    (world.repo / "closed").chmod(0)
    assert world.access(world.repo / "closed/x") == "write"


def as_nobody():
    """In a child: the parent has to take the copy of the program away."""
    top = tempfile.mkdtemp(prefix="cordon-e2e-", dir="/var/tmp")
    os.chmod(top, 0o755)
    cli.PROGRAM = shutil.copy(cli.PROGRAM, top)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        run_cases()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    shutil.rmtree(top)
    sys.exit(status)


if __name__ == "__main__":
    if os.geteuid() == 0:
        as_nobody()
    run_cases()
