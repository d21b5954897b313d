#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_shell.py [AGENT | CASE...]: what the model and the person see of an agent with Cordon beneath its shell.

Each agent that npm has is set up by `cordon setup` and driven, headless, by a scripted model on loopback. It has to be told
the same as without Cordon, but for what the policy refuses; what it is refused gets out when the agent runs as it
is, or the case shows nothing. An agent that can't be had is a skip that says why. The program under test is $CORDON.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "support"), str(TOP / "tests" / "agents"), str(TOP / "tests" / "work")]
import check_agents  # noqa: E402  pylint: disable=wrong-import-position
import drivers  # noqa: E402  pylint: disable=wrong-import-position
import own_network  # noqa: E402  pylint: disable=wrong-import-position
import scripted_model  # noqa: E402  pylint: disable=wrong-import-position
from work import identities, remove  # noqa: E402  pylint: disable=wrong-import-position

GONE_SECONDS = 20


class Skip(Exception):
    """Why the agent has nothing to test here."""


class World(check_agents.World):
    def __init__(self, who, agent):
        super().__init__(who, None)
        (self.top / "cordon-sh").symlink_to("cordon")
        self.driver = agent()
        self.name = agent.name
        self.driver.project = self.project
        npm = drivers.AGENTS
        if os.geteuid() == 0:  # the person can't pass the directories around it
            npm = self.top / "npm"
            npm.mkdir()
            own_network.mount(drivers.AGENTS, npm, own_network.MS_BIND)
        self.bin = npm / "node_modules" / ".bin"
        self.env["PATH"] = f"{self.bin}:{self.env['PATH']}"
        self.give()

    def end(self):
        if os.geteuid() == 0:
            own_network.libc.umount2(os.fsencode(self.top / "npm"), own_network.MNT_DETACH)
        # What an agent has started may still write there.
        for _ in range(5):
            try:
                remove(self.top)
                return
            except OSError:
                time.sleep(1)
        remove(self.top)

    def put(self, path, value):
        self.write(self.home / path, value if isinstance(value, str) else json.dumps(value))
        self.give()

    def setup(self, *words, status=0):
        found, out = self.call(self.program, "setup", "--json", self.name, *words)
        said = json.loads(out[out.index("{\n"):])
        assert found == status, (found, out)
        return said

    def set_up(self):
        """And how it is started then. What does not cover every command is said."""
        said = self.setup("--yes", *(["--partial"] if self.driver.partial else []))
        assert said["proof"] and said["covered"] != self.driver.partial, said
        launcher = self.home / f".local/bin/cordon-{self.name}"
        return launcher if launcher.exists() else self.plain

    @property
    def plain(self):
        return self.bin / self.name

    def plain_again(self):
        """The agent as it is, after --undo."""
        self.setup("--undo", "--yes")
        return self.plain

    def model(self, *steps):
        model = scripted_model.start(list(steps))
        base = f"http://127.0.0.1:{model.server_address[1]}"
        self.driver.configure(self.put, base)
        return model, {**self.driver.env, **self.driver.more_env(base)}

    def start(self, start):
        return [start, *self.driver.words(), *(() if start == self.plain else self.driver.launcher_words)]

    def run(self, start, *steps, words=()):
        """What each step gave, as the model was told."""
        model, env = self.model(*steps)
        status, out = self.call(*self.start(start), *words, env=env)
        model.shutdown()
        self.whole = model.whole.replace('\\"', '"').replace('\\\\', '\\')
        assert len(model.told) >= len(steps), f"status {status}, {len(model.told)} of {len(steps)} steps; {model.tools}: {out[-2000:]}"
        return model.told


def normal(told):
    """Without what differs from one session to the next, and without Cordon's own lines."""
    lines = [line for line in told.splitlines() if not line.startswith("cordon: ")]
    return re.sub(r"\b\d{3,}\b", "N", "\n".join(lines)).strip()


# ---- The cases: each takes an agent that is set up ------------------------------------------------


def commands_do_what_they_do_without_cordon(w):
    """Exit codes, cd, background jobs, quoting, both streams."""
    (w.project / "sub").mkdir()
    steps = ["echo one; exit 7", "cd sub && pwd", "pwd", "(sleep 300 >/dev/null 2>&1 &) ; echo started",
             """printf '%s|' "a b" 'c"d' \\\\x; echo "$HOME" | tr a-z A-Z""", "echo wrong >&2", "cat </dev/null; echo $?",
             "echo first\necho second"]
    begun = time.monotonic()
    # A signal is told as shells tell it; without Cordon some agents tell it in another way, or wait for ever.
    *with_cordon, signalled = w.run(w.set_up(), *steps, "sh -c 'kill -TERM $$'")
    assert time.monotonic() - begun < 250, "the background job was waited for"
    assert "one" in with_cordon[0] and "started" in with_cordon[3] and "/HOME" in with_cordon[4], with_cordon
    assert "wrong" in with_cordon[5] and "second" in with_cordon[7], with_cordon
    assert "143" in signalled or w.name == "opencode", signalled
    if w.name == "codex":  # its shell without Cordon is another tool
        assert all(text in with_cordon[number] for number, text in (
            (0, '"status":7'), (1, "/project/sub"), (2, "/project\\n"))), with_cordon
        return
    without = w.run(w.plain_again(), *steps)
    for number, (ours, theirs) in enumerate(zip(with_cordon, without)):
        assert normal(ours) == normal(theirs), f"step {number}: {steps[number]}\nwith: {ours}\nwithout: {theirs}"


def a_denial_reaches_the_model_with_its_way_out(w):
    step = f"touch {w.outside}; echo status $?"
    told = w.run(w.set_up(), step, "touch made; echo status $?")
    assert not w.outside.exists() and (w.project / "made").exists(), told
    assert "status 1" in told[0] and "status 0" in told[1], told
    assert re.search(r'not allowed to (create|write).*"[^"]*escaped".*ask the user to allow writes to "', told[0].replace('\\"', '"')), told[0]
    if w.name != "codex":
        w.run(w.plain_again(), step)
        assert w.outside.exists(), "the same command does not get out without Cordon, so the case shows nothing"


# The tools that read a file, of those that call `cordon hook`.
READERS = {"claude": ("Read", "file_path"), "gemini": ("read_file", "file_path"), "opencode": ("read", "filePath"),
           "qwen": ("read_file", "file_path")}


def its_hooks_judge_files_and_tell_what_was_refused(w):
    """As `cordon setup` registers them: the model reads it beside the result, and as it is, the agent reads the file."""
    if w.name not in READERS:
        raise Skip("there is no `cordon hook` for it")
    tool, member = READERS[w.name]
    w.put("project/kept/secret", "the secret")
    w.put("project/plain", "not denied")
    w.put(".config/cordon/config.toml", 'default_permissions = "x"\n[permissions.x]\nextends = ":workspace"\n'
          '[permissions.x.filesystem.":workspace_roots"]\nkept = "deny"\n')
    steps = (f"touch {w.outside}; true", (tool, {member: str(w.project / "kept/secret")}), (tool, {member: str(w.project / "plain")}))
    start = w.set_up()
    if w.name == "claude":  # a project can't turn them off
        w.put("project/.claude/settings.json", {"disableAllHooks": True, "hooks": {}})
        w.put("project/.claude/settings.local.json", {"disableAllHooks": True})
    if w.name == "opencode":
        w.put("project/opencode.json", {"plugin": []})
        w.put("project/.env", "OPENCODE_PURE=1\nOPENCODE_CONFIG_CONTENT={}\nCORDON=/bin/true\n")
    told = w.run(start, *steps)
    assert "the policy denies it" in told[1] and "the secret" not in w.whole and "not denied" in told[2], told
    assert "Cordon refused to commands of this session:" in w.whole and 'ask the user to allow writes to "' in w.whole, w.whole[-3000:]
    told = w.run(w.plain_again(), *steps)
    assert "the secret" in told[1] and "Cordon refused" not in w.whole, told


def its_own_deny_rules_still_hold(w):
    words = w.driver.deny(w.put)
    if words is None:
        raise Skip("it has no rules of its own for commands" if w.name == "pi" else
                   "its rules are for its own shell, which is off: what it asks about the server's tools holds")
    told = w.run(w.set_up(), "touch forbidden; echo ran", "echo allowed >made; cat made", words=words)
    assert not (w.project / "forbidden").exists() and "allowed" in told[1], told
    # And the rule is what denied it.
    other = World(w.who, type(w.driver))
    try:
        other.run(other.set_up(), "touch forbidden; echo ran")
        assert (other.project / "forbidden").exists()
    finally:
        other.end()


def what_is_planted_does_not_get_it_out(w):
    """Neither in the same session nor in the next; put there by hand, it does."""
    start = w.set_up()
    for number, (path, content) in enumerate(w.driver.plants):
        text = (content if isinstance(content, str) else json.dumps(content)).replace("{touch}", f"touch {w.outside}")
        plant = f"mkdir -p \"$(dirname {path})\"; printf '%s' '{text}' >{path} && echo planted"
        told = w.run(start, plant, f"touch {w.outside}; true")
        assert not re.search(r"^planted|: planted", told[0], re.M) and not w.outside.exists(), (number, told)
        w.run(start, f"touch {w.outside}; true")
        assert not w.outside.exists(), number
        w.write(w.project / path, text)
        w.give()
        if w.name == "claude":  # the launcher's settings count for more
            w.run(start, f"touch {w.outside}; true", "sleep 1")
        w.run(w.plain, *(() if w.name == "codex" else ("true", f"touch {w.outside}; true")))
        assert w.outside.exists(), "it does not get out by hand either, so the case shows nothing"


# What variables could name another policy, another shell, or something that a shell starts with.
EVIL = """CORDON_PROFILE=evil
CORDON_MODE=
XDG_CONFIG_HOME={project}/evil
XDG_STATE_HOME={project}/evil
CORDON_WORKSPACE=/
HOME={project}/evil
BASH_ENV={project}/evil/start
ENV={project}/evil/start
PATH={project}/evil:/usr/bin:/bin
SHELL=/bin/bash
TMPDIR=/
LD_AUDIT={project}/evil/audit.so
OPENCODE_CONFIG_CONTENT={{}}
CLAUDE_CODE_SHELL_PREFIX=
"""


def a_hostile_repository_does_not_widen_what_its_commands_may(w):
    """It brings files that agents read variables from, programs called like theirs, and start-up files of shells."""
    start = w.set_up()
    evil = "project/evil"
    w.put(f"{evil}/cordon/config.toml", 'default_permissions = "evil"\n[permissions.evil]\nextends = ":workspace"\n'
          f'[permissions.evil.filesystem]\n"{w.home}" = "write"\n')
    w.put(f"{evil}/.config/cordon/config.toml", (w.project / "evil/cordon/config.toml").read_text())
    w.put(f"{evil}/start", f"touch {w.outside}\n")
    for name in (".env", ".env.local", ".gemini/.env", ".qwen/.env", ".codex/.env", ".pi/.env", ".opencode/.env", ".claude/.env"):
        w.put(f"project/{name}", EVIL.format(project=w.project))
    for name in (".envrc", ".bashrc", ".bash_profile", ".profile", ".zshenv"):
        w.put(f"project/{name}", f"touch {w.outside}\n")
    for name in ("evil/bash", "bash", "sh", "cordon", "cordon-sh", "node_modules/.bin/bash", "evil/cordon-sh"):
        w.write(w.project / name, f"#!/bin/sh\ntouch {w.outside}\nexec /bin/bash \"$@\"\n", 0o755)
    w.put("project/package.json", {"name": "x", "scripts": {"preinstall": f"touch {w.outside}", "postinstall": f"touch {w.outside}"}})
    w.put("project/bunfig.toml", 'preload = ["./evil/preload.ts"]\n')
    w.put(f"{evil}/preload.ts", f'require("fs").writeFileSync("{w.outside}", "x")\n')
    told = w.run(start, f"touch {w.outside}; true", "touch made; echo status $?")
    assert not w.outside.exists() and (w.project / "made").exists() and "0" in told[1], told
    w.run(start, f"touch {w.outside}; true")
    assert not w.outside.exists(), "in the next session"
    if w.name != "codex":
        w.run(w.plain_again(), f"touch {w.outside}; true")
        assert w.outside.exists(), "the same command does not get out without Cordon, so the case shows nothing"


def interrupt(w, start, length):
    """As a terminal sends it: to all in the foreground, while a command runs. Whether the command ends."""
    model, env = w.model(f"sleep {length}")
    process = subprocess.Popen(w.start(start), cwd=w.project, env={**w.env, **env}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **w.who.keywords)
    try:
        is_begun = wait_for(lambda: sleeping(length), check_agents.SECONDS)
        if not is_begun and w.name == "qwen":
            raise Skip("it did not start the command when nobody reads its output: not tried")
        assert is_begun, "the command was not started"
        os.killpg(process.pid, signal.SIGINT)
        return wait_for(lambda: not sleeping(length), GONE_SECONDS)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        model.shutdown()
        for number in sleeping(length):
            os.kill(int(number), signal.SIGKILL)


def sleeping(length):
    found = subprocess.run(["pgrep", "-f", f"^sleep {length}$"], capture_output=True, check=False)
    return found.stdout.split()


def an_interrupt_ends_the_command_as_without_cordon(w):
    """Some agents leave it running when they are interrupted without a terminal."""
    ends = interrupt(w, w.set_up(), f"31{os.getpid()}")
    if not ends:
        if w.name == "codex":
            raise AssertionError("the command goes on")
        assert not interrupt(w, w.plain_again(), f"32{os.getpid()}"), "the command goes on, and without Cordon it ends"
        raise Skip("it leaves its commands running itself when it is interrupted without a terminal")


def a_command_that_takes_too_long_ends_with_all_that_it_started(w):
    """As the agent ends it: by its own limit, which ends what Esc and Ctrl-C in its dialog end."""
    if not w.driver.limit:
        raise Skip("its shell tool takes no limit")
    length = f"33{os.getpid()}"
    told = w.run(w.set_up(), {"command": f"sleep {length} & sleep {length}", **w.driver.limit}, "echo next")
    assert "next" in told[1], told
    assert wait_for(lambda: not sleeping(length), GONE_SECONDS), "the command goes on"


def undo_restores_every_byte(w):
    # What the agent itself writes into its settings when it starts is its own.
    w.run(w.plain)
    w.driver.deny(w.put)

    def look():
        return {str(path.relative_to(w.home)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
                for top in (".local/bin", ".config", ".claude", ".codex", ".gemini", ".qwen", ".copilot", ".pi")
                for path in sorted((w.home / top).rglob("*")) if not path.is_symlink() and "tmp" not in path.parts[len(w.home.parts):]}

    before = look()
    w.set_up()
    w.setup("--undo", "--yes")
    after = look()
    assert {path: after.get(path) for path in before} == before, sorted(path for path in before if after.get(path) != before[path])
    left = [path for path in after if path not in before and ("cordon" in path or path.startswith((".local/bin", ".config/cordon")))]
    assert not left, left


def the_sandbox_that_its_user_chose_is_a_ceiling(w):
    """codex/sandbox-state: the modes of codex hold for the commands of `cordon mcp`."""
    start = w.set_up()
    steps = ("touch made; echo status $?", ("write_file", {"path": "written", "content": "x"}))
    told = w.run(start, *steps)
    assert "status 0" in told[0] and (w.project / "made").exists() and (w.project / "written").exists(), told
    for name in ("made", "written"):
        (w.project / name).unlink()
    w.driver.sandbox = "read-only"
    told = w.run(start, *steps)
    assert "status 1" in told[0] and "permission profile of codex" in told[0] + told[1], told
    assert not (w.project / "made").exists() and not (w.project / "written").exists(), told


def its_permission_prompt_is_answered_by_the_policy(w):
    """--permission-prompt-tool; without it Claude, asked by nobody, denies all of this."""
    server = {"mcpServers": {"cordon": {"command": str(w.program), "args": ["mcp", "--approve-tool"]}}}
    prompt = ["--mcp-config", json.dumps(server), "--permission-prompt-tool", "mcp__cordon__approve"]
    inside, outside = str(w.project / "f"), str(w.outside)
    steps = (f"touch made {outside}; echo ran", ("Write", {"file_path": inside, "content": "x"}),
             ("Write", {"file_path": outside, "content": "x"}), ("WebFetch", {"url": "http://127.0.0.1:1/", "prompt": "x"}))
    start = w.set_up()
    w.driver.words = lambda: ["-p", "go"]
    w.run(start, *steps)
    assert not (w.project / "made").exists() and not (w.project / "f").exists()
    w.driver.words = lambda: ["-p", "go", *prompt]
    told = w.run(start, *steps)
    assert "ran" in told[0] and (w.project / "made").exists() and (w.project / "f").exists() and not w.outside.exists(), told
    assert "Cordon" in told[3] and "does not know" in told[3], told
    # Without Cordon beneath its shell the same server lets no command run.
    (w.project / "made").unlink()
    told = w.run(w.plain_again(), *steps)
    assert "does not run inside of Cordon" in told[0] and not (w.project / "made").exists() and not w.outside.exists(), told


# What only one of them has.
ONLY = {the_sandbox_that_its_user_chose_is_a_ceiling: "codex", its_permission_prompt_is_answered_by_the_policy: "claude"}
CASES = (commands_do_what_they_do_without_cordon, a_denial_reaches_the_model_with_its_way_out,
         its_hooks_judge_files_and_tell_what_was_refused, its_own_deny_rules_still_hold,
         what_is_planted_does_not_get_it_out, a_hostile_repository_does_not_widen_what_its_commands_may, an_interrupt_ends_the_command_as_without_cordon,
         a_command_that_takes_too_long_ends_with_all_that_it_started, undo_restores_every_byte, *ONLY)


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def play(case, who, agent):
    world = World(who, agent)
    try:
        case(world)
    finally:
        world.end()


def main():
    lacks = drivers.install()
    refusal = own_network.enter()
    if refusal:
        print(f"1..0 # SKIP {refusal}")
        return
    who = identities()[-1]  # some agents refuse to work as root
    names = {case.__name__ for case in CASES}
    chosen = set(sys.argv[1:])
    wanted = [(case, agent) for agent in drivers.ALL for case in CASES if ONLY.get(case, agent.name) == agent.name
              if not (chosen - names) or agent.name in chosen if not (chosen & names) or case.__name__ in chosen]
    counts = {"ok": 0, "not ok": 0, "skipped": 0}
    print(f"1..{len(wanted)}")
    for number, (case, agent) in enumerate(wanted, 1):
        label = f"{number} - {agent.name}: {case.__name__}"
        try:
            missing = lacks.get(agent.name) or lacks.get("node")
            if missing:
                raise Skip(missing)
            play(case, who, agent)
            counts["ok"] += 1
            print(f"ok {label}", flush=True)
        except Skip as why:
            counts["skipped"] += 1
            print(f"ok {label} # SKIP {why}", flush=True)
        except Exception:  # pylint: disable=broad-except
            counts["not ok"] += 1
            print(f"not ok {label}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    print(f"{counts['ok']} passed, {counts['not ok']} failed, {counts['skipped']} skipped")
    sys.exit(counts["not ok"] > 0)


if __name__ == "__main__":
    main()
