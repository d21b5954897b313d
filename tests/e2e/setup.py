#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon setup`: Cordon beneath an agent, by files that people edit too (docs/agents.md).

Here stand-ins answer for the agents: what the probe starts is what setup has written. The real agents are
started by tests/agents/check_setup.py.
"""

import json
import os
import pty
import random
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path

from cli import PROGRAM, Result, Skip, World, case, run_cases
import schema  # tests/support, which cli makes known

KILL_AT = os.path.abspath(os.environ["KILL_AT"])
NAMES = ("claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen")
# What setup asks these two for, as they answer when nothing but their launcher's words counts.
ANSWERS = {"codex": 'case "$*" in *shell_tool=false*features\\ list) echo "shell_tool   stable   false" ;;\n'
                    '*features\\ list) grep -q "^shell_tool = false" "$HOME/.codex/config.toml" && echo "shell_tool x false" ;;\n'
                    '*) exit 9 ;; esac',
           # It loads its plugin and says nothing if that is broken; Gemini CLI does so with the hooks of its extensions.
           "opencode": '[ "$*" = "debug config" ] || exit 9; echo "$OPENCODE_CONFIG_CONTENT"\n'
                       'plugin=$(echo "$OPENCODE_CONFIG_CONTENT" | sed -n "s|.*file://\\([^\\"]*\\)\\".*|\\1|p")\n'
                       '[ -z "$CORDON_HOOKS_CHECK" ] || ! grep -q "^export const CordonPlugin" "$plugin" || '
                       'echo "  \\"cordon_hooks\\": \\"called\\""',
           "gemini": '[ "$*" = "-p x" ] || exit 9\n'
                     'sh -c "$(sed -n "s/.*\\"command\\": \\"\\(.*\\)\\".*/\\1/p" '
                     '"$HOME/.gemini/extensions/cordon/hooks/hooks.json" | head -n 1)"'}


class Desk:
    """A world with an installed Cordon and programs called like the agents."""

    def __init__(self, w, agents=NAMES):
        self.w, self.home = w, w.home
        self.bin = w.top / "bin"
        self.bin.mkdir()
        self.program = shutil.copy2(PROGRAM, self.bin / "cordon")
        (self.bin / "cordon-sh").symlink_to("cordon")
        for name in agents:
            self.script(self.bin / name, ANSWERS.get(name, "exit 9"))
        w.env["PATH"] = f"{self.bin}:{w.env['PATH']}"

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def setup(self, *words, status=0, before=(), env=None):
        done = subprocess.run([*before, str(self.program), "setup", *words], cwd=self.w.repo, env={**self.w.env, **(env or {})},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Sanitizer" not in result.err and "runtime error" not in result.err, result
        assert status is None or result.status == status, (words, result)
        return result

    def json(self, *words, status=0, **keywords):
        found = self.setup("--json", *words, status=status, **keywords).json
        schema.check(found)
        return found

    def cause(self, *words):
        return self.json(*words, status=125)["error"]["cause"]

    def everything(self):
        """All that is below the home but the log of runs: type, mode, bytes."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            mode = path.lstat().st_mode
            if "audit" in path.parts:
                continue
            found[str(path)] = (stat.filemode(mode), os.readlink(path) if path.is_symlink()
                                else path.read_bytes() if path.is_file() else b"")
        return {path: what for path, what in found.items() if path not in self.of_the_log()}

    def of_the_log(self):
        """The directories that the probe's run may have left: the log is in them."""
        log = self.home / ".local/state/cordon/audit"
        return {str(path) for path in (log, *log.parents)} if log.exists() else set()


@case
def nothing_changes_without_a_yes(w: World):
    d = Desk(w)
    before = d.everything()
    shown = d.setup("opencode", "--dry-run").out
    assert "cordon-opencode" in shown and "+ export SHELL=" in shown and 'git = "commit"' in shown, shown
    d.setup("opencode", status=1)
    assert d.everything() == before
    found = d.json("opencode", "--dry-run")
    assert [c["change"] for c in found["changes"]] == ["create"] * 3 and not found["done"], found
    d.setup("opencode", "--yes")
    assert d.everything() != before


@case
def undo_puts_every_byte_back(w: World):
    d = Desk(w)
    for name in NAMES:
        words = [] if name in ("codex", "opencode") else ["--partial"]
        settings = d.home / ".claude/settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.write_text('{\n\t"model": "x", \n\t"env": {"A": "b",},\n}\r\n')
        before = d.everything()
        once = d.setup(name, *words, "--yes", status=None)
        there = d.everything()
        assert there != before, once
        d.setup(name, *words, "--yes", status=None)
        assert d.everything() == there, "the second time something changed"
        d.setup(name, "--undo", "--yes")
        assert d.everything() == before, (name, d.everything().keys() ^ before.keys())
        d.setup(name, "--undo", "--yes")
        assert d.everything() == before


@case
def the_proof_is_the_answer_of_the_supervisor(w: World):
    d = Desk(w)
    assert d.json("--inside", status=1)["proof"] is None
    lies = {"CORDON_SANDBOX": "native", "CORDON_RUN": "0123456789abcdef", "CORDON_SOCKET": "/proc/cordon/ask"}
    assert d.json("--inside", status=1, env=lies)["proof"] is None
    inside = subprocess.run([d.program, "run", "--mode", "read-only", "--", d.program, "setup", "--inside", "--json"],
                            cwd=w.repo, env=w.env, capture_output=True, check=True, timeout=120)
    assert json.loads(inside.stdout)["proof"]["profile"] == ":read-only", inside
    for name in ("codex", "opencode"):
        found = d.json(name, "--yes")
        assert found["done"] and found["covered"] and found["proof"]["profile"] == "agent", found
        found = d.json(name, "--check")
        assert found["covered"] and not found["problems"], found


@case
def hooks_are_registered_and_what_turns_them_off_is_found(w: World):
    d = Desk(w)

    def problems(name, status=1):
        return " ".join(d.json(name, "--check", status=status)["problems"])

    d.json("opencode", "--yes")
    plugin = d.home / ".local/state/cordon/setup/opencode/cordon.mjs"
    right = plugin.read_text()
    plugin.write_text("broken")
    assert "does not call Cordon's hooks" in problems("opencode") and "cordon.mjs' is not as" in problems("opencode")
    plugin.unlink()
    assert "cordon.mjs' is missing" in problems("opencode")
    plugin.write_text(right)
    assert not problems("opencode", 0)
    for name, path, key, harmless in (
            ("gemini", ".gemini/extensions/cordon/hooks/hooks.json", "hooksConfig", {"enabled": True, "disabled": []}),
            ("qwen", ".qwen/extensions/cordon/qwen-extension.json", "disableAllHooks", False)):
        d.json(name, "--partial", "--yes")
        file = d.home / path
        command = json.loads(file.read_text())["hooks"]["BeforeTool" if name == "gemini" else "PreToolUse"][0]["hooks"][0]["command"]
        assert command == f"{d.program} hook {name}", command
        assert not problems(name)
        for settings in (w.repo / f".{name}/settings.json", d.home / f".{name}/settings.json"):
            settings.parent.mkdir(exist_ok=True)
            settings.write_text(json.dumps({key: harmless, "other": 1}))
            assert not problems(name), (settings, problems(name))
            for harm in ([True, "no", None] if name == "qwen" else [{"enabled": False}, {"enabled": None}, {"disabled": ["x"]}]):
                settings.write_text(json.dumps({key: harm}))
                assert f"{settings}' turns hooks off by" in problems(name), harm
            settings.unlink()
        right = file.read_text()
        file.write_text(right.replace("hook", "hok"))
        assert file.name in problems(name)
        file.write_text(right)
    # It obeys what a project names that is trusted, as it is told there that this one is.
    where = d.home / "where"
    d.script(d.bin / "gemini", f'[ -z "$GEMINI_CLI_TRUST_WORKSPACE" ] || {{ pwd; ls -A; }} >{where}\n{ANSWERS["gemini"]}')
    assert not problems("gemini") and len(where.read_text().splitlines()) == 1 and str(w.repo) not in where.read_text()
    d.script(d.bin / "gemini", "exit 9")
    assert "does not call Cordon's hooks" in problems("gemini")
    # For all users there is none, and nothing of the kind is looked for.
    d.setup("gemini", "--undo", "--yes")
    d.setup("qwen", "--undo", "--yes")
    assert not (d.home / ".gemini/extensions").exists() and not (d.home / ".qwen/extensions").exists()


@case
def the_plugin_of_opencode_refuses_and_tells(w: World):
    node = shutil.which("node")
    if not node:
        raise Skip("there is no node")
    d = Desk(w)
    (w.top / "secret").mkdir()
    (w.top / "secret/there").touch()
    w.write_config(f'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   f'[permissions.p.filesystem]\n"{w.top}/secret" = "deny"\n')
    d.setup("opencode", "--yes")
    plugin = d.home / ".local/state/cordon/setup/opencode/cordon.mjs"
    test = w.write("test.mjs", """
import { CordonPlugin } from "%s"
const hooks = await CordonPlugin({ directory: process.cwd() })
const found = []
for (const path of process.argv.slice(2)) {
  try {
    await hooks["tool.execute.before"]({ tool: "read", sessionID: "s", callID: "c" }, { args: { filePath: path } })
    found.push(null)
  } catch (error) { found.push(error.message) }
}
const output = { output: "out" }
await hooks["tool.execute.after"]({ tool: "bash", args: {} }, output)
const config = {}
await hooks.config(config)
console.log(JSON.stringify([found, output.output, config]))
""" % plugin)

    def call(**env):
        return subprocess.run([node, str(test), "a", str(w.top / "secret/there"), ""], cwd=w.repo, env={**w.env, **env},
                              capture_output=True, text=True, check=False)

    done = call(CORDON_HOOKS_CHECK="1")
    assert done.returncode == 0, done
    (free, denied, empty), output, config = json.loads(done.stdout)
    assert free is None and "the policy denies it" in denied and "names no path" in empty and output == "out", done
    assert config == {"cordon_hooks": "called"}, config
    assert json.loads(call().stdout)[2] == {}
    # Without a Cordon nothing is read, and it does not say that it is called.
    d.program.unlink()
    done = call(CORDON_HOOKS_CHECK="1")
    assert done.returncode != 0 and str(d.program) in done.stderr, done


@case
def the_doctor_repeats_the_check_of_what_is_set_up(w: World):
    d = Desk(w)

    def doctor(*words):
        done = subprocess.run([str(d.program), "doctor", *words], cwd=w.repo, env=w.env, capture_output=True, text=True,
                              timeout=240, check=False)
        assert "Sanitizer" not in done.stderr, done
        if not words:
            return done.stdout
        schema.check(json.loads(done.stdout))
        return [(one["name"], one["scope"], one["covered"], bool(one["gap"]), one["problems"])
                for one in json.loads(done.stdout)["agents"]]

    assert doctor("--json") == [] and "\nagents" not in doctor()
    d.setup("opencode", "--yes")
    d.setup("pi", "--partial", "--yes")
    d.setup("codex", "--partial", "--yes")
    partly = [("codex", "user", False, True, []), ("pi", "user", False, True, [])]
    assert sorted(doctor("--json")) == sorted([("opencode", "user", True, False, []), *partly]), doctor("--json")
    said = doctor()
    assert "opencode (user)  ok\n" in said and "pi (user)  in part\n" in said, said
    # A project may name what an agent runs, and nobody has said that this one is trusted.
    where = d.home / "where"
    d.script(d.bin / "opencode", f'pwd >>{where}\n{ANSWERS["opencode"]}')
    assert "opencode (user)  ok\n" in doctor() and str(w.repo) not in where.read_text().splitlines(), where.read_text()
    where.unlink()
    d.setup("opencode", "--check")
    assert str(w.repo) in where.read_text().splitlines(), "it is not told apart"
    launcher = d.home / ".local/bin/cordon-opencode"
    launcher.write_text(launcher.read_text().replace(f'"{d.bin}/cordon-sh"', '"/bin/sh"'))
    found = [one for one in doctor("--json") if one[0] == "opencode"]
    assert not found[0][2] and any("ran outside" in problem for problem in found[0][4]), found
    assert "opencode (user)  not as it was set up\n    problem: " in doctor()
    (d.bin / "opencode").unlink()
    assert any("no program 'opencode'" in problem for one in doctor("--json") for problem in one[4])


@case
def what_was_never_set_up_is_said_to_be_so(w: World):
    d = Desk(w)

    def scopes():
        return {agent["name"]: agent["set_up"] for agent in d.json()["agents"] if agent["set_up"]}

    before = d.everything()
    for _ in range(2):
        found = d.json("codex", "--check", status=1)
        assert not found["was_set_up"] and not found["problems"] and not found["covered"], found
        said = d.setup("codex", "--check", status=1).out
        assert "not set up: Codex (user)" in said and "cordon-codex" not in said, said
        assert d.setup("codex", "--undo", "--yes").out == "not set up: Codex (user)\n"
        assert not d.json("codex", "--undo", "--yes")["was_set_up"] and not scopes()
        assert d.everything() == before
        assert d.setup("codex", "--yes").out.startswith("done: Codex (user)\n")
        assert scopes() == {"codex": ["user"]} and ", set up (user)\n" in d.setup().out
        assert d.json("codex", "--check")["was_set_up"]
        assert d.setup("codex", "--undo", "--yes").out.startswith("undone: Codex (user)\nremoved ")
    assert "claude" in d.setup().out and "set up (" not in d.setup().out


@case
def what_is_not_proven_is_not_called_done(w: World):
    d = Desk(w)
    before = d.everything()
    d.script(d.bin / "codex", "exit 9")
    for words in ((), ("--quiet",)):
        said = d.setup("codex", "--yes", *words, status=1).out
        assert said.startswith("not proven: Codex (user)\n") and "done" not in said and "start it with" not in said, said
        assert words or ("problem: " in said and "'cordon setup codex --undo'" in said), said
    said = d.setup("codex", "--check", status=1).out
    assert "problem: " in said and "start it with" not in said, said
    found = d.json("codex", "--yes", status=1)
    assert found["was_set_up"] and not found["covered"] and found["problems"], found
    d.setup("codex", "--undo", "--yes")
    assert d.everything() == before


@case
def a_way_that_leads_outside_is_found(w: World):
    d = Desk(w)
    d.setup("opencode", "--yes")
    launcher = d.home / ".local/bin/cordon-opencode"
    right = launcher.read_text()
    for other, says in (("/bin/sh", "ran outside"), ("/bin/false", "did not answer")):
        wrong = right.replace(f'"{d.bin}/cordon-sh"', f'"{other}"').replace("exec opencode", "CORDON_SANDBOX=native exec opencode")
        assert wrong != right
        launcher.write_text(wrong)
        found = d.json("opencode", "--check", status=1)
        assert not found["covered"] and found["proof"] is None, found
        assert any(says in problem for problem in found["problems"]), found
        assert any("cordon-opencode" in problem for problem in found["problems"]), found
    launcher.unlink()
    assert d.json("opencode", "--check", status=1)["problems"]
    launcher.write_text(right)
    launcher.chmod(0o755)
    d.json("opencode", "--check")


@case
def what_does_not_cover_all_needs_partial_and_is_not_ok(w: World):
    d = Desk(w)
    for name in ("copilot", "gemini", "pi", "qwen"):
        refusal = d.setup(name, "--yes", status=125).err
        assert "--partial" in refusal and not (d.home / ".local/bin").exists(), refusal
        found = d.json(name, "--partial", "--yes")
        assert found["done"] and found["gap"] and found["proof"] and not found["covered"], found
        found = d.json(name, "--check", status=1)
        assert found["proof"] and found["gap"] and not found["problems"], found
        d.setup(name, "--undo", "--yes")
    assert d.cause("opencode", "--partial", "--yes") == "argument"
    assert d.cause("gemini", "--project", "--yes") == "argument"


@case
def the_scripts_start_the_agent_as_they_say(w: World):
    d = Desk(w)
    for name in ("opencode", "gemini", "copilot", "codex", "claude"):
        d.setup(name, *([] if name in ("opencode", "codex", "claude") else ["--partial"]), "--yes", status=None)
    d.script(d.bin / "opencode", 'echo "$CORDON_WORKSPACE"; "$SHELL" -c "cd /; exit 7"; echo $? "$@"; '
             '"$SHELL" -c "touch $HOME/escaped"; "$SHELL" -c "touch made"; exit 3')
    launch = [str(d.home / ".local/bin/cordon-opencode"), "a b", "--"]
    done = subprocess.run(launch, cwd=w.repo, env=w.env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3 and done.stdout == f"{w.repo}\n7 a b --\n", done
    assert not (d.home / "escaped").exists() and (w.repo / "made").exists(), done
    # A bash that is given a script, options, or a line, and one that is started within.
    (w.repo / "script").write_text("echo script $1; bash -c 'echo within; command -v bash'")
    d.script(d.bin / "gemini", "bash script; bash script x; bash -c 'echo line; exit 4'; echo $?; echo 'echo read' | bash -s")
    done = subprocess.run([str(d.home / ".local/bin/cordon-gemini")], cwd=w.repo, env=w.env, capture_output=True, text=True,
                          timeout=120, check=False)
    real = shutil.which("bash")
    assert done.stdout == f"script\nwithin\n{real}\nscript x\nwithin\n{real}\nline\n4\nread\n", done
    d.script(d.bin / "claude", 'shift; echo "$1"')
    done = subprocess.run([str(d.home / ".local/bin/cordon-claude")], cwd=w.repo, env={**w.env, "CORDON_PROFILE": "agent"},
                          capture_output=True, text=True, timeout=120, check=True)
    settings = json.loads(done.stdout)["env"]
    assert settings["CLAUDE_CODE_SHELL_PREFIX"] == f"{d.bin}/cordon-sh" and settings["HOME"] == str(w.home), settings
    assert settings["CORDON_WORKSPACE"] == str(w.repo) and settings["CORDON_PROFILE"] == "agent", settings
    assert settings["CORDON_MODE"] == "" and settings["XDG_CONFIG_HOME"] == f"{w.home}/.config", settings
    def turns_hooks_on():
        done = subprocess.run([str(d.home / ".local/bin/cordon-claude")], cwd=w.repo, env=w.env, capture_output=True, text=True,
                              timeout=120, check=True)
        return json.loads(done.stdout).get("disableAllHooks") is False

    # No project turns the hooks off; a person does, and then those of projects stay off as well.
    own = d.home / ".claude/settings.json"
    own.parent.mkdir(exist_ok=True)
    assert turns_hooks_on()
    own.write_text('{"disableAllHooks" :true}')
    assert not turns_hooks_on()
    own.write_text('{"disableAllHooks": false}')
    assert turns_hooks_on()
    # A variable that is set, be it to nothing, is none that an agent takes from a file of the project.
    d.script(d.bin / "gemini", 'for n in CORDON_MODE CORDON_PROFILE CORDON_SESSION LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV ENV PS4 TMPDIR; do '
             'eval "echo $n=\\${$n-unset}"; done; echo "$CORDON_WORKSPACE $XDG_CONFIG_HOME $XDG_STATE_HOME"')
    done = subprocess.run([str(d.home / ".local/bin/cordon-gemini")], cwd=w.repo, env={**w.env, "CORDON_PROFILE": "agent"},
                          capture_output=True, text=True, timeout=120, check=True)
    assert "unset" not in done.stdout and "CORDON_PROFILE=agent\n" in done.stdout and "CORDON_MODE=\n" in done.stdout, done
    assert done.stdout.endswith(f"{w.repo} {w.home}/.config {w.home}/.local/state\n"), done
    # So no directory becomes writable that a command has named in such a file.
    d.script(d.bin / "gemini", f"""[ -n "${{TMPDIR+set}}" ] || export TMPDIR="{d.home}"
bash -c 'echo "${{TMPDIR-none}}"; touch "$HOME/by_tmpdir"; touch by_hand'""")
    for start, gets_out in ((d.home / ".local/bin/cordon-gemini", False), (d.home / "unpinned", True)):
        script = (d.home / ".local/bin/cordon-gemini").read_text()
        d.script(d.home / "unpinned", script.replace('export TMPDIR="${TMPDIR-}"', ""))
        subprocess.run([str(start)], cwd=w.repo, env={k: v for k, v in w.env.items() if k != "TMPDIR"}, capture_output=True,
                       timeout=120, check=False)
        assert (w.home / "by_tmpdir").exists() == gets_out and (w.repo / "by_hand").exists(), start
    for name, words in (("claude", ["--settings", "{}"]), ("claude", ["--settings={}"]), ("codex", ["--enable", "shell_tool"]),
                        ("codex", ["-c", "features.shell_tool=true"]), ("codex", ["-cfeatures={}"])):
        done = subprocess.run([str(d.home / f".local/bin/cordon-{name}"), *words], cwd=w.repo, env=w.env, capture_output=True,
                              timeout=120, check=False)
        assert done.returncode == 125, (name, words, done)
    for name, words, env in (("claude", [], {"CORDON_MODE": 'x", "HOME": "/'}), ("opencode", ["attach", "x"], {}),
                             ("opencode", [], {"OPENCODE_CONFIG_CONTENT": "{}"})):
        done = subprocess.run([str(d.home / f".local/bin/cordon-{name}"), *words], cwd=w.repo, env={**w.env, **env},
                              capture_output=True, timeout=120, check=False)
        assert done.returncode == 125, (name, done)


@case
def hand_written_settings_keep_everything_else(w: World):
    d = Desk(w)
    kept = w.top / "dotfiles/claude.json"
    kept.parent.mkdir()
    kept.write_text('{\n    "permissions": {"deny": ["Read(./.env)"],},\n    "env": {"A": "1"} ,\n}\n')
    kept.chmod(0o640)
    settings = d.home / ".claude/settings.json"
    settings.parent.mkdir()
    settings.symlink_to("../../dotfiles/claude.json")
    before = kept.read_bytes()
    d.setup("claude", "--partial", "--yes", status=None)
    private = d.home / ".local/state/cordon/setup/claude/cordon-sh"
    assert kept.read_text() == ('{\n    "permissions": {"deny": ["Read(./.env)"],},\n    "env": {"A": "1", '
                                f'"CLAUDE_CODE_SHELL_PREFIX": "{private}"}} ,\n}}\n'), kept.read_text()
    assert settings.is_symlink() and stat.S_IMODE(kept.stat().st_mode) == 0o640
    d.setup("claude", "--undo", "--yes")
    assert kept.read_bytes() == before and settings.is_symlink()
    config = d.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text('# mine\nmodel = "x"\n[features] # f\nshell_tool = true # on\n[mcp_servers.other]\ncommand = "y"\n')
    d.setup("codex", "--partial", "--yes")
    text = config.read_text()
    assert text.startswith('# mine\nmodel = "x"\n[features] # f\nshell_tool = false # on\n[mcp_servers.other]\n'), text
    assert '[mcp_servers]\ncordon = { command = "' in text, text


@case
def what_would_lose_something_is_refused(w: World):
    d = Desk(w)
    settings = d.home / ".claude/settings.json"
    settings.parent.mkdir()

    def refuses(cause, *words):
        before = d.everything()
        assert d.cause("claude", "--partial", "--yes", *words) == cause
        assert d.everything() == before

    settings.write_text("{}")
    settings.chmod(0o400)
    refuses("file_untrusted")
    settings.chmod(0o600)
    os.link(settings, d.home / "second")
    refuses("file_untrusted")
    (d.home / "second").unlink()
    for text, cause in (('{"env": 1}', "policy"), ('{"env": {}, "env": {}}', "syntax"), ("{", "syntax"),
                        ('{"a": 1} // comment', "policy")):
        settings.write_text(text)
        refuses(cause)
    settings.unlink()
    settings.symlink_to("nowhere")
    refuses("file_untrusted")
    settings.unlink()
    settings.mkdir()
    refuses("file_untrusted")
    settings.rmdir()
    # A link in a project may be anybody's.
    own = w.repo / ".claude/settings.json"
    own.parent.mkdir()
    own.symlink_to(w.write("elsewhere.json", "{}"))
    refuses("file_untrusted", "--project")
    own.unlink()
    d.setup("claude", "--partial", "--project", "--yes", status=None)
    assert "CLAUDE_CODE_SHELL_PREFIX" in own.read_text()
    d.setup("claude", "--partial", "--yes", status=None)
    assert "CLAUDE_CODE_SHELL_PREFIX" in settings.read_text()


def answer(d, words, meanwhile):
    """At a terminal: does something when asked, and says yes."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([str(d.program), "setup", *words], cwd=d.w.repo, env=d.w.env, stdin=theirs, stderr=theirs,
                          stdout=subprocess.PIPE, start_new_session=True) as process:
        os.close(theirs)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(ours, 4096)
        meanwhile()
        os.write(ours, b"y\n")
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:
            pass
        out, _ = process.communicate(timeout=120)
    os.close(ours)
    return process.returncode, shown.decode(), out.decode()


@case
def a_file_that_changes_while_somebody_is_asked_is_left_as_it_is(w: World):
    d = Desk(w)
    config = d.home / ".codex/config.toml"
    config.parent.mkdir()
    for text in ("a = 1\n", None):
        if text:
            config.write_text(text)
        else:
            config.unlink(missing_ok=True)
        status, shown, _ = answer(d, ["codex", "--partial"], lambda: config.write_text("b = 2\n"))
        assert status == 125 and "changed by another program" in shown, (status, shown)
        assert config.read_text() == "b = 2\n" and os.listdir(config.parent) == ["config.toml"], os.listdir(config.parent)
    d.setup("codex", "--undo", "--yes", status=None)
    status, shown, out = answer(d, ["codex", "--partial"], lambda: None)
    assert status == 0 and "shell_tool = false" in config.read_text(), (status, shown, out)


@case
def undo_leaves_what_was_changed_since(w: World):
    d = Desk(w)
    config = d.home / ".codex/config.toml"
    d.setup("codex", "--partial", "--yes")
    ours = config.read_text()
    # A script that somebody has changed is theirs; a key with another value too.
    d.setup("codex", "--yes")
    launcher = d.home / ".local/bin/cordon-codex"
    script = launcher.read_text()
    for path, text, says in ((launcher, script + "# mine\n", "remove that file"),
                             (config, ours.replace("= false", "= true"), 'take "features.shell_tool" out')):
        was = path.read_text()
        path.write_text(text)
        before = d.everything()
        assert d.cause("codex", "--undo", "--yes") == "file_changed"
        refusal = d.setup("codex", "--undo", "--yes", status=125).err
        assert says in refusal and path.name in refusal and d.everything() == before, refusal
        path.write_text(was)
    # The policy is the person's from the moment they change it.
    w.config.write_text(w.config.read_text() + "# mine\n")
    d.setup("codex", "--undo", "--yes")
    assert not config.exists() and w.config.read_text().endswith("# mine\n")


@case
def undo_takes_its_key_out_of_settings_that_others_have_changed(w: World):
    d = Desk(w)
    settings = d.home / ".claude/settings.json"
    settings.parent.mkdir()
    private = d.home / ".local/state/cordon/setup/claude"
    ours = f'"CLAUDE_CODE_SHELL_PREFIX": "{private}/cordon-sh"'
    for before, change, after in (
            # What Claude writes itself has another layout; what setup has made goes with the key.
            ('{"model": "x"}', lambda text: json.dumps({**json.loads(text), "theme": "dark"}, indent=4),
             '{\n    "model": "x",\n    "theme": "dark"\n}'),
            (None, lambda text: text.replace("{", '{\n  // mine\n  "theme": "dark",', 1), '{\n  // mine\n  "theme": "dark"\n}\n'),
            ('{"env": {"A": "1"}}', lambda text: text.replace('"A"', '"B"'), '{"env": {"B": "1"}}'),
            ('{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/mine"}}', lambda text: text.replace("}}", '}, "b": 1}'),
             '{"env": {"CLAUDE_CODE_SHELL_PREFIX": "/mine"}, "b": 1}'),
            # By hand, or as a whole: it is no longer there.
            ('{"a": 1}', lambda text: '{"a": 2}', '{"a": 2}'),
            ('{"a": 1}', lambda text: '{"env": 1}', '{"env": 1}'),
            ('{"a": 1}', lambda text: None, None)):
        if before is None:
            settings.unlink(missing_ok=True)
        else:
            settings.write_text(before)
        d.setup("claude", "--partial", "--yes", status=None)
        text = settings.read_text()
        assert ours in text, text
        text = change(text)
        if text is None:
            settings.unlink()
        else:
            settings.write_text(text)
        said = d.setup("claude", "--undo", "--yes").out
        assert said.startswith("undone: "), said
        assert (settings.read_text() if settings.exists() else None) == after, (before, settings.read_text())
        assert not private.exists() and ", set up (" not in d.setup().out
    # With another value it is somebody else's.
    settings.write_text("{}")
    d.setup("claude", "--partial", "--yes", status=None)
    right = settings.read_text()
    for text in (right.replace(ours, '"CLAUDE_CODE_SHELL_PREFIX": "/other"'), right + "{"):
        settings.write_text(text)
        there = d.everything()
        refusal = d.setup("claude", "--undo", "--yes", status=125).err
        assert 'take "env.CLAUDE_CODE_SHELL_PREFIX" out' in refusal and "settings.json" in refusal, refusal
        assert d.everything() == there
    settings.write_text("{}")
    d.setup("claude", "--undo", "--yes")
    config = d.home / ".codex/config.toml"
    config.parent.mkdir()
    for before, more, after in (("model = 'x'\n", "\n[projects]\na = 1 # one\n", "model = 'x'\n\n[projects]\na = 1 # one\n"),
                                ("[features]\nshell_tool = true # on\n", "[projects]\n", "[features]\nshell_tool = true # on\n[projects]\n")):
        config.write_text(before)
        d.setup("codex", "--partial", "--yes")
        config.write_text(config.read_text() + more)
        d.setup("codex", "--undo", "--yes")
        assert config.read_text() == after, config.read_text()


@case
def what_kept_an_agent_from_starting_is_said(w: World):
    d = Desk(w)
    for name, title in (("opencode", "opencode"), ("codex", "Codex"), ("claude", "Claude Code")):
        d.script(d.bin / name, "echo first >&2; printf 'native \\033[1mbinary\\n\\n' >&2; exit 1")
        found = d.json(name, "--yes", status=1)["problems"]
        assert found == [f"Cordon could not start {title}: native \\x1b[1mbinary"], found
        d.script(d.bin / name, "exit 9")
        found = d.json(name, "--check", status=1)["problems"]
        assert len(found) == 1 and found[0].startswith(f"Cordon could not start {title}: it said nothing") and "9" in found[0], found
    d.script(d.bin / "opencode", "printf 'Error: no package\\n  at x:1\\n\\nNode.js v1\\n' >&2; exit 1")
    assert d.json("opencode", "--check", status=1)["problems"] == ["Cordon could not start opencode: Error: no package"]
    d.script(d.bin / "gemini", "echo one; echo two")
    found = d.json("gemini", "--partial", "--yes", status=1)["problems"]
    assert not any("\\x0a" in problem for problem in found), found
    # An agent that starts, and has another shell, is not mistaken for one that does not.
    d.script(d.bin / "opencode", "echo '{}'")
    assert "ran outside" in " ".join(d.json("opencode", "--check", status=1)["problems"])


@case
def a_script_that_is_not_executable_is_named(w: World):
    d = Desk(w)
    launcher = d.home / ".local/bin/cordon-opencode"
    launcher.parent.mkdir(parents=True)
    launcher.write_text("mine")
    launcher.chmod(0o644)
    before = d.everything()
    refusal = d.setup("opencode", "--yes", status=125).err
    assert "cordon-opencode' is there, and is not executable" in refusal and "chmod" in refusal, refusal
    assert d.everything() == before
    launcher.unlink()
    d.setup("opencode", "--yes")
    launcher.chmod(0o644)
    problems = d.json("opencode", "--check", status=1)["problems"]
    assert any("cordon-opencode' is not executable" in problem for problem in problems), problems
    assert not any("ran outside" in problem for problem in problems), problems
    assert d.cause("opencode", "--yes") == "policy"
    launcher.chmod(0o755)
    d.setup("opencode", "--check")


@case
def check_looks_at_the_way_that_was_set_up(w: World):
    d = Desk(w)
    d.json("codex", "--partial", "--yes")
    for words in ((), ("--partial",)):
        found = d.json("codex", *words, "--check", status=1)
        assert found["was_set_up"] and found["gap"] and found["proof"] and not found["problems"], (words, found)
    said = d.setup("codex", "--check", status=1).out
    assert "not covered: " in said and "cordon-codex" not in said, said
    # Where both are there, the words say which.
    d.json("codex", "--yes")
    assert d.json("codex", "--check")["gap"] is None
    assert d.json("codex", "--partial", "--check", status=1)["gap"]
    d.setup("codex", "--undo", "--yes")
    d.json("codex", "--yes")
    for words in ((), ("--partial",)):
        assert d.json("codex", *words, "--check")["covered"], words


@case
def a_script_that_no_shell_finds_is_named_with_its_path(w: World):
    d = Desk(w)
    scripts = d.home / ".local/bin"
    said = d.setup("opencode", "--yes").out
    assert f"note: {scripts} is not in PATH; start " in said, said
    assert f"start {scripts}/cordon-opencode, or" in said and f'export PATH={scripts}:"$PATH"\n' in said, said
    said = d.setup("opencode", "--yes", env={"PATH": f"{w.env['PATH']}:{scripts}/"}).out
    assert "start it with 'cordon-opencode'" in said and "not in PATH" not in said, said


@case
def each_file_that_was_changed_is_named(w: World):
    d = Desk(w)
    config = d.home / ".codex/config.toml"
    config.parent.mkdir()
    config.write_text("a = 1\n")
    said = d.setup("codex", "--partial", "--yes").out
    assert f"\nchanged {d.home}/.codex/config.toml\n" in said and f"\ncreated {d.home}/.config/cordon/config.toml\n" in said, said
    said = d.setup("codex", "--partial", "--yes").out
    assert "nothing was changed" in said and str(config) not in said, said
    assert d.json("codex", "--partial", "--yes")["changes"] == []
    before = d.everything()
    said = d.setup("codex", "--undo", "--dry-run").out
    assert f"change {d.home}/.codex/config.toml\n" in said and f"remove {d.home}/.config/cordon/config.toml\n" in said, said
    assert d.everything() == before
    said = d.setup("codex", "--undo", "--yes").out
    assert f"\nchanged {d.home}/.codex/config.toml\n" in said and f"\nremoved {d.home}/.config/cordon/config.toml\n" in said, said
    found = d.json("codex", "--yes")["changes"]
    assert [change["change"] for change in found] == ["create", "create"], found


@case
def a_setup_that_was_never_proven_is_listed_as_such(w: World):
    d = Desk(w)

    def states():
        return [(one["set_up"], one["unproven"]) for one in d.json()["agents"] if one["name"] == "opencode"][0]

    assert states() == ([], [])
    d.script(d.bin / "opencode", "exit 1")
    d.setup("opencode", "--yes", status=1)
    assert states() == (["user"], ["user"]) and ", set up (user, not proven)\n" in d.setup().out
    d.script(d.bin / "opencode", ANSWERS["opencode"])
    d.setup("opencode", "--yes")
    assert states() == (["user"], []) and ", set up (user)\n" in d.setup().out


@case
def killed_at_any_step_there_is_the_old_file_or_the_new(w: World):
    d = Desk(w)
    config = d.home / ".codex/config.toml"
    config.parent.mkdir()
    old = "model = 'x'\n"
    config.write_text(old)
    env = {"ASAN_OPTIONS": w.env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    words = ("codex", "--partial", "--yes", "-q")
    before = d.everything()
    d.setup(*words)
    new = config.read_text()
    steps, seen = 0, set()
    while True:
        d.setup("codex", "--undo", "--yes")
        assert d.everything() == before, (steps, d.everything().keys() ^ before.keys())
        steps += 1
        if d.setup(*words, status=None, before=[KILL_AT, str(steps)], env=env).status != 0:
            break
        assert config.read_text() in (old, new), (steps, config.read_text())
        seen.add(config.read_text())
        # Killed while it is undone, too.
        if steps % 3 == 0:
            d.setup("codex", "--undo", "--yes", status=None, before=[KILL_AT, str(random.randrange(1, 12))], env=env)
            assert config.read_text() in (old, new), steps
    assert seen == {old, new} and steps > 10, (steps, seen)


@case
def what_overrides_it_is_named(w: World):
    d = Desk(w)
    d.setup("claude", "--partial", "--yes", status=None)

    def problems(env=None):
        return " ".join(d.json("claude", "--partial", "--check", status=1, env=env)["problems"])

    assert "settings.local.json" not in problems()
    local = w.write("repo/.claude/settings.local.json", '{"env": {"CLAUDE_CODE_SHELL_PREFIX": ""}}')
    assert "settings.local.json' overrides" in problems()
    private = d.home / ".local/state/cordon/setup/claude/cordon-sh"
    local.write_text(json.dumps({"env": {"CLAUDE_CODE_SHELL_PREFIX": str(private)}}))
    assert "settings.local.json" not in problems()
    local.write_text("{")
    assert "settings.local.json' can't be looked at" in problems()
    assert "CLAUDE_CODE_SHELL" in problems({"CLAUDE_CODE_SHELL": "/usr/bin/cordon-sh"})
    assert "ignores the variable" not in problems({"CLAUDE_CODE_SHELL": "/usr/bin/bash"})


@case
def agents_are_looked_for_in_path(w: World):
    d = Desk(w, agents=("gemini",))
    found = {agent["name"]: agent["found"] for agent in d.json()["agents"]}
    assert set(found) == set(NAMES) and found["gemini"] == f"{d.bin}/gemini", found
    refusal = d.setup("qwen", "--partial", "--yes", status=125, env={"PATH": str(d.bin)}).err
    assert "'qwen' in PATH" in refusal and str(d.bin) in refusal, refusal
    assert "did you mean 'gemini'" in d.setup("gemni", status=125).err
    (d.bin / "gemini").unlink()
    said = d.setup(env={"PATH": str(d.bin)}).out
    assert f"no agent was found in {d.bin}\n" in said and all(f"no '{name}' in PATH" in said for name in NAMES), said
    (d.bin / "cordon-sh").unlink()
    d.script(d.bin / "opencode", "exit 9")
    assert "cordon-sh" in d.setup("opencode", "--yes", status=125).err


@case
def options_that_contradict_each_other_are_refused(w: World):
    d = Desk(w)
    for words in (["--user", "--system", "claude"], ["--system", "--project", "claude"], ["--check", "--undo", "claude"],
                  ["--undo"], ["--check"], ["--inside", "claude"], ["--dry-run"]):
        d.setup(*words, status=125)
    d.setup("claude", "--user", "--dry-run")


@case
def a_refusal_says_what_to_do(w: World):
    d = Desk(w)
    for option in ("--check", "--undo", "--dry-run"):
        refusal = d.setup(option, status=125).err
        assert f"{option} needs the name of an agent" in refusal and f"'cordon setup claude {option}'" in refusal, refusal
    refusal = d.setup("claude", "--project", status=125).err
    assert "it can be set up in full with --user or --system" in refusal and "in full it can" not in refusal, refusal
    found = d.json("claude", "--partial", "--dry-run")
    assert found["limit"] == "after 'cd DIR' the next command may write DIR", found
    assert found["gap"] == "a project's settings can turn this off (CLAUDE_CODE_SHELL_PREFIX)", found
    if os.geteuid() != 0:
        for words in (["codex"], ["codex", "--undo"]):
            assert "run it as root" in d.setup(*words, "--system", "--yes", status=125).err
            assert d.cause(*words, "--system", "--yes") == "needs_administrator"


if __name__ == "__main__":
    run_cases()
