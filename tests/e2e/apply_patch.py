#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon apply-patch`: what it prints and changes, what it may not touch, and what a kill leaves."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from cli import PROGRAM, SECONDS, SOURCE, Skip, World, case, run_cases

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from sanitizer import without_leaks  # noqa: E402

WORK = ("--full-auto",)
BEGIN, END = "*** Begin Patch\n", "*** End Patch\n"
TEMPORARY = ".cordon-edit.tmp"


def patch_of(*hunks):
    return BEGIN + "".join(hunk if hunk.endswith("\n") else hunk + "\n" for hunk in hunks) + END


def add(path, *lines):
    return f"*** Add File: {path}\n" + "".join(f"+{line}\n" for line in lines)


def update(path, old, new, to=None):
    move = f"*** Move to: {to}\n" if to else ""
    return f"*** Update File: {path}\n{move}@@\n-{old}\n+{new}\n"


def delete(path):
    return f"*** Delete File: {path}\n"


class Done:
    def __init__(self, done):
        self.status = done.returncode
        self.out, self.err = done.stdout.decode(), done.stderr.decode("utf-8", "replace")

    def __repr__(self):
        return f"status {self.status}\n{self.out}\n{self.err}"


def start(w, argv, stdin=None, cwd=None, env=None):
    return Done(subprocess.run(argv, cwd=cwd or w.repo, env={**w.env, **(env or {})}, input=stdin or b"",
                               capture_output=True, timeout=SECONDS * 3, check=False))


def apply(w, patch, *options, cwd=None, mode=WORK):
    """Through the standard input, as no argument can be as long as a patch."""
    text = patch if isinstance(patch, bytes) else patch.encode()
    return start(w, [PROGRAM, "apply-patch", *mode, *options], text, cwd)


def inside(w, patch):
    return start(w, [PROGRAM, "run", "-q", *WORK, "--", PROGRAM, "--cordon-run-as-apply-patch", patch])


def tree(top):
    return {str(p.relative_to(top)): None if p.is_dir() else p.read_bytes() for p in top.rglob("*")}


def clean(w):
    return not any(p.name.startswith(".cordon-edit") for p in w.top.rglob("*"))


@case
def what_was_done_is_printed_as_programs_of_this_name_print_it(w: World):
    w.write("repo/modify.txt", "line1\nline2\n")
    w.write("repo/delete.txt", "obsolete\n")
    patch = patch_of(add("nested/new.txt", "created"), delete("delete.txt"), update("modify.txt", "line2", "changed"))
    done = apply(w, patch)
    assert done.status == 0 and done.err == "", done
    assert done.out == "Success. Updated the following files:\nA nested/new.txt\nM modify.txt\nD delete.txt\n", done
    assert tree(w.repo) == {"nested": None, "nested/new.txt": b"created\n", "modify.txt": b"line1\nchanged\n"}
    again = apply(w, patch)
    assert again.status == 1 and again.out == "", again
    assert again.err.startswith("Failed to delete file delete.txt: "), again


@case
def the_scenarios_of_the_format_give_what_is_expected(w: World):
    beside = SOURCE.resolve().parent / "shared/data/apply-patch"
    suite = Path(os.environ.get("CORDON_APPLY_PATCH_TEST") or beside)
    if not suite.is_dir():
        raise Skip(f"there are no scenarios at {suite}; CORDON_APPLY_PATCH_TEST says where they are")
    names = sorted(p.name for p in suite.iterdir() if (p / "patch.txt").is_file())
    assert len(names) >= 24, names
    for how in ("outside", "inside"):
        for name in names:
            place = w.repo / how / name
            if (suite / name / "input").is_dir():
                shutil.copytree(suite / name / "input", place)
                for path in (place, *place.rglob("*")):  # root has no rights over modes in a sandbox
                    path.chmod(0o755)
            else:
                place.mkdir(parents=True)
            patch = (suite / name / "patch.txt").read_bytes()
            if how == "outside":
                done = apply(w, patch, cwd=place)
            else:
                done = start(w, [PROGRAM, "run", "-q", *WORK, "--", PROGRAM, "--codex-run-as-apply-patch"], patch, place)
            assert tree(place) == tree(suite / name / "expected"), (how, name, done, tree(place))


@case
def it_is_called_by_name_by_option_and_as_a_command(w: World):
    bin_dir = w.top / "bin"
    bin_dir.mkdir()
    env = {"CORDON_MODE": "workspace-write"}
    calls = [[PROGRAM, "--cordon-run-as-apply-patch"], [PROGRAM, "--codex-run-as-apply-patch"],
             [PROGRAM, "apply-patch"]]
    for name in ("apply_patch", "applypatch"):
        (bin_dir / name).symlink_to(PROGRAM)
        calls.append([str(bin_dir / name)])
    for number, call in enumerate(calls):
        for how in ("word", "input"):
            name = f"{number}-{how}"
            patch = patch_of(add(name, "x"))
            done = start(w, call + [patch], env=env) if how == "word" else start(w, call, patch.encode(), env=env)
            assert done.status == 0 and done.out.endswith(f"A {name}\n"), (call, done)
            assert (w.repo / name).read_text() == "x\n"
        if call[-1] != "apply-patch":
            done = start(w, call + ["one", "two"], env=env)
            assert done.status == 2 and done.err == "Error: apply_patch accepts exactly one argument.\n", done
        done = start(w, call, env=env)
        assert done.status == 2 and done.err.startswith("Usage: "), done


@case
def the_policy_decides_outside_and_the_kernel_inside(w: World):
    other = w.top / "other"
    other.mkdir()
    patch = patch_of(add(str(other / "file"), "x"))
    # :workspace would make the directory for temporary files writable, in which this test lies.
    config = "default_permissions = 'p'\n[permissions.p.filesystem]\n':root' = 'read'\n':workspace_roots' = 'write'\n"
    w.write_config(config)
    refused = apply(w, patch, mode=())
    assert refused.status == 1 and "--add-write" in refused.err and not (other / "file").exists(), refused
    error = json.loads(apply(w, patch, "--json", mode=()).out)["error"]
    assert error["code"] == "policy", error
    allowed = apply(w, patch, "--add-write", str(other), mode=())
    assert allowed.status == 0 and (other / "file").read_text() == "x\n", allowed
    (other / "file").unlink()
    kernel = start(w, [PROGRAM, "run", "-q", "--", PROGRAM, "--cordon-run-as-apply-patch", patch])
    assert kernel.status == 1 and not (other / "file").exists(), kernel
    kernel = start(w, [PROGRAM, "run", "-q", "--add-write", str(other), "--", PROGRAM, "--cordon-run-as-apply-patch",
                       patch])
    assert kernel.status == 0 and (other / "file").read_text() == "x\n", kernel
    # A file that may not be read is not read for its lines either.
    w.write_config(config + f"'{w.repo}/key' = 'deny'\n")
    w.write("repo/key", "secret\n")
    for guess in ("secret", "wrong"):
        done = apply(w, patch_of(update("key", guess, "x")), mode=())
        assert done.status == 1 and "Failed to read file to update key: the policy" in done.err, done
    missing = apply(w, patch_of(update("key/below", "a", "b")), mode=())
    assert missing.status == 1 and "the policy" in missing.err, missing


@case
def what_would_allow_it_is_an_option_that_does(w: World):
    other = w.top / "other dir"
    other.mkdir()
    w.write("other dir/old", "a\n")
    w.write_config("default_permissions = 'p'\n[permissions.p.filesystem]\n':root' = 'read'\n':workspace_roots' = 'write'\n"
                   f"'{w.top}/never' = 'deny'\n")
    (w.repo / ".vscode").mkdir()
    (w.top / "never").mkdir()
    for hunk, option, value in ((add(str(other / "z"), "x"), "--add-write", str(other)),
                                (add(str(other / "new/er/z"), "x"), "--add-write", str(other)),
                                (update(str(other / "old"), "a", "b"), "--add-write", str(other / "old")),
                                (add(".vscode/x", "x"), "--unprotect", ".vscode")):
        refused = apply(w, patch_of(hunk), mode=())
        line = next(line for line in refused.err.splitlines() if "to allow it, add: " in line)
        words = shlex.split(line.split("add: ")[1])
        assert refused.status == 1 and words == [option, value], (hunk, refused)
        done = apply(w, patch_of(hunk), *words, mode=())
        assert done.status == 0 and done.err == "", (hunk, done)
    for hunk in (add(str(w.top / "never/x"), "x"), add(".git/config", "x"), add("/x-of-the-root", "x")):
        refused = apply(w, patch_of(hunk), mode=())
        assert refused.status == 1 and "add:" not in refused.err, (hunk, refused)


@case
def a_file_as_the_operand_is_told_to_be_the_input(w: World):
    path = w.write("repo/p1", patch_of(add("a", "x")))
    done = start(w, [PROGRAM, "apply-patch", *WORK, "p1"])
    assert done.status == 2 and done.err == "'p1' is a file: cordon apply-patch <p1\n", done
    assert done.out == "" and not (w.repo / "a").exists(), done
    assert apply(w, path.read_text()).status == 0 and (w.repo / "a").read_text() == "x\n"


@case
def nothing_is_changed_by_way_of_links_dots_and_special_files(w: World):
    target = w.write("outside/target", "safe\n")
    w.write_config("default_permissions = 'p'\n[permissions.p.filesystem]\n':root' = 'read'\n"
                   "':workspace_roots' = 'write'\n")
    (w.repo / "link").symlink_to(target)
    (w.repo / "dirlink").symlink_to(target.parent)
    (w.repo / "proclink").symlink_to("/proc/self")
    (w.repo / ".git/hooks").mkdir(parents=True)
    os.mkfifo(w.repo / "fifo")
    w.write("repo/inner", "safe\n")
    (w.repo / "good").symlink_to("inner")
    paths = ["link", "dirlink/target", "dirlink/new", "../outside/target", str(target), f"{w.repo}/../outside/x",
             "proclink/environ", "/proc/self/environ", "/dev/null", "/sys/x", "fifo", ".git/hooks/post-commit",
             "sub/.git/config", ".GIT/config", "x" * 300, "a/" * 3000 + "b"]
    for path in paths:
        for hunk in (add(path, "evil"), update(path, "safe", "evil"), delete(path),
                     update("inner", "safe", "evil", to=path)):
            done = apply(w, patch_of(hunk), mode=())
            assert done.status == 1 and done.out == "", (hunk[:80], done)
    assert target.read_text() == "safe\n" and sorted(os.listdir(target.parent)) == ["target"]
    assert (w.repo / "inner").read_text() == "safe\n" and stat.S_ISFIFO(os.lstat(w.repo / "fifo").st_mode)
    assert not list((w.repo / ".git/hooks").iterdir()) and not (w.repo / "sub/.git").exists()
    # The control: a link that stays inside is written through, and is a link afterwards.
    done = apply(w, patch_of(update("good", "safe", "new")), mode=())
    assert done.status == 0 and (w.repo / "good").is_symlink() and (w.repo / "inner").read_text() == "new\n", done
    assert clean(w)


@case
def a_file_keeps_what_it_was_but_for_set_id(w: World):
    path = w.write("repo/tool", "old\n")
    os.chmod(path, 0o4751)
    xattrs = True
    try:
        os.setxattr(path, "user.note", b"kept")
    except OSError:
        xattrs = False
    twin = w.repo / "twin"
    os.link(path, twin)
    done = apply(w, patch_of(update("tool", "old", "new")))
    assert done.status == 0, done
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o751, oct(os.stat(path).st_mode)
    assert not xattrs or os.getxattr(path, "user.note") == b"kept"
    assert twin.read_text() == "old\n" and path.read_text() == "new\n"
    done = apply(w, patch_of(update("tool", "new", "newer", to="moved/tool")))
    assert done.status == 0 and stat.S_IMODE(os.stat(w.repo / "moved/tool").st_mode) == 0o751, done
    done = apply(w, patch_of(update("moved/tool", "newer", "same", to="./moved/../moved/tool")))
    assert done.status == 0 and (w.repo / "moved/tool").read_text() == "same\n", done
    assert clean(w)


@case
def an_atomic_patch_changes_all_or_nothing(w: World):
    names = [f"d{i % 3}/f{i}" for i in range(12)]
    for name in names:
        w.write(f"repo/{name}", "old\n")
    before = tree(w.repo)
    good = [update(name, "old", "new") for name in names]
    for bad in (update("missing", "a", "b"), update("d0/f0", "other", "b"), delete("missing"), add(".git/x", "x"),
                update("d0/f3", "old", "b")):
        for at in (0, 6, 12):
            hunks = good[:at] + [bad] + good[at:]
            done = apply(w, patch_of(*hunks), "--atomic")
            assert done.status == 1 and tree(w.repo) == before, (bad, at, done)
            done = apply(w, patch_of(*good), "--dry-run")
            assert done.status == 0 and tree(w.repo) == before, done
    more = [add("new/a", "1"), add("new/b", "2"), delete("d0/f0"), update("d0/f3", "old", "x", to="d0/g")]
    done = apply(w, patch_of(*good[1:3], *more), "--atomic")
    assert done.status == 0, done
    assert (w.repo / "new/b").read_text() == "2\n" and not (w.repo / "d0/f0").exists()
    assert (w.repo / "d0/g").read_text() == "x\n" and not (w.repo / "d0/f3").exists() and clean(w)


@case
def an_atomic_patch_of_more_files_than_may_be_open_is_refused_whole(w: World):
    hunks = [add(f"f{i}", "x") for i in range(200)]
    for limit in (80, 100, 200, 300, 500):
        done = start(w, ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", PROGRAM, "apply-patch", *WORK, "--atomic"],
                     patch_of(*hunks).encode())
        found = len(list(w.repo.iterdir()))
        assert (done.status, found) in ((0, 200), (1, 0)), (limit, found, done)
        assert done.status == (1 if limit < 300 else done.status), (limit, done)
        for path in w.repo.iterdir():
            path.unlink()
    assert apply(w, patch_of(*hunks), "--atomic").status == 0


@case
def without_atomic_what_was_done_before_a_failure_stays_and_is_named(w: World):
    w.write("repo/f", "old\n")
    done = apply(w, patch_of(add("created", "hello"), update("f", "wrong", "b"), add("later", "x")))
    assert done.status == 1 and done.out == "" and "already changed: created" in done.err, done
    assert done.err.startswith("Failed to find expected lines in f:\n  wrong\n"), done
    assert "chunk 1 of hunk 2, at line 5 of the patch" in done.err, done
    assert tree(w.repo) == {"created": b"hello\n", "f": b"old\n"}


@case
def a_patch_that_does_not_parse_changes_nothing(w: World):
    whole = patch_of(add("a", "1"), add("b", "2"), update("f", "old", "new"))
    w.write("repo/f", "old\n")
    before = tree(w.repo)
    hostile = [whole[:-5], whole.replace("+2", "2"), "x" + whole, whole + "x", "", " ", "\0", BEGIN + END,
               b"\xff" + whole.encode(), whole.encode().replace(b"+2", b"+\xff"),
               whole.replace("Add File: b", "Add File: b\0c")]
    for text in hostile:
        done = apply(w, text)
        assert done.status in (1, 2) and tree(w.repo) == before, (text, done)
    assert apply(w, whole).status == 0


@case
def large_patches_end_in_time(w: World):
    """10 MB, 100,000 hunks: done, or refused with a reason and nothing lost."""
    lines = "".join(f"+{i}\n" for i in range(1_000_000))
    done = apply(w, BEGIN + "*** Add File: big\n" + lines + END)
    assert done.status == 0 and (w.repo / "big").stat().st_size == len(lines) - 1_000_000, done.err
    done = apply(w, BEGIN + "*** Add File: big\n" + lines * 2 + END)
    assert done.status == 1 and "Invalid patch: it has" in done.err, done
    w.write("repo/many", "a\n" * 100_000)
    done = apply(w, BEGIN + "*** Update File: many\n" + "@@\n-a\n+b\n" * 100_000 + END)
    assert done.status == 0 and (w.repo / "many").read_text() == "b\n" * 100_000, done.err
    done = apply(w, BEGIN + "*** Update File: many\n" + "@@\n-b\n+c\n" * 100_001 + END)
    assert done.status == 1 and "100000" in done.err and clean(w), done
    w.write("repo/one", "0\n")
    hunks = 3000
    done = apply(w, patch_of(*(update("one", i, i + 1) for i in range(hunks))))
    assert done.status == 0 and (w.repo / "one").read_text() == f"{hunks}\n", done


# The calls that change something, and those around them.
STEPS = "openat write pwrite64 rename renameat2 unlinkat linkat mkdirat fchmod fchown ftruncate fdatasync flock".split()


def trace(w, patch, options, kill_at=None):
    """The traced calls, in order; `kill_at` is the name of one and its number, from 1."""
    log = w.top / "trace"
    words = ["strace", "-f", "-o", str(log), "-e", "trace=" + ",".join(STEPS)]
    if kill_at:
        words += ["-e", f"inject={kill_at[0]}:signal=KILL:when={kill_at[1]}"]
    # Who is traced can't be looked through for leaks.
    done = start(w, words + [PROGRAM, "apply-patch", *WORK, *options], patch.encode(), env=without_leaks())
    text = log.read_text(errors="replace")
    assert done.status == 0 or kill_at and "killed by SIGKILL" in text, done
    return [m.group(1, 2) for m in re.finditer(r"^\d+ +([a-z0-9]+)\((.*)", text, flags=re.M)]


def steps_of(calls):
    """Each call from the first change on, as (name, its number among those of this name)."""
    first = next(i for i, (_, rest) in enumerate(calls) if TEMPORARY in rest)
    counts, steps = {}, []
    for i, (name, _) in enumerate(calls):
        counts[name] = counts.get(name, 0) + 1
        if i >= first - 2:
            steps.append((name, counts[name]))
    return steps


def fill(w, files):
    shutil.rmtree(w.repo)
    w.repo.mkdir()
    for name, content in files.items():
        w.write(f"repo/{name}", content)


@case
def each_file_is_the_old_or_the_new_one_after_a_kill_at_any_step(w: World):
    if not shutil.which("strace"):
        raise Skip("strace is not there")
    old = {"a": b"a0\n" * 50, "d/b": b"b0\n", "gone": b"g0\n", "from": b"m0\n"}
    new = {"a": b"a1\n" + b"a0\n" * 49, "d/b": b"b1\n", "gone": None, "from": None, "to/moved": b"m1\n",
           "added/x": b"x\n"}
    patch = patch_of(update("a", "a0", "a1"), update("d/b", "b0", "b1"), delete("gone"),
                     update("from", "m0", "m1", to="to/moved"), add("added/x", "x"))
    kills = 0
    for options in ((), ("--atomic",)):
        fill(w, old)
        seen = set()
        for step in steps_of(trace(w, patch, options)):
            fill(w, old)
            trace(w, patch, options, step)
            kills += 1
            for name in set(old) | set(new):
                path = w.repo / name
                found = path.read_bytes() if path.exists() else None
                assert found in (old.get(name), new.get(name)), (options, step, name, found)
                seen.add((name, found == new.get(name)))
            assert (w.repo / "from").exists() or (w.repo / "to/moved").exists(), (options, step)
            left = list(w.repo.rglob(".cordon-edit*"))
            assert len(left) <= 1, (options, step, left)
            # What is left neither disturbs the next one there nor outlives it.
            if left:
                place = left[0].parent.relative_to(w.repo)
                assert apply(w, patch_of(add(f"{place}/next", "x"))).status == 0 and clean(w), (options, step)
        # Both were seen: the kills came at steps that matter.
        assert all((name, True) in seen and (name, False) in seen for name in new), seen
    print(f"# {kills} kills")
    assert kills > 40


@case
def a_link_that_is_swapped_in_leads_nowhere(w: World):
    """Two processes: one swaps a directory with a link, the other patches a file in it, again and again."""
    outside = w.top / "outside"
    outside.mkdir()
    (outside / "f").write_text("safe\n")
    w.write_config("default_permissions = 'p'\n[permissions.p.filesystem]\n':root' = 'read'\n"
                   "':workspace_roots' = 'write'\n")
    w.write("repo/d/f", "0\n")
    swap = subprocess.Popen(["python3", "-c", f"""
import os, shutil, time
os.chdir({str(w.repo)!r})
os.symlink({str(outside)!r}, "link")
end = time.monotonic() + 8
while time.monotonic() < end and not os.path.exists("stop"):
    try:
        os.rename("d", "real"); os.rename("link", "d")
        os.rename("d", "link"); os.rename("real", "d")
    except OSError: # a patch has made the directory in between
        while os.path.isdir("real"):
            shutil.rmtree("d", ignore_errors=True)
            try:
                os.rename("real", "d")
            except OSError:
                pass
"""])
    done = refused = 0
    try:
        while swap.poll() is None and done + refused < 400:
            text = patch_of(add("d/f", str(done)), add("d/g", "x"), delete("d/g"))
            if apply(w, text, mode=()).status == 0:
                done += 1
            else:
                refused += 1
    finally:
        (w.repo / "stop").touch()
        swap.wait(timeout=SECONDS)
    assert (outside / "f").read_text() == "safe\n" and sorted(os.listdir(outside)) == ["f"]
    print(f"# {done} applied, {refused} refused")
    assert done > 0, "no patch got through, so this shows nothing"


if __name__ == "__main__":
    run_cases()
