#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Git is used in a sandbox as agents use it, and outside at the same time.

By default a repository can be looked at, and its metadata stays as it is. With
`git = "commit"` the everyday commands work, in a plain repository, in a linked
worktree and in a submodule.
"""

import json
import os
import subprocess
import time

from work import SECONDS, case, run_cases

COMMIT = 'permissions.work.extends = ":workspace"\npermissions.work.git = "commit"\n'

# What is narrower inside the workspace: .git, and what git runs.
NEEDS = {"fs_carve", "protect_missing"}

# Every commit has the same name each time: names, dates and contents are given.
DAILY = """
git checkout -q -b base
echo one >>file; git add file; git commit -qm one
git branch topic
git checkout -q topic
mkdir -p sub; echo two >sub/other; git add sub; git commit -qm two
git mv sub/other sub/moved; git commit -qm moved
git checkout -q base
echo three >>file; git stash -q; git status --porcelain; git stash pop -q; git commit -qam three
git tag v1
git checkout -q topic
git rebase -q base
git commit -q --amend -m 'moved again'
echo four >new; git add new; git reset -q; rm new
git cherry-pick base~0 2>/dev/null || git cherry-pick --abort || git reset -q
git checkout -q base; git merge -q --no-edit topic
git branch -d topic
git gc -q
git log --format='%H %s'
git status --porcelain
git diff --stat HEAD~1
git fsck --no-progress
"""


def make_repository(w, where):
    w.plain("git", "init", "-q", where)
    w.write(f"{where}/file", "first\n")
    w.write(f"{where}/.gitignore", "*.o\n")
    w.give(w.workspace)
    w.plain("git", "add", "-A", cwd=w.workspace / where)
    w.plain("git", "commit", "-qm", "first", cwd=w.workspace / where)


def status(w, where="."):
    return w.plain("git", "status", "--porcelain", "--untracked-files=all", cwd=w.workspace / where).text


@case
def status_diff_and_log_work(w):
    make_repository(w, ".")
    w.write_all({"file": "changed\n", "untracked": ""})
    out = w.shell("git status --porcelain; git diff; git log --format='%H %s'; git show --stat; git blame HEAD -- file;"
                  " git ls-files; git grep -n chang; git rev-parse --show-toplevel").text
    assert "M file" in out and "?? untracked" in out and "+changed" in out, out
    return w.same_name(out)


@case(needs=NEEDS)
def a_commit_is_refused_unless_the_policy_says_so(w):
    make_repository(w, ".")
    w.write_all({"file": "changed\n"})
    done = w.run("git", "commit", "-qam", "second", check=None, says=b".git/index.lock'")
    head = w.plain("git", "log", "--format=%s").text.split()
    if w.is_boxed:
        assert done.status != 0 and b"Read-only file system" in done.err, done
        assert head == ["first"] and status(w) == " M file\n", head
    else:
        assert done.status == 0 and head == ["second", "first"], done


@case(needs=NEEDS)
def a_copy_of_the_workspace_can_be_removed(w):
    """What stands at missing names is copied as well, and must not close itself to who owns the copy."""
    make_repository(w, ".")
    w.shell('copy=$(mktemp -d); cp -r . "$copy/all"; test -e "$copy/all/file"; rm -rf "$copy"; test ! -e "$copy"')


def make_tracking_branch(w):
    """On `topic`, git tracks two files below a name that is protected; here they are missing."""
    make_repository(w, ".")
    w.plain("git", "checkout", "-q", "-b", "topic")
    w.write_all({".vscode/settings.json": "{}\n", ".vscode/tasks.json": "{}\n"})
    w.plain("git", "add", "-A")
    w.plain("git", "commit", "-qm", "tracked")
    w.plain("git", "checkout", "-q", "-")


def unwritten(w, script, *options):
    """The files that the report says git could not write, and how many lines warned of them."""
    report = w.top / "report.json"
    report.unlink(missing_ok=True)
    done = w.shell(script, options=("--report", str(report), *options), says=b".vscode/")
    if not w.is_boxed:
        return [], 0
    found = json.loads(report.read_text())["git"]["findings"]
    return ([os.path.basename(f["path"]) for f in found if f["kind"] == "unwritten"],
            sum(b"--unprotect .vscode" in line for line in done.err.splitlines()))


@case(needs=NEEDS)
def what_a_checkout_could_not_write_is_said(w):
    w.configure(COMMIT)
    make_tracking_branch(w)
    expected = (["settings.json", "tasks.json"], 1) if w.is_boxed else ([], 0)
    assert unwritten(w, "git checkout -q topic") == expected
    # It is said as long as it is so, and no longer.
    assert unwritten(w, "echo more >>file; git add file") == expected
    w.plain("git", "checkout", "-q", "-f", "topic")
    assert unwritten(w, "echo more >>file; git add file") == ([], 0)


@case(needs=NEEDS)
def what_is_missing_for_another_reason_is_not_said(w):
    w.configure(COMMIT)
    make_tracking_branch(w)
    assert unwritten(w, "git checkout -q topic", *(["--unprotect", ".vscode"] if w.is_boxed else [])) == ([], 0)
    assert status(w) == ""
    (w.workspace / ".vscode/tasks.json").unlink()
    assert unwritten(w, "echo more >>file; git add file") == ([], 0)
    w.plain("git", "reset", "-q", "--hard")
    w.plain("git", "sparse-checkout", "set", "src")
    assert not (w.workspace / ".vscode").exists()
    assert unwritten(w, "mkdir src; echo new >src/new; git add src; git checkout -q -b sparse") == ([], 0)


def daily_work(w, where):
    """The day's work; then everything is in order outside as well."""
    out = w.shell(DAILY, cwd=w.workspace / where).text
    assert status(w, where) == "", status(w, where)
    w.plain("git", "fsck", "--strict", "--no-progress", cwd=w.workspace / where)
    # Nothing is in the way of what comes next.
    w.plain("git", "commit", "-q", "--allow-empty", "-m", "outside", cwd=w.workspace / where)
    return out + w.plain("git", "log", "--format=%H %s", "-2", cwd=w.workspace / where).text


@case(needs=NEEDS)
def with_git_commit_the_day_is_done_in_a_plain_repository(w):
    w.configure(COMMIT)
    make_repository(w, ".")
    return daily_work(w, ".")


@case(needs=NEEDS)
def with_git_commit_the_day_is_done_in_a_linked_worktree(w):
    """What is shared with the other worktrees lies outside the workspace."""
    w.configure(COMMIT)
    make_repository(w, "main")
    w.plain("git", "worktree", "add", "-q", "-b", "linked", "../linked", cwd=w.workspace / "main")
    return daily_work(w, "linked")


@case(needs=NEEDS)
def with_git_commit_the_day_is_done_in_a_submodule(w):
    w.configure(COMMIT)
    make_repository(w, "library")
    make_repository(w, "super")
    w.plain("git", "submodule", "--quiet", "add", "../library", "library", cwd=w.workspace / "super")
    w.plain("git", "commit", "-qm", "with a submodule", cwd=w.workspace / "super")
    out = w.shell(f"cd library; {DAILY}", cwd=w.workspace / "super").text
    # The new commit of the submodule is what the outer repository then records.
    out += w.shell("git status --porcelain; git commit -qam bump; git log --format='%H %s'",
                   cwd=w.workspace / "super").text
    assert status(w, "super") == "", status(w, "super")
    w.plain("git", "fsck", "--strict", "--no-progress", cwd=w.workspace / "super/library")
    return out


@case(needs=NEEDS)
def with_git_commit_the_day_is_done_from_within_a_submodule(w):
    """Its git directory lies in that of the outer repository, outside the workspace."""
    w.configure(COMMIT)
    make_repository(w, "library")
    make_repository(w, "super")
    w.plain("git", "submodule", "--quiet", "add", "../library", "library", cwd=w.workspace / "super")
    w.plain("git", "commit", "-qm", "with a submodule", cwd=w.workspace / "super")
    return daily_work(w, "super/library")


@case(needs=NEEDS)
def a_rebase_that_stops_can_be_continued(w):
    w.configure(COMMIT)
    make_repository(w, ".")
    script = """
git checkout -q -b topic; echo topic >file; git commit -qam topic
git checkout -q main; echo main >file; git commit -qam main
git checkout -q topic
git rebase -q main >/dev/null 2>&1 && exit 9
echo both >file; git add file; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1
git log --format='%H %s'; cat file
"""
    return w.shell(script).text


@case(needs=NEEDS)
def a_fetch_and_a_clone_over_a_path_work(w):
    w.configure(COMMIT)
    make_repository(w, ".")
    origin = w.top / "home/origin"
    w.plain("git", "clone", "-q", "--bare", str(w.workspace), str(origin))
    w.plain("git", "remote", "add", "origin", str(origin))
    w.write_all({"file": "second\n"})
    w.plain("git", "commit", "-qam", "second")
    w.plain("git", "push", "-q", "origin", "main")
    w.plain("git", "reset", "-q", "--hard", "HEAD~1")
    w.run("git", "fetch", "-q", "origin")
    w.run("git", "clone", "-q", "--no-local", ".", "copy", says=b"copy/.git': a git repository")
    # A clone that ended in the tick of the clock in which this run begins may be taken for its work.
    return w.shell("git log --format='%H %s' origin/main; git -C copy log --format='%H %s'",
                   says=b"copy/.git").text


def run_meanwhile(w, command, question, cwd="."):
    """Asks the question outside while the command runs inside; it runs until its stdin ends."""
    process = subprocess.Popen([*w.prefix(), "/bin/sh", "-c", f"{command}; echo up; cat"], cwd=w.workspace / cwd,
                               env=w.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **w.who.keywords)
    try:
        assert process.stdout.readline() == b"up\n"
        answer = question()
    finally:
        process.stdin.close()
        process.wait(SECONDS)
        process.stdout.close()
    assert process.returncode == 0, process.returncode
    return answer


@case(needs=NEEDS)
def git_status_outside_stays_clean_during_and_after_a_run(w):
    make_repository(w, ".")
    assert status(w) == ""
    during = run_meanwhile(w, "true", lambda: status(w))
    assert during == "", during
    assert status(w) == "", status(w)


@case(needs=NEEDS)
def git_status_outside_stays_clean_with_commit_too(w):
    w.configure(COMMIT)
    make_repository(w, ".")
    during = run_meanwhile(w, "git status >/dev/null", lambda: status(w) + w.plain("git", "fsck").text)
    assert during == "", during
    assert status(w) == "", status(w)


@case
def one_can_commit_outside_while_a_run_goes_on(w):
    make_repository(w, ".")
    w.write_all({"file": "changed outside\n"})

    def commit():
        w.plain("git", "commit", "-qam", "outside")
        w.plain("git", "checkout", "-q", "-b", "other")
        w.plain("git", "gc", "-q")
        return status(w)

    assert run_meanwhile(w, "true", commit) == ""
    return w.plain("git", "log", "--format=%H %s").text


@case(needs=NEEDS)
def git_can_be_used_outside_while_a_run_may_commit(w):
    """Worktrees come and go, garbage is collected; the run inside goes on."""
    w.configure(COMMIT)
    make_repository(w, "main")

    def work():
        w.plain("git", "gc", "-q", cwd=w.workspace / "main")
        w.plain("git", "worktree", "add", "-q", "-b", "side", "../side", cwd=w.workspace / "main")
        w.plain("git", "commit", "-q", "--allow-empty", "-m", "side", cwd=w.workspace / "side")
        w.plain("git", "worktree", "remove", "../side", cwd=w.workspace / "main")
        return w.plain("git", "log", "--format=%H %s", cwd=w.workspace / "main").text

    out = run_meanwhile(w, "git commit -q --allow-empty -m inside", work, cwd="main")
    assert status(w, "main") == "", status(w, "main")
    return out


@case(needs=NEEDS)
def submodules_can_be_added_outside_while_a_run_goes_on(w):
    """Not while it may commit: git then replaces `config`, which is closed to the run (P10), and ends it."""
    make_repository(w, "library")
    make_repository(w, "main")

    def work():
        w.plain("git", "submodule", "--quiet", "add", "../library", "library", cwd=w.workspace / "main")
        w.plain("git", "commit", "-qm", "library", cwd=w.workspace / "main")
        time.sleep(0.3)  # the guard looks ten times a second
        return w.plain("git", "log", "--format=%H %s", cwd=w.workspace / "main").text

    out = run_meanwhile(w, "git status >/dev/null", work, cwd="main")
    assert status(w, "main") == "", status(w, "main")
    w.plain("git", "fsck", "--strict", "--no-progress", cwd=w.workspace / "main/library")
    return out


@case(needs=NEEDS)
def two_runs_at_once_leave_nothing(w):
    make_repository(w, ".")
    inner = run_meanwhile(w, "true", lambda: run_meanwhile(w, "true", lambda: status(w)))
    assert inner == "" and status(w) == ""
    deadline = time.monotonic() + 10
    while w.is_boxed and (w.workspace / ".codex").exists():
        assert time.monotonic() < deadline, os.listdir(w.workspace)


if __name__ == "__main__":
    run_cases()
