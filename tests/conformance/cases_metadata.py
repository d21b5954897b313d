# SPDX-License-Identifier: MIT
"""Metadata that others trust (P9 to P11): .git and its relatives, whatever shape they have."""

import json
import os
import shutil
import socket
import subprocess
import threading

from conform import HIDDEN, READ_ONLY, Skip, await_path, case, check, check_same, rows, these_need

NAMES = [".git", ".codex", ".agents", ".cordon", ".claude", ".vscode", ".hg", ".husky"]
FILES = [".mcp.json", "opencode.json", ".aider.conf.yml"]
REFUSED = READ_ONLY | {"EEXIST", "EISDIR", "ENOTDIR", "ENOTEMPTY", "EADDRINUSE"}

# ---- Missing and existing names ---------------------------------------------------------

these_need("fs_carve", "protect_missing")

for _name in [*NAMES, *FILES]:
    _label = _name.strip(".").replace(".", "_")
    rows(
        f"a_missing_{_label}_can_not_be_made",
        needs={"protect_missing"},
        refused=[
            f"mkdir {{work}}/{_name}",
            f"create {{work}}/{_name}",
            f"symlink plain {{work}}/{_name}",
            f"rename {{work}}/plain {{work}}/{_name}",
            f"noreplace {{work}}/plain {{work}}/{_name}",
            f"link {{work}}/file {{work}}/{_name}",
            f"mkfifo {{work}}/{_name}",
            f"bind-name {{work}}/{_name}",
        ],
        allowed=["mkdir {work}/.other", "create {work}/.gitignore"],
        errors=REFUSED,
        tree={"{work}/plain/config": "planted\n"},
        watch=("{out}", "{work}/plain"),
    )

for _name in NAMES:
    _label = _name[1:]
    rows(
        f"an_existing_{_label}_can_not_be_moved_or_changed",
        needs={"fs_carve"},
        refused=[
            f"write {{work}}/{_name}/config",
            f"create {{work}}/{_name}/new",
            f"unlink {{work}}/{_name}/config",
            f"rename {{work}}/{_name} {{work}}/old",
            f"exchange {{work}}/{_name} {{work}}/plain",
            f"exchange {{work}}/plain {{work}}/{_name}",
            f"link {{work}}/{_name}/config {{work}}/hard",
            f"setxattr {{work}}/{_name}/config",
            f"chmod {{work}}/{_name} 0700",
        ],
        allowed=[f"read {{work}}/{_name}/config", "create {work}/new"],
        errors=REFUSED,
        tree={f"{{work}}/{_name}/config": "[core]\n", "{work}/plain/config": "planted\n"},
        watch=("{out}", f"{{work}}/{_name}", "{work}/plain"),
    )


for _name in FILES:
    _label = _name.strip(".").replace(".", "_")
    rows(
        f"an_existing_{_label}_can_not_be_moved_or_changed",
        needs={"fs_carve"},
        refused=[
            f"write {{work}}/{_name}",
            f"unlink {{work}}/{_name}",
            f"rename {{work}}/{_name} {{work}}/old",
            f"rename {{work}}/plain {{work}}/{_name}",
            f"exchange {{work}}/plain {{work}}/{_name}",
            f"symlink-over plain {{work}}/{_name}",
            f"link {{work}}/{_name} {{work}}/hard",
            f"setxattr {{work}}/{_name}",
            f"chmod {{work}}/{_name} 0600",
        ],
        allowed=[f"read {{work}}/{_name}", "create {work}/new"],
        errors=REFUSED,
        tree={f"{{work}}/{_name}": "{}\n", "{work}/plain": "planted\n"},
        watch=("{out}", f"{{work}}/{_name}", "{work}/plain"),
    )

rows(
    "names_in_a_directory_of_others_can_not_be_made_where_that_is",
    needs={"fs_carve", "protect_missing"},
    refused=[
        "mkdir {work}/.github/hooks",
        "rename {work}/plain {work}/.github/hooks",
        "create {work}/.github/lsp.json",
        "rename {work}/.github {work}/old",
        "exchange {work}/.github {work}/plain",
        "mkdir {work}/.clinerules/hooks",
    ],
    allowed=["create {work}/.github/workflows/x.yml", "create {work}/.clinerules/rule.md"],
    errors=REFUSED,
    tree={"{work}/.github/workflows/": "", "{work}/.clinerules/": "", "{work}/plain/config": "planted\n"},
    watch=("{out}", "{work}/plain"),
)


@case(needs={"fs_write"})
def names_that_people_run_on_purpose_or_below_the_first_level_stay_writable(arena):
    """And where the directory before a name is missing it may be made."""
    attempts = ["mkdir {work}/.github", "mkdir {work}/.github/hooks", "create {work}/Makefile", "create {work}/package.json",
                "create {work}/.envrc", "mkdir {work}/sub", "mkdir {work}/sub/.claude", "create {work}/sub/.mcp.json"]
    box = arena.box()
    got = box.outcomes(attempts, box.argv(*attempts))
    check(got == ["OK"] * len(attempts), f"{got}")


@case(needs={"fs_carve", "protect_missing"})
def one_name_is_unprotected_and_the_others_are_not(arena):
    attempts = ["mkdir {work}/.vscode", "create {work}/.mcp.json", "mkdir {work}/.claude", "mkdir {work}/.cordon"]
    options = ("--mode", "workspace-write", "--unprotect", ".vscode", "--unprotect", ".mcp.json")
    box = arena.box(options=options)
    got = box.outcomes(attempts, box.argv(*attempts))
    check(got[:2] == ["OK", "OK"] and set(got[2:]) <= REFUSED, f"{got}")
    check(box.bare(*attempts[2:]) == ["OK", "OK"], "the control shows nothing")


@case(needs={"fs_carve", "protect_missing"})
def what_the_host_puts_in_the_place_of_a_placeholder_stays(arena):
    """A program outside saves its settings by a rename while a run lasts: they are not removed with it."""
    for name in (".mcp.json", "opencode.json"):
        box = arena.box()
        process = box.start(box.argv("hold {work}/ready"))
        await_path(box.path("{work}/ready"))
        box.write("{work}/saved", "of the host\n")
        os.rename(box.path("{work}/saved"), box.path(f"{{work}}/{name}"))
        # The run is ended for it (P8), and what was put there is left alone.
        _, err = process.communicate()
        check(process.returncode == 125 and name in err.decode(), f"status {process.returncode}: {err}")
        box.arena.check_nothing_lives()
        check(box.path(f"{{work}}/{name}").read_bytes() == b"of the host\n", "it was removed")
        check(sorted(os.listdir(box.work)) == sorted(["file", "ready", name]), f"left: {os.listdir(box.work)}")


@case
def every_writable_root_is_protected_not_only_the_workspace(arena):
    tree = {"{out}/repo/.git/config": "[core]\n", "{out}/repo/file": "x"}
    options = ("--mode", "workspace-write", "--add-write", "{out}/repo")
    box = arena.box(tree=tree, options=options, watch=("{out}/repo/.git",))
    before = box.snapshot()
    got = box.run("write {out}/repo/file", "write {out}/repo/.git/config", "mkdir {out}/repo/.codex")
    check(got[0] == "OK" and set(got[1:]) <= REFUSED, f"{got}")
    check_same(before, box.snapshot(), "was changed")
    got = box.bare("write {out}/repo/.git/config", "mkdir {out}/repo/.codex")
    check(got == ["OK", "OK"], f"the control shows nothing: {got}")


@case
def an_explicit_write_entry_lifts_protection_there(arena):
    policy = """
[permissions.box]
extends = ":workspace"
[permissions.box.filesystem]
"{work}/.codex" = "write"
"""
    tree = {"{work}/.codex/file": "x", "{work}/.git/config": "x"}
    box = arena.box(tree=tree, policy=policy)
    got = box.run("write {work}/.codex/file", "write {work}/.git/config")
    check(got[0] == "OK" and got[1] in READ_ONLY, f"{got}")
    check(box.bare("write {work}/.git/config") == ["OK"], "the control shows nothing")


@case
def names_that_the_policy_adds_are_protected_too(arena):
    policy = '[permissions.box]\nextends = ":workspace"\nprotect = [".husky", "ci"]\n'
    box = arena.box(tree={"{work}/ci/file": "x"}, policy=policy, watch=("{work}/ci",))
    before = box.snapshot()
    got = box.run("create {work}/new", "mkdir {work}/.husky", "write {work}/ci/file",
                  "rename {work}/ci {work}/old")
    check(got[0] == "OK" and set(got[1:]) <= REFUSED, f"{got}")
    check_same(before, box.snapshot(), "was changed")
    got = box.bare("mkdir {work}/.husky", "write {work}/ci/file", "rename {work}/ci {work}/old")
    check(got == ["OK"] * 3, f"the control shows nothing: {got}")


# ---- Bare layouts --------------------------------------------------------------------------

BARE = ["create {work}/HEAD", "mkdir {work}/refs", "mkdir {work}/objects"]


@case(needs={"protect_missing"})
def a_bare_layout_can_not_be_made_in_a_workspace(arena):
    """HEAD, refs and objects side by side are a repository, whose config git would run."""
    box = arena.box()
    makes = ["{work}/HEAD", "{work}/refs", "{work}/objects"]
    got = box.run("create {work}/config", "create {work}/commondir", *BARE, makes=makes)
    check(got[0] == "OK" and got[1] in REFUSED, f"{got}")
    check(not all(one == "OK" for one in got[2:]), f"a repository was made: {got}")
    equal = arena.box()
    got = equal.bare("create {work}/commondir", *BARE)
    check(got == ["OK"] * 4, f"the control shows nothing: {got}")


@case(needs={"protect_missing"})
def the_last_missing_part_of_a_bare_layout_can_not_be_made(arena):
    for missing in BARE:
        kind, path = missing.split()
        tree = {"{work}/HEAD": "ref: refs/heads/main\n", "{work}/refs/": "", "{work}/objects/": ""}
        tree.pop(path + ("/" if kind == "mkdir" else ""))
        box = arena.box(tree=tree)
        got = box.run(missing, "create {work}/new", makes=[path])
        check(got[0] in REFUSED and got[1] == "OK", f"{missing}: {got}")
        check(box.bare(missing) == ["OK"], "the control shows nothing")


@case
def a_root_that_is_a_git_directory_is_protected(arena):
    tree = {"{work}/HEAD": "ref: refs/heads/main\n", "{work}/refs/heads/": "", "{work}/objects/": ""}
    tree |= {"{work}/config": "[core]\n", "{work}/hooks/": ""}
    box = arena.box(tree=tree, watch=("{work}/config", "{work}/hooks"))
    before = box.snapshot()
    attempts = ["write {work}/config", "create {work}/hooks/post-commit", "create {work}/commondir"]
    got = box.run("read {work}/config", *attempts)
    check(got[0].startswith("OK") and set(got[1:]) <= REFUSED, f"{got}")
    check_same(before, box.snapshot(), "was changed")
    check(box.bare(*attempts) == ["OK"] * 3, "the control shows nothing")


# ---- Pointers ---------------------------------------------------------------------------------

POINTER_TREE = {
    "{work}/.git": "gitdir: {work}/store/linked\n",
    "{work}/store/linked/HEAD": "ref: refs/heads/main\n",
    "{work}/store/linked/commondir": "../main\n",
    "{work}/store/linked/gitdir": "{work}/.git\n",
    "{work}/store/main/HEAD": "ref: refs/heads/main\n",
    "{work}/store/main/config": "[core]\n",
    "{work}/store/main/hooks/": "",
    "{work}/store/main/objects/": "",
    "{work}/store/main/refs/": "",
    "{work}/evil/config": "[core]\n",
}

rows(
    "a_gitdir_pointer_protects_the_file_and_where_it_leads",
    refused=[
        "write {work}/.git",
        "unlink {work}/.git",
        "rename {work}/evil/config {work}/.git",
        "write {work}/store/linked/commondir",
        "write {work}/store/linked/HEAD",
        "write {work}/store/main/config",
        "create {work}/store/main/hooks/post-checkout",
        "rename {work}/store {work}/old",
        "rename {work}/store/main {work}/old",
        "exchange {work}/store/linked {work}/evil",
    ],
    allowed=["read {work}/.git", "create {work}/store/new", "create {work}/new"],
    errors=REFUSED,
    tree=POINTER_TREE,
    watch=("{work}/.git", "{work}/store/linked", "{work}/store/main", "{out}"),
)

rows(
    "a_pointer_to_a_writable_place_elsewhere_is_followed",
    refused=["write {tmp}/store/config", "create {tmp}/store/hooks/x", "rename {tmp}/store {tmp}/o"],
    allowed=["create {tmp}/new"],
    errors=REFUSED,
    tree={
        "{work}/.git": "gitdir: {tmp}/store\n",
        "{tmp}/store/HEAD": "ref: refs/heads/main\n",
        "{tmp}/store/config": "[core]\n",
        "{tmp}/store/hooks/": "",
        "{tmp}/store/objects/": "",
        "{tmp}/store/refs/": "",
    },
    watch=("{work}/.git", "{tmp}/store", "{out}"),
)

rows(
    "a_symlinked_git_is_protected_as_a_link_and_as_what_it_leads_to",
    refused=[
        "write {work}/.git/config",
        "write {work}/store/real/config",
        "unlink {work}/.git",
        "rename {work}/.git {work}/old",
        "symlink-over evil {work}/.git",
        "rename {work}/evil/config {work}/.git",
        "rename {work}/store {work}/old",
        "rename {work}/store/real {work}/old",
    ],
    allowed=["read {work}/.git/config", "create {work}/new", "create {work}/store/new"],
    errors=REFUSED,
    tree={
        "{work}/.git": "->store/real",
        "{work}/store/real/HEAD": "ref: refs/heads/main\n",
        "{work}/store/real/config": "[core]\n",
        "{work}/store/real/objects/": "",
        "{work}/store/real/refs/": "",
        "{work}/evil/config": "[core]\n",
    },
    watch=("{work}/.git", "{work}/store/real", "{out}"),
)


@case
def dangling_and_looping_metadata_links_are_held_or_refused_by_name(arena):
    for link in ("nowhere", ".codex", "decoy"):
        box = arena.box(tree={"{work}/.codex": f"->{link}", "{work}/decoy/": ""})
        argv = box.argv("unlink {work}/.codex", "mkdir {work}/nowhere", "create {work}/.codex/evil",
                        "symlink-over decoy {work}/.codex", "create {work}/new")
        out, err, status = box.finish(argv, status=None)
        if status == 125:
            check(".codex" in err, f"the link is not named: {err}")
            continue
        got = out.splitlines()
        check(status == 0 and got[4] == "OK", f"{got} {err}")
        check(got[0] in REFUSED and got[3] in REFUSED, f"{link}: {got}")
        check(got[2] in REFUSED | HIDDEN | {"ELOOP"}, f"{link}: {got}")
        check(os.readlink(box.path("{work}/.codex")) == link, "the link was changed")
        check(not os.listdir(box.path("{work}/decoy")), "something was planted")
    box = arena.box(tree={"{work}/.codex": "->decoy", "{work}/decoy/": ""})
    check(box.bare("create {work}/.codex/evil", "unlink {work}/.codex") == ["OK", "OK"], "control")


# ---- With the real git ------------------------------------------------------------------------

GIT_CONFIG = """
[user]
	name = A
	email = a@example.com
[init]
	defaultBranch = main
[protocol "file"]
	allow = always
[advice]
	detachedHead = false
[safe]
	directory = *
"""


class Git:
    def __init__(self, box):
        if shutil.which("git") is None:
            raise Skip("there is no git")
        self.box = box
        config = box.write("{top}/gitconfig", GIT_CONFIG)
        box.env |= {"GIT_CONFIG_GLOBAL": str(config), "GIT_CONFIG_NOSYSTEM": "1", "GIT_EDITOR": "true"}

    def __call__(self, where, *words, status=0):
        command = ["git", "-C", self.box.fill(where), *words]
        done = subprocess.run(command, env=self.box.env, capture_output=True, text=True, check=False)
        check(done.returncode == status, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def init(self, where):
        self.box.path(where).mkdir(parents=True, exist_ok=True)
        self(where, "init", "-q")
        self.box.write(f"{where}/tracked", "one\n")
        self(where, "add", "tracked")
        self(where, "commit", "-qm", "one")

    def inside(self, script, where="{work}", status=0, **more):
        """A shell script in the sandbox; what was there before is there after, and no more."""
        before = self.box.listing()
        argv = [*self.box.argv(), "/bin/sh", "-ec", self.box.fill(script)]
        out, err, _ = self.box.finish(argv, status=status, cwd=self.box.fill(where), **more)
        self.box.arena.check_nothing_lives()
        left = self.box.listing() - before
        left = [p for p in left if ".git" not in p.split("/")[:-1] and f"{self.box.work}/sub" not in p]
        check(not left, f"left behind: {left}")
        return out + err


COMMIT = '[permissions.box]\nextends = ":workspace"\ngit = "commit"\n'
# Names in a git directory that git runs, or follows.
CARVED = ["config", "config.worktree", "commondir", "gitdir", "hooks/post-commit", "objects/info/alternates"]


def try_carved(box, directory, allowed):
    attempts = []
    for name in CARVED:
        path = f"{directory}/{name}"
        attempts += [f"create {path}", f"write {path}", f"symlink-over x {path}", f"unlink {path}"]
    attempts += [f"rename {directory}/hooks {directory}/h2", f"rename {directory}/objects {directory}/o2"]
    attempts += [f"exchange {directory}/hooks {directory}/logs"]
    got = box.run(f"create {directory}/{allowed}", *attempts)
    check(got[0] == "OK", f"{allowed} can't be made: {got[0]}")
    for attempt, one in zip(attempts, got[1:]):
        check(one in REFUSED | {"ENOENT"}, f"{one}: {attempt}")


@case
def git_commit_mode_works_and_keeps_what_git_runs(arena):
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{work}")
    shutil.rmtree(box.path("{work}/.git/hooks"), ignore_errors=True)
    os.makedirs(box.path("{work}/.git/hooks"))
    before = box.path("{work}/.git/config").read_bytes()
    git.inside("echo two >two; git add two; git commit -qm two; git branch side; git checkout -q side;"
               "echo 3 >>tracked; git stash -q; git stash pop -q; git commit -qam three;"
               "git rebase -q main; git status --porcelain")
    check(git("{work}", "log", "--format=%s").split() == ["three", "two", "one"], "not committed")
    check(git("{work}", "status", "--porcelain").split() == ["??", "file"], "git status is not clean")
    try_carved(box, "{work}/.git", "COMMIT_EDITMSG2")
    # Remotes of old: a push to one that the command has made would run its hooks.
    shutil.rmtree(box.path("{work}/.git/branches"), ignore_errors=True)
    for name in ("remotes", "branches"):
        got = box.run(f"mkdir {{work}}/.git/{name}", f"create {{work}}/.git/{name}/origin")
        check(set(got) <= REFUSED | {"ENOENT", "EEXIST"}, f"{name}: {got}")
        os.makedirs(box.path(f"{{work}}/.git/{name}"))
        got = box.run(f"create {{work}}/.git/{name}/origin", f"rename {{work}}/.git/{name} {{work}}/.git/x")
        check(set(got) <= REFUSED, f"{name}, which is there: {got}")
    got = box.run("rename {work}/.git {work}/old", "symlink-over x {work}/.git")
    check(set(got) <= REFUSED, f"{got}")
    check(box.path("{work}/.git/config").read_bytes() == before, "config was changed")
    left = [n for n in CARVED if n != "config" and os.path.lexists(box.path("{work}/.git/" + n))]
    check(not left, f"left in .git: {left}")
    equal = arena.box()
    Git(equal).init("{work}")
    got = equal.bare("write {work}/.git/config", "create {work}/.git/commondir",
                     "create {work}/.git/hooks/post-commit", "mkdir {work}/.git/remotes",
                     "create {work}/.git/remotes/origin")
    check(got == ["OK"] * 5, f"the control shows nothing: {got}")


@case
def git_read_mode_lets_git_look_but_not_commit(arena):
    box = arena.box()
    git = Git(box)
    git.init("{work}")
    box.watch = ("{work}/.git",)
    before = box.snapshot()
    out = git.inside("git status --porcelain; git log --format=%s; git diff HEAD; ! git commit -qam x")
    check("?? file" in out and "one" in out, out)
    check_same(before, box.snapshot(), "was changed")
    equal = arena.box()
    git = Git(equal)
    git.init("{work}")
    equal.write("{work}/tracked", "two\n")
    git("{work}", "commit", "-qam", "x")


@case
def git_init_works_in_an_empty_workspace_with_write(arena):
    box = arena.box(policy=COMMIT.replace("commit", "write"))
    Git(box)
    os.unlink(box.path("{work}/file"))
    script = ("git init -q .; git status --porcelain; : >a; git add -A; git commit -qm a;"
                    "test \"$(git ls-files)\" = a; git config x.y z; ! mkdir .claude 2>/dev/null; : >.git/hooks/x")
    box.finish([*box.argv(), "/bin/sh", "-ec", script])
    box.arena.check_nothing_lives()
    check(box.path("{work}/.git/config").exists(), "there is no repository")
    # With less it does not: nobody could tell what it holds.
    other = arena.box(policy=COMMIT)
    out, err, status = other.finish([*other.argv(), "git", "init", "-q", "."], status=None)
    check(status != 0 and not other.path("{work}/.git").exists(), f"status {status}: {out} {err}")


@case
def git_sees_nothing_of_the_placeholders(arena):
    """In a repository without .codex and the like: status, add -A and stash -u work."""
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{work}")
    process = box.start(box.argv("hold {work}/ready"))
    await_path(box.path("{work}/ready"))
    check(git("{work}", "status", "--porcelain").split() == ["??", "file", "??", "ready"], "outside")
    process.kill()
    process.communicate()
    box.arena.check_nothing_lives()
    out = git.inside("git status --porcelain; git add -A; git commit -qm all; : >u; git clean -fq; git diff HEAD")
    check(".codex" not in out and ".mcp.json" not in out and "HEAD" not in out, out)


@case
def git_stash_of_untracked_files_and_git_clean_work(arena):
    """Both take away empty directories that are not tracked, and placeholders are such."""
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{work}")
    out = git.inside("mkdir -p a/b; : >a/b/c; git stash -qu; git stash pop -q; test -e a/b/c;"
                     "git clean -fdq; ! test -e a; ! mkdir .codex 2>/dev/null")
    check("failed to remove" not in out, out)


@case
def git_linked_worktrees_are_protected_and_can_be_committed_in(arena):
    policy = COMMIT + '[permissions.box.filesystem]\n"{top}/main" = "write"\n'
    box = arena.box(policy=policy)
    git = Git(box)
    git.init("{top}/main")
    shutil.rmtree(box.work)
    git("{top}/main", "worktree", "add", "-q", str(box.work), "-b", "side")
    git.inside("echo two >two; git add two; git commit -qm two")
    check(git("{work}", "log", "-1", "--format=%s").strip() == "two", "not committed")
    name = "{top}/main/.git/worktrees/work"
    attempts = ["write {work}/.git", "unlink {work}/.git", "symlink-over x {work}/.git"]
    attempts += ["write {top}/main/.git/config", "create {top}/main/.git/hooks/post-commit"]
    attempts += [f"write {name}/commondir", f"write {name}/gitdir", f"create {name}/config.worktree"]
    attempts += [f"rename {name} {name}2", "rename {top}/main/.git {top}/main/old"]
    got = box.run("create {work}/new", *attempts)
    check(got[0] == "OK", f"{got}")
    for attempt, one in zip(attempts, got[1:]):
        check(one in REFUSED, f"{one}: {attempt}")
    got = box.bare("write {top}/main/.git/config", f"write {name}/commondir", "write {work}/.git")
    check(got == ["OK"] * 3, f"the control shows nothing: {got}")


@case
def git_submodules_are_protected_and_can_be_committed_in(arena):
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{top}/lib")
    git.init("{work}")
    git("{work}", "submodule", "--quiet", "add", str(box.path("{top}/lib")), "lib")
    git("{work}", "commit", "-qm", "lib")
    git.inside("cd lib; echo two >two; git add two; git commit -qm two; cd ..; git commit -qam up")
    check(git("{work}/lib", "log", "-1", "--format=%s").strip() == "two", "not committed")
    module = "{work}/.git/modules/lib"
    attempts = ["write {work}/lib/.git", "unlink {work}/lib/.git", "symlink-over x {work}/lib/.git"]
    attempts += [f"write {module}/config", f"create {module}/hooks/post-commit"]
    attempts += [f"create {module}/commondir", f"rename {module} {module}2", "rename {work}/lib {work}/l2"]
    got = box.run("create {work}/lib/new", *attempts)
    check(got[0] == "OK", f"{got}")
    for attempt, one in zip(attempts, got[1:]):
        check(one in REFUSED, f"{one}: {attempt}")
    got = box.bare("write {work}/lib/.git", f"write {module}/config", f"create {module}/commondir")
    check(got == ["OK"] * 3, f"the control shows nothing: {got}")


@case(needs=())
def git_repositories_that_a_run_made_are_in_its_report(arena):
    box = arena.box()
    git = Git(box)
    git.init("{work}")
    report = box.path("{top}/report.json")
    box.options = (*box.options, "--report", str(report))
    git.inside("mkdir -p sub/repo; git init -q sub/repo; git init -q --bare sub/bare; mkdir plain")
    told = json.loads(report.read_text(encoding="utf-8"))
    told.pop("command")
    text = json.dumps(told)
    check("sub/repo" in text and "sub/bare" in text, f"not in the report: {text}")
    check("plain" not in text.replace("explain", ""), f"a plain directory is reported: {text}")


@case
def git_init_where_nothing_is_yet_is_refused(arena):
    box = arena.box()
    git = Git(box)
    git.inside("! git init -q . 2>/dev/null; ! git init -q --bare . 2>/dev/null; git init -q sub")
    check(not os.path.lexists(box.path("{work}/.git")), "there is a .git")
    check(box.path("{work}/sub/.git/HEAD").exists(), "a repository below can't be made")
    names = set(os.listdir(box.work)) & {"HEAD", "refs", "objects", "config"}
    check(not {"HEAD", "refs", "objects"} <= names, f"a bare layout: {names}")
    equal = arena.box()
    Git(equal)("{work}", "init", "-q")


@case
def git_commit_mode_takes_no_new_git_directory(arena):
    """Not below modules/ or worktrees/, whether those are there or not; what is on them works (P10)."""
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{top}/lib")
    git.init("{work}")
    closed = ["mkdir {work}/.git/modules/evil", "mkdir {work}/.git/worktrees/evil",
              "create {work}/.git/modules/evil", "create {work}/.git/worktrees/evil",
              "rename {work}/.git/modules {work}/.git/m2", "rename {work}/.git/worktrees {work}/.git/w2",
              "rmdir {work}/.git/modules", "rmdir {work}/.git/worktrees"]
    git.inside("mkdir {work}/.git/evil")
    check(not {"modules", "worktrees"} & set(os.listdir(box.path("{work}/.git"))), "left in .git")
    got = box.run(*closed)
    check(set(got) <= REFUSED | {"ENOENT"}, f"where they are missing: {got}")
    git("{work}", "submodule", "--quiet", "add", "--name", "deep/lib", str(box.path("{top}/lib")), "lib")
    git("{work}", "worktree", "add", "-q", str(box.path("{top}/side")))
    closed += ["mkdir {work}/.git/modules/deep/evil", "mkdir {work}/.git/modules/deep/lib/modules/evil",
               "mkdir {work}/.git/worktrees/side/modules/evil",
               "rename {work}/.git/modules/deep {work}/.git/modules/d2",
               "rename {work}/.git/evil {work}/.git/worktrees/side2",
               "exchange {work}/.git/evil {work}/.git/modules/deep/lib"]
    got = box.run("create {work}/.git/modules/deep/lib/new", "create {work}/.git/worktrees/side/new", *closed)
    check(got[:2] == ["OK"] * 2, f"what is there can't be written: {got}")
    for attempt, one in zip(closed, got[2:]):
        check(one in REFUSED | {"ENOENT"}, f"{one}: {attempt}")
    got = box.bare("mkdir {work}/.git/modules/evil", "mkdir {work}/.git/worktrees/evil",
                   "mkdir {work}/.git/modules/deep/evil", "rename {work}/.git/modules {work}/.git/m2")
    check(got == ["OK"] * 4, f"the control shows nothing: {got}")


@case
def git_directories_for_new_submodules_are_refused(arena):
    """In commit mode: a git directory below modules/ that was not there, and a pointer to it."""
    script = ("mkdir -p .git/modules/evil/refs .git/modules/evil/objects sub;"
              "echo 'ref: refs/heads/main' >.git/modules/evil/HEAD;"
              "printf '[core]\\n\\tfsmonitor = touch {top}/run\\n' >.git/modules/evil/config;"
              "echo 'gitdir: ../.git/modules/evil' >sub/.git; : >planted")
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{work}")
    git.inside(script, status=None)
    check(not box.path("{work}/planted").exists(), "a git directory was planted")
    equal = arena.box()
    Git(equal).init("{work}")
    subprocess.run(["/bin/sh", "-ec", equal.fill(script)], cwd=equal.work, env=equal.env, check=True)
    check(equal.path("{work}/planted").exists(), "the control shows nothing")


@case
def git_worktrees_is_let_go_and_what_is_made_there_then_is_reported(arena):
    """`git gc` outside removes an empty worktrees/, as it does without a run: the run goes on."""
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{work}")
    report = box.path("{top}/report.json")
    box.options = (*box.options, "--report", str(report))
    script = ("mkdir .git/worktrees/evil 2>/dev/null && exit 9; : >ready;"
              "until mkdir -p .git/worktrees/evil 2>/dev/null; do sleep 0.05; done;"
              "echo 'ref: refs/heads/main' >.git/worktrees/evil/HEAD; echo ../.. >.git/worktrees/evil/commondir")
    process = box.start([*box.argv(), "/bin/sh", "-ec", script])
    await_path(box.path("{work}/ready"))
    git("{work}", "gc", "-q")
    out, err = process.communicate(timeout=30)
    check(process.returncode == 0, f"{process.returncode} {out} {err}")
    told = json.loads(report.read_text(encoding="utf-8"))
    told.pop("command")
    check("worktrees/evil" in json.dumps(told), f"not reported: {told}")


@case
def git_gitlinks_in_a_split_index_are_in_the_report(arena):
    box = arena.box(policy=COMMIT)
    git = Git(box)
    git.init("{work}")
    report = box.path("{top}/report.json")
    box.options = (*box.options, "--report", str(report))
    link = "git update-index --add --cacheinfo 160000,1234567890123456789012345678901234567890,"
    git.inside("git update-index --split-index; git update-index --no-split-index")
    told = json.loads(report.read_text(encoding="utf-8"))
    told.pop("command")
    check("gitlink" not in json.dumps(told), f"the control shows a gitlink: {told}")
    git.inside(f"{link}evil; git update-index --split-index")
    told = json.loads(report.read_text(encoding="utf-8"))
    told.pop("command")
    check("gitlink" in json.dumps(told) and "work/evil" in json.dumps(told), f"not in the report: {told}")


@case
def git_state_that_a_run_planted_is_in_its_report(arena):
    """Commit mode lets a command write what a later rebase or HEAD would follow (P10)."""
    plants = {
        "rebase": "mkdir .git/rebase-merge; echo 'exec touch x' >.git/rebase-merge/git-rebase-todo",
        "sequencer": "mkdir .git/sequencer; echo pick >.git/sequencer/todo",
        "HEAD": "echo nonsense >.git/HEAD",
        "nested": "mkdir nested; git init -q nested",
    }
    for word, script in plants.items():
        box = arena.box(policy=COMMIT)
        git = Git(box)
        git.init("{work}")
        report = box.path("{top}/report.json")
        box.options = (*box.options, "--report", str(report))
        before = box.listing()
        box.finish([*box.argv(), "/bin/sh", "-ec", script])
        told = json.loads(report.read_text(encoding="utf-8"))
        told.pop("command")
        check(word in json.dumps(told), f"{word} is not in the report: {told}")
        check({".codex"}.isdisjoint(os.path.basename(p) for p in box.listing() - before), "left behind")


# ---- Answers ------------------------------------------------------------------------------


class Willing:
    """Whoever is asked: says yes to everything, for the whole run, and as wide as `choose` picks of what is offered."""

    def __init__(self, choose):
        self.here, self.there = socket.socketpair()
        self.options = ("--ask", f"fd:{self.there.fileno()}")
        self.choose, self.asked = choose, []
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        with self.here.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                request = json.loads(line)
                if request["type"] != "request":
                    continue
                self.asked.append(request["subject"])
                offer = self.choose([one for one in request["offers"] if "run" in one["scopes"]])
                answer = {"id": request["id"], "decision": "allow", "scope": "run", "grant": offer["grant"]}
                self.here.sendall((json.dumps(answer) + "\n").encode())

    def close(self):
        self.there.close()
        self.here.close()


LOGS = tuple("{home}/.local/state/cordon/audit/approvals.jsonl" + rest for rest in ("", ".lock"))


@case(needs={"fs_write", "fs_carve", "protect_missing"})
def no_answer_opens_metadata(arena):
    """Wherever it lies, and whoever says yes: in a repository outside, in a bare one, in what was just granted."""
    box = arena.box(tree={
        "{out}/repo/.git/HEAD": "ref: refs/heads/main\n", "{out}/repo/.git/config": "[core]\n",
        "{out}/repo/.git/objects/": "", "{out}/repo/.git/refs/": "", "{out}/repo/.git/hooks/": "",
        "{out}/bare/HEAD": "ref: refs/heads/main\n", "{out}/bare/config": "[core]\n\tbare = true\n",
        "{out}/bare/objects/": "", "{out}/bare/refs/": "", "{out}/bare/hooks/": "",
        "{out}/agent/.claude/settings.json": "{}\n", "{out}/plain/file": "text\n"})
    refused = ["append {out}/repo/.git/config", "create {out}/repo/.git/hooks/post-checkout",
               "rename {out}/repo/.git {out}/repo/old", "append {out}/bare/config", "create {out}/bare/hooks/post-update",
               "append {out}/agent/.claude/settings.json", "create {out}/agent/.claude/new",
               "mkdir {out}/agent/.vscode", "create {out}/agent/.mcp.json"]
    granted = ["create {out}/plain/new", "append {out}/plain/file"]
    inside = ["mkdir {out}/plain/.git", "create {out}/plain/.mcp.json", "mkdir {out}/plain/.claude"]
    for choose in (min, max):
        willing = Willing(lambda offers, pick=choose: pick(offers, key=lambda one: -len(one["grant"]["path"])))
        got = box.run(*refused, *granted, *inside, *refused, options=(*box.options, *willing.options),
                      pass_fds=[willing.there.fileno()],
                      makes=[*LOGS, *(str(above) for log in LOGS for above in box.path(log).parents)])
        asked, told = willing.asked, list(zip([*refused, *granted, *inside, *refused], got))
        willing.close()
        check(got[len(refused):][:2] == ["OK", "OK"] and box.fill("{out}/plain/new") in asked, f"{asked}\n{told}")
        rest = [pair for pair in told if pair[0] not in granted]
        check(all(outcome in REFUSED for _, outcome in rest), f"{rest}")
        check(not [path for path in asked if not path.startswith(box.fill("{out}/plain/"))], f"asked about {asked}")
        os.unlink(box.path("{out}/plain/new"))
    check(all(outcome.startswith("OK") for outcome in box.bare(*refused[:2], *refused[3:], *inside)),
          "the control shows nothing")
