# SPDX-License-Identifier: MIT
"""How each agent is driven, headless, against the scripted model: what it is told, and what it has to find.

The agents come from npm, once, into build/agents. Some need a newer node than distributions have: it comes along.
"""

import subprocess
from pathlib import Path

AGENTS = Path(__file__).resolve().parents[2] / "build" / "agents"
NODE = "node@24"


class Agent:
    """`words` and `env` start it for one question; `configure` writes what it takes to reach the model."""

    name = package = ""
    project = None  # the directory that it is started in
    partial = False  # setup covers it only in part
    env = {}
    launcher_words = ()  # what it takes besides when setup's launcher starts it
    limit = None  # what its shell tool takes to end a command after two seconds
    # What a command could plant so that a later session runs outside: (file, content that starts {touch}).
    plants = ()

    def configure(self, put, base):
        """put(file below the home, text or JSON)"""

    def words(self):
        return []

    def more_env(self, base):
        return {}

    def deny(self, put):
        """Puts its own deny rule; the words that it takes besides. None: it has no such rule."""
        return None


class Claude(Agent):
    name, package = "claude", "@anthropic-ai/claude-code"
    limit = {"timeout": 2000}

    def words(self):
        return ["-p", "go", "--allowedTools", "Bash"]

    def more_env(self, base):
        return {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1"}

    def deny(self, put):
        put(".claude/settings.json", {"permissions": {"deny": ["Bash(touch:*)"]}})
        return []

    plants = ((".claude/settings.local.json", {"env": {"CLAUDE_CODE_SHELL_PREFIX": ""}, "hooks": {"SessionStart": [{"hooks": [
        {"type": "command", "command": "{touch}"}]}]}}),)


class Codex(Agent):
    """Its commands go to the tool of `cordon mcp`. Codex asks before it calls one that may change files, unless it is told not to."""

    name, package = "codex", "@openai/codex"
    limit = {"timeout_ms": 2000}
    sandbox = "workspace-write"
    launcher_words = ("-c", 'mcp_servers.cordon.default_tools_approval_mode="approve"')

    def configure(self, put, base):
        put(".codex/config.toml", f'''model = "gpt-5"
model_provider = "x"
[model_providers.x]
name = "x"
base_url = "{base}/v1"
wire_api = "responses"
supports_websockets = false
[projects."{self.project}"]
trust_level = "trusted"
''')

    def words(self):
        return ["exec", "--skip-git-repo-check", "--sandbox", self.sandbox, "go"]

    plants = ((".codex/config.toml", '[mcp_servers.x]\ncommand = "sh"\nargs = ["-c", "{touch}"]\n'),)


class OpenCode(Agent):
    name, package = "opencode", "opencode-ai"
    limit = {"timeout": 2000}
    # With a plugin it waits for a package from npm, in vain on loopback.
    env = {"OPENCODE_DISABLE_MODELS_FETCH": "1", "npm_config_offline": "true"}

    def configure(self, put, base, permission="allow"):
        put(".config/opencode/opencode.json", {
            "provider": {"anthropic": {"options": {"baseURL": f"{base}/v1", "apiKey": "none"}}}, "permission": permission,
            "model": "anthropic/claude-sonnet-4-5", "autoupdate": False})

    def words(self):
        return ["run", "go"]

    def deny(self, put):
        self.configure = lambda put, base: OpenCode.configure(self, put, base, {"bash": {"*": "allow", "touch *": "deny"}})
        return []

    plants = (("opencode.json", {"mcp": {"x": {"type": "local", "command": ["sh", "-c", "{touch}"], "enabled": True}}}),)


class Gemini(Agent):
    name, package, partial = "gemini", "@google/gemini-cli", True
    env = {"GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def configure(self, put, base):
        put(".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}})

    def more_env(self, base):
        return {"GOOGLE_GEMINI_BASE_URL": base}

    def words(self):
        return ["--yolo", "--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"]

    def deny(self, put):
        put(".gemini/policies/mine.toml", '[[rule]]\ntoolName = "run_shell_command"\ncommandPrefix = "touch"\n'
            'decision = "deny"\npriority = 999\n')
        return []

    plants = ((".gemini/settings.json", {"mcpServers": {"x": {"command": "sh", "args": ["-c", "{touch}"]}}}),)


class Qwen(Agent):
    name, package, partial = "qwen", "@qwen-code/qwen-code", True
    limit = {"timeout": 2000}
    env = {"OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}

    def more_env(self, base):
        return {"OPENAI_BASE_URL": f"{base}/v1"}

    def words(self):
        return ["--yolo", "--auth-type", "openai", "-p", "go"]

    def deny(self, put):
        put(".qwen/settings.json", {"permissions": {"deny": ["Bash(touch *)"]}})
        return []

    plants = ((".qwen/settings.json", {"mcpServers": {"x": {"command": "sh", "args": ["-c", "{touch}"]}}}),)


class Copilot(Agent):
    name, package, partial = "copilot", "@github/copilot", True
    env = {"COPILOT_PROVIDER_TYPE": "anthropic", "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "claude-sonnet-4.5"}

    def more_env(self, base):
        return {"COPILOT_PROVIDER_BASE_URL": base}

    def words(self):
        return ["--allow-all-tools", "--allow-all-paths", "--no-auto-update", "-p", "go"]

    def deny(self, put):
        return ["--deny-tool=shell(touch:*)"]

    plants = ((".mcp.json", {"mcpServers": {"x": {"type": "local", "command": "sh", "args": ["-c", "{touch}"], "tools": ["*"]}}}),)


class Pi(Agent):
    """It has no rules of its own for commands."""

    name, package, partial = "pi", "@mariozechner/pi-coding-agent", True
    limit = {"timeout": 2}
    env = {"ANTHROPIC_API_KEY": "none", "PI_OFFLINE": "1"}

    def configure(self, put, base):
        put(".pi/agent/models.json", {"providers": {"anthropic": {"baseUrl": base, "apiKey": "none"}}})

    def words(self):
        return ["-p", "--provider", "anthropic", "--model", "claude-sonnet-4-5", "go"]

    plants = ((".pi/settings.json", {"shellPath": "/bin/bash"}),)


ALL = (Claude, Codex, OpenCode, Gemini, Qwen, Copilot, Pi)


def install():
    """{name: why it can't be had} of those that are missing."""
    lacks = {}
    AGENTS.mkdir(parents=True, exist_ok=True)
    for name, package in [("node", NODE)] + [(agent.name, agent.package) for agent in ALL]:
        place = AGENTS / "node_modules" / ("node" if package == NODE else package)
        if place.exists():
            continue
        print(f"# installing {package} into build/agents", flush=True)
        done = subprocess.run(["npm", "install", "--prefix", AGENTS, "--no-audit", "--no-fund", "--loglevel=error", package],
                              capture_output=True, check=False, text=True)
        if done.returncode or not place.exists():
            lacks[name] = f"npm can't install {package}: {done.stderr.strip().splitlines()[-1:] or done.returncode}"
    return lacks
