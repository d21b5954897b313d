#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a command in a sandbox may not get out of `cordon escalate`: each attempt beside one that is no attack."""

import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from cli import NONE, PROGRAM, Skip, World, case, run, run_cases, wait_for
from decider import Decider, ask
from outside import (ALLOW, FULL, WORK, audited, escalate, git, has_commit, out_of_reach, repository_with_remote, rule,
                     touch)
from terminal import Terminal


def request_write(path):
    return shlex.join([PROGRAM, "request", "--write", str(path)])


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def ask_slowly(w, *args):
    """Allows writing at once, and to touch something only when `id` is asked about."""
    slow = []

    def decide(request):
        if request["kind"] != "escalate":
            return {"decision": "allow", "scope": "run"}
        if request["argv"][0] == "touch":
            slow.append(request)
            (w.repo / "asked").touch()
            return None
        decider.answer(slow.pop(), **ALLOW)
        return {"decision": "deny"}

    decider = Decider(decide)
    result = run(w, *decider.options, *args, fds=decider.fds)
    decider.close()
    return result


@case
def what_a_grant_opens_during_the_question_is_looked_at_again(w: World):
    out = out_of_reach(w)
    made = w.top / "made"
    asked = (f"rm -f asked; (cd {out} && {shlex.join(escalate(*touch(made)))}; echo status $?) & while [ ! -e asked ]; do sleep 0.05; "
             f"done; {{}} {shlex.join(escalate('id'))}; wait")
    result = ask_slowly(w, *WORK, "-q", "--", "sh", "-c", asked.format(request_write(out) + ";"))
    assert "status 1" in result.out and not made.exists(), result
    result = ask_slowly(w, *WORK, "-q", "--", "sh", "-c", asked.format(""))
    assert "status 0" in result.out and made.exists(), result


def allow_once(opened):
    """Allows writing once what is below `opened`, and each command outside."""
    def decide(request):
        if request["kind"] == "escalate" or (opened and request["subject"].startswith(str(opened))):
            return ALLOW
        return {"decision": "deny"}
    return decide


@case
def what_one_call_may_write_is_not_run(w: World):
    out = out_of_reach(w)
    tool = program(out / "tool", "echo own")
    w.write_config(rule([str(tool)]))
    rewrite = f"printf '#!/bin/sh\\ntouch {w.top}/pwned\\n' >{tool}; {shlex.join(escalate(str(tool)))}"
    result, decider = ask(w, allow_once(out), *WORK, "-q", "--", "sh", "-c", rewrite)
    assert "write" in [x["kind"] for x in decider.requests] and "pwned" in tool.read_text(), (result, decider.requests)
    assert result.status == 1 and not (w.top / "pwned").exists(), result
    # In a run that did not write it, the same program is run.
    result = run(w, *WORK, "-q", "--", *escalate(str(tool)))
    assert result.status == 0 and (w.top / "pwned").exists(), result
    program(tool, "echo own")
    result, _ = ask(w, allow_once(None), *WORK, "-q", "--", "sh", "-c", rewrite)
    assert result.status == 0 and "own" in result.out, result


@case
def settings_of_git_that_one_call_may_write_are_not_obeyed(w: World):
    git("init", "-q", "-b", "main", cwd=w.repo)
    git("remote", "add", "origin", "ssh://x/y", cwd=w.repo)
    w.write_config(rule(FETCH))
    plant = f"printf '{evil(w)}' >{w.home}/.gitconfig; {shlex.join(escalate(*FETCH))}"
    result, decider = ask(w, allow_once(w.home), *WORK, "-q", "--", "sh", "-c", plant)
    assert "write" in [x["kind"] for x in decider.requests] and (w.home / ".gitconfig").exists(), (result, decider.requests)
    assert result.status == 1 and not (w.top / "pwned").exists(), result
    result = run(w, *WORK, "-q", "--", *escalate(*FETCH))
    assert (w.top / "pwned").exists(), result


@case
def who_is_killed_while_it_is_asked_about_has_nothing_run(w: World):
    out = out_of_reach(w)
    one = shlex.join(escalate(*touch(out / "made")))
    decider = Decider(None)  # who asks is killed: the question is withdrawn
    result = run(w, *decider.options, *WORK, "-q", "--", "sh", "-c", f"timeout -s KILL 1 {one}; echo $?", fds=decider.fds)
    assert result.out.strip() == "137" and wait_for(lambda: decider.withdrawn) == [decider.requests[0]["id"]], result
    decider.answer(decider.requests[0], **ALLOW)  # too late
    decider.close()
    decider = Decider(None)  # who decides is gone
    decider.decide = lambda _: decider.here.shutdown(socket.SHUT_RDWR)
    assert run(w, *decider.options, *WORK, "-q", "--", "sh", "-c", one, fds=decider.fds).status == 1
    decider = Decider(None)  # Cordon itself
    with subprocess.Popen([PROGRAM, "run", *decider.options, *WORK, "--", "sh", "-c", one], cwd=w.repo, env=w.env,
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=decider.fds) as running:
        wait_for(lambda: decider.requests)
        running.kill()
    decider.close()
    assert wait_for(lambda: not any(w.repo.iterdir())) and not (out / "made").exists()
    assert ask(w, ALLOW, *WORK, "-q", "--", "sh", "-c", one)[0].status == 0 and (out / "made").exists()


@case
def a_directory_of_path_that_a_grant_has_opened_is_searched_no_more(w: World):
    out = out_of_reach(w)
    (out / "bin").mkdir()
    path = f"PATH={out}/bin:/usr/bin:/bin"
    # A subshell: what is not there is not found again by its hash.
    script = "helper || echo none"
    w.write_config(rule(["sh", "-c", script]))
    one = shlex.join(escalate("sh", "-c", script))
    program(out / "bin/helper", "echo found")
    assert run(w, *WORK, "-q", "--env", path, "--", "sh", "-c", one, env={"PATH": path[5:]}).out == "found\n"
    (out / "bin/helper").unlink()
    plant = f"{one}; {request_write(out / 'bin')}; printf '#!/bin/sh\\necho found\\n' >{out}/bin/helper; chmod 755 {out}/bin/helper; {one}"
    result, _ = ask(w, {"decision": "allow", "scope": "run"}, *WORK, "-q", "--", "sh", "-c", plant, env={"PATH": path[5:]})
    assert (out / "bin/helper").exists(), result
    assert result.out.count("none\n") == 2 and "found\n" not in result.out, result


@case
def variables_that_lead_into_the_workspace_are_left_out(w: World):
    out = out_of_reach(w)
    lib = w.repo / "lib"
    lib.mkdir()
    script = ('echo "${LD_LIBRARY_PATH-none} ${PYTHONPATH-none} ${NODE_OPTIONS-none} ${GIT_SSH_COMMAND-none} '
              '${PERL5LIB-none} ${EDITOR-none} ${GIT_CONFIG_PARAMETERS-none}"')
    w.write_config(rule(["sh", "-c", script]) + rule([sys.executable, "-c", "import colorsys"]))

    def variables(**env):
        return run(w, *WORK, "-q", "--", *escalate("sh", "-c", script), env=env).out.split("\n")[0]

    assert variables(LD_LIBRARY_PATH="/usr/lib", GIT_SSH_COMMAND="ssh -i /etc/key", PERL5LIB="/usr/share/perl5", EDITOR="vi") \
        == "/usr/lib none none ssh -i /etc/key /usr/share/perl5 vi none"
    assert variables(LD_LIBRARY_PATH="/usr/lib:", PYTHONPATH=f"/usr/lib:{lib}", NODE_OPTIONS="-r x", EDITOR="./edit",
                     GIT_SSH_COMMAND=f"ssh -F{w.repo}/config", PERL5LIB="lib",
                     GIT_CONFIG_PARAMETERS="'core.hookspath'='lib'") == "none none none none none none none"
    plant = f"echo 'open(\"{out}/pwned\", \"w\")' >{lib}/colorsys.py; "
    words = [sys.executable, "-c", "import colorsys"]
    env = {"PYTHONPATH": str(lib)}
    result = run(w, *WORK, "-q", "--", "sh", "-c", plant + shlex.join(escalate(*words)), env=env)
    assert result.status == 0 and not (out / "pwned").exists(), result
    # With --env as well; and without Cordon it would have been run.
    result = run(w, *WORK, "-q", "--env", f"PYTHONPATH={lib}", "--", *escalate(*words))
    assert result.status == 0 and not (out / "pwned").exists(), result
    subprocess.run(words, env={**w.env, **env}, check=True)
    assert (out / "pwned").exists()


@case
def a_repository_above_the_workspace_runs_nothing(w: World):
    above = w.top / "tmp"  # $TMPDIR, which the command may write
    project = above / "project"
    project.mkdir()
    fetch = ["git", "fetch", "-q", "origin"]
    w.write_config(rule(fetch))
    git("init", "-q", str(w.top / "plain"), cwd=w.top)
    plant = (f"cp -r {w.top}/plain/.git ..; printf '[core]\\n\\tsshCommand = \"touch {w.top}/pwned; false\"\\n"
             f"[remote \"origin\"]\\n\\turl = ssh://x/y\\n' >>../.git/config; ")
    result = run(w, *WORK, "-q", "--", "sh", "-c", plant + shlex.join(escalate(*fetch)), cwd=project)
    assert (above / ".git/config").exists() and result.status != 0 and not (w.top / "pwned").exists(), result
    subprocess.run(fetch, cwd=project, env=w.env, check=False, capture_output=True)
    assert (w.top / "pwned").exists()


@case
def a_closed_directory_with_an_open_repository_is_no_place_for_it(w: World):
    out = out_of_reach(w)
    git("init", "-q", cwd=out)
    profile = '[permissions.open]\nextends = ":workspace"\ngit = "write"\n'
    opened = f'[permissions.open.filesystem]\n"{out}/.git" = "write"\n'
    for more, status in (("", 0), (opened, 1)):
        w.write_config(profile + more + rule(["pwd"], cwd=str(out)))
        git("init", "-q", cwd=w.repo)
        result = run(w, "-q", "-P", "open", "--", "sh", "-c", f"cd {out}; " + shlex.join(escalate("pwd")))
        assert result.status == status, (more, result)


FETCH = ["git", "fetch", "-q", "origin"]


def evil(w):
    """What git runs if it obeys: nothing can be fetched then."""
    return f'[core]\\n\\tsshCommand = "touch {w.top}/pwned; false"\\n'


def check_that_nothing_runs(w, plant, command, env, because):
    """The command plants something, and has git run outside; without Cordon it would have worked."""
    options = [word for name, value in env.items() for word in ("--env", f"{name}={value}")]
    result = run(w, *WORK, "-q", *options, "--", "sh", "-c", f"{plant}; {shlex.join(escalate(*command))}")
    assert result.status == 1 and because in result.err and not (w.top / "pwned").exists(), (because, result)
    subprocess.run(command, cwd=w.repo, env={**w.env, **env}, check=False, capture_output=True)
    assert (w.top / "pwned").exists(), because
    (w.top / "pwned").unlink()


@case
def settings_that_the_command_may_write_are_not_obeyed(w: World):
    git("init", "-q", "-b", "main", cwd=w.repo)
    git("remote", "add", "origin", "ssh://x/y", cwd=w.repo)
    w.write_config(rule(FETCH) + rule(["true"]))
    for name, file in (("HOME", ".gitconfig"), ("XDG_CONFIG_HOME", "git/config")):
        check_that_nothing_runs(w, f"mkdir -p h/git; printf '{evil(w)}' >h/{file}", FETCH, {name: f"{w.repo}/h"}, name)
    check_that_nothing_runs(w, f"printf '{evil(w)}' >conf", FETCH, {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "include.path",
                                                                   "GIT_CONFIG_VALUE_0": f"{w.repo}/conf"}, "include.path")
    # A directory of settings that is the user's own.
    (w.top / "out").mkdir()
    result = run(w, *WORK, "-q", "--env", f"XDG_CONFIG_HOME={w.top}/out", "--", *escalate("true"))
    assert result.status == 0, result


@case
def what_settings_of_git_lead_to_is_not_run_if_the_command_may_write_it(w: World):
    bare = repository_with_remote(w)
    push = ["git", "push", "-q", "origin", "main"]
    w.write_config(rule(push) + rule(FETCH))
    hook = "mkdir -p {0}; printf '#!/bin/sh\\ntouch " + str(w.top) + "/pwned\\n' >{0}/pre-push; chmod 755 {0}/pre-push"
    git("config", "core.hooksPath", "tools", cwd=w.repo)
    check_that_nothing_runs(w, hook.format("tools"), push, {}, "core.hooksPath")
    w.write_config('[permissions.closed]\nextends = ":workspace"\nprotect = ["tools"]\n' + rule(push) + rule(FETCH))
    (w.repo / "tools/pre-push").write_text("#!/bin/sh\n")
    git("push", "-q", "--delete", "origin", "main", cwd=w.repo)
    result = run(w, "-P", "closed", "-q", "--", *escalate(*push))
    assert result.status == 0 and has_commit(bare), result
    git("config", "--unset", "core.hooksPath", cwd=w.repo)
    # The user's own settings are for every repository.
    (w.home / ".gitconfig").write_text("[core]\n\thooksPath = tools\n")
    git("push", "-q", "--delete", "origin", "main", cwd=w.repo)
    check_that_nothing_runs(w, hook.format("tools"), push, {}, "core.hooksPath")
    (w.home / ".gitconfig").unlink()
    git("config", "include.path", "../conf", cwd=w.repo)
    git("config", "remote.origin.url", "ssh://x/y", cwd=w.repo)
    check_that_nothing_runs(w, f"printf '{evil(w)}' >conf", FETCH, {}, "include.path")
    git("config", "--unset", "include.path", cwd=w.repo)
    ssh = "printf '#!/bin/sh\\ntouch " + str(w.top) + "/pwned\\n' >ssh; chmod 755 ssh"
    git("config", "core.sshCommand", "./ssh -v", cwd=w.repo)
    check_that_nothing_runs(w, ssh, FETCH, {}, "core.sshCommand")
    git("config", "--unset", "core.sshCommand", cwd=w.repo)
    # A repository on this machine has hooks of its own.
    other = w.top / "tmp/other"
    git("init", "-q", "--bare", str(other), cwd=w.top)
    git("config", "remote.origin.url", str(other), cwd=w.repo)
    receive = hook.format(f"{other}/hooks").replace("pre-push", "pre-receive")
    check_that_nothing_runs(w, receive, push, {}, "remote.url")
    # Settings that lead to what the command can't write.
    git("config", "remote.origin.url", str(bare), cwd=w.repo)
    git("config", "core.hooksPath", ".githooks", cwd=w.repo)
    git("config", "credential.helper", f"store --file {w.home}/credentials", cwd=w.repo)
    (w.home / "more").write_text("[core]\n\tpager = cat\n")
    git("config", "include.path", "~/more", cwd=w.repo)
    git("config", "alias.deploy", "!./tools/deploy", cwd=w.repo)
    git("update-ref", "-d", "refs/heads/main", cwd=bare)
    assert not has_commit(bare)
    result = run(w, *WORK, "-q", "--", *escalate(*push))
    assert result.status == 0 and has_commit(bare), result


@case
def a_repository_that_the_index_names_is_not_looked_into(w: World):
    """With git = "commit" the command can write the index: git would look into what it names there."""
    bare = repository_with_remote(w)
    push, status = ["git", "push", "-q", "origin", "main"], ["git", "status"]
    more = [*push[:2], "--recurse-s=on-demand", *push[2:]]
    w.write_config('[permissions.commits]\nextends = ":workspace"\ngit = "commit"\n' + rule(status) + rule(push) + rule(more))
    plant = ("git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
             "git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub; "
             f"printf '#!/bin/sh\\ntouch {w.top}/pwned\\n' >sub/evil; chmod 755 sub/evil; git -C sub config core.fsmonitor ./evil; ")
    inside = ["-P", "commits", "-q", "--", "sh", "-c"]
    for command in (status, more):
        result = run(w, *inside, plant + shlex.join(escalate(*command)))
        assert result.status == 1 and "index" in result.err and not (w.top / "pwned").exists(), (command, result)
        plant = ""
    assert run(w, *WORK, "-q", "--", *escalate(*push)).status == 0 and has_commit(bare)
    git("push", "-q", "--delete", "origin", "main", cwd=w.repo)
    result = run(w, *inside, shlex.join(escalate(*push)))
    assert result.status == 0 and has_commit(bare) and not (w.top / "pwned").exists(), result
    git("config", "submodule.recurse", "true", cwd=w.repo)
    result = run(w, *inside, shlex.join(escalate(*push)))
    assert result.status == 1 and "submodule.recurse" in result.err, result
    subprocess.run(status, cwd=w.repo, env=w.env, check=False, capture_output=True)
    assert (w.top / "pwned").exists()


@case
def a_repository_is_not_made_where_the_index_has_one(w: World):
    """A clone has an empty directory for it, and only .gitmodules would have it protected."""
    status = ["git", "status"]
    git("init", "-q", "-b", "main", cwd=w.repo)
    w.write_config(rule(status))
    link = ["update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},sub"]
    plant = ("git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; "
             f"printf '#!/bin/sh\\ntouch {w.top}/pwned\\n' >sub/evil; chmod 755 sub/evil; git -C sub config core.fsmonitor ./evil")
    (w.repo / "sub").mkdir()
    assert run(w, *WORK, "-q", "--", *escalate(*status)).status == 0
    git(*link, cwd=w.repo)
    check_that_nothing_runs(w, plant, status, {}, "the repository 'sub'")
    for name in ("file1", "file2"):
        (w.repo / name).write_text("x")
    shutil.rmtree(w.repo / "sub")
    git("add", "file1", cwd=w.repo)
    git("update-index", "--split-index", cwd=w.repo)
    git("add", "file2", cwd=w.repo)
    assert list((w.repo / ".git").glob("sharedindex.*"))
    (w.repo / "sub").mkdir()
    check_that_nothing_runs(w, plant, status, {}, "the repository 'sub'")


def set_up_commits(w, rules):
    git("init", "-q", "-b", "main", cwd=w.repo)
    (w.repo / ".gitattributes").write_text("*.txt filter=f diff=f\n")
    (w.repo / "a.txt").write_text("a\n")
    git("add", ".", cwd=w.repo)
    git("commit", "-q", "-m", "x", cwd=w.repo)
    w.write_config("".join(map(rule, rules)))


@case
def a_file_that_an_interpreter_is_told_to_run_is_judged(w: World):
    add, diff = ["git", "add", "a.txt"], ["git", "diff", "HEAD"]
    set_up_commits(w, [add, diff, FETCH])
    shell = f"echo changed >>a.txt; printf 'touch {w.top}/pwned; cat\\n' >clean.sh"
    python = f"echo changed >>a.txt; echo 'open(\"{w.top}/pwned\", \"w\")' >strip.py"
    here = {"PYTHONPATH": "", "GIT_PAGER": "cat"}
    for value, plant in (("sh clean.sh", shell), ("env sh clean.sh", shell), ("sh -c 'sh clean.sh'", shell),
                         ("\"$PWD\"/clean.sh", f"{shell}; chmod 755 clean.sh"), ("s\\h \"cl\"ean.sh", shell),
                         ("cat %f | xargs echo | sh clean.sh", shell), ("python3 strip.py %f", python),
                         ("python3 -mstrip", python), ("python3 -m strip", python), ("bash", f"echo 'touch {w.top}/pwned' >a.txt"),
                         ("make -s", f"echo changed >>a.txt; printf 'all:;@touch {w.top}/pwned\\n' >Makefile")):
        git("config", "filter.f.clean", value, cwd=w.repo)
        check_that_nothing_runs(w, plant, add, {}, "filter.clean")
        git("reset", "-q", "--hard", cwd=w.repo)
        (w.top / "pwned").unlink(missing_ok=True)
    git("config", "--unset", "filter.f.clean", cwd=w.repo)
    ssh = f"printf 'ProxyCommand touch {w.top}/pwned\\n' >ssh_config"
    tool = f"mkdir -p tools; printf '#!/bin/sh\\ntouch {w.top}/pwned\\n' >tools/tool; chmod 755 tools/tool"
    git("remote", "add", "origin", "ssh://x/y", cwd=w.repo)
    for value, plant in (("ssh -F ssh_config", ssh), ("ssh -vFssh_config", ssh), ("PATH=tools:$PATH tool", tool)):
        git("config", "core.sshCommand", value, cwd=w.repo)
        if "tool" in value or shutil.which("ssh"):
            check_that_nothing_runs(w, plant, FETCH, {}, "core.ssh")
        else:
            result = run(w, *WORK, "-q", "--", *escalate(*FETCH))
            assert result.status == 1 and "core.ssh" in result.err, result
    git("config", "--unset", "core.sshCommand", cwd=w.repo)
    # A variable is left out.
    plant = f"{shell}; " + shlex.join(escalate(*diff))
    env = {**here, "GIT_EXTERNAL_DIFF": "sh clean.sh"}
    result = run(w, *WORK, "-q", "--", "sh", "-c", plant, env=env)
    assert result.status == 0 and "+changed" in result.out and not (w.top / "pwned").exists(), result
    subprocess.run(diff, cwd=w.repo, env={**w.env, **env}, check=False, capture_output=True)
    assert (w.top / "pwned").exists()


@case
def commands_that_lead_nowhere_are_obeyed(w: World):
    out = out_of_reach(w)
    add, diff, env = ["git", "add", "a.txt"], ["git", "diff", "HEAD"], ["sh", "-c", "echo ${GIT_EXTERNAL_DIFF-none} ${LESSOPEN-none}"]
    set_up_commits(w, [add, diff, env])
    program(out / "clean", f"echo clean >>{out}/log; cat")
    for name, value in (("filter.lfs.clean", "git-lfs clean -- %f"), ("core.pager", "less -R"), ("credential.helper", "store"),
                        ("credential.helper", "!f() { echo password=$TOKEN; }; f"), ("core.sshCommand", "ssh -i ~/.ssh/key -o IdentitiesOnly=yes"),
                        ("credential.https://registry.example.helper", "!/usr/bin/gh auth git-credential"), ("core.editor", "code --wait"), ("core.sshCommand", "ssh -oForwardAgent=no -F /dev/null"),
                        ("interactive.diffFilter", "delta --color-only"), ("merge.f.driver", "merge-it %O %A %B"),
                        ("filter.f.clean", f"sh -e {out}/clean"), ("remote.origin.url", "https://registry.example/a.git"),
                        ("url.git@registry.example:.insteadOf", "https://registry.example/"), ("sendemail.toCmd", "find-people")):
        git("config", name, value, cwd=w.repo)
        (w.repo / "a.txt").write_text(f"{name}\n")
        result = run(w, *WORK, "-q", "--", *escalate(*add))
        assert result.status == 0, (name, value, result)
    assert (out / "log").exists()
    shown = run(w, *WORK, "-q", "--", *escalate(*env), env={"GIT_EXTERNAL_DIFF": f"sh {out}/clean", "LESSOPEN": "|/usr/bin/lesspipe %s"})
    assert shown.out == f"sh {out}/clean |/usr/bin/lesspipe %s\n", shown


@case
def a_setting_that_can_not_be_understood_is_refused(w: World):
    set_up_commits(w, [FETCH])
    git("remote", "add", "origin", "ssh://x/y", cwd=w.repo)
    for name, value in (("include.path", "~nobody/conf"), ("core.hooksPath", "~nobody/hooks"), ("core.hooksPath", "%(prefix)/hooks"),
                        ("core.sshCommand", "~nobody/ssh"), ("include.path", "%(prefix)/conf")):
        git("config", "-f", ".git/config", name, value, cwd=w.repo)
        result = run(w, *WORK, "-q", "--", *escalate(*FETCH))
        assert result.status == 1 and "can't be found out" in result.err, (name, value, result)
        git("config", "-f", ".git/config", "--unset", name, cwd=w.repo)
    # A colon makes no URL of a directory.
    git("config", "core.hooksPath", "a:b/hooks", cwd=w.repo)
    result = run(w, *WORK, "-q", "--", *escalate(*FETCH))
    assert result.status == 1 and "core.hookspath" in result.err.lower(), result
    git("config", "--unset", "core.hooksPath", cwd=w.repo)
    status = ["git", "status"]
    w.write_config(rule(status))
    git("config", "core.hooksPath", "", cwd=w.repo)
    assert run(w, *WORK, "-q", "--", *escalate(*status)).status == 0


@case
def what_is_behind_two_colons_of_a_remote_is_a_command(w: World):
    set_up_commits(w, [FETCH])
    plant = f"printf 'touch {w.top}/pwned\\n' >remote.sh; printf '#!/bin/sh\\ntouch {w.top}/pwned\\n' >remote; chmod 755 remote"
    git("config", "protocol.ext.allow", "always", cwd=w.repo)
    for value in ("ext::sh remote.sh %S", "ext::./remote %S"):
        git("config", "remote.origin.url", value, cwd=w.repo)
        check_that_nothing_runs(w, plant, FETCH, {}, "remote.url")
    git("config", "remote.origin.url", "there:x", cwd=w.repo)
    check_that_nothing_runs(w, plant, FETCH, {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.ext::sh remote.sh .insteadOf",
                                              "GIT_CONFIG_VALUE_0": "there:"}, "url.insteadOf")
    git("config", "remote.origin.url", f"ext::touch {w.top}/ran %S", cwd=w.repo)
    run(w, *WORK, "-q", "--", *escalate(*FETCH))
    assert (w.top / "ran").exists()


@case
def every_command_of_the_table_is_looked_at(w: World):
    set_up_commits(w, [["git", "status"]])
    for name in ("gc.recentObjectsHook", "imap.tunnel", "sendemail.toCmd", "sendemail.ccCmd", "sendemail.headerCmd", "browser.x.path",
                 "man.x.cmd", "man.x.path"):
        for value, status in (("./tool", 1), ("/usr/bin/true", 0)):
            git("config", name, value, cwd=w.repo)
            result = run(w, *WORK, "-q", "--", *escalate("git", "status"))
            assert result.status == status, (name, value, result)
        git("config", "--unset", name, cwd=w.repo)


@case
def the_settings_of_a_submodule_are_looked_at(w: World):
    status = ["git", "status"]
    other = w.top / "other"
    other.mkdir()
    git("init", "-q", "-b", "main", cwd=other)
    (other / "a.txt").write_text("a\n")
    git("add", ".", cwd=other)
    git("commit", "-q", "-m", "x", cwd=other)
    git("init", "-q", "-b", "main", cwd=w.repo)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub", cwd=w.repo)
    git("commit", "-q", "-m", "x", cwd=w.repo)
    w.write_config(rule(status))
    assert run(w, *WORK, "-q", "--", *escalate(*status)).status == 0
    plant = f"printf '#!/bin/sh\\ntouch {w.top}/pwned\\n' >sub/evil; chmod 755 sub/evil"
    git("config", "core.fsmonitor", "./evil", cwd=w.repo / "sub")
    check_that_nothing_runs(w, plant, status, {}, "core.fsmonitor")
    git("config", "core.fsmonitor", "false", cwd=w.repo / "sub")
    assert run(w, *WORK, "-q", "--", *escalate(*status)).status == 0
    # What the repository above keeps from the command may be open in this one.
    w.write_config('[permissions.closed]\nextends = ":workspace"\nprotect = ["evil"]\n' + rule(status))
    (w.repo / "evil").write_text("")
    (w.home / ".gitconfig").write_text("[core]\n\tfsmonitor = ./evil\n")
    result = run(w, "-P", "closed", "-q", "--", *escalate(*status))
    assert result.status == 1 and "core.fsmonitor" in result.err, result


@case
def a_worktree_of_another_repository_is_judged_by_its_settings(w: World):
    other = w.top / "other"
    other.mkdir()
    git("init", "-q", "-b", "main", cwd=other)
    git("commit", "-q", "--allow-empty", "-m", "x", cwd=other)
    w.repo.rmdir()
    git("worktree", "add", "-q", str(w.repo), cwd=other)
    git("config", "remote.origin.url", "ssh://x/y", cwd=other)
    w.write_config(rule(FETCH))
    git("config", "include.path", f"{w.repo}/conf", cwd=other)
    check_that_nothing_runs(w, f"printf '{evil(w)}' >conf", FETCH, {}, "include.path")


@case
def what_becomes_another_user_does_not_keep_the_run_from_its_end(w: World):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("only root can become another user, with setpriv")
    out = out_of_reach(w)
    for other in ("setpriv --reuid=65534 --clear-groups ", ""):
        sleep = f"{other}sh -c 'echo >&3; exec sleep 1000' 3>{out}/ready"  # it is that user by then
        for script in (f"exec {sleep}", f"{sleep} & wait"):
            w.write_config(rule(["sh", "-c", script]))
            one = shlex.join(escalate("sh", "-c", script))
            # Without CAP_KILL root is to the other user what somebody else is to root.
            result = subprocess.run(["setpriv", "--bounding-set=-kill", "--inh-caps=-kill", PROGRAM, "run", *WORK, "--", "sh", "-c",
                                     f"{one} >/dev/null 2>&1 & while [ ! -s {out}/ready ]; do sleep 0.1; done"], cwd=w.repo, env=w.env,
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
            (out / "ready").unlink()
            left = [int(word) for line in result.stderr.splitlines() if "goes on" in line for word in line.split() if word.isdigit()]
            for pid in left:
                assert "sleep" in Path(f"/proc/{pid}/cmdline").read_text(), (pid, result)
                os.kill(pid, signal.SIGKILL)
            assert result.returncode == 0 and len(left) == bool(other), (script, result)


LISTING = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd')))"


@case
def it_gets_no_descriptors_but_the_streams(w: World):
    w.write_config("".join(rule([sys.executable, "-c", LISTING], profile=p, cwd=c)
                           for p, c in ((FULL, str(w.repo)), (":read-only", "/"))))
    read, write = os.pipe()
    os.dup2(read, 40)
    try:
        os.set_inheritable(40, True)
        inherited = run(w, *NONE, "-q", "--", sys.executable, "-c", LISTING, fds=(40,)).out
        assert 40 in json.loads(inherited), inherited
        for place in (str(w.repo), "/"):
            result = run(w, *WORK, "-q", "--", "sh", "-c", f"cd {place}; " + shlex.join(escalate(sys.executable, "-c", LISTING)),
                         fds=(40,))
            assert json.loads(result.out) == [0, 1, 2, 3], result  # 3: the listing itself
    finally:
        for fd in (read, write, 40):
            os.close(fd)


def at_terminal(w, *words):
    """What a run shows on a terminal of its own."""
    terminal = Terminal(w, *words)
    terminal.wait()
    return terminal.seen


@case
def it_has_no_way_to_the_terminal_of_the_user(w: World):
    script = "(: </dev/tty) 2>/dev/null && echo open || echo closed"
    for profile in (FULL, ":read-only"):
        w.write_config(rule(["sh", "-c", script], profile=profile))
        shown = at_terminal(w, PROGRAM, "run", "-q", *WORK, "--", *escalate("sh", "-c", script))
        assert "closed" in shown, (profile, shown)
    assert "open" in at_terminal(w, "/bin/sh", "-c", script)


# Asks with a terminal whose other end it holds, or with its own, as standard error.
WITH_TERMINAL = """
import os, pty, subprocess, sys
master, slave = pty.openpty()
stream = {"held": slave, "master": master, "own": 2}[sys.argv[1]]
sys.exit(subprocess.run(sys.argv[2:], stderr=stream, stdout=stream).returncode)
"""


@case
def a_terminal_that_the_command_holds_is_not_passed_out(w: World):
    script = 'echo "${PAGER-none} ${GIT_PAGER-none} ${LESSSECURE-none}" >$0; test -t 2'
    shown = out_of_reach(w) / "shown"
    command = ["sh", "-c", script, str(shown)]
    w.write_config(rule(command))
    for own, kind, is_run in ((False, "held", False), (False, "master", False), (True, "held", False), (True, "own", True)):
        words = [PROGRAM, "run", "-q", *WORK, "--env", "PAGER=less", "--", sys.executable, "-c", WITH_TERMINAL, kind, *escalate(*command)]
        status = Terminal(w, *words).wait() if own else subprocess.run(words, cwd=w.repo, env=w.env, stdin=subprocess.DEVNULL,
                                                                       capture_output=True, check=False).returncode
        assert (status == 0, shown.exists()) == (is_run, is_run), (own, kind, status)
    assert shown.read_text() == "cat cat 1\n"
    shown.unlink()
    # With --ask tty the terminal is one that Cordon has made.
    status = Terminal(w, PROGRAM, "run", "-q", "--ask", "tty", *WORK, "--", *escalate(*command)).wait()
    assert status == 0 and shown.read_text() == "cat cat 1\n", status
    shown.unlink()
    # Without a terminal nothing is set.
    result = run(w, *WORK, "-q", "--env", "PAGER=less", "--", *escalate(*command))
    assert result.status == 1 and shown.read_text() == "less none none\n", result


@case
def each_command_has_its_own_status(w: World):
    out = out_of_reach(w)
    slow = f"touch {out}/ready; while [ ! -e {out}/go ]; do sleep 0.05; done; exit 3"
    other = f"touch {out}/go; while [ ! -e {w.repo}/done ]; do sleep 0.05; done; exit 4"
    w.write_config(rule(["sh", "-c", slow]) + rule(["sh", "-c", other]))
    run(w, *WORK, "-q", "--report", str(w.top / "report"), "--", "sh", "-c",
        f"{shlex.join(escalate('sh', '-c', slow))} & a=$!; while [ ! -e {out}/ready ]; do sleep 0.05; done; "
        f"{shlex.join(escalate('sh', '-c', other))} & wait $a; touch done; wait")
    found = {x["command"]: x["status"] for x in json.loads((w.top / "report").read_text())["escalations"]}
    assert found == {f"sh -c {slow}": 3, f"sh -c {other}": 4}, found


@case
def what_is_refused_for_its_streams_is_logged(w: World):
    w.write_config(rule(["true"]))
    for stdin, status in (("/dev/null", 0), (str(w.repo), 1)):
        result = run(w, *WORK, "-q", "--", "sh", "-c", f"exec <{stdin}; exec {shlex.join(escalate('true'))}")
        assert result.status == status, result
    lines = [(x["decision"], x["argv"]) for x in audited(w)]
    assert lines == [("allow", ["true"]), ("deny", ["true"])], lines


@case
def a_shell_may_ask_about_any_number_of_its_own_commands(w: World):
    out = out_of_reach(w)
    wrapper = w.top / "cordon-execve-wrapper"
    wrapper.symlink_to(PROGRAM)
    w.write_config(rule(touch(out / "a")))
    result = run(w, *WORK, "-q", "--", "sh", "-c", f"i=0; while [ $i -lt 70 ]; do {wrapper} /usr/bin/true true || exit 9; i=$((i+1)); done; "
                 + shlex.join([str(wrapper), "/usr/bin/touch", *touch(out / "a")]))
    assert result.status == 0 and (out / "a").exists(), result


if __name__ == "__main__":
    run_cases()
