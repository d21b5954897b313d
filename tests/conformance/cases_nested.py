# SPDX-License-Identifier: MIT
"""Repositories in the workspace that nothing leads to (P9): clones, and bare ones."""

import contextlib
import itertools
import json
import os
import shutil
import threading
import time

from cases_metadata import COMMIT, REFUSED, Git
from conform import SECONDS, await_path, await_true, case, check, check_same, rows, these_need

these_need("fs_carve", "protect_missing")


def git_dir(path):
    return {
        f"{path}/HEAD": "ref: refs/heads/main\n",
        f"{path}/config": "[core]\n",
        f"{path}/hooks/": "",
        f"{path}/objects/info/": "",
        f"{path}/refs/": "",
    }


def let_it_age(box):
    """What is made in the tick that a run starts in is taken for the run's."""
    coarse = 5  # CLOCK_REALTIME_COARSE, which Python has no name for
    made = box.write("{top}/last").stat().st_ctime
    await_true(lambda: time.clock_gettime(coarse) > made, "the clock stands still")


def planting(path):
    """What makes git run something the next time that it is used there."""
    return [
        f"write {path}/config",
        f"unlink {path}/config",
        f"create {path}/hooks/pre-commit",
        f"rename {path}/hooks {path}/h",
        f"exchange {path}/hooks {{work}}/evil",
        f"symlink-over {{work}}/evil/config {path}/config",
        f"create {path}/commondir",
        f"create {path}/config.worktree",
        f"create {path}/objects/info/alternates",
    ]


for _label, _policy in (("read", None), ("commit", COMMIT)):
    rows(
        f"what_git_obeys_in_a_nested_clone_is_kept_with_git_{_label}",
        refused=[
            *planting("{work}/deps/lib/.git"),
            "rename {work}/deps/lib/.git {work}/deps/lib/old",
            "exchange {work}/deps/lib/.git {work}/evil",
            "rename {work}/deps/lib {work}/old",
            "rename {work}/deps {work}/old",
        ],
        allowed=[
            "write {work}/deps/lib/file",
            "create {work}/deps/lib/new",
            "create {work}/deps/lib/.git/index",
            "write {work}/deps/lib/.git/HEAD",
            "mkdir {work}/deps/lib/.git/objects/aa",
            "read {work}/deps/lib/.git/config",
        ],
        errors=REFUSED,
        policy=_policy,
        tree=git_dir("{work}/deps/lib/.git") | {"{work}/deps/lib/file": "x", "{work}/evil/config": "[core]\n"},
        watch=("{work}/deps/lib/.git/config", "{work}/deps/lib/.git/hooks", "{work}/evil", "{out}"),
    )

GRANTED = "{out}/granted"
rows(
    "what_git_obeys_in_a_clone_below_a_live_grant_is_kept",
    refused=[
        *planting(f"{GRANTED}/deps/lib/.git"),
        *planting(f"{GRANTED}/mirror.git"),
        f"rename {GRANTED}/deps/lib/.git {GRANTED}/deps/lib/old",
        f"exchange {GRANTED}/deps/lib/.git {GRANTED}/evil",
        f"rename {GRANTED}/deps {GRANTED}/old",
    ],
    allowed=[
        f"create {GRANTED}/new",
        f"write {GRANTED}/deps/lib/file",
        f"create {GRANTED}/deps/lib/.git/index",
        f"mkdir {GRANTED}/mirror.git/objects/aa",
    ],
    errors=REFUSED,
    policy='[[approve]]\nwrite = "{out}/granted"\nanswer = "allow"\n[permissions.box]\nextends = ":workspace"\n',
    options=("--ask", "cmd:/bin/false"),
    tree=git_dir(f"{GRANTED}/deps/lib/.git") | git_dir(f"{GRANTED}/mirror.git")
    | {f"{GRANTED}/deps/lib/file": "x", f"{GRANTED}/evil/config": "[core]\n", "{work}/evil/config": "[core]\n"},
    watch=(f"{GRANTED}/deps/lib/.git/config", f"{GRANTED}/deps/lib/.git/hooks", f"{GRANTED}/mirror.git/hooks",
           f"{GRANTED}/evil", "{work}/evil", "{home}/file"),
)

rows(
    "what_git_obeys_in_a_nested_bare_repository_is_kept",
    refused=[*planting("{work}/mirror.git"), "rename {work}/mirror.git {work}/old"],
    allowed=["create {work}/mirror.git/packed-refs", "mkdir {work}/mirror.git/objects/aa"],
    errors=REFUSED,
    tree=git_dir("{work}/mirror.git") | {"{work}/evil/config": "[core]\n"},
    watch=("{work}/mirror.git/config", "{work}/mirror.git/hooks", "{work}/evil", "{out}"),
)

rows(
    "what_the_pointer_or_link_of_a_nested_clone_leads_to_is_kept",
    refused=[
        *planting("{work}/store/one"),
        *planting("{work}/store/two"),
        "write {work}/a/.git",
        "rename {work}/evil/config {work}/a/.git",
        "symlink-over ../evil {work}/b/.git",
        "unlink {work}/b/.git",
        "rename {work}/store {work}/old",
    ],
    allowed=["create {work}/store/one/index", "create {work}/a/new", "create {work}/store/new"],
    errors=REFUSED,
    tree=git_dir("{work}/store/one")
    | git_dir("{work}/store/two")
    | {"{work}/a/.git": "gitdir: ../store/one\n", "{work}/b/.git": "->../store/two", "{work}/evil/config": "[core]\n"},
    watch=("{work}/a/.git", "{work}/store/one/config", "{work}/store/two/config", "{out}"),
)


@case
def nested_clones_are_open_where_the_profile_says_so(arena):
    policy = '[permissions.box]\nextends = ":workspace"\nnested = "report"\n'
    box = arena.box(policy=policy, tree=git_dir("{work}/lib/.git") | {"{out}/file": "x"}, watch=("{out}",))
    before = box.snapshot()
    got = box.run("write {work}/lib/.git/config", "create {work}/lib/.git/hooks/x", "write {out}/file",
                  "rename {work}/lib {work}/moved", "rename {work}/moved {work}/lib")
    check(got[:2] == ["OK"] * 2 and got[2] in REFUSED and got[3:] == ["OK"] * 2, f"{got}")
    check_same(before, box.snapshot(), "was changed")
    check(box.bare("write {out}/file") == ["OK"], "the control shows nothing")


@case
def git_works_in_nested_clones_and_clones_anew(arena):
    """With the real git, in the mode that everybody has and in that for commits."""
    for policy in (None, COMMIT):
        box = arena.box(policy=policy)
        git = Git(box)
        git.init("{work}/lib")
        shutil.rmtree(box.path("{work}/lib/.git/hooks"), ignore_errors=True)
        os.makedirs(box.path("{work}/lib/.git/hooks"))
        config = box.path("{work}/lib/.git/config").read_bytes()
        git.inside("cd lib; echo two >two; git add two; git commit -qm two; git checkout -qb side;"
                   "echo 3 >>tracked; git stash -q; git stash pop -q; git commit -qam three; git gc -q;"
                   "cd ..; git clone -q lib sub; cd sub; git config core.x y; git commit -q --allow-empty -m four;"
                   "cd ..; rm -rf sub; if mv lib moved; then exit 9; fi;"
                   "if git -C lib config core.x y; then exit 9; fi")
        check(box.path("{work}/lib/.git/config").read_bytes() == config, "config was changed")
        left = [n for n in ("commondir", "config.worktree", "objects/info/alternates")
                if os.path.lexists(box.path("{work}/lib/.git/" + n))]
        check(not left, f"left behind: {left}")
    check(box.bare("write {work}/lib/.git/config") == ["OK"], "the control shows nothing")


@case(needs={"fs_write"})
def what_lies_behind_decoys_is_named_in_the_report_when_it_is_changed(arena):
    """The search has an end; what is planted behind it is at least not hidden."""
    tree = {f"{{work}}/a/{n}/": "" for n in range(1100)}
    tree |= git_dir("{work}/z/y/x/far/.git") | {"{work}/z/y/x/far/.git/hooks/pre-commit": "old\n", "{out}/file": "x"}
    box = arena.box(tree=tree, watch=("{out}",))
    before = box.snapshot()
    report = box.path("{top}/report.json")
    box.options = (*box.options, "--report", str(report))
    let_it_age(box)
    got = box.run("write {work}/z/y/x/far/.git/hooks/pre-commit", "write {out}/file")
    check(got[0] == "OK" and got[1] in REFUSED, f"{got}")
    found = json.loads(report.read_text(encoding="utf-8"))["git"]["findings"]
    check([f["kind"] for f in found] == ["part"], f"{found}")
    check(found[0]["path"] == str(box.path("{work}/z/y/x/far/.git/hooks/pre-commit")), f"{found}")
    check_same(before, box.snapshot(), "was changed")
    check(box.bare("write {out}/file") == ["OK"], "the control shows nothing")


@case
def what_one_run_makes_unwritable_the_next_can_not_fill(arena):
    """Where no placeholder can be made, the command must not be able to make room for what it is for."""
    parts = {".git": "commondir", ".git/objects": "info/alternates", ".git/objects/info": "alternates", "far": "config"}
    for directory, part in parts.items():
        tree = git_dir("{work}/lib/.git") | {"{work}/lib/far/": ""}
        if directory == ".git/objects":
            del tree["{work}/lib/.git/objects/info/"]
            tree["{work}/lib/.git/objects/"] = ""
        if directory == "far":
            tree["{work}/lib/.git/config"] = "->../far/config"
        box = arena.box(tree=tree, watch=())
        holder = f"{{work}}/lib/{directory}"
        plant = [f"create {holder}/{part}"]
        if "/" in part:
            plant.insert(0, f"mkdir {holder}/{os.path.dirname(part)}")
        check(box.run(f"chmod {holder} 0555") == ["OK"], "a mode can't be changed")
        for new in ("one", "two"):  # and no run is refused for it
            made = f"{{work}}/lib/{new}"
            got = box.run(f"chmod {holder} 0755", *plant, f"create {made}", makes=[made])
            check(got[-2] in REFUSED | {"ENOENT"} and got[-1] == "OK", f"{directory}: {got}")
            check(not os.path.lexists(box.path(f"{holder}/{part}")), f"{directory}: planted")
            if arena.uid:
                check(box.path(holder).stat().st_mode & 0o777 == 0o555, f"{directory}: opened")
        check(box.bare(f"chmod {holder} 0755", *plant) == ["OK"] * (1 + len(plant)), "the control shows nothing")


@case
def no_clone_that_a_run_makes_has_the_next_refused(arena):
    for way in ("chmod 0 x/.git/objects", "ln -s info x/.git/objects/info"):
        box = arena.box()
        script = f"mkdir -p x/.git/objects x/.git/refs; echo 'ref: refs/heads/main' >x/.git/HEAD; {way}"
        box.finish([*box.argv(), "/bin/sh", "-ec", script])
        got = box.run("create {work}/x/.git/commondir", "create {work}/x/new", makes=["{work}/x/new"])
        check(got[0] in REFUSED and got[1] == "OK", f"{way}: {got}")
        check(box.bare("create {work}/x/.git/commondir") == ["OK"], "the control shows nothing")


@case
def a_nested_clone_that_is_removed_outside_or_made_anew_ends_no_run(arena):
    """Runs beside each other do that. What the command does with it then is in the report."""
    box = arena.box(tree=git_dir("{work}/one/.git") | git_dir("{work}/two/.git"))
    report = box.path("{top}/report.json")
    box.options = (*box.options, "--report", str(report))
    let_it_age(box)
    script = ("mv one moved 2>/dev/null && exit 9; (echo x >two/.git/config) 2>/dev/null && exit 9; : >ready;"
              "until test -e go; do sleep 0.05; done; echo evil >two/.git/config; rm ready go")
    process = box.start([*box.argv(), "/bin/sh", "-ec", script])
    await_path(box.path("{work}/ready"))
    shutil.rmtree(box.path("{work}/one"))
    box.write("{top}/config", "[core]\n")
    os.rename(box.path("{top}/config"), box.path("{work}/two/.git/config"))
    os.chmod(box.path("{work}/two/.git/config"), 0o666)
    time.sleep(0.5)  # in which what guards the run would have seen it several times
    box.write("{work}/go", "")
    out, err = process.communicate(timeout=SECONDS)
    check(process.returncode == 0, f"{process.returncode} {out} {err}")
    found = json.loads(report.read_text(encoding="utf-8"))["git"]["findings"]
    path = str(box.path("{work}/two/.git/config"))
    check([(f["kind"], f["path"]) for f in found] == [("part", path)], f"{found}")
    arena.check_nothing_lives()
    check(box.bare("write {work}/two/.git/config") == ["OK"], "the control shows nothing")


@case
def clones_that_come_and_go_refuse_no_run(arena):
    """A run beside this one makes and removes them while this one is set up."""
    box = arena.box(tree=git_dir("{top}/seed/.git"))
    stop = threading.Event()

    def churn():
        for number in itertools.count():
            if stop.is_set():
                return
            path = box.path(f"{{work}}/clone{number % 3}")
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError, shutil.Error):  # placeholders come and go there
                shutil.copytree(box.path("{top}/seed"), path, dirs_exist_ok=True)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        # bwrap takes paths, and finds out that one is gone too late to do without it.
        fine = (0,) if arena.backend == "native" else (0, 125)
        told = [box.finish([*box.argv(), "/bin/true"], status=None) for _ in range(20)]
        check(all(status in fine for _, _, status in told), f"{[t for t in told if t[2]]}")
    finally:
        stop.set()
        thread.join()
    arena.check_nothing_lives()
    check(box.bare("create {work}/new") == ["OK"], "the control shows nothing")
