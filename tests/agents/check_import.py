#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_import.py [srt|codex]: what an imported policy allows, beside what the original allows.

The same settings go to the original and through `cordon import`. A program then tries to read and to write
every path of a tree in both sandboxes, started in several directories. What counts as written is what is there on
the host afterwards. Cordon must never allow more; where it allows less, the path has to be one of those that
docs/migrating.md names. `cordon why` has to answer as the sandbox does.

Both tools come from npm, once, into build/agents. The program under test is $CORDON.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / "support"), str(TOP / "tests" / "work"), str(TOP / "tests" / "agents")]
import check_agents  # noqa: E402  pylint: disable=wrong-import-position
from work import identities, remove  # noqa: E402  pylint: disable=wrong-import-position

check_agents.PACKAGES = {"srt": "@anthropic-ai/sandbox-runtime", "codex": "@openai/codex", "node": "node@24"}

FILES = """.bashrc .ssh/id .config/app/settings project/a.txt project/.env project/sub/b.txt project/sub/.env
    project/secrets/s project/secrets/deep/x project/docs/a.md project/docs/b.ts project/yarn.lock
    project/.git/HEAD project/.git/config project/.git/index project/.git/hooks/pre-commit project/.git/refs/r
    project/.git/objects/o
    project/.vscode/settings.json project/.mcp.json project/.claude/commands/c.md project/sub/.vscode/s.json
    project/sub/.bashrc project/.bashrc
    other/f other/sub/g other/secrets/s other/.env other/.bashrc out/f out/.env out/sub/.bashrc pub/p""".split()
DIRECTORIES = """. .ssh project project/sub project/secrets project/secrets/deep project/docs project/.git
    project/.git/hooks project/.claude project/.claude/commands other other/sub out out/sub pub tmp tmp/.git""".split()
MISSING = """project/new.txt project/.gitmodules project/sub/new.env other/new project/.zshrc out/.zshrc""".split()

PROBE = r"""
import json, os, sys
answers = {}
for path in json.load(open(sys.argv[1])):
    try:
        # A stand-in for what is missing or hidden is no file with something in it.
        reads = bool(open(path).read(1))
    except OSError:
        reads = False
    try:
        if os.path.isdir(path):
            open(os.path.join(path, "probe-made"), "x").close()
        else:
            open(path, "a").write("+")
    except OSError:
        pass
    answers[path] = reads
print(json.dumps(answers))
"""

SRT = {
    "plain": {"allowWrite": ["."], "denyRead": ["~/.ssh"], "denyWrite": []},
    "nothing": {"allowWrite": [], "denyRead": [], "denyWrite": []},
    "relative": {"allowWrite": [".", "~/out"], "denyRead": ["**/.env", "secrets/deep"],
                 "denyWrite": ["secrets", "docs/a.md"]},
    "home": {"allowWrite": ["."], "denyRead": ["~"], "allowRead": ["~/pub", "~/.config"], "denyWrite": []},
    "home without a write": {"allowWrite": ["~/out"], "denyRead": ["~"], "allowRead": ["."], "denyWrite": ["sub"]},
    "absolute deny": {"allowWrite": [".", "~/out"], "denyRead": [], "denyWrite": ["~/other", "~/out/f"]},
    "deny above": {"allowWrite": ["~/other/sub", "~/project"], "denyRead": ["~/other"], "denyWrite": ["~/project"]},
    "deny of what is open": {"allowWrite": ["~"], "denyRead": ["~/project/secrets"],
                             "allowRead": ["~/project/secrets/deep"], "denyWrite": ["~/project/secrets/deep", "~/.bashrc"]},
    "patterns": {"allowWrite": ["."], "denyRead": ["~/project/**/*.md", "~/o?t/*"], "denyWrite": []},
    "above": {"allowWrite": ["."], "denyRead": ["../other"], "denyWrite": ["../out"]},
}

CODEX = {
    "workspace": 'default_permissions = ":workspace"\n',
    "read only": 'default_permissions = ":read-only"\n',
    "mode": 'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["HOME/out"]\n'
            'exclude_slash_tmp = true\n',
    "denies": 'default_permissions = "x"\n[permissions.x]\nextends = ":workspace"\n[permissions.x.filesystem]\n'
              '"~/.ssh" = "deny"\n"~/other" = "deny"\n"~/other/sub" = "write"\n"~/pub" = "read"\n'
              '[permissions.x.filesystem.":workspace_roots"]\n"." = "write"\nsecrets = "deny"\n"secrets/deep" = "read"\n'
              '"**/.env" = "deny"\n',
    "little": 'default_permissions = "x"\n[permissions.x.filesystem]\n":minimal" = "read"\n"HOME/project" = "read"\n'
              '"HOME/project/sub" = "write"\n"HOME/../probe.py" = "read"\n"HOME/../paths.json" = "read"\n"HOME/.codex" = "read"\n"HOME/../node_modules" = "read"\n',
    "metadata": 'default_permissions = "x"\n[permissions.x]\nextends = ":workspace"\n[permissions.x.filesystem]\n'
                '"HOME/out" = "write"\n"HOME/project/.git" = "write"\n',
}


class World:
    def __init__(self, who):
        self.who = who
        self.top = Path(tempfile.mkdtemp(prefix="cordon-import-", dir="/var/tmp")).resolve()
        self.top.chmod(0o755)
        self.home = self.top / "home"
        self.program = shutil.copy2(check_agents.PROGRAM, self.top / "cordon")
        self.tools = self.top / "node_modules"
        # What npm made is root's, below directories that others may not even pass.
        shutil.copytree(check_agents.AGENTS / "node_modules", self.tools, symlinks=True, copy_function=link)
        self.env = {"HOME": str(self.home), "CODEX_HOME": str(self.home / ".codex"), "TERM": "dumb",
                    "PATH": f"{self.tools / 'node' / 'bin'}:{self.tools / '.bin'}:{os.environ['PATH']}"}
        self.env["TMPDIR"] = str(self.home / "tmp")
        self.make()

    def make(self):
        shutil.rmtree(self.home, ignore_errors=True)
        for name in DIRECTORIES:
            (self.home / name).mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text("x")
        (self.home / ".codex").mkdir()
        (self.home / "tmp" / ".git").mkdir(parents=True, exist_ok=True)
        self.write(self.top / "probe.py", PROBE)
        self.paths = [str(self.home / name) for name in FILES + DIRECTORIES + MISSING]
        self.write(self.top / "paths.json", json.dumps(self.paths))
        if self.who.uid is not None:
            subprocess.run(["chown", "-Rh", f"{self.who.uid}:{self.who.gid}", self.home], check=True)

    def call(self, *words, cwd):
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=self.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False, **self.who.keywords)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def written(self, path):
        path = Path(path)
        if path.is_dir():
            return (path / "probe-made").exists()
        return path.exists() and path.read_text() not in ("", "x")

    def probe(self, *words, cwd, may_fail=False):
        """{path: (read, written)} of the command that probes, run by `words`."""
        self.make()
        status, out, err = self.call(*words, "python3", self.top / "probe.py", self.top / "paths.json", cwd=cwd)
        if status != 0 and may_fail:
            return {path: (False, False) for path in self.paths}, err
        assert status == 0, f"{words}: status {status}: {err}"
        reads = json.loads(out)
        return {path: (reads[path], self.written(path)) for path in self.paths}, ""

    def write(self, path, text):
        path.write_text(text)
        path.chmod(0o644)


def link(source, target, follow_symlinks=True):
    """A hard link where that can be."""
    try:
        os.link(source, target, follow_symlinks=follow_symlinks)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=follow_symlinks)


# What Cordon closes of what the original leaves open; docs/migrating.md names each.
PROTECTED = (".git", ".claude", ".codex", ".agents", ".vscode", ".mcp.json", ".idea")


def is_narrower(tool, path):
    parts = Path(path).parts
    if any(name in PROTECTED for name in parts):
        return True  # P9, and for srt everything in .git
    # srt keeps these from being written also further down; a pattern can only deny.
    return tool == "srt" and (".bashrc" in parts or ".gitmodules" in parts or ".zshrc" in parts)


def compare(w, tool, original, imported, policy, cwd):
    wider = [path for path in w.paths for which in (0, 1) if imported[path][which] and not original[path][which]]
    assert not wider, f"{cwd}: Cordon allows more: " + ", ".join(
        f"{path}: {original[path]} there, {imported[path]} here" for path in wider)
    other = [path for path in w.paths if imported[path] != original[path] and not is_narrower(tool, path)]
    why = []
    w.make()
    for path in w.paths:
        for which, option in ((0, "--read"), (1, "--write")):
            if which == 0 and not os.path.isfile(path):
                continue
            status, _, err = w.call(w.program, "why", "--config-file", policy, option, "--path", path, cwd=cwd)
            assert status in (0, 1), err
            if (status == 0) != imported[path][which]:
                why.append((path, option, status))
    return other, why


def play(w, tool, name, settings):
    file = w.top / ("settings.json" if tool == "srt" else "config.toml")
    policy = w.top / "imported.toml"
    w.write(file, settings)
    home, project = w.home, w.home / "project"
    status, text, err = w.call(w.program, "import", tool, file, cwd=project)
    assert status == 0, err
    w.write(policy, text)
    status, _, err = w.call(w.program, "check", policy, cwd=project)
    assert status == 0, err
    is_bound = "It is for commands that are started in" in text
    equal = count = 0
    left_out = []
    for cwd in [project] if is_bound else [project, home / "other", home / "project" / "secrets"]:
        if tool == "srt":
            start = [w.tools / ".bin" / "srt", "-s", file, "--"]
        else:
            (home / ".codex").mkdir(exist_ok=True)
            start = ["sh", "-c", 'mkdir -p "$CODEX_HOME" && cp "$0" "$CODEX_HOME/config.toml" && exec "$@"', file,
                     "codex", "sandbox", *(("-c", "sandbox_mode=workspace-write") if name == "mode" else ()), "--"]
        original, broken = w.probe(*start, cwd=cwd, may_fail=cwd != project)
        if broken:
            left_out.append(f"{cwd.name}: the original does not start there")
            continue
        imported, refusal = w.probe(w.program, "run", "-q", "--config-file", policy, "--", cwd=cwd,
                                    may_fail=cwd != project)
        other, why = compare(w, tool, original, imported, policy, cwd)
        if refusal:
            left_out.append(f"{cwd.name}: Cordon refuses to start there")
            continue
        assert not other, f"{cwd}: Cordon allows less: " + ", ".join(
            f"{path}: {original[path]} there, {imported[path]} here" for path in other)
        assert not why, f"{cwd}: 'cordon why' answers otherwise: {why}"
        equal += sum(imported[path] == original[path] for path in w.paths)
        count += len(w.paths)
    assert equal > count // 2, "almost nothing is the same, so this shows nothing"
    return "; ".join([f"{equal} of {count} paths the same, the others narrower", *left_out])


def missing_tools():
    return [name for name in ("npm", "bwrap", "socat", "rg") if not shutil.which(name)]


def main():
    if missing_tools():
        print(f"1..0 # SKIP {', '.join(missing_tools())} not found")
        return
    check_agents.install()
    wanted = [(tool, name, text if tool == "codex" else json.dumps(
        {"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": text}), who)
        for who in identities() for tool, cases in (("srt", SRT), ("codex", CODEX))
        if not sys.argv[1:] or tool in sys.argv[1:] for name, text in cases.items()]
    failed = 0
    print(f"1..{len(wanted)}")
    for number, (tool, name, text, who) in enumerate(wanted, 1):
        world = None
        try:
            world = World(who)
            said = play(world, tool, name, text.replace("HOME/..", str(world.top)).replace("HOME", str(world.home)))
            print(f"ok {number} - {tool}: {name}, as {who.name} # {said}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {tool}: {name}, as {who.name}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
        finally:
            if world:
                remove(world.top)
    print(f"{len(wanted) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
