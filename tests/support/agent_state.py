# SPDX-License-Identifier: MIT
"""What coding agents may save in where they run inside (`cordon agent`), and attempts to write anything else there.

The tables say the same as src/policy/agent.c once more, on purpose: what is added there has to be added here.
"""

import os

STATES = {"claude": [".claude"], "codex": [".codex"], "copilot": [".copilot"], "gemini": [".gemini"], "pi": [".pi/agent"],
          "opencode": [".config/opencode", ".local/share/opencode", ".local/state/opencode"], "qwen": [".qwen"]}
# Of these what it may save in: directories, then files.
SAVED = {"claude": [".claude/projects", ".claude/plans", ".claude/session-env"],
         "codex": [".codex/sessions", ".codex/thread-writer-locks", ".codex/cordon"],
         "copilot": [".copilot/session-state"], "gemini": [".cache/.gemini"], "pi": [".pi/agent/sessions"],
         "opencode": [".local/share/opencode/cordon"], "qwen": [".qwen/cordon"]}
SAVED_FILES = {"codex": [".codex/history.jsonl", ".codex/installation_id"],
               "opencode": [".local/share/opencode/log/opencode.log"]}

# What agents keep beside their state, with what they obey among it; no list of these is complete.
NAMES_OF_STATE = (
    "settings.json settings.local.json config.json config.toml .config.json .claude.json mcp.json mcp-config.json hooks hooks.json "
    "hooks/x.sh CLAUDE.md AGENTS.md GEMINI.md QWEN.md AGENTS.override.md SYSTEM.md system.md .env environments.toml requirements.toml "
    "managed_config.toml policies/x.toml rules/x.rules skills/x/SKILL.md skills/.system/x commands/x.md prompts/x.md agents/x.md "
    "plugins/x plugins/cache/x/index.js extensions/x/x.js bin/rg tmp/arg0/codex-arg0x/apply_patch .tmp/plugins/x/x "
    "shell-snapshots/x.sh shell_snapshots/x.sh memory/x.md memories/x.md local/x daemon/x jobs/x routines/x workflows/x themes/x "
    "output-styles/x keybindings.json trustedFolders.json models.json models_cache.json auth.json.new projects.json cache/x.md "
    "backups/x statsig/x debug/latest log/codex-tui.log logs/x.log ide/1.lock sessions.json todos/x.json tasks/x/1.json "
    "node_modules/x/index.js package.json plugin/x.js tool/x.ts snapshot/x/config repos/x/config worktree/x/.git storage/x.json "
    "history/x/config file-history/x/y@v1 paste-cache/x.txt version.json sandbox.bashrc installed-plugins/x/x pkg/x/app.js "
    "session-store.db state_5.sqlite kv.json model.json locks/x npm/x git/x channels/x.json locales/x.js statusline.sh").split()


def names_to_try(draw, agent):
    """Below the home: known names, temporary ones beside them, some that nobody has thought of, and what may be written."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789._-"
    found = []
    for state in STATES[agent]:
        drawn = ["".join(draw.choice(letters) for _ in range(draw.randint(1, 12))).strip(".-") or "x" for _ in range(25)]
        beside = [f"{name}.tmp.{draw.randint(1, 99999)}.{draw.getrandbits(48):x}" for name in draw.sample(NAMES_OF_STATE, 15)
                  if "/" not in name]
        below = [f"{draw.choice(drawn)}/{name}" for name in drawn[:8]]
        found += [f"{state}/{name}" for name in dict.fromkeys([*NAMES_OF_STATE, *drawn, *beside, *below])]
    return found + [f"{path}/x" for path in SAVED[agent]] + SAVED_FILES.get(agent, [])


def put_some(draw, home, names):
    """Some of them are there already."""
    for name in draw.sample(names, len(names) // 4):
        path = home / name
        if not path.exists() and not any(above.is_file() for above in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("mine\n")


def tree(home, agent):
    """What is there: kind, mode and content of each."""
    found = {}
    for state in [*STATES[agent], *SAVED[agent]]:
        for path in [home / state, *sorted((home / state).rglob("*"))]:
            seen = path.lstat()
            content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(home))] = (seen.st_mode, content)
    return found


def changed_otherwise(agent, before, after):
    """What was changed and is not listed."""
    return [path for path in {**before, **after} if before.get(path) != after.get(path) and path not in SAVED_FILES.get(agent, [])
            and not any(path.startswith(f"{saved}/") for saved in SAVED[agent])]


WRITES = r"""
import os, sys
made = 0
def attempt(function, *words):
    global made
    try:
        function(*words)
        made += 1
    except OSError:
        pass
def put(path):
    with open(path, "a") as file:
        file.write("planted\n")
def rename_over(path):
    put(own)
    os.rename(own, path)
for path in sys.stdin.read().splitlines():
    own = os.path.dirname(path) + "/own.tmp"
    attempt(lambda: os.makedirs(os.path.dirname(path), exist_ok=True))
    attempt(put, path)
    attempt(rename_over, path)
    attempt(os.symlink, "/etc/passwd", path + ".link")
    attempt(os.link, path, path + ".hard")
    attempt(os.chmod, path, 0o755)
    attempt(os.rename, path, path + ".moved")
    attempt(os.mkdir, path)
    attempt(os.rename, os.path.dirname(path), os.path.dirname(path) + ".away")
    attempt(os.rename, os.path.dirname(path) + ".away", os.path.dirname(path))
print(made)
"""


def command(write, home, names):
    """A shell command that tries to change each of the names in every way, and prints how many attempts worked."""
    program = write("writes.py", WRITES)
    listed = write("tried", "".join(f"{home}/{name}\n" for name in names))
    return f"python3 '{program}' <'{listed}'"
