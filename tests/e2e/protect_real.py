#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""P9 to P11 on trees that the real git made.

What is protected is asked of `cordon why`. Whether git still works with it is
tried: the plan that `cordon explain` shows is made true by bind mounts in a
mount namespace, as a backend would, and git is run in there.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from cli import PROGRAM, Skip, World, case, run_cases

PARTS = ["hooks", "config", "config.worktree", "commondir", "gitdir", "objects/info/alternates"]


class Tree:
    """Repositories below a made-up home; the profile `dev` makes `roots` writable."""

    def __init__(self, world: World):
        if not shutil.which("git"):
            raise Skip("there is no git here")
        self.w = world
        self.top = world.top
        self.env = {
            **world.env,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": str(world.write("gitconfig", GIT_CONFIG)),
            "GIT_EDITOR": "true",
        }

    def git(self, where, *args):
        command = ["git", "-C", str(self.top / where), *args]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def init(self, name, *options):
        self.git(".", "init", "-q", *options, name)
        if "--bare" not in options:
            self.commit(name, "file")
        return self.top / name

    def commit(self, where, name):
        self.w.write(f"{where}/{name}", "text\n")
        self.git(where, "add", name)
        self.git(where, "commit", "-qm", f"add {name}")

    def add_submodule(self, where, source, path):
        self.git(where, "submodule", "--quiet", "add", str(self.top / source), path)
        self.git(where, "commit", "-qm", "add a submodule")

    def profile(self, *roots, git="read", more=""):
        entries = "".join(f'"{self.top / root}" = "write"\n' for root in roots)
        self.w.write_config(
            f'default_permissions = "dev"\n[permissions.dev]\ngit = "{git}"\n'
            f'[permissions.dev.filesystem]\n":root" = "read"\n{entries}{more}'
        )

    def expect(self, access, *paths, cwd="home"):
        for path in paths:
            said = self.w.ok("why", "--json", "--path", str(self.top / path), cwd=self.top / cwd).json
            assert said["access"] == access, f"{path} should be {access}: {json.dumps(said, indent=1)}"

    def expect_parts(self, git_dir):
        self.expect("read", *(f"{git_dir}/{part}" for part in PARTS))
        self.expect("write", git_dir, f"{git_dir}/index", f"{git_dir}/refs/heads/x")

    def explain(self, cwd="home"):
        return self.w.ok("explain", "--json", cwd=self.top / cwd).json

    def placeholders(self):
        return {os.path.relpath(p["path"], self.top): p["type"] for p in self.explain()["placeholders"]}

    def enforced(self, where, script):
        """Runs a shell script with the plan made true. Returns its status and all that it said."""
        plan = self.explain()
        mounts = mount_plan(plan, str(self.top))
        text = f"set -e\n{mounts}\ncd {shlex.quote(str(self.top / where))}\n{script}"
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", text],
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        for holder in reversed(plan["placeholders"]):
            # Fails when the script could take it away or fill it.
            (os.rmdir if holder["type"] == "directory" else os.unlink)(holder["path"])
        return done.returncode, done.stdout

    def works(self, where, script):
        status, said = self.enforced(where, script)
        assert status == 0, f"{script}: status {status}: {said}"
        return said

    def fails(self, where, *scripts):
        for script in scripts:
            status, said = self.enforced(where, f"{script}\necho it worked")
            assert status != 0 and "it worked" not in said, f"{script} worked: {said}"
            usual = ("ead-only", "busy", "denied", "not permitted", "xists", "s a directory", "not lock")
            assert any(text in said for text in usual), f"{script}: {said}"


GIT_CONFIG = """\
[user]
	name = Me
	email = me@example.org
[protocol "file"]
	allow = always
[init]
	defaultBranch = main
[advice]
	detachedHead = false
"""


def mount_plan(plan, top):
    """Shell commands that make the regions, pins and placeholders below `top` true."""
    places = {top: "read"}
    for pin in plan["pins"]:
        places[pin["path"]] = "write"
    for region in plan["files"]:
        if region["type"] != "missing":
            places[region["path"]] = region["access"]
    lines = []
    sockets = []
    for holder in plan["placeholders"]:
        path = holder["path"]
        places[path] = "read"
        if holder["type"] == "socket":
            sockets.append(path)
        elif holder["type"] == "directory":
            lines.append(f"mkdir {shlex.quote(path)}")
        else:
            content = "." if path.endswith("/commondir") else ""
            lines.append(f"printf %s {shlex.quote(content)} >{shlex.quote(path)}")
    if sockets:
        make = "import os,stat,sys; [os.mknod(p, stat.S_IFSOCK) for p in sys.argv[1:]]"
        lines.append(shlex.join(["python3", "-c", make, *sockets]))
    for path in sorted(places, key=lambda p: p.split("/")):
        if path != top and not path.startswith(top + "/"):
            continue
        if os.path.islink(path):
            continue  # links need another means, which a backend has
        name = shlex.quote(path)
        mode = "ro" if places[path] == "read" else "rw"
        lines.append(f"mount --bind {name} {name}\nmount -o remount,bind,{mode} {name}")
    return "\n".join(lines)


def stand_ins(world):
    """What stands at the names of P9 that a root may have, when they are missing."""
    names = world.ok("profiles", ":workspace", "--json").json["protected"]
    sockets = {".helix", ".husky", ".githooks", ".hg", ".sl", ".jj"}
    return {n["name"]: "socket" if n["type"] == "file" or n["name"] in sockets else "directory"
            for n in names if "/" not in n["name"]}


def tree(world):
    return Tree(world)


def enforcing_tree(world):
    t = Tree(world)
    if not shutil.which("unshare") or subprocess.run(["unshare", "-rm", "true"], check=False).returncode:
        raise Skip("no mount namespaces for this user here")
    return t


# ---- What is protected (P9) ------------------------------------------------------


@case
def a_plain_repository(w: World):
    t = tree(w)
    t.init("src")
    t.profile("src")
    t.expect("write", "src/file", "src/sub/.codex")
    t.expect("read", "src/.git", "src/.git/hooks/post-commit", "src/.codex", "src/.agents", "src/.cordon/x")
    found = t.placeholders()
    assert found == {f"src/{name}": kind for name, kind in stand_ins(w).items() if name != ".git"}, found
    for name, kind in ((".codex", "directory"), (".claude", "directory"), (".mcp.json", "socket"), (".hg", "socket")):
        assert found[f"src/{name}"] == kind, found


@case
def a_linked_worktree(w: World):
    t = tree(w)
    t.init("all/main")
    t.git("all/main", "worktree", "add", "-q", "../wt")
    t.profile("all")  # neither is a root itself, so nothing leads to either
    t.expect("write", "all/main/.git/config", "all/wt/.git")
    t.profile("all", "all/wt")
    t.expect("read", "all/wt/.git", "all/main/.git/config", "all/main/.git/worktrees/wt/HEAD")
    t.expect("write", "all/wt/file", "all/main/file")
    t.profile("all", "all/main")
    t.expect("read", "all/wt/.git", "all/main/.git/config")
    t.expect("write", "all/wt/file")


@case
def a_submodule(w: World):
    t = tree(w)
    t.init("lib")
    t.init("all/super")
    t.add_submodule("all/super", "lib", "vendor/deep/lib")
    t.profile("all/super")
    t.expect("read", "all/super/vendor/deep/lib/.git", "all/super/.git/modules/vendor/deep/lib/config")
    t.expect("write", "all/super/vendor/deep/lib/file")
    t.profile("all", "all/super/vendor/deep/lib")  # the submodule alone as root
    t.expect("read", "all/super/vendor/deep/lib/.git", "all/super/.git/modules/vendor/deep/lib/config")
    t.expect("write", "all/super/.git/config")
    assert {"all/super", "all/super/vendor"} <= {
        os.path.relpath(p["path"], t.top) for p in t.explain()["pins"]
    }


@case
def a_submodule_that_was_not_fetched(w: World):
    t = enforcing_tree(w)
    t.init("lib")
    t.init("origin")
    t.add_submodule("origin", "lib", "vendor/lib")
    t.git(".", "clone", "-q", "origin", "src")
    t.profile("src")
    t.expect("read", "src/vendor/lib", "src/vendor/lib/.git")
    assert t.works("src", "git status --short; git diff HEAD; git submodule status").startswith("-")
    t.fails("src", "mkdir vendor/lib/.git", "git init -q vendor/lib", "mv vendor/lib x", "mv vendor x")


@case
def a_submodule_with_a_git_directory_of_its_own(w: World):
    t = tree(w)
    t.init("src")
    t.init("src/old")
    w.write("src/.gitmodules", '[submodule "old"]\n\tpath = old\n\turl = ./old\n')
    t.profile("src")
    t.expect("read", "src/old/.git", "src/old/.git/config")
    t.expect("write", "src/old/file")
    t.profile("src", git="commit")
    t.expect_parts("src/old/.git")


@case
def a_worktree_of_a_submodule(w: World):
    t = tree(w)
    t.init("lib")
    t.init("all/super")
    t.add_submodule("all/super", "lib", "lib")
    t.git("all/super/lib", "worktree", "add", "-q", str(t.top / "all/linked"))
    t.profile("all", "all/linked")
    t.expect("read", "all/linked/.git", "all/super/.git/modules/lib/config", "all/super/lib/.git")
    t.expect("write", "all/super/.git/config", "all/linked/file", "all/super/lib/file")
    t.profile("all", "all/super")
    t.expect("read", "all/linked/.git", "all/super/.git/config")


@case
def a_submodule_of_a_linked_worktree(w: World):
    t = tree(w)
    t.init("lib")
    t.init("main")
    t.add_submodule("main", "lib", "lib")
    t.git("main", "worktree", "add", "-q", "../wt")
    t.git("wt", "submodule", "--quiet", "update", "--init")
    t.profile("wt", "main")
    t.expect("read", "wt/lib/.git", "main/lib/.git", "main/.git/worktrees/wt/modules/lib/config")
    t.profile("wt", git="commit")
    for part in ("main/.git", "main/.git/worktrees/wt", "main/.git/worktrees/wt/modules/lib"):
        t.expect_parts(part)


@case
def a_pointer_to_a_git_directory_elsewhere(w: World):
    t = tree(w)
    (t.top / "all").mkdir()
    t.init("src", f"--separate-git-dir={t.top}/all/store")
    t.profile("src", "all")
    t.expect("read", "src/.git", "all/store", "all/store/config")
    t.expect("write", "all/other", "src/file")
    # It does not say that src is its worktree, so its word is not enough to open it.
    t.profile("src", git="commit")
    t.expect("read", "all/store/index")
    assert "is not made writable" in said_notes(t), said_notes(t)
    t.profile("src", "all", git="commit")
    t.expect_parts("all/store")


def said_notes(t):
    said = t.explain()
    return json.dumps([said["warnings"], said["notes"]])


@case
def a_linked_git(w: World):
    t = tree(w)
    t.init("all/store")
    os.rename(t.top / "all/store/.git", t.top / "all/real")
    os.symlink("../all/real", t.top / "repo/.git")
    t.profile("repo", "all")
    t.expect("read", "repo/.git", "all/real/config")
    t.expect("write", "all/store/file")
    assert [os.path.relpath(link["path"], t.top) for link in t.explain()["links"]] == ["repo/.git"]


@case
def a_bare_repository_as_root(w: World):
    t = tree(w)
    t.init("bare.git", "--bare")
    t.profile("bare.git")
    t.expect("read", "bare.git/config", "bare.git/hooks/update", "bare.git/new")
    t.profile("bare.git", git="commit")
    t.expect_parts("bare.git")
    t.profile("bare.git", git="write")
    t.expect("write", "bare.git/config")


@case
def a_worktree_inside_its_bare_repository(w: World):
    t = tree(w)
    t.init("seed")
    t.git(".", "clone", "-q", "--bare", "seed", "proj")
    t.git("proj", "worktree", "add", "-q", "main")
    t.profile("proj/main")
    t.expect("write", "proj/main/file")
    t.expect("read", "proj/main/.git", "proj/config")
    t.profile("proj", "proj/main")
    t.expect("write", "proj/main/file")
    t.expect("read", "proj/main/.git", "proj/config", "proj/hooks/x")


@case
def a_root_without_git(w: World):
    t = enforcing_tree(w)
    w.write("outer/sub/file")
    t.init("outer")
    t.profile("outer/sub")
    holders = {f"outer/sub/{name}": kind for name, kind in
               {**stand_ins(w), "commondir": "directory", "refs": "directory"}.items()}
    assert t.placeholders() == holders, t.placeholders()
    t.fails("outer/sub", "git init -q", "git init -q --bare", "echo x >commondir", "mv refs x", "rmdir refs")
    # And the repository around it does not notice.
    said = t.works("outer/sub", "git rev-parse --git-dir; git status --short; git diff HEAD; touch new")
    assert said == f"{t.top}/outer/.git\n?? ./\n", said


@case
def malformed_pointers(w: World):
    t = tree(w)
    loop = t.top / "src/loop"
    loop.parent.mkdir()
    loop.symlink_to("loop")
    for text in (b"", b"gitdir:", b"\0" * 100, b"gitdir: " + b"a" * 5000, b"gitdir: loop/x\n",
                 b"gitdir: /a\0b\n", b"x" * (1 << 20)):
        w.write("src/.git", text)
        t.profile("src")
        t.expect("read", "src/.git")
        t.expect("write", "src/file")
        assert "/.git is a file" in said_notes(t), text


@case
def an_explicit_entry_lifts(w: World):
    t = tree(w)
    t.init("src")
    t.profile("src", "src/.git/info")
    t.expect("write", "src/.git/info/exclude")
    t.expect("read", "src/.git/config")
    t.profile("src", "src/.git")
    t.expect("write", "src/.git/config")
    t.profile("src", git="write")
    t.expect("write", "src/.git/config")
    t.expect("read", "src/.codex")


# ---- git = "commit" (P10), tried with git ---------------------------------------

EVERYDAY = """\
echo more >>file; git add file; git commit -qm one
git branch topic; git checkout -q topic; echo t >t; git add t; git commit -qm topic
git checkout -q -; echo o >o; git add o; git commit -qm other
echo dirty >>file; git stash -q; git stash pop -q; git checkout -q -- file
git rebase -q topic; git commit -q --amend -m amended; git tag v1
git fetch -q "$FROM" main; git merge -q --no-edit topic
git reset -q --hard HEAD~1; git cherry-pick topic >/dev/null 2>&1 || git cherry-pick --skip
git branch -D topic >/dev/null; git reflog >/dev/null; git gc -q; git fsck
git status --short
"""

MISCHIEF = [
    "echo x >$D/hooks/post-commit", "rm -r $D/hooks", "mv $D/hooks $D/h", "git config a.b c",
    "echo x >>$D/config", "mv $D/config $D/c", "echo x >$D/config.new; mv -f $D/config.new $D/config",
    "echo /x >$D/commondir", "rm $D/commondir", "echo x >$D/config.worktree",
    "echo /x >$D/objects/info/alternates", "mv $D/objects/info $D/objects/i", "mv $D/objects $D/o",
    "echo x >$D/gitdir", "mv $D $D.away",
]


def try_commits(t, where, git_dir, *, is_linked=False):
    t.init("from")
    t.git("from", "branch", "-qM", "main")
    t.expect_parts(git_dir)
    before = (t.top / git_dir / "config").read_bytes() if not is_linked else None
    said = t.works(where, f"FROM={t.top}/from\n{EVERYDAY}")
    # `git branch -D` also drops the branch's upstream, and says that it could not (P10).
    usual = re.compile(r"dangling .*|.*could not (write|lock) config file .*|warning: Update of config-file failed")
    noise = [line for line in said.splitlines() if not usual.fullmatch(line)]
    assert not noise, noise
    assert before is None or before == (t.top / git_dir / "config").read_bytes()
    for script in MISCHIEF:
        t.fails(where, f"D={t.top}/{git_dir}\n{script}")
    

@case
def commits_in_a_plain_repository(w: World):
    t = enforcing_tree(w)
    t.init("src")
    t.profile("src", git="commit")
    try_commits(t, "src", "src/.git")


@case
def commits_in_a_linked_worktree(w: World):
    t = enforcing_tree(w)
    t.init("main")
    t.git("main", "worktree", "add", "-q", "../wt")
    t.profile("wt", git="commit")
    t.expect("read", "main/file", "wt/.git")
    try_commits(t, "wt", "main/.git", is_linked=True)
    t.fails("wt", "echo x >.git", "mv .git x", "rm .git", "git worktree add -q ../other")


@case
def commits_in_a_submodule(w: World):
    t = enforcing_tree(w)
    t.init("lib")
    t.init("super")
    t.add_submodule("super", "lib", "lib")
    t.profile("super/lib", git="commit")
    t.expect("read", "super/.git/index", "super/file")
    try_commits(t, "super/lib", "super/.git/modules/lib")


@case
def commits_around_a_submodule(w: World):
    t = enforcing_tree(w)
    t.init("lib")
    t.init("super")
    t.add_submodule("super", "lib", "lib")
    t.profile("super", git="commit")
    t.works("super", "cd lib; echo x >>file; git commit -qam sub; cd ..; git add lib; git commit -qm up")
    try_commits(t, "super/lib", "super/.git/modules/lib")
    t.fails("super", "echo x >lib/.git", "mv lib/.git x")


@case
def reading_is_all_that_read_allows(w: World):
    t = enforcing_tree(w)
    t.init("src")
    t.profile("src")
    t.works("src", "git status --short; git diff HEAD; git log --oneline; echo x >>file; touch new")
    t.fails("src", "git add file", "git commit -qam x", "mv .git x", "rm -r .git/hooks",
            "mkdir .codex/x", "rmdir .codex", "mv .cordon x", "git branch new")


if __name__ == "__main__":
    if not os.path.exists(PROGRAM):
        print(f"1..0 # SKIP no program at {PROGRAM}")
        sys.exit(0)
    run_cases()
