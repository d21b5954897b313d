#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon agent`: a coding agent inside as a whole (docs/agents.md). Stand-ins answer for the agents; the real ones are
started by tests/agents/check_inside.py."""

import json
import os
import random
import shutil
import subprocess
import time

from cli import PROGRAM, SECONDS, Result, Skip, World, case, run_cases
import agent_state  # tests/support, which cli makes known
import schema
from agent_state import SAVED, SAVED_FILES, STATES

NAMES = ("claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen")
# What each obeys, as a command could plant it.
OBEYED = {"claude": [".claude/settings.json", ".claude/hooks/x", ".claude/plugins/x", ".claude/.config.json",
                     ".claude/shell-snapshots/x.sh"],
          "codex": [".codex/config.toml", ".codex/hooks.json", ".codex/skills/x", ".codex/rules/x", ".codex/.env",
                    ".codex/shell_snapshots/x.sh"],
          "copilot": [".copilot/mcp-config.json", ".copilot/config.json", ".copilot/pkg/x", ".copilot/hooks/x"],
          "gemini": [".gemini/settings.json", ".gemini/extensions/x", ".cache/.gemini/tmp/bin/rg", ".gemini/.env"],
          "opencode": [".config/opencode/opencode.json", ".config/opencode/plugin/x", ".local/share/opencode/auth.json",
                       ".local/share/opencode/snapshot/x"],
          "pi": [".pi/agent/auth.json", ".pi/agent/models.json", ".pi/agent/extensions/x", ".pi/agent/bin/fd"],
          "qwen": [".qwen/settings.json", ".qwen/commands/x", ".qwen/locales/x", ".qwen/.env"]}
OWN = {"gemini": ".gemini/oauth_creds.json", "opencode": ".local/share/opencode/mcp-auth.json"}
# What they replace by rename, which is refused, so no host renews it inside.
OWN_READ = {"claude": (".claude/.credentials.json", "platform.claude.com"), "codex": (".codex/auth.json", "auth.openai.com"),
            "qwen": (".qwen/oauth_creds.json", "chat.qwen.ai"), "pi": (".pi/agent/auth.json", "auth.openai.com")}


class Desk:
    """A repository, and programs called like the agents, which run $DO."""

    def __init__(self, w, agents=NAMES):
        self.w = w
        self.bin = w.top / "bin"
        self.bin.mkdir()
        for name in agents:
            self.script(self.bin / name, 'printf "%s\\n" "$@" >"$TMPDIR/args" 2>/dev/null\neval "$DO"')
        w.env["PATH"] = f"{self.bin}:{w.env['PATH']}"
        subprocess.run(["git", "init", "-q", w.repo], check=True, env=w.env)

    def script(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def agent(self, *words, do="", status=0, env=None, cwd=None):
        done = subprocess.run([PROGRAM, "agent", *words], cwd=cwd or self.w.repo, stdin=subprocess.DEVNULL,
                              env={**self.w.env, "DO": do, **(env or {})}, capture_output=True, timeout=SECONDS * 3, check=False)
        result = Result(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert "Sanitizer" not in result.err and "runtime error" not in result.err, result
        assert status is None or result.status == status, (words, result)
        return result


@case
def the_agents_that_are_here_are_listed(w: World):
    d = Desk(w, agents=("codex",))
    found = w.ok("agent", "--json", env={"PATH": str(d.bin)}).json
    schema.check(found)
    assert {a["name"]: a["found"] for a in found["agents"]} == {n: f"{d.bin}/codex" if n == "codex" else None for n in NAMES}
    text = w.ok("agent", env={"PATH": str(d.bin)}).out
    assert f"{d.bin}/codex" in text and "not here" in text, text
    assert str(d.bin) in w.ok("agent", env={"PATH": str(d.bin / "none")}).out.replace("/none", "")


@case
def what_is_not_there_is_named(w: World):
    d = Desk(w, agents=("codex",))
    err = d.agent("gemini", status=125, env={"PATH": f"/none:{d.bin}"}).err
    assert "'gemini' in PATH" in err and f"/none:{d.bin}" in err, err
    assert w.cause("agent", "gemini", env={"PATH": "/none"}) == "agent_not_found"
    assert "did you mean 'codex'" in d.agent("codx", status=125).err
    assert "-P" in d.agent("--mode", "read-only", "codex", status=125).err
    assert w.cause("agent", "--full-auto", "codex") == "option_conflict"


@case
def arguments_and_exit_status_are_the_agents(w: World):
    d = Desk(w)
    said = d.agent("gemini", "a b", "--json", "--", "-P", do='cat "$TMPDIR/args"; exit 7', status=7)
    assert said.out == "a b\n--json\n--\n-P\n", said
    assert d.agent("--", "pi", "--", "x", do='cat "$TMPDIR/args"').out == "x\n"
    assert d.agent("pi", "--", "--", "x", do='cat "$TMPDIR/args"').out == "--\nx\n"


@case
def own_options_come_first_and_are_said(w: World):
    d = Desk(w)
    said = d.agent("codex", "exec", "x", do='cat "$TMPDIR/args"')
    assert said.out.splitlines()[:3] == ["--no-daemon", "--config", 'sandbox_mode="danger-full-access"'], said
    assert "features.shell_snapshot=false" in said.out.splitlines(), said
    assert said.out.splitlines()[-2:] == ["exec", "x"] and said.err == "cordon: note: Codex's own sandbox is off: it can't run inside Cordon's\n", said
    assert d.agent("--quiet", "codex", do="true").err == ""
    assert d.agent("claude", do="echo $CLAUDE_CODE_DISABLE_AUTO_MEMORY").out == "1\n"
    said = d.agent("claude", "-p", do='cat "$TMPDIR/args"; echo $DISABLE_AUTOUPDATER')
    assert json.loads(said.out.splitlines()[1]) == {"sandbox": {"enabled": False}}, said
    said = d.agent("claude", "--settings=x", do='cat "$TMPDIR/args"')
    assert said.out == "--settings=x\n" and "warning: Claude Code's own sandbox can't run inside Cordon's: switch it off in your --settings" in said.err, said
    assert d.agent("--env", "GEMINI_SANDBOX=docker", "gemini", do="echo $GEMINI_SANDBOX").out == "docker\n"
    assert d.agent("gemini", do="echo $GEMINI_SANDBOX").out == "false\n"
    assert "own sandbox" not in d.agent("pi", do="true").err


@case
def keys_of_its_own_are_passed_and_others_are_not(w: World):
    d = Desk(w)
    keys = {"ANTHROPIC_API_KEY": "one", "OPENAI_API_KEY": "two", "GEMINI_API_KEY": "three", "AWS_SECRET_ACCESS_KEY": "four"}
    show = "echo $ANTHROPIC_API_KEY-$OPENAI_API_KEY-$GEMINI_API_KEY-$AWS_SECRET_ACCESS_KEY"
    assert d.agent("claude", do=show, env=keys).out == "one---\n"
    assert d.agent("codex", do=show, env=keys).out == "-two--\n"
    assert d.agent("gemini", do=show, env=keys).out == "--three-\n"


@case
def its_state_is_made_and_saved_and_what_it_obeys_is_not(w: World):
    d = Desk(w)
    for name in NAMES:
        made = [w.home / state for state in SAVED[name]]
        assert not any(path.exists() for path in made), made
        planted = [w.home / path for path in OBEYED[name]]
        files = [w.home / path for path in SAVED_FILES.get(name, [])]
        if name in OWN:
            files.append(w.write(f"home/{OWN[name]}", "old\n"))
        do = "".join(f"echo saved >'{path}/saved'; " for path in made) + "".join(f"echo saved >'{path}'; " for path in files)
        do += "".join(f"mkdir -p '{path.parent}'; echo planted >>'{path}'; " for path in planted)
        do += f"echo outside >'{w.home}/outside'; echo inside >'{w.repo}/inside'; "
        said = d.agent(name, do=do, status=None)
        assert all((path / "saved").read_text() == "saved\n" for path in made), (name, said)
        assert all(path.read_text() == "saved\n" for path in files), (name, said)
        assert all(path.stat().st_mode & 0o77 == 0 for path in made), [oct(path.stat().st_mode) for path in made]
        got = [path for path in planted if path.exists() and "planted" in path.read_text()]
        assert not got and not (w.home / "outside").exists(), (name, got, said)
        assert (w.repo / "inside").exists(), said
        (w.repo / "inside").unlink()
        # The same without Cordon works.
        left_over(w, planted)
        subprocess.run(["sh", "-c", do], check=True, env=w.env)
        assert all("planted" in path.read_text() for path in planted), name
        (w.home / "outside").unlink()


def left_over(w, planted):
    """Placeholders are gone within a second."""
    end = time.monotonic() + 20
    while any(path.exists() and path.stat().st_mtime < 1.2e9 for path in planted) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(path.exists() and path.stat().st_mtime < 1.2e9 for path in planted), planted


@case
def what_is_there_already_can_be_read_and_not_changed(w: World):
    d = Desk(w)
    for name, text in ((".claude/settings.json", "{}"), (".claude/mine.sh", "#!/bin/sh\n"), (".claude/history.jsonl", "{}"), (".claude/plans/one.md", "plan\n"),
                       (".claude/tool", "#!/bin/sh\n")):
        w.write(f"home/{name}", text)
    (w.home / ".claude/tool").chmod(0o755)
    do = "cd ~/.claude && cat settings.json && for f in settings.json mine.sh history.jsonl tool plans/one.md; do (echo x >>$f) && echo $f; done; "
    do += "mv mine.sh other; rm -f settings.json; mv ../.claude ../.moved; :"
    said = d.agent("claude", do=do)
    assert said.out == "{}plans/one.md\n", said
    assert (w.home / ".claude/mine.sh").read_text() == "#!/bin/sh\n", said


KEPT = "stays read-only, so that a command can't change what the agent obeys"


@case
def nothing_suggests_to_open_what_it_obeys(w: World):
    d = Desk(w)
    w.write("home/.claude/projects/-one/memory/MEMORY.md", "mine\n")
    for name, path in (("codex", ".codex/config.toml"), ("codex", ".codex/auth.json"), ("opencode", ".config/opencode/plugin"),
                       ("gemini", ".cache/.gemini/tmp/bin/rg"), ("claude", ".claude/projects/-one/memory/MEMORY.md")):
        report = w.top / "report.json"
        do = f"mkdir -p ~/{os.path.dirname(path)}; echo x >~/{path}; exit 1"
        said = d.agent("--report", str(report), name, do=do, status=1)
        assert f"'{w.home}/{os.path.dirname(path) if name == 'gemini' else path}" in said.err and KEPT in said.err, said
        assert "--add-write" not in said.err and "cordon why" not in said.err, said
        refused = [each for each in json.loads(report.read_text())["denials"] if str(w.home) in each["subject"]]
        assert refused and not any(each["suggestions"] for each in refused), refused
    # What lies elsewhere has its way out as before.
    (w.home / "more").mkdir()
    said = d.agent("codex", do="echo x >~/more/x; echo x >~/.codex/config.toml; exit 1", status=1)
    assert f"--add-write {w.home}/more" in said.err and KEPT in said.err, said
    assert f"--add-write {w.home}/.codex" not in said.err, said
    found = w.run("why", "-P", ":agent-codex", "--write", str(w.home / ".codex/config.toml"), "--json").json
    assert KEPT in found["why_not"] and not found["suggestions"], found


@case
def an_option_that_opens_what_it_obeys_is_warned_of_once(w: World):
    d = Desk(w)
    (w.home / "more").mkdir()
    d.agent("codex", do="true")
    warned = "what Codex obeys the next time"
    for path in (".codex", ".codex/rules"):
        (w.home / path).mkdir(exist_ok=True)
        said = d.agent("--add-write", str(w.home / path), "codex", do=f"echo x >~/{path}/hooks.json")
        assert said.err.count(warned) == 1 and f"{w.home}/{path} lets commands" in said.err, said
        assert (w.home / path / "hooks.json").exists(), said
        (w.home / path / "hooks.json").unlink()
    # The entries of the profile lie below a home, and hold; and these open nothing that it obeys.
    for path in ("more", ".codex/sessions"):
        assert warned not in d.agent("--add-write", str(w.home / path), "codex", do="true").err, path
    assert warned not in w.ok("run", "--add-write", str(w.home / ".codex"), "--", "true").err


@case
def what_a_live_session_starts_its_commands_with_is_kept(w: World):
    d = Desk(w)
    live = {"claude": [".claude/shell-snapshots/snapshot-bash-1.sh", ".claude/session-env/one/sessionstart-hook-0.sh"],
            "codex": [".codex/shell_snapshots/one.sh"]}
    for name, paths in live.items():
        beside = f"{SAVED[name][0]}/one.jsonl"
        for path in (*paths, beside):
            w.write(f"home/{path}", "true\n")
        do = "".join(f"echo 'echo planted' >>~/{path}; " for path in (*paths, beside))
        do += "".join(f"echo x >~/{path}.new; mv -f ~/{beside} ~/{path}; " for path in paths) + ":"
        said = d.agent(name, do=do)
        assert all((w.home / path).read_text() == "true\n" and not (w.home / f"{path}.new").exists() for path in paths), said
        assert (w.home / beside).read_text() == "true\necho planted\n", said
        subprocess.run(["sh", "-c", do.replace("mv ", ": ")], check=True, env=w.env)
        assert all("planted" in (w.home / path).read_text() for path in paths), name
    d.agent("claude", do="mkdir ~/.claude/session-env/mine")  # each session makes one


@case
def only_what_is_listed_is_ever_changed(w: World):
    d = Desk(w)
    for name in NAMES:
        draw = random.Random(f"{name} {os.environ.get('SEED', 7)}")
        d.agent(name, do="true")  # makes what is missing
        tried = agent_state.names_to_try(draw, name)
        agent_state.put_some(draw, w.home, tried)
        do = agent_state.command(w.write, w.home, tried)
        before = agent_state.tree(w.home, name)
        said = d.agent(name, do=do)
        strange = agent_state.changed_otherwise(name, before, agent_state.tree(w.home, name))
        assert not strange, (name, strange, said)
        assert int(said.out) > 0, (name, said)  # what is listed can be
        # The control: without Cordon nearly all of it works.
        done = subprocess.run(["sh", "-c", do], check=True, env=w.env, capture_output=True)
        hit = agent_state.changed_otherwise(name, before, agent_state.tree(w.home, name))
        assert int(done.stdout) > 4 * int(said.out) and len(hit) > len(tried), (name, len(hit), len(tried), said.out, done.stdout)
        shutil.rmtree(w.home / STATES[name][0])


MEMORIES = {"claude": ".claude/projects", "gemini": ".cache/.gemini/tmp", "qwen": ".qwen/cordon/projects"}


@case
def what_is_remembered_of_a_project_is_kept(w: World):
    d = Desk(w)
    for name, projects in MEMORIES.items():
        w.write(f"home/{projects}/-one/memory/MEMORY.md", "mine\n")
        w.write(f"home/{projects}/-two/session.jsonl", "{}\n")
        places = [f"{w.home}/{projects}/{project}" for project in ("-one", "-two")]
        do = "".join(f"mkdir -p {place}/memory; echo planted >>{place}/memory/MEMORY.md; echo saved >>{place}/session.jsonl; "
                     f"mv {place} {place}-moved; " for place in places) + f"cat {places[0]}/memory/MEMORY.md"
        d.agent("--dry-run", name)
        assert not (w.home / projects / "-two/memory").exists()
        said = d.agent(name, do=do)
        assert said.out == "mine\n" and (w.home / projects / "-one/memory/MEMORY.md").read_text() == "mine\n", said
        assert not (w.home / projects / "-two/memory/MEMORY.md").exists(), said
        assert all((w.home / projects / p / "session.jsonl").read_text().endswith("saved\n") for p in ("-one", "-two")), said
        subprocess.run(["sh", "-c", do.replace("mv ", ": ")], check=True, env=w.env, stdout=subprocess.DEVNULL)
        assert all("planted" in (w.home / projects / p / "memory/MEMORY.md").read_text() for p in ("-one", "-two")), name


@case
def secrets_of_others_are_closed(w: World):
    d = Desk(w)
    for name in (".ssh/id_x", ".codex/auth.json", ".claude/.credentials.json", ".qwen/oauth_creds.json"):
        w.write(f"home/{name}", f"secret of {name}\n")
    do = "cat ~/.ssh/id_x ~/.codex/auth.json ~/.claude/.credentials.json ~/.qwen/oauth_creds.json; :"
    assert d.agent("codex", do=do).out == "secret of .codex/auth.json\n"
    assert d.agent("claude", do=do).out == "secret of .claude/.credentials.json\n"
    assert d.agent("pi", do=do).out == ""


@case
def why_and_explain_answer_for_the_profiles(w: World):
    Desk(w)
    for name in NAMES:
        profile = ["-P", f":agent-{name}"]
        for state in STATES[name]:
            (w.home / state).mkdir(parents=True, exist_ok=True)
            assert w.access(w.home / state, *profile) == w.access(w.home / state / "x", *profile) == "read", (name, state)
        for state in SAVED[name]:
            (w.home / state).mkdir(parents=True, exist_ok=True)
            assert w.access(w.home / state / "x", *profile) == "write", (name, state)
            # Nobody works there, so its names mean nothing.
            assert w.access(w.home / state / ".vscode", *profile) == "write", (name, state)
        (w.home / ".cache/.gemini/tmp").mkdir(parents=True, exist_ok=True)
        for path in OBEYED[name]:
            assert w.access(w.home / path, *profile) == "read", (name, path)
        for other, path in OWN.items():
            if not (w.home / path).exists():
                w.write(f"home/{path}", "")
            assert w.access(w.home / path, *profile) == ("write" if other == name else "deny"), (name, path)
        for other, (path, host) in OWN_READ.items():
            assert w.access(w.home / path, *profile) == ("read" if other == name else "deny"), (name, path)
            assert w.decision(host, *profile) == "deny", (name, host)
        assert w.access(w.repo / "x", *profile) == "write" and w.access(w.repo / ".git/hooks/x", *profile) == "read"
        assert w.access(w.repo / ".git/objects/x", *profile) == "write" and w.access(w.home / ".ssh", *profile) == "deny"
        assert w.decision("registry.example", *profile) == "deny"
        assert f":agent-{name}" in w.ok("explain", *profile).out
        shown = w.ok("profiles", f":agent-{name}").out
        assert "# what it saves" in shown and "# hosts" in shown, shown
    assert w.decision("api.anthropic.com", "-P", ":agent-claude") == "allow"
    assert w.decision("api.openai.com", "-P", ":agent-claude") == "deny"
    assert w.decision("api.openai.com", "-P", ":agent-codex") == "allow"


@case
def a_profile_of_the_users_extends_it(w: World):
    d = Desk(w)
    w.write_config('[permissions.mine]\nextends = ":agent-codex"\n[permissions.mine.filesystem]\n'
                   '"~/.codex/config.toml" = "write"\n"~/notes" = "write"\n[permissions.mine.network.domains]\n'
                   '"registry.example" = "allow"\n')
    (w.home / "notes").mkdir()
    w.write("home/.codex/config.toml", "")
    do = "echo x >~/.codex/config.toml; echo x >~/notes/x; echo x >~/.codex/hooks.json; :"
    said = d.agent("-P", "mine", "codex", do=do)
    assert (w.home / "notes/x").exists() and (w.home / ".codex/config.toml").read_text() == "x\n", said
    assert not (w.home / ".codex/hooks.json").exists() or (w.home / ".codex/hooks.json").read_text() != "x\n", said
    assert w.decision("registry.example", "-P", "mine") == "allow"
    assert w.access(w.home / "notes/.vscode", "-P", "mine") == "read"
    assert "can't be written" not in w.ok("run", "-P", ":agent-codex", "--", "true").err


@case
def options_of_run_count(w: World):
    d = Desk(w)
    (w.home / "more").mkdir()
    report = w.top / "report.json"
    do = "echo x >~/more/x; echo x >~/outside; :"
    d.agent("--add-write", str(w.home / "more"), "--report", str(report), "pi", do=do)
    assert (w.home / "more/x").exists() and not (w.home / "outside").exists()
    found = json.loads(report.read_text())
    assert found["profile"] == ":agent-pi" and found["sandboxed"], found
    rehearsed = w.ok("agent", "--dry-run", "--json", "qwen").json
    assert rehearsed["profile"] == ":agent-qwen", rehearsed
    assert not (w.home / ".qwen").exists()


@case
def a_rehearsal_shows_the_run_as_it_would_be(w: World):
    d = Desk(w)
    w.write("home/.claude/projects/-one/one.jsonl", "{}\n")
    for name in NAMES:
        fresh = [f"{w.home}/{state}" for state in SAVED[name] if not (w.home / state).exists()]
        first = w.ok("agent", "--dry-run", "--json", name).json
        schema.check(first)
        made = [step.removeprefix("create the directory ") for step in first["steps"] if step.startswith("create the directory")]
        assert set(fresh) <= set(made) and not any(os.path.exists(path) for path in made), (name, made, fresh)
        assert not [each for each in first["warnings"] if "left out" in each or "create it" in each], first["warnings"]
        text = d.agent("--dry-run", name)
        assert "before the start it would\n  create the " in text.out and f"create the directory {made[0]}\n" in text.out, text
        assert "left out" not in text.err, text
        d.agent(name, do="true")
        assert all(os.path.isdir(path) for path in made), (name, made)
        then = w.ok("agent", "--dry-run", "--json", name).json
        assert [step for step in first["steps"] if not step.startswith("create the ")] == then["steps"], (name, first, then)
    assert f"create the directory" not in d.agent("--dry-run", "claude").out


@case
def state_that_lies_elsewhere_is_refused(w: World):
    d = Desk(w)
    err = d.agent("codex", status=125, env={"CODEX_HOME": "/elsewhere"}).err
    assert "CODEX_HOME" in err and "~/.codex" in err and not (w.home / ".codex").exists(), err
    d.agent("codex", do="true", env={"CODEX_HOME": f"{w.home}/.codex"})
    assert "OPENCODE_CONFIG_CONTENT" in d.agent("opencode", status=125, env={"OPENCODE_CONFIG_CONTENT": "{}"}).err


@case
def state_that_options_or_the_profile_move_is_refused(w: World):
    d = Desk(w)
    usual = f"CODEX_HOME={w.home}/.codex"
    for words, named in ((["--env", "CODEX_HOME=/elsewhere", "codex"], "CODEX_HOME"),
                         (["--env", usual, "--env", "CODEX_HOME=/elsewhere", "codex"], "CODEX_HOME"),
                         (["--env", f"HOME={w.repo}", "codex"], "HOME"),
                         (["--env", "OPENCODE_CONFIG_CONTENT={}", "opencode"], "OPENCODE_CONFIG_CONTENT")):
        err = d.agent(*words, do="echo ran", status=125).err
        assert f"${named}" in err and "--env" in err, err
    assert d.agent("--env", usual, "--env", "OTHER=x", "codex", do="echo $OTHER").out == "x\n"
    for agent, name, value in (("codex", "CODEX_HOME", "/elsewhere"), ("codex", "HOME", str(w.repo)),
                               ("opencode", "OPENCODE_CONFIG_CONTENT", "{}"), ("codex", "OTHER", "x")):
        w.write_config(f'[permissions.mine]\nextends = ":agent-{agent}"\n[permissions.mine.environment]\n'
                       f'set = {{ {name} = "{value}" }}\n')
        if name == "OTHER":
            assert d.agent("-P", "mine", agent, do="echo $OTHER").out == "x\n"
            continue
        err = d.agent("-P", "mine", agent, do="echo ran", status=125).err
        assert f"${name}" in err and "environment.set" in err, err


@case
def a_program_that_a_command_could_replace_is_refused(w: World):
    d = Desk(w, agents=())
    path = {"PATH": f"{w.repo}/node_modules/.bin:{os.environ['PATH']}"}
    for name in ("pi", "opencode"):
        d.script(w.repo / "node_modules/.bin" / name, "echo ran")
        before = sorted(w.home.rglob("*"))
        assert w.cause("agent", name, env=path) == "agent_writable"
        assert sorted(w.home.rglob("*")) == before, "a start that is refused makes nothing"
    (d.bin / "pi").symlink_to(w.repo / "node_modules/.bin/pi")
    assert w.cause("agent", "pi") == "agent_writable"
    (d.bin / "pi").unlink()
    d.script(d.bin / "pi", "echo ran")
    assert d.agent("pi").out == "ran\n"


@case
def a_commit_works(w: World):
    d = Desk(w)
    do = "echo x >x && git add x && git -c user.name=x -c user.email=x@y commit -q -m x && git log --oneline | wc -l; "
    do += "echo x >.git/hooks/post-commit"
    said = d.agent("codex", do=do, status=None)
    assert said.out.strip() == "1" and not (w.repo / ".git/hooks/post-commit").exists(), said
    sub = w.repo / "sub"
    sub.mkdir()
    assert "ok" in d.agent("codex", do="git -c user.name=x -c user.email=x@y commit -q --allow-empty -m y && echo ok", cwd=sub).out


@case
def tmp_is_its_own(w: World):
    if str(w.top).startswith("/tmp/agent-tmp"):
        raise Skip("the world lies in it")
    d = Desk(w)
    said = d.agent("pi", do="echo x >/tmp/cordon-agent-test-$$ && ls /tmp | grep -c cordon-agent-test")
    assert said.out == "1\n" and not [name for name in os.listdir("/tmp") if name.startswith("cordon-agent-test-")], said


if __name__ == "__main__":
    run_cases()
