#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_inside.py [CASE...]: real coding agents inside Cordon as a whole, by `cordon agent` (docs/agents.md).

A scripted model on loopback has each agent run commands. Inside, its own state is saved and its work lands in the
project, but what it obeys the next time can't be written, nor any other name that the profile does not list; the same
commands without Cordon write all of it, or the case shows nothing. An agent that can't be had is a visible skip. The program under test is $CORDON.
"""

import json
import os
import random
import subprocess
import sys
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "support"), str(TOP / "tests" / "agents"), str(TOP / "tests" / "work")]
import agent_state  # noqa: E402  pylint: disable=wrong-import-position
import check_agents  # noqa: E402  pylint: disable=wrong-import-position
import own_network  # noqa: E402  pylint: disable=wrong-import-position
import scripted_model  # noqa: E402  pylint: disable=wrong-import-position
from work import identities, remove  # noqa: E402  pylint: disable=wrong-import-position

PACKAGES = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex", "copilot": "@github/copilot",
            "gemini": "@google/gemini-cli", "opencode": "opencode-ai", "pi": "@mariozechner/pi-coding-agent",
            "qwen": "@qwen-code/qwen-code", "node": "node@24"}
BIN = check_agents.AGENTS / "node_modules" / ".bin"
MODEL = "anthropic/claude-sonnet-4-5"


class Agent:
    """How one is started headless, where it finds the model, and what to look for afterwards; `state`: inside."""

    def __init__(self, words, env, files, planted, state):
        self.words, self.env, self.files, self.planted, self.state = words, env, files, planted, state


def agents(base):
    """All of them. `planted`: what it obeys, below the home, a missing one and one that is there."""
    return {
        "claude": Agent(["-p", "go", "--allowedTools", "Bash"], {
            "ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1"},
            {".claude/settings.json": "{}", ".claude/session-env/x/x.sh": "", ".claude/statusline.sh": "#!/bin/sh\n", ".claude.json": "{}"},
            [".claude/settings.json", ".claude/commands/x.md", ".claude/skills/x/SKILL.md", ".claude/statusline.sh",
             ".claude/plugins/x", ".claude/.config.json", ".claude/CLAUDE.md", ".claude.json", ".claude/shell-snapshots/x.sh",
             ".claude/session-env/x/x.sh"],
            ".claude/projects/*/*.jsonl"),
        "codex": Agent(["exec", "--skip-git-repo-check", "go"], {"FAKE_API_KEY": "none"},
            {".codex/config.toml": f'model = "gpt-5"\nmodel_provider = "fake"\n[model_providers.fake]\nname = "fake"\n'
             f'base_url = "{base}/v1"\nwire_api = "responses"\n'},
            [".codex/config.toml", ".codex/hooks.json", ".codex/rules/x.rules", ".codex/skills/x/SKILL.md",
             ".codex/AGENTS.md", ".codex/prompts/x.md", ".codex/.env", ".codex/shell_snapshots/x.sh"],
            ".codex/sessions/**/*.jsonl"),
        "copilot": Agent(["-p", "go", "--allow-all-tools", "--allow-all-paths", "--no-auto-update"], {
            "COPILOT_PROVIDER_BASE_URL": f"{base}/v1", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "gpt-5",
            "COPILOT_OFFLINE": "true"},
            {".copilot/mcp-config.json": '{"mcpServers": {}}'},
            [".copilot/mcp-config.json", ".copilot/config.json", ".copilot/hooks/x.json", ".copilot/pkg/x",
             ".copilot/agents/x.md", ".copilot/lsp-config.json"],
            ".copilot/session-state/**/*"),
        "gemini": Agent(["-p", "go", "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"],
            {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": base, "GEMINI_CLI_TRUST_WORKSPACE": "true"},
            {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}, '
             '"general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}}'},
            [".gemini/settings.json", ".gemini/trustedFolders.json", ".gemini/extensions/x/y", ".gemini/policies/x.toml",
             ".gemini/GEMINI.md", ".gemini/commands/x.toml", ".gemini/tmp/bin/rg", ".gemini/history/x/config"],
            ".cache/.gemini/tmp/**/*.json*"),
        "opencode": Agent(["run", "go"], {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
            {".config/opencode/opencode.json": json.dumps({
                "provider": {"anthropic": {"options": {"baseURL": f"{base}/v1", "apiKey": "none"}}}, "permission": "allow",
                "model": MODEL, "autoupdate": False})},
            [".config/opencode/opencode.json", ".config/opencode/plugin/x.js", ".config/opencode/AGENTS.md",
             ".local/share/opencode/auth.json", ".local/share/opencode/bin/x", ".cache/opencode/node_modules/x"],
            ".local/share/opencode/cordon/*.db"),
        "pi": Agent(["-p", "go", "--provider", "fake", "--model", "m"], {"PI_OFFLINE": "1"},
            {".pi/agent/models.json": json.dumps({"providers": {"fake": {
                "baseUrl": f"{base}/v1", "api": "openai-completions", "apiKey": "none", "models": [{"id": "m"}]}}})},
            [".pi/agent/models.json", ".pi/agent/settings.json", ".pi/agent/auth.json", ".pi/agent/extensions/x.ts",
             ".pi/agent/AGENTS.md", ".pi/agent/bin/fd"],
            ".pi/agent/sessions/**/*.jsonl"),
        "qwen": Agent(["-p", "go", "--yolo", "--auth-type", "openai", "--model", "m"],
            {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_MODEL": "m"},
            {".qwen/settings.json": '{"general": {"enableAutoUpdate": false}, "privacy": {"usageStatisticsEnabled": false}}'},
            [".qwen/settings.json", ".qwen/extensions/x/y", ".qwen/commands/x.md", ".qwen/QWEN.md", ".qwen/agents/x.md",
             ".qwen/skills/x/SKILL.md"],
            ".qwen/cordon/projects/**/*.jsonl"),
    }


class World:
    """A home with a repository in it, outside of /tmp; the agents are below what everybody may read."""

    def __init__(self, who):
        self.who = who
        self.base = check_agents.World(who, None)
        self.home, self.project, self.outside = self.base.home, self.base.project, self.base.outside
        self.model = None
        self.env = {**self.base.env, "PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "CI": "1"}
        self.base.env = self.env
        self.base.write(self.home / ".aws/credentials", "secret\n")
        self.base.write(self.home / ".gnupg/x", "secret\n")

        self.init()

    def init(self):
        for words in (["init", "-q", "-b", "main"], ["config", "user.name", "x"], ["config", "user.email", "x@y"]):
            subprocess.run(["git", "-C", self.project, *words], check=True, capture_output=True)

    def play(self, name, commands, inside):
        """The agent runs the commands; what the model was told of each."""
        self.model = scripted_model.start(commands)
        port = self.model.server_address[1]
        agent = agents(f"http://127.0.0.1:{port}")[name]
        for path, text in agent.files.items():
            self.base.write(self.home / path, text, 0o755 if path.endswith(".sh") else 0o644)
        self.base.give()
        words = [name, *agent.words]
        if not inside and name == "codex":
            words[1:1] = ["--sandbox", "danger-full-access"]
        if inside:
            words = [self.base.program, "agent", "--host-port", str(port), "--allow-host", f"127.0.0.1:{port}", *inside, *words]
        status, out = self.base.call(*words, env=agent.env)
        self.model.shutdown()
        self.model.server_close()
        told = self.model.told
        assert len(told) >= len(commands), f"status {status}, {len(told)} commands run: {out[-3000:]}"
        return agent, told, out


def plant(home, path):
    return f"mkdir -p '{home}/{os.path.dirname(path)}' && echo planted >>'{home}/{path}'"


def is_planted(w, path):
    try:
        return "planted" in (w.home / path).read_text()
    except OSError:
        return False


def check(w, name):
    commands = ["echo made >made && git add made && git commit -q -m made && echo committed",
                f"touch {w.outside}; cat {w.home}/.aws/credentials; ls {w.home}/.gnupg; echo next"]
    planted = agents("http://127.0.0.1:1")[name].planted
    commands.append("; ".join(f"({plant(w.home, path)})" for path in planted))
    agent, told, out = w.play(name, commands, ["--quiet"])
    log = subprocess.run(["git", "-C", w.project, "-c", f"safe.directory={w.project}", "log", "--oneline"],
                         capture_output=True, check=False, text=True).stdout
    assert "made" in log and (w.project / "made").read_text() == "made\n", (told[0], out)
    assert not w.outside.exists() and "secret" not in told[1], told[1]
    got = [path for path in planted if is_planted(w, path)]
    assert not got, (got, told[2])
    saved = [path for path in w.home.glob(agent.state) if path.is_file()]
    assert saved, (agent.state, subprocess.run(["find", w.home], capture_output=True, check=False, text=True).stdout[-3000:])
    # A second session starts where the first one has left its state, and tries names of all kinds.
    tried = agent_state.names_to_try(random.Random(f"{name} {os.environ.get('SEED', 7)}"), name)
    attempts = agent_state.command(lambda place, text: w.base.write(w.base.top / place, text), w.home, tried)
    before = agent_state.tree(w.home, name)
    _, told, out = w.play(name, ["echo again", attempts], ["--quiet"])
    assert "again" in told[0], (told, out)
    strange = agent_state.changed_otherwise(name, before, agent_state.tree(w.home, name))
    # What play() has put there again names another port.
    strange = [path for path in strange if path not in agent.files or is_planted(w, path)]
    assert not strange, (strange, told)
    # The control: without Cordon all of it works.
    w.play(name, commands, [])
    missing = [path for path in planted if not is_planted(w, path)]
    assert w.outside.exists() and not missing, f"the planting does not work without Cordon: {missing}"
    before = agent_state.tree(w.home, name)
    _, out = w.base.call("sh", "-c", attempts)
    hit = agent_state.changed_otherwise(name, before, agent_state.tree(w.home, name))
    assert len(hit) > len(tried), f"the attempts do not work without Cordon: {len(hit)} of {len(tried)}: {out[-1000:]}"


def main():
    check_agents.PACKAGES = PACKAGES
    try:
        check_agents.install()
    except subprocess.CalledProcessError as error:
        print(f"# {error}")
    refusal = own_network.enter()
    if refusal:
        print(f"1..0 # SKIP {refusal}")
        return
    wanted = [(name, who) for who in identities() for name in agents("") if not sys.argv[1:] or name in sys.argv[1:]]
    failed = skipped = 0
    print(f"1..{len(wanted)}")
    for number, (name, who) in enumerate(wanted, 1):
        label = f"{number} - {name} inside as a whole, as {who.name}"
        if not (BIN / name).exists():
            skipped += 1
            print(f"ok {label} # SKIP {PACKAGES[name]} can't be had from npm", flush=True)
            continue
        world = World(who)
        try:
            check(world, name)
            print(f"ok {label}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {label}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
        finally:
            if os.environ.get("KEEP"):
                print(f"# {world.base.top}")
            else:
                remove(world.base.top)
    print(f"{len(wanted) - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
