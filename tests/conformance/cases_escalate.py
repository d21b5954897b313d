# SPDX-License-Identifier: MIT
"""Commands that are run outside for a command in the sandbox (P18): what it can't make of them."""

import json
import shlex
import shutil

from conform import Skip, case, check, these_need

these_need()

FULL = ":danger-full-access"


def rule(*argv, cwd="/"):
    """In `/`: with landlock the command can write .git in a workspace root, so nothing is run there."""
    members = {"argv": list(argv), "decision": "allow", "run": FULL} | ({"cwd": cwd} if cwd else {})
    return "[[exec]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in members.items())


def boxed(arena, *rules, **more):
    return arena.box(policy="".join(rules) + '[permissions.box]\nextends = ":workspace"\n', **more)


def escalate(box, *words):
    return "cd /; " + here(box, *words)


def here(box, *words):
    return shlex.join([str(box.arena.program), "escalate", "--", *(box.fill(word) for word in words)])


def inside(box, script, **more):
    """Runs a script in the sandbox: its output and status."""
    before = box.listing()
    out, err, status = box.finish([*box.argv(), "sh", "-c", box.fill(script)], status=None, **more)
    check(status != 125, f"the run was refused: {err}")
    box.check_clean(before)
    return out, status


def outside(box, script, **more):
    """The control: the same script without a sandbox."""
    box.finish(["sh", "-c", box.fill(script)], status=None, **more)


def made(box, name="{out}/made"):
    return box.path(name).exists()


@case
def only_the_command_of_a_rule_is_run_outside(arena):
    box = boxed(arena, rule("touch", "{out}/made"))
    inside(box, "touch {out}/made")
    check(not made(box), "it is writable inside, so this shows nothing")
    for words in (("touch", "{out}/made", "{out}/other"), ("touch", "{out}/other"), ("cp", "{work}/file", "{out}/other")):
        _, status = inside(box, escalate(box, *words))
        check(status == 1 and not made(box) and not made(box, "{out}/other"), f"{words} was run: {status}")
    _, status = inside(box, escalate(box, "touch", "{out}/made"))
    check(status == 0 and made(box), f"the rule's own command was not run: {status}")


@case
def no_program_of_the_command_is_run_outside(arena):
    plant = "printf '#!/bin/sh\\ntouch {out}/made\\n' >{work}/tool; chmod 755 {work}/tool; ln -s /usr/bin/touch {work}/link; "
    box = boxed(arena, rule("{work}/tool"), rule("tool"), rule("{work}/link", "{out}/made"))
    for words in (("{work}/tool",), ("tool",), ("{work}/link", "{out}/made")):
        _, status = inside(box, f"{plant} {escalate(box, *words)}; s=$?; rm {{work}}/tool {{work}}/link; exit $s")
        check(status == 1 and not made(box), f"{words} was run: {status}")
    outside(box, plant + "{work}/tool")
    check(made(box), "the control shows nothing")


@case
def no_variable_leads_outside_to_code_of_the_command(arena):
    plant = "echo 'touch {out}/made' >{work}/evil; "
    box = boxed(arena, rule("bash", "-c", "exit 7"))
    for env in ({"BASH_ENV": box.fill("{work}/evil")}, {"BASH_ENV": "evil"}):
        _, status = inside(box, plant + escalate(box, "bash", "-c", "exit 7"), env=env)
        check(status == 7 and not made(box), f"{env}: {status}")
    outside(box, plant + "bash -c 'exit 7'", env={"BASH_ENV": box.fill("{work}/evil")})
    check(made(box), "the control shows nothing")


@case
def git_uses_no_repository_of_the_command_outside(arena):
    if not shutil.which("git"):
        raise Skip("no git")
    fetch = ("git", "fetch", "-q", "origin")
    config = '[core]\\n\\tsshCommand = "touch {out}/made; false"\\n[remote "origin"]\\n\\turl = ssh://x/y\\n'
    plant = (f"mkdir -p $d/objects $d/refs; echo 'ref: refs/heads/main' >$d/HEAD; printf '{config}' >$d/config; ")
    clean = "s=$?; rm -rf $d/HEAD $d/objects $d/refs $d/config; [ $d = . ] || rm -rf $d; exit $s"
    # Of the root itself, in a directory below it, as a bare one in it, and above a root that has none.
    for place, target in (("{work}", ".git"), ("{work}", "sub/.git"), ("{work}", "."), ("{tmp}/root", "../.git")):
        box = boxed(arena, rule(*fetch, cwd=None), rule(*fetch, cwd="{work}/sub"))
        root = box.path(place)
        root.mkdir(exist_ok=True)
        box.path("{work}/sub").mkdir(exist_ok=True)
        where = "sub" if target.startswith("sub") else "."
        script = f"d={target}; {plant} (cd {where}; {here(box, *fetch)}); {clean}"
        _, status = inside(box, script, cwd=root)
        check(status != 0 and not made(box), f"{target} was used: {status}")
        outside(box, f"d={target}; {plant} cd {where}; {shlex.join(fetch)}", cwd=root)
        check(made(box), f"the control of {target} shows nothing")


@case
def no_file_is_written_outside_through_a_stream_that_reads(arena):
    script = "echo evil >>/dev/stdin"
    box = boxed(arena, rule("sh", "-c", script))
    command = here(box, "sh", "-c", script)
    inside(box, f"cd /; {command} <{{out}}/file")
    check(box.path("{out}/file").read_text() == "outside\n", "it was written")
    inside(box, f"cd /; {command} 0<>{{work}}/file")
    check("evil" in box.path("{work}/file").read_text(), "nothing was written that may be")
    outside(box, f"exec <{{out}}/file; {script}")
    check(box.path("{out}/file").read_text() != "outside\n", "the control shows nothing")
