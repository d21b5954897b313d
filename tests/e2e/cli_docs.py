#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What --help says, the man pages, the completions and the header agree, both ways."""

import json
import re
import shutil
import subprocess

from cli import PROGRAM, SOURCE, Skip, World, case, run_cases

COMMANDS = ["run", "sandbox", "init", "check", "profiles", "why", "explain", "doctor", "audit",
            "approvals", "request", "apply-patch", "escalate", "setup", "hook",
            "import", "agent", "windows", "mcp", "proxy", "help", "version"]
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-[A-Za-z])(?![\w-])")


def options_of(text):
    """The options in the left column of a help text."""
    found = set()
    for line in text.splitlines():
        if match := re.match(r" {2,6}(-\S.*?)(?:  |$)", line):
            found |= set(OPTION.findall(match[1]))
    return found


def all_options(w):
    return options_of(w.ok("--help").out)


def options_in_man(text):
    found = set()
    for line in text.splitlines():
        if line.startswith("."):
            for word in re.findall(r"Fl ([A-Za-z-][\w-]*)", line):
                found.add("-" + word)
            # ".Op Fl -read | -write"
            if "Fl" in line.split():
                found |= {"-" + word for word in re.findall(r"\| (-[\w-]+)", line)}
    return found - {"--"}


@case
def the_full_help_is_the_sum_of_the_commands(w: World):
    each = set()
    for command in COMMANDS:
        each |= options_of(w.ok(command, "--help").out)
    assert each | {"-V", "--version"} == all_options(w), each ^ all_options(w)


@case
def every_option_is_in_the_man_page_and_the_reverse(w: World):
    text = (SOURCE / "man/cordon.1").read_text()
    assert options_in_man(text) == all_options(w), options_in_man(text) ^ all_options(w)
    for command in COMMANDS:
        assert f".Cm {command}\n" in text and f".It Cm {command}" in text, command
    documented = set(re.findall(r"^\.Cm ([\w-]+)$", text, re.MULTILINE))
    assert documented == set(COMMANDS), documented


@case
def every_option_is_in_the_bash_completion_and_the_reverse(w: World):
    text = (SOURCE / "completions/cordon.bash").read_text()
    lists = " ".join(re.findall(r'(?:policy|entries|run|output|always|options)\+?="([^"]*)"', text))
    found = set(OPTION.findall(lists))
    assert found == all_options(w), found ^ all_options(w)
    assert f'commands="{" ".join(COMMANDS)}"' in text


@case
def every_option_is_in_the_zsh_completion_and_the_reverse(w: World):
    text = (SOURCE / "completions/cordon.zsh").read_text()
    found = set()
    for braces, single in re.findall(r"'?\{(-[^}]*)\}'?\[|[*)']+(-{1,2}[A-Za-z-]+)\[", text):
        found |= set((braces or single).split(","))
    assert found == all_options(w), found ^ all_options(w)
    for command in COMMANDS:
        assert f"'{command}:" in text


@case
def every_option_is_in_the_fish_completion_and_the_reverse(w: World):
    text = (SOURCE / "completions/cordon.fish").read_text()
    lines = "\n".join(line for line in text.splitlines() if line.startswith("complete "))
    found = {f"-{letter}" for letter in re.findall(r" -s (\w)", lines)}
    found |= {f"--{name}" for name in re.findall(r" -l ([\w-]+)", lines)}
    assert found == all_options(w), found ^ all_options(w)
    for command in COMMANDS:
        assert f" -a {command} " in text


@case
def the_bash_completion_completes(w: World):
    if not shutil.which("bash"):
        raise Skip("no bash")
    script = (
        f'. {SOURCE}/completions/cordon.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_cordon; printf "%s\\n" "${COMPREPLY[@]}"'
    )

    def complete(*words):
        done = subprocess.run(["bash", "-c", script, "bash", "cordon", *words], cwd=w.repo,
                              env=w.env, capture_output=True, text=True, check=True)
        assert not done.stderr, done.stderr
        return done.stdout.split()

    assert complete("wh") == ["why"]
    assert complete("why", "--wr") == ["--write"]
    assert "--platform" in complete("explain", "--p")
    assert complete("explain", "--platform", "mac") == ["macos"]
    assert complete("--ver") == ["--version"]
    assert complete("sand") == ["sandbox"]
    assert complete("run", "--full") == complete("sandbox", "--full") == ["--full-auto"]
    assert complete("run", "--sandbox", "req") == ["require"]
    for command in COMMANDS:
        if command not in ("help", "version"):
            offered = set(complete(command, "-"))
            assert offered == options_of(w.ok(command, "--help").out), (command, offered)
    assert complete("why", "--add-w") == ["--add-write"] and not complete("check", "--add-w")
    # What follows the first word of the command to run is that command's.
    assert "printf" in complete("run", "-P", "x", "prin") == complete("run", "--", "prin")
    w.write("repo/--full-of-files")
    for words in (["ls", "--full"], ["--", "ls", "--full"], ["--timeout", "5", "ls", "--full"]):
        assert complete("run", *words) == ["--full-of-files"], words


@case
def the_bash_completion_knows_where_readline_splits(w: World):
    if not shutil.which("bash"):
        raise Skip("no bash")
    (w.top / "bin").mkdir()
    (w.top / "bin/cordon").symlink_to(PROGRAM)
    env = {**w.env, "PATH": f"{w.top}/bin:{w.env['PATH']}"}
    script = (
        f'. {SOURCE}/completions/cordon.bash; COMP_LINE=$1; COMP_POINT=${{#1}}; shift; '
        'COMP_WORDBREAKS=" =:"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_cordon; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    for line, words, offered in (
        ("cordon why -P :w", "cordon why -P : w", ["workspace"]),
        ("cordon why -P :", "cordon why -P :", [
            "agent", *(f"agent-{name}" for name in ("claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen")),
            "danger-full-access", "read-only", "workspace"]),
        ("cordon profiles :r", "cordon profiles : r", ["read-only"]),
        ("cordon why --profile=:w", "cordon why --profile = : w", ["workspace"]),
        ("cordon why --mode=w", "cordon why --mode = w", ["workspace-write"]),
        ("cordon why --mode=", "cordon why --mode =",
         ["danger-full-access", "read-only", "workspace-write"]),
        ("cordon why --mode w", "cordon why --mode w", ["workspace-write"]),
        ("cordon why --wr", "cordon why --wr", ["--write"]),
        ("cordon explain --platform ", ["cordon", "explain", "--platform", ""],
         ["landlock", "linux", "macos", "seatbelt", "windows"]),
    ):
        words = words.split() if isinstance(words, str) else words
        done = subprocess.run(["bash", "-c", script, "bash", line, *words], cwd=w.repo, env=env,
                              capture_output=True, text=True, check=True)
        assert not done.stderr, done.stderr
        assert sorted(done.stdout.split()) == offered, (line, done.stdout)


@case
def no_completion_runs_what_a_profile_is_called(w: World):
    names = ["$(touch ran-1)", "`touch ran-2`", "two words", "a\nb$(touch ran-3)", "${HOME}",
             "; touch ran-4", "(touch ran-5)", "plain"]
    w.write_config("".join(f"[permissions.{json.dumps(name)}]\n" for name in names))
    listed = w.ok("profiles", "--quiet").out.splitlines()
    (w.top / "bin").mkdir()
    (w.top / "bin/cordon").symlink_to(PROGRAM)
    env = {**w.env, "PATH": f"{w.top}/bin:{w.env['PATH']}"}
    source = f"{SOURCE}/completions/cordon"
    scripts = {
        # What bash offers is inserted as it is, so it has to read back as the names.
        "bash": f". {source}.bash; COMP_WORDS=(cordon why -P ''); COMP_CWORD=3; _cordon; "
                'eval "words=(${COMPREPLY[*]})"; printf "%s\\n" "${words[@]}"',
        "zsh": "_arguments() { :; }; compadd() { print -rl -- ${(P)2}; }; "
               f". {source}.zsh; _cordon_profiles",
        "fish": f"source {source}.fish; complete -C 'cordon why -P '",
    }
    shells = [shell for shell in scripts if shutil.which(shell)]
    if not shells:
        raise Skip("no shell that has completions")
    for shell in shells:
        quiet = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
        done = subprocess.run([shell, *quiet, "-c", scripts[shell]], cwd=w.repo, env=env,
                              capture_output=True, text=True, check=True)
        offered = {line.split("\t")[0] for line in done.stdout.splitlines()}
        assert set(listed) <= offered, f"{shell}: {done.stdout}{done.stderr}"
        assert not list(w.repo.iterdir()), f"{shell} ran the name of a profile"


@case
def every_completion_parses(w: World):
    ran = False
    for shell in ("bash", "zsh", "fish"):
        if shutil.which(shell):
            ran = True
            subprocess.run([shell, "-n", str(SOURCE / f"completions/cordon.{shell}")], check=True)
    if not ran:
        raise Skip("no shell that has completions")


@case
def the_man_pages_are_well_formed(w: World):
    pages = sorted(str(page) for page in (SOURCE / "man").glob("*.[0-9]"))
    assert len(pages) == 4
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *pages], capture_output=True,
                              text=True, check=False)
        assert not done.stdout + done.stderr, done.stdout + done.stderr
    elif shutil.which("groff"):
        done = subprocess.run(["groff", "-mdoc", "-Tutf8", "-ww", "-z", *pages],
                              capture_output=True, text=True, check=False)
        assert not done.stderr, done.stderr
    else:
        raise Skip("neither mandoc nor groff")


@case
def every_function_is_in_the_man_page_and_the_reverse(w: World):
    header = (SOURCE / "include/cordon.h").read_text()
    declared = set(re.findall(r"^CORDON_API .*?(cordon_\w+)\(", header, re.MULTILINE))
    documented = set(re.findall(r"^\.Fn (cordon_\w+) \"", (SOURCE / "man/libcordon.3").read_text(),
                                re.MULTILINE))
    assert declared == documented, declared ^ documented
    codes = set(re.findall(r"^\t(CORDON_E_\w+) =", header, re.MULTILINE))
    listed = set(re.findall(r"^\.It Dv (CORDON_E_\w+)", (SOURCE / "man/libcordon.3").read_text(),
                            re.MULTILINE))
    assert codes == listed, codes ^ listed


@case
def the_example_of_the_policy_page_is_valid(w: World):
    text = (SOURCE / "man/cordon-policy.5").read_text()
    blocks = re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 2
    for block in blocks:
        w.ok("check", str(w.write("example.toml", block)))


@case
def the_policy_page_knows_every_key(w: World):
    schema = (SOURCE / "src/policy/schema.c").read_text()
    page = (SOURCE / "man/cordon-policy.5").read_text()
    for key in set(re.findall(r'\{ "([a-z_0-9]+)", T_', schema)):
        if not key.startswith("dangerously_") and key != "mitm":
            assert re.search(rf"\b{key}\b", page), key


run_cases()
