# SPDX-License-Identifier: MIT
"""One case for each guarantee (P16): it is held, or a policy that needs it is refused by name.

Each policy here needs its guarantee; `cordon explain` says so. What else the backend lacks
is accepted, so that the refusal is for the one guarantee that is not.
"""

import json
import os

from conform import GUARANTEES, case, check, these_need

WORKSPACE = '[permissions.box]\nextends = ":workspace"\n'
NESTED = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/a" = "deny"
"{work}/a/b" = "write"
"""
NEEDING = {
    "fs_write": '[permissions.box]\nextends = ":read-only"\n',
    "fs_read": WORKSPACE + '[permissions.box.filesystem]\n"{out}/secret" = "deny"\n',
    "fs_carve": WORKSPACE,
    "fs_reopen": NESTED,
    "protect_missing": WORKSPACE,
    "deny_future": WORKSPACE + 'globs = "strict"\n[permissions.box.filesystem]\n"{work}/**/*.env" = "deny"\n',
    "net_off": WORKSPACE,
    "net_managed": WORKSPACE + '[permissions.box.network]\nenabled = true\ndomains = { "example.com" = "allow" }\n',
    "ipc": WORKSPACE,
    "proc": WORKSPACE,
    "kernel": WORKSPACE,
    "limits": WORKSPACE + 'limits = { processes = 100 }\n',
    "tree_death": WORKSPACE,
}

these_need()


def explained(arena, box):
    words = [*arena.prefix, arena.program, "explain", "--json", "-P", "box"]
    return json.loads(box.finish(words)[0])


def limits_are_held(arena):
    """Of processes alone, without a control group of ours: the kernel does not count those of root."""
    return arena.backend != "landlock" and os.getuid() != 0


def guarantee_case(name):
    def run(arena):
        box = arena.box(policy=NEEDING[name], tree={"{out}/secret": "s", "{work}/a/b/": ""})
        told = explained(arena, box)
        needed = [g["name"] for g in told["guarantees"]]
        check(name in needed, f"the policy does not need it: {needed}")
        arena.accepts = sorted(arena.lacks - {name})
        # Which limits can be held depends on who asks for which: see below.
        if name not in arena.lacks or (name == "limits" and limits_are_held(arena)):
            check(box.run("pid")[0].startswith("OK"), "it is held, but nothing runs")
            return
        before = box.listing()
        said = box.refuses()
        check(name in said and arena.backend in said, f"not by name: {said}")
        check(f"--accept-missing {name}" in said, f"no way out: {said}")
        others = [g for g in arena.accepts if f"--accept-missing {g}" in said]
        check(not others, f"also refused for {others}, which were accepted: {said}")
        box.check_clean(before)

    run.__name__ = f"{name}_is_held_or_refused_by_name"
    case(run)


for _name in GUARANTEES:
    guarantee_case(_name)


PROCESSES = 8
LIMITED = WORKSPACE + f"limits = {{ processes = {PROCESSES} }}\n"


@case
def processes_are_limited_or_the_limit_is_refused(arena):
    """The probe is two of them, and Cordon's own are none; others of the same user do not count."""
    most = PROCESSES - 2
    fits, too_many = f"forks {most}", f"forks {most + 1}"
    for policy in (LIMITED, LIMITED + '[permissions.box.filesystem]\n":workspace_roots" = { "**/*.env" = "deny" }\n'):
        box = arena.box(policy=policy)
        arena.accepts = sorted(arena.lacks - {"limits"})
        check(box.bare(fits, too_many) == [f"OK {most}", f"OK {most + 1}"], "the control shows nothing")
        if not limits_are_held(arena):
            said = box.refuses()
            check("limits" in said and "systemd-run" in said, f"no way out: {said}")
            continue
        for _ in range(3):
            done = box.run(fits, too_many, fits)
            check(done == [f"OK {most}", "EAGAIN", f"OK {most}"], f"{done}")
        others = [arena.guest(["/bin/sleep", "60"]) for _ in range(PROCESSES)]
        check(box.run(fits)[0].startswith("OK"), "processes of the host are counted")
        for other in others:
            other.kill()


@case(who=("root",))
def a_root_in_disguise_is_not_taken_for_one_whose_processes_are_counted(arena):
    """Its processes are root's outside, and the kernel does not limit those."""
    box = arena.box(policy=LIMITED)
    arena.accepts = sorted(arena.lacks - {"limits"})
    disguise = ["unshare", "-U", "--map-user=1000", "--map-group=1000", "--"]
    out, err, status = box.finish([*disguise, *box.argv("pid")], status=None)
    check(status == 125 and out == "", f"it runs: {status} {out} {err}")


@case
def doctor_says_what_the_table_shows(arena):
    """Both ways: what `cordon doctor` finds by trying it, and what support.txt says."""
    box = arena.box()
    told = json.loads(box.finish([*arena.prefix, arena.program, "doctor", "--json"], status=None)[0])
    found = [b for b in told["backends"] if b["name"] == arena.backend]
    check(len(found) == 1 and found[0]["works"], f"{found or told}")
    held, lacking = set(found[0]["held"]), GUARANTEES.keys() - set(found[0]["held"])
    check(lacking == arena.lacks, f"lacking {sorted(lacking)}, support.txt has {sorted(arena.lacks)}")
    check(held == {g["name"] for g in found[0]["guarantees"] if g["state"] == "held"}, f"{found}")
    arena.check_nothing_lives()


@case
def an_accepted_loss_is_said_and_marked(arena):
    box = arena.box()
    report = box.path("{top}/report.json")
    words = ["env", "CORDON_SANDBOX"]
    argv = box.argv(" ".join(words), options=(*box.options, "--report", str(report)))
    out, err, _ = box.finish(argv, says_losses=True)
    check(out == f"OK {arena.backend}\n", out)
    told = json.loads(report.read_text(encoding="utf-8"))
    check(told["backend"] == arena.backend, f"{told}")
    lost = set(arena.accepts)
    check(lost == {g for g in GUARANTEES if f"guarantee {g} is not enforced" in err}, f"{lost}: {err}")
    os.unlink(report)
