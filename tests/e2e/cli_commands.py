#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every command, as a person and as a program would use it."""

import hashlib
import json
import os
import pty
import re
import shutil
import stat
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

from cli import PROGRAM, SOURCE, Skip, World, case, change, run_cases, start

DEV = """\
default_permissions = "dev"

[permissions.dev]
extends = ":workspace"
description = "the usual"

[permissions.dev.filesystem]
"~/private" = "deny"
"~/private/shared" = "read"
":workspace_roots" = { "docs" = "read", "**/*.pem" = "deny" }

[permissions.dev.network]
enabled = true
domains = { "example.com" = "allow", "**.example.org:443" = "allow", "ads.example.org" = "deny" }

[permissions.net]
network = { enabled = true }
"""


# ---- init -----------------------------------------------------------------------


@case
def init_writes_a_starter_that_passes_check(w: World):
    said = w.ok("init")
    assert str(w.config) in said.out and "cordon check" in said.out, said
    assert stat.S_IMODE(w.config.stat().st_mode) == 0o600
    assert stat.S_IMODE(w.config.parent.stat().st_mode) == 0o700
    assert w.ok("check").out.startswith("ok: 1 file")
    assert w.ok("check", "--syntax-only", str(w.config)).status == 0
    assert w.access("x") == "write" and w.access("~/.ssh/id_rsa") == "deny"
    assert w.decision("example.com") == "deny"


@case
def what_the_starter_shows_but_does_not_do_is_valid_too(w: World):
    w.ok("init")
    lines = w.config.read_text().splitlines()
    shown = re.compile(r'# (\[[a-z.]+\]|("[^"]+"|[a-z_]+) = .*)')
    lines = [match[1] if (match := shown.fullmatch(line)) else line for line in lines]
    assert len([line for line in lines if line and line[0] != "#"]) >= 18, lines
    w.write_config("\n".join(lines))
    w.ok("check")


@case
def the_policy_that_the_readme_shows_does_no_harm(w: World):
    text = (SOURCE / "README.md").read_text().split("```toml")[1].split("```")[0]
    w.write_config(text)
    (w.home / ".cache").mkdir()
    subprocess.run(["git", "init", "-q", str(w.repo)], check=True)
    w.write("repo/.venv/lib/certifi/cacert.pem", "trusted\n")
    w.ok("check")
    said = w.ok("run", "--", "sh", "-c", "ls; cat .venv/lib/certifi/cacert.pem; mkdir vendor docs")
    # Of what stands in for missing names (P9) only these are seen without -a.
    found = set(said.out.splitlines()) - {"crush.json", "opencode.json", "opencode.jsonc"}
    assert found == {"trusted"} and said.err == "", said


@case
def explain_prints_no_more_when_it_is_quiet(w: World):
    all_ = {f["path"] for f in w.ok("explain", "--json", "-P", ":agent-codex").json["files"]}
    long, quiet = w.ok("explain", "-P", ":agent-codex").out, w.ok("explain", "-q", "-P", ":agent-codex").out
    shown = [line.split()[1] for line in quiet.splitlines()]
    assert shown and all(path in long for path in shown), quiet
    assert len(shown) == len(set(shown)) < len(all_) and len(quiet) < len(long), quiet


@case
def init_leaves_an_existing_file_alone(w: World):
    w.write_config("# mine\n")
    said = w.fails("init")
    assert "exists already" in said.err and "--force" in said.err
    assert w.config.read_text() == "# mine\n"
    w.ok("init", "--force")
    assert "default_permissions" in w.config.read_text()
    assert [p.name for p in w.config.parent.iterdir()] == ["config.toml"]


@case
def init_does_not_follow_a_dangling_link(w: World):
    w.config.parent.mkdir(parents=True)
    w.config.symlink_to(w.top / "elsewhere")
    w.fails("init")
    assert not (w.top / "elsewhere").exists()


@case
def init_takes_another_place(w: World):
    said = w.ok("init", "deep/er/my.toml")
    assert "cordon check deep/er/my.toml" in said.out
    w.ok("check", "deep/er/my.toml")
    assert w.ok("init", "--json", "other.toml").json["written"] == "other.toml"
    assert w.ok("init", "--quiet", "third.toml").out == ""


# ---- import ---------------------------------------------------------------------

SRT = ('{"network": {"allowedDomains": ["registry.example"], "deniedDomains": []},\n"filesystem": '
       '{"allowWrite": [".", "*.o"], "denyRead": ["secret"], "denyWrite": ["keys"]}}\n')


@case
def import_prints_a_policy_that_answers_as_the_original(w: World):
    (w.repo / "srt.json").write_text(SRT)
    said = w.ok("import", "srt", "srt.json")
    assert "warning: srt.json:2: " in said.err and '"*.o"' in said.err, said.err
    assert said.out.count("# srt.json:2 ") == 3, said.out
    w.write_config(said.out)
    assert "ok: 1 file" in w.ok("check").out
    assert w.access("x") == "write" and w.access("secret") == "deny" and w.access("keys") == "read"
    assert w.access("/etc/passwd") == "read"
    assert w.decision("registry.example") == "allow" and w.decision("other.example") == "deny"


@case
def import_writes_a_file_once(w: World):
    (w.repo / "srt.json").write_text(SRT)
    said = w.ok("import", "srt", "srt.json", "-o", "new.toml")
    assert "cordon check" in said.out, said
    text = (w.repo / "new.toml").read_text()
    assert text == w.ok("import", "srt", "srt.json", "-o", "-", "--quiet").out
    assert "--force" in w.fails("import", "srt", "srt.json", "-o", "new.toml").err
    (w.repo / "new.toml").write_text("")
    w.ok("import", "srt", "srt.json", "-o", "new.toml", "--force")
    assert text == (w.repo / "new.toml").read_text()


@case
def no_link_is_replaced_and_no_directory_made(w: World):
    (w.repo / "srt.json").write_text(SRT)
    (w.repo / "real.toml").write_text("mine\n")
    (w.repo / "link.toml").symlink_to("real.toml")
    for words in (["import", "srt", "srt.json", "-o", "link.toml"], ["init", str(w.repo / "link.toml")]):
        for force in ([], ["--force"]):
            err = w.fails(*words, *force).err
            assert "link.toml" in err and ("is a link" in err) == bool(force), err
            assert (w.repo / "link.toml").is_symlink() and (w.repo / "real.toml").read_text() == "mine\n", words
    w.ok("import", "srt", "srt.json", "-o", "real.toml", "--force")
    assert "permissions.srt" in (w.repo / "link.toml").read_text()
    err = w.fails("import", "srt", "srt.json", "-o", "gone/deep/new.toml").err
    assert f"'{w.repo}/gone/deep' does not exist" in err and not (w.repo / "gone").exists(), err
    # That of the user's own configuration is made, as 'cordon init' does.
    shutil.rmtree(w.config.parent, ignore_errors=True)
    w.ok("import", "srt", "srt.json", "-o", str(w.config))
    assert w.config.exists()


@case
def import_says_what_is_wrong(w: World):
    (w.repo / "bad.json").write_text('{"network": {}, "filesystem": {}}')
    assert "bad.json:1:" in w.fails("import", "srt", "bad.json").err
    assert "does not exist" in w.fails("import", "srt", "gone.json").err
    assert "claude, codex" in w.fails("import", "emacs", "bad.json").err
    assert "needs the name" in w.fails("import", "srt").err
    assert "cordon import srt ~/.srt-settings.json" in w.fails("import", "srt").err
    assert "cordon import claude ~/.claude/settings.json" in w.fails("import").err
    assert "one file" in w.fails("import", "srt", "bad.json", "bad.json").err


@case
def import_is_bound_to_a_directory_where_it_has_to_be(w: World):
    (w.repo / "sub").mkdir()
    (w.repo / "srt.json").write_text(SRT.replace('"keys"', json.dumps(str(w.repo / "sub"))))
    found = w.run("import", "srt", "srt.json", "--json").json
    assert found["directory"] == os.path.realpath(w.repo), found
    w.write_config(found["text"])
    assert w.access("x") == "write" and w.access("sub/x") == "read"
    # The same policy in the directory that may not be written.
    assert w.run("why", "--json", "x", "-C", str(w.repo / "sub")).json["access"] == "read"


@case
def init_prints_commands_that_can_be_pasted(w: World):
    said = w.ok("init", "it's a file.toml").out
    assert "cordon check 'it'\\''s a file.toml'\n" in said, said
    starter = w.ok("init", "-").out
    assert starter == (w.repo / "it's a file.toml").read_text() and not (w.repo / "-").exists()


# ---- check ----------------------------------------------------------------------


@case
def check_without_any_file_is_fine(w: World):
    said = w.ok("check")
    assert "':read-only' is in force" in said.out and "cordon init" in said.out


@case
def check_names_file_line_and_column(w: World):
    w.write_config('[permissions.dev]\nextends = ":workspace"\nfilesytem = {}\n')
    said = w.run("check", check=125)
    assert f"{w.config}:3:1: " in said.out and "did you mean 'filesystem'?" in said.out, said
    found = w.run("check", "--json", check=125).json
    assert found["ok"] is False
    assert found["errors"][0]["line"] == 3 and found["errors"][0]["file"] == str(w.config)
    assert "filesystem" in found["errors"][0]["message"]


@case
def a_place_is_found_whatever_the_file_is_called(w: World):
    for name in ("a: b/c.toml", "x:1:2: y.toml", "plain.toml"):
        path = str(w.write(name, "\nunknown = 1\n"))
        (error,) = w.run("check", path, "--json", check=125).json["errors"]
        assert (error["file"], error["line"], error["column"]) == (path, 2, 1), error
        assert error["message"].startswith("unknown key"), error
        said = w.run("explain", "--config-file", path, "--json", check=125).json["error"]
        assert (said["file"], said["line"], said["message"]) == (path, 2, error["message"]), said


@case
def check_keeps_the_same_error_in_two_files_apart(w: World):
    files = [str(w.write(f"{name}/.cordon/config.toml", "unknown = 1\n")) for name in "ab"]
    w.write_config("".join(f'[permissions.{name}]\nextends = ":workspace"\n'
                           f'workspace_roots = {{ "{w.top}/{name}" = true }}\n' for name in "ab"))
    errors = w.run("check", "--json", check=125).json["errors"]
    assert [error["file"] for error in errors] == files, errors


@case
def check_looks_at_every_profile(w: World):
    w.write_config(
        '[permissions.a]\nextends = ":workspace"\n'
        '[permissions.b.filesystem]\n":nothing" = "deny"\n'
        '[permissions.c.network]\nenabled = true\ndomains = { "0x7f.1" = "allow" }\n'
    )
    found = w.run("check", "--json", check=125).json
    assert found["errors"], found


@case
def a_missing_workspace_root_is_shown_where_it_was_named(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   'workspace_roots = { "~/off" = false, "~/gone" = true }\n')
    (found,) = w.ok("check", "--json").json["warnings"]
    assert (found["file"], found["line"]) == (str(w.config), 4), found
    assert "gone does not exist" in found["message"], found


@case
def check_of_an_empty_name_says_so(w: World):
    assert "the name of the configuration file is empty" in w.run("check", "", check=125).out


@case
def check_lists_every_error(w: World):
    w.write_config(
        'nonsense = 1\n'
        '[permissions.b.filesystem]\n":nothing" = "deny"\n"/a" = "raed"\n"/ok" = "read"\n'
        '"/b" = { "c" = "read", ".." = "read", "d" = 1 }\n'
        '[permissions.a]\nextneds = "b"\ngit = "no"\n'
        '[permissions.c.network]\nenabled = "yes"\n'
        'domains = { "0x7f.1" = "allow", "a.com" = "allow", "b.com" = "maybe" }\n'
        '[permissions.d.limits]\nmemory = "4X"\n'
        '[linux]\nbackends = ["none"]\n'
    )
    found = w.run("check", "--json", "--config", "default_permissions=1", check=125).json
    errors = found["errors"]
    assert all(e["file"] in (str(w.config), "--config") for e in errors), errors
    lines = [e["line"] for e in errors if e["file"] == str(w.config)]
    assert lines == [1, 3, 4, 6, 6, 8, 9, 11, 12, 12, 14, 16], [
        (e["line"], e["message"]) for e in errors]
    assert len(errors) == len(lines) + 1, errors
    assert found["files"] == [str(w.config)]


@case
def check_lists_every_name_that_is_wrong(w: World):
    w.write_config('default_permissions = "x"\n[permissions.a]\nextends = "y"\n'
                   '[permissions.b]\nextends = "z"\n')
    errors = w.run("check", "--json", check=125).json["errors"]
    assert [e["line"] for e in errors] == [1, 3, 5], errors


@case
def check_lists_names_items_and_projects_beside_other_errors(w: World):
    w.write_config('default_permissions = "x"\n[permissions.a]\nextends = "y"\nbogus = 1\n'
                   'protect = ["fine", "no/t", "..", ".hg"]\n'
                   '[permissions.b]\nextends = "a"\ndescription = 1\n'
                   '[linux]\nbackends = ["none", "native", "nothing"]\n')
    project = w.write("repo/.cordon/config.toml", 'x = 1\nprotect = ["a/b"]\n')
    found = w.run("check", "--json", check=125).json
    assert [(e["file"], e["line"]) for e in found["errors"]] == [
        *((str(w.config), line) for line in (1, 3, 4, 5, 5, 8, 10, 10)),
        *((str(project), line) for line in (1, 2))], found
    # Of what is no TOML nobody knows which names it has; the other file is looked at all the same.
    w.write_config('default_permissions = "x"\n[permissions.a]\nextends = "y"\nbogus\n')
    found = w.run("check", "--json", check=125).json
    assert [(e["file"], e["line"]) for e in found["errors"]] == [
        (str(w.config), 4), (str(project), 1), (str(project), 2)], found


@case
def a_missing_write_root_is_warned_of_once(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   'workspace_roots = { "~/gone" = true }\n'
                   'filesystem = { "~/gone" = "write", "~/lost" = "write" }\n')
    option = ["--add-write", str(w.home / "gone")]
    for backend in ("native", "bwrap"):
        said = w.run("run", *option, "--backend", backend, "--", "true")
        assert said.err.count("gone does not exist") == 1, said
        assert said.err.count("lost does not exist") == 1, said
    warned = [e["message"] for e in w.ok("check", "--json").json["warnings"]]
    assert len(warned) == 2, warned


@case
def what_changes_nothing_is_said_once(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   '[permissions.p.filesystem]\n":secrets" = "deny"\n"~/.npmrc" = "read"\n"/usr" = "read"\n'
                   '"~/.pypirc" = "deny"\n"~/data" = "write"\n')
    for name in (".npmrc", ".pypirc", "data/x", "data/.git/config", ".ssh/id"):
        w.write(f"home/{name}")
    w.write("repo/src/x")
    useless = (["--add-read", "/etc"], ["--deny", str(w.home / ".ssh")], ["--add-write", "src"], ["--add-write", "."],
            ["--add-read", str(w.home / "none")], ["--add-write", str(w.home / "data")],
            ["--add-write", str(w.config)], ["--deny-host", "example.org"])
    useful = (["--deny", "/etc"], ["--add-write", str(w.home / ".ssh")],
              ["--deny", str(w.home / ".npmrc")], ["--add-read", "src"], ["--add-write", str(w.home / "data/.git")],
              ["--allow-host", "example.org"], [])
    for words in useless:
        for command in (["run", "--", "true"], ["why", "./x"]):
            said = w.run(command[0], *words, *command[1:])
            assert said.err.count(f"warning: {words[0]}: ") == 1 and said.err.count("\n") == 1, (words, said)
        warned = w.ok("explain", *words, "--json").json["warnings"]
        assert [warning["file"] for warning in warned] == [words[0]], warned
        assert w.run("run", "-q", *words, "--", "true").err == ""
    for words in useful:
        assert w.ok("run", *words, "--", "true").err == "", words
    told = w.ok("explain", "--json").json["without_effect"]
    assert [note["line"] for note in told] == [7, 8], told
    # A deny loses nothing by being said twice, and an entry that is for nothing refuses nothing.
    assert w.access("~/.ssh/id", "--deny", str(w.home / ".ssh")) == "deny"


@case
def check_looks_into_the_files_of_projects(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n')
    project = w.write("repo/.cordon/config.toml", '[filesystem]\n"/a" = "deny"\n')
    said = w.ok("check").out
    assert said.startswith("ok: 2 files") and str(project) in said, said
    project.write_text('x = 1\n[filesystem]\n"a" = "deny"\n"/b" = "dney"\n')
    found = w.run("check", "--json", check=125).json
    assert [(e["file"], e["line"]) for e in found["errors"]] == [
        (str(project), line) for line in (1, 3, 4)], found
    assert found["files"] == [str(w.config), str(project)], found


@case
def check_takes_a_file_in_place_of_the_users(w: World):
    w.write_config("nonsense = 1\n")
    good = w.write("good.toml", DEV)
    said = w.ok("check", str(good))
    assert str(good) in said.out and "2 profiles" in said.out, said
    w.fails("check", str(good), "--config-file", str(good))
    assert w.ok("check", "-q", str(good)).out == ""


@case
def check_reports_warnings_and_still_passes(w: World):
    w.write_config('[permissions.dev.filesystem]\n":root" = "read"\n":nothing" = "read"\n')
    found = w.ok("check", "--json").json
    assert found["ok"] and found["warnings"], found
    assert "warning: " in w.ok("check").out
    assert "warning" not in w.ok("check", "--quiet").out


@case
def check_syntax_only_judges_toml_alone(w: World):
    odd = w.write("odd.toml", "whatever = 1979-05-27\n")
    assert w.ok("check", "--syntax-only", str(odd)).out == f"ok: {odd} is TOML 1.0\n"
    assert w.ok("check", "--syntax-only", "--json", str(odd)).json["ok"] is True
    bad = w.write("bad.toml", "a = 1\nb = \n")
    assert f"{bad}:2:" in w.fails("check", "--syntax-only", str(bad)).err
    w.fails("check", "--syntax-only")
    w.fails("check", "--syntax-only", "not-there.toml")


# ---- profiles -------------------------------------------------------------------


@case
def profiles_lists_built_in_and_own(w: World):
    w.write_config(DEV)
    listed = w.ok("profiles", "--json").json["profiles"]
    names = {p["name"]: p for p in listed}
    agents = {f":agent-{name}" for name in ("claude", "codex", "copilot", "gemini", "opencode", "pi", "qwen")}
    assert {":read-only", ":workspace", ":danger-full-access", ":agent", *agents, "dev", "net"} == set(names)
    assert names["dev"]["default"] and names["dev"]["extends"] == ":workspace"
    assert names["dev"]["line"] == 3 and not names["dev"]["built_in"]
    assert w.ok("profiles", "-q").out.splitlines()[0] == ":read-only"
    assert "* dev" in w.ok("profiles").out


@case
def profiles_shows_one_as_toml_that_means_the_same(w: World):
    w.write_config(DEV)
    text = w.ok("profiles", "dev").out
    assert ':workspace_roots' in text and "~/.ssh" in text and "/usr" in text
    again = w.write("again.toml", text)
    for path in ("x", "docs/x", "a/b.pem", "~/private/x", "~/private/shared/x", ".git/config"):
        one = w.access(path, "-P", "dev")
        other = w.access(path, "-P", "dev", "--config-file", str(again))
        assert one == other, (path, one, other)
    assert "toml" in w.ok("profiles", "dev", "--json").json
    said = w.fails("profiles", "dve")
    assert "dev" in said.err, said


# ---- why ------------------------------------------------------------------------


@case
def why_tells_paths_from_hosts(w: World):
    w.write_config(DEV)
    for subject in ("/etc/passwd", "./x", ".git", "~", "~/x", "a/b"):
        assert w.ok("why", "--json", subject).json["kind"] == "path", subject
    for subject in ("example.com", "example.com:443", "localhost", "127.0.0.1", "[::1]:80", "file.txt", "db:5432"):
        assert w.ok("why", "--json", subject).json["kind"] == "host", subject
    for subject in ("file", "LocalHosts", "my-file_1"):  # few hosts are called by one word
        assert w.ok("why", "--json", subject).json["kind"] == "path", subject
        assert w.ok("why", "--json", "my-file", "--host").json["kind"] == "host", subject
    assert w.ok("why", "--json", "--path", "file.txt").json["kind"] == "path"
    assert w.ok("why", "--json", "file.txt", "--path").json["kind"] == "path"


@case
def why_answers_for_paths(w: World):
    w.write_config(DEV)
    (w.home / "private/shared").mkdir(parents=True)
    (w.repo / "docs").mkdir()
    for path, access in {
        "/etc/passwd": "read",
        "new/file": "write",
        "docs/x": "read",
        "key.pem": "deny",
        "a/b/key.pem": "deny",
        ".git/config": "read",
        "~/private/x": "deny",
        "~/private/shared/x": "read",
        str(w.config): "read",
    }.items():
        assert w.access(path) == access, path


@case
def why_names_the_rule_its_line_and_those_that_lost(w: World):
    w.write_config(DEV)
    (w.repo / "docs").mkdir()
    found = w.ok("why", "docs/x", "--json").json
    assert found["rule"]["file"] == str(w.config) and found["rule"]["line"] == 10, found
    assert [r["access"] for r in found["lost"]][:2] == ["write", "read"], found["lost"]
    assert change(found)["to"] == "write"
    text = w.ok("why", "docs/x").out
    assert text.startswith(f"read   {w.repo}/docs/x\n") and "~/.config/cordon/config.toml:10\n" in text, text
    assert w.ok("why", "docs/x", "-q").out == "read\n"


@case
def why_answers_yes_or_no(w: World):
    w.write_config(DEV)
    for args, answer in (
        (["x/y", "--write"], True),
        (["x/y", "--read"], True),
        (["/etc/passwd", "--write"], False),
        (["/etc/passwd", "--read"], True),
        (["a/b.pem", "--read"], False),
    ):
        assert w.ok("why", "--json", *args).json["answer"] is answer, args
        assert w.ok("why", "-q", *args).out == ("yes\n" if answer else "no\n")
        assert w.ok("why", *args).out.startswith("yes, " if answer else "no, ")
    w.fails("why", "x/y", "--read", "--write")
    w.fails("why", "--host", "example.com", "--read")


@case
def what_why_suggests_changes_the_answer(w: World):
    w.write_config(DEV)
    (w.repo / "docs").mkdir()
    (w.home / "private").mkdir()
    (w.home / "private/x").touch()
    for path in ("docs/x", "~/private/x", "/etc/passwd", "./src"):
        suggested = change(w.ok("why", path, "--json").json)
        if not suggested["possible"]:
            continue
        lines = w.config.read_text().splitlines()
        for edit in sorted(suggested["edits"], key=lambda edit: -(edit["line"] or 0)):
            if edit["line"]:
                continue
            header = f"[{edit['table']}]"
            at = lines.index(header) + 1 if header in lines else len(lines)
            if at == len(lines):
                lines.append(header)
                at += 1
            lines.insert(at, f"{edit['key']} = {edit['value']}")
        if any(edit["line"] for edit in suggested["edits"]):
            continue
        tried = w.write("tried.toml", "\n".join(lines))
        if suggested["needs_path"]:
            os.makedirs(suggested["needs_path"])
        assert w.access(path, "--config-file", str(tried)) == suggested["to"], (path, suggested)


@case
def why_follows_links_and_names_them(w: World):
    w.write_config(DEV)
    (w.home / "private").mkdir()
    (w.repo / "link").symlink_to(w.home / "private")
    found = w.ok("why", "./link", "--json").json
    assert found["access"] == "deny" and found["path"] == str(w.home / "private")
    assert found["via_link"] == str(w.repo / "link")
    assert w.access("link/deep/er") == "deny"


@case
def why_answers_for_hosts(w: World):
    w.write_config(DEV)
    for host, decision in {
        "example.com": "allow",
        "EXAMPLE.com.": "allow",
        "www.example.com": "deny",
        "example.org:443": "allow",
        "a.example.org:443": "allow",
        "a.example.org:80": "deny",
        "a.example.org": "deny",
        "ads.example.org:443": "deny",
        "127.0.0.1": "deny",
        "other.net": "deny",
    }.items():
        assert w.decision(host) == decision, host
    assert w.decision("other.net", "-P", "net") == "allow"
    found = w.ok("why", "example.com", "--json").json
    assert found["rule"]["line"] == 14 and found["rule"]["pattern"] == "example.com", found
    assert w.ok("why", "-q", "example.com").out == "allow\n"


# ---- explain --------------------------------------------------------------------


@case
def explain_shows_what_a_policy_means(w: World):
    w.write_config(DEV)
    subprocess.run(["git", "init", "-q", str(w.repo)], check=True)
    text = w.ok("explain").out
    for part in ("profile     dev", "fs_carve", "net_managed", "managed", "example.com",
                 f"{w.repo}/.git"):
        assert part in text, part
    found = w.ok("explain", "--json").json
    assert found["profile"]["name"] == "dev"
    assert {"name", "meaning", "because", "rule"} <= set(found["guarantees"][0])
    files = {f["path"]: f["access"] for f in found["files"]}
    assert files[str(w.repo)] == "write" and files["/"] == "read", files
    for path, access in files.items():
        assert w.access(path) == access, path


def policy_keys():
    """The rows of src/policy/keys.h."""
    scripts = Path(__file__).resolve().parents[2] / "scripts"
    sys.path.append(str(scripts))  # for what policy-keys imports
    return SourceFileLoader("policy_keys", str(scripts / "policy-keys")).load_module().keys()


@case
def explain_shows_every_key(w: World):
    """Each key of a kind that the table handles, set to something that is not its default."""
    names = {"protect": '[".x"]', "unprotect": '[".vscode"]', "accept_missing": '["ipc"]',
             "backends": '["bwrap"]', "writable": '["src/**"]'}
    kinds = {"STRING": '"text"', "PATTERNS": '["A*"]', "LIMIT": "7"}
    shown = []
    lines = {False: [], True: []}
    for key in policy_keys():
        if key.kind == "BOOL":
            value = "false" if key.default() == "true" else "true"
        else:
            value = f'"{key.words()[-1]}"' if key.words() else kinds.get(key.kind, names.get(key.name))
        if value is None:
            continue
        is_setting = key.table in ("TOP", "LINUX", "FILES")
        lines[is_setting].append(f"{'' if is_setting else 'permissions.all.'}{key.path()} = {value}")
        place = ["settings"] if is_setting else []
        if key.name in ("description", "workspace"):
            place = ["profile"]
        shown.append((key, place + key.path().split("."), json.loads(value)))
    assert len(shown) > 20, shown
    w.write_config("\n".join(lines[True] + lines[False] + [
        'permissions.all.extends = ":workspace"', "permissions.all.network.enabled = true", ""]))
    found = w.ok("explain", "--json", "-P", "all").json
    text = w.ok("explain", "-P", "all").out
    for key, place, value in shown:
        at = found
        for name in place:
            assert name in at, (place, at)
            at = at[name]
        if key.kind == "LIMIT":
            value *= 1000 if key.arguments[1] == "TIME" else 1
        assert at == value, (place, at, value)
        if key.name not in ("description", "workspace", "backends"):
            assert re.search(rf"\b{key.name} ", text), (key.name, text)


@case
def explain_shows_the_rules_of_approve(w: World):
    w.write_config('[[approve]]\nwrite = "~/.cache/**"\nanswer = "allow"\nscope = "session"\n'
                   '[[approve]]\nhost = "*.example.com:443"\nanswer = "deny"\nprofile = ":workspace"\n')
    found = w.ok("explain", "--json").json["settings"]["approve"]
    assert [(r.get("write"), r.get("host"), r["answer"], r.get("scope"), r["profile"]) for r in found] == [
        ("~/.cache/**", None, "allow", "session", None),
        (None, "*.example.com:443", "deny", None, ":workspace")], found
    assert found[1]["line"] == 5, found
    text = w.ok("explain").out
    assert "allow write ~/.cache/**, session" in text, text
    assert "deny host *.example.com:443, in profile :workspace" in text, text


@case
def explain_names_the_backend_and_what_it_lacks(w: World):
    found = w.ok("explain", "--json").json
    assert found["enforced"] is True and found["backend"] == "native", found
    assert {lack["backend"] for lack in found["lacking"]} <= {"landlock"}, found
    text = w.ok("explain").out
    for name in ("native", "bwrap"):
        assert f"{name}: gives all that is needed" in text, text
    assert "would refuse" not in text, text
    w.write_config(DEV)
    found = w.ok("explain", "--json").json
    assert found["enforced"] is True and found["backend"] == "native", found
    lacking = [lack for lack in found["lacking"] if lack["guarantee"] == "net_managed"]
    assert [lack["backend"] for lack in lacking] == ["landlock"], found
    w.write_config(DEV + '[permissions.dev.limits]\nmemory = "1GB"\n')
    found = w.ok("explain", "--json").json
    assert found["enforced"] is False and found["backend"] is None, found
    lacking = [lack for lack in found["lacking"] if lack["guarantee"] == "limits"]
    assert [lack["backend"] for lack in lacking] == found["backends"], found
    assert all(lack["why"] for lack in lacking), found
    text = w.ok("explain").out
    assert "can't give limits" in text and "'cordon run' would refuse" in text, text
    w.write_config(DEV)
    found = w.ok("explain", "--json", "--platform", "macos").json
    assert found["enforced"] is False and found["backend"] is None


@case
def explain_and_why_take_the_entries_of_a_run(w: World):
    (w.top / "data").mkdir()
    path = str(w.top / "data/x")
    assert w.access(path) == "read"
    assert w.access(path, "--add-write", str(w.top / "data")) == "write"
    assert w.access(path, "--deny", str(w.top / "data")) == "deny"
    assert w.access(w.repo / "x", "--full-auto") == "write"
    assert w.ok("explain", "--json", "--network", "full").json["network"]["access"] == "full"
    assert "has no option" in w.fails("check", "--add-write", path).err


@case
def a_mode_that_sets_denies_aside_is_warned_of(w: World):
    """Who has secrets denied by default may think that a mode keeps that."""
    child = DEV.replace('= "dev"', '= "child"', 1) + '[permissions.child]\nextends = "dev"\n'
    plain = 'default_permissions = "dev"\n[permissions.dev]\nextends = ":workspace"\n'
    secrets = plain + '[permissions.dev.filesystem]\n":secrets" = "deny"\n'
    for text, name in ((DEV, "dev"), (child, "child"), (secrets, "dev")):
        w.write_config(text)
        for words, env in ((["--mode", "read-only"], {}), (["--full-auto"], {}),
                           ([], {"CORDON_MODE": "workspace-write"})):
            said = w.ok("run", *words, "--", "true", env=env).err
            assert said.count("warning") == 1 and f"replaces your profile '{name}'" in said, (text, words, said)
            assert w.ok("run", "-q", *words, "--", "true", env=env).err == "", words
            assert f"replaces your profile '{name}'" in w.ok("explain", *words, env=env).out, words
        for words in ([], ["-P", name], ["-P", ":workspace"]):
            assert "replaces your profile" not in w.ok("run", *words, "--", "true").err, words
    # Nothing is lost where nothing was denied.
    for text in ("", 'default_permissions = ":workspace"\n', plain,
                 DEV.replace('default_permissions = "dev"\n', "")):
        w.write_config(text)
        assert "replaces your profile" not in w.ok("run", "--full-auto", "--", "true").err, text


@case
def check_warns_of_a_profile_that_no_command_can_start_with(w: World):
    def warned(text, name="m"):
        w.write_config(f'default_permissions = "{name}"\n{text}')
        found = w.ok("check", "--json").json["warnings"]
        return [(e["line"], e["message"]) for e in found]

    nothing = ('[permissions.m]\ndescription = "x"\n', "[permissions.m.network]\nenabled = true\n",
               '[permissions.m.filesystem]\n"~/x" = "deny"\n')
    little = ('[permissions.m.filesystem]\n":workspace_roots" = "write"\n',)
    enough = ('[permissions.m]\nextends = ":read-only"\n', '[permissions.m.filesystem]\n":minimal" = "read"\n',
              '[permissions.m.filesystem]\n"/usr/bin" = "read"\n', '[permissions.m.filesystem]\n"/" = "read"\n')
    for text, words, status in [*((t, "no command can start", 125) for t in nothing),
                                *((t, "hardly any command can start", 127) for t in little)]:
        (found,) = warned(text)
        assert words in found[1] and found[0] == 2, (text, found)
        # It is so, and what it says helps.
        assert w.run("run", "--", "true", check=status).status == status, text
        w.write_config(w.config.read_text() + '[permissions.n]\nextends = ":read-only"\n')
        w.ok("run", "-P", "n", "--", "true")
    for text in enough:
        assert warned(text) == [], text
    # What is there to be extended need not be enough by itself.
    base = '[permissions.base]\ndescription = "x"\n'
    more = '[permissions.m]\nextends = "base"\nfilesystem = { ":root" = "read" }\n'
    assert warned(base + more) == [] and len(warned(base + more, "base")) == 1


@case
def a_deny_option_for_what_is_not_there_warns_and_says_what_holds(w: World):
    there = w.write("home/notes", "mine\n")
    typo, inside = w.home / "ntes", w.repo / "secret"
    for words in (["run", "--full-auto"], ["run", "--dry-run"]):
        assert w.ok(*words, "--deny", there, "--", "true").err == ""
    warned = w.ok("run", "--deny", typo, "--", "true").err
    assert warned.count("\n") == 1 and f"{typo} does not exist" in warned and "can read it" in warned, warned
    warned = w.ok("run", "--full-auto", "--deny", inside, "--", "true").err
    assert f"{inside} does not exist" in warned and "can't create it" in warned, warned
    # What it says is so.
    assert w.run("run", "--full-auto", "--deny", inside, "--", "touch", inside, check=1).status == 1
    read = 'echo begun; until test -s "$0"; do sleep 0.02; done; cat "$0"'
    with start(w, "-q", "--deny", typo, "--", "timeout", "20", "sh", "-c", read, typo, text=True) as late:
        assert late.stdout.readline() == "begun\n"
        w.write("home/ntes", "late\n")
        assert late.communicate()[0] == "late\n"
    # In a file it may be there for another host.
    w.write_config(DEV.replace("[permissions.dev.filesystem]", '[permissions.dev.filesystem]\n"~/nothing" = "deny"'))
    assert "nothing" not in w.ok("run", "--", "true").err


@case
def a_path_of_an_option_that_looks_like_a_glob_is_told_of(w: World):
    (w.repo / "a.c").touch()
    assert w.cause("why", "./a.c", "--deny", "*.c") == "option_useless"
    assert w.fails("run", "--deny", "sub/*.c", "--", "touch", "ran").err and not (w.repo / "ran").exists()
    # What opens nothing is safe.
    found = w.ok("why", "./a.c", "--add-write", "*.c")
    assert "no file is named '*.c'" in found.err, found
    found = w.fails("why", "./a.c", "--deny", "*.c")
    # What it says to write instead does it, and a file of that very name is no slip.
    example = found.err[found.err.index('":workspace_roots"'):].splitlines()[0].strip().replace("tfstate", "c")
    profile = f'permissions.p={{extends=":workspace",filesystem={{{example}}}}}'
    assert w.access("a.c", "-c", profile, "-P", "p") == "deny"
    (w.repo / "*.c").touch()
    assert w.ok("why", "./a.c", "--deny", "*.c").err == ""
    assert w.access("*.c", "--deny", "*.c") == "deny"


@case
def a_warning_about_an_option_names_no_line(w: World):
    found = w.ok("why", "./x", "--add-write", "/nonexistent/x")
    assert found.err.startswith('cordon: warning: --add-write: the entry "/nonexistent/x"'), found
    w.write_config('[permissions.p]\nextends = ":workspace"\n[permissions.p.filesystem]\n'
                   '"/nonexistent/x" = "write"\n')
    found = w.ok("why", "./x", "-P", "p")
    assert f"{w.config}:4:" in found.err, found


@case
def what_windows_needs_is_made_on_windows_alone(w: World):
    for action in ("setup", "status", "cleanup", "uninstall"):
        found = w.run("windows", action, "--json", check=125).json
        assert found["error"]["cause"] == "other_platform", found
    for words in ((), ("other",), ("status", "--proxy-port", "0"), ("setup", "--proxy-port", "65536"), ("setup", "--proxy-port", "1x")):
        assert w.run("windows", *words, "--json", check=125).json["error"]["cause"] == "argument", words
    assert w.run("windows", "status", "--proxy-port", "1", "--json", check=125).json["error"]["cause"] == "option_useless"


@case
def explain_knows_other_platforms(w: World):
    for name, platform, first in (
        ("linux", "linux", "native"),
        ("landlock", "linux", "native"),
        ("macos", "macos", "seatbelt"),
        ("seatbelt", "macos", "seatbelt"),
    ):
        found = w.ok("explain", "--json", "--platform", name).json
        assert found["platform"] == platform and found["backends"][0] == first
    assert w.cause("explain", "--platform", "plan9") == "unknown_platform"
    assert w.cause("explain", "--platform", "windows") == "host_view"


@case
def explain_says_which_mode_it_is(w: World):
    for mode in ("read-only", "workspace-write", "danger-full-access"):
        found = w.ok("explain", "--json", "--mode", mode).json
        assert found["mode"]["name"] == mode, found["mode"]
    w.write_config(DEV)
    assert w.ok("explain", "--json").json["mode"] is None
    assert "no sandbox" in w.ok("explain", "-P", ":danger-full-access").out


# ---- Which policy ---------------------------------------------------------------


@case
def layers_and_choices_have_their_order(w: World):
    w.write_config(DEV)
    deep = w.write("other.toml", '[permissions.x]\nextends = ":read-only"\n')

    def name(*args, **env):
        return w.ok("explain", "--json", *args, env=env).json["profile"]["name"]

    assert name() == "dev"
    assert name(CORDON_PROFILE="net") == "net"
    assert name(CORDON_PROFILE="") == "dev"
    assert name(CORDON_MODE="read-only") == ":read-only"
    assert name("--config", "default_permissions=net") == "net"
    assert name("-P", ":workspace", CORDON_PROFILE="net") == ":workspace"
    assert name("-P:workspace") == ":workspace"
    assert name("--profile=net") == "net"
    assert name("--mode", "workspace-write") == ":workspace"
    assert name("--config-file", str(deep)) == ":read-only"
    assert name("--config-file", str(deep), "-P", "x") == "x"
    w.fails("explain", "-P", "net", "--mode", "read-only")
    assert "dev" in w.fails("explain", "-P", "dew").err


@case
def the_directory_is_that_of_option_C(w: World):
    (w.top / "other").mkdir()
    assert w.access("x", "-P", ":workspace", "-C", str(w.top / "other")) == "write"
    found = w.ok("why", "./x", "--json", "-C", "../other", "-P", ":workspace").json
    assert found["path"] == str(w.top / "other/x")
    assert w.access(w.repo / "x", "-P", ":workspace", "-C", str(w.top / "other")) == "read"
    assert "No such file" in w.fails("why", "./x", "-C", "nowhere").err
    w.write("repo/file")
    assert "Not a directory" in w.fails("why", "./x", "-C", "file").err


@case
def a_home_is_not_a_workspace(w: World):
    assert w.cause("explain", "--full-auto", cwd=w.home) == "home_as_workspace"
    assert w.cause("why", "--full-auto", "./x", cwd=w.home.parent) == "home_as_workspace"
    w.ok("explain", "--full-auto", "--add-write", str(w.home), cwd=w.home)
    w.ok("explain", "--full-auto")


@case
def xdg_decides_where_the_configuration_is(w: World):
    w.write("xdg/cordon/config.toml", DEV)
    xdg = {"XDG_CONFIG_HOME": str(w.top / "xdg")}
    assert w.ok("explain", "--json", env=xdg).json["profile"]["name"] == "dev"
    relative = {"XDG_CONFIG_HOME": "xdg"}
    found = w.ok("explain", "--json", env=relative, cwd=w.top).json
    assert found["profile"]["name"] == ":read-only"


@case
def without_home_the_list_of_users_is_asked(w: World):
    found = w.ok("explain", "--json", env={"HOME": "relative"}).json
    assert found["profile"]["name"]


@case
def features_are_overrides(w: World):
    w.ok("why", "./x", "--enable", "some-feature", "--disable=other")
    w.ok("check", "--config", "features.x=true")


@case
def a_project_only_narrows(w: World):
    w.write("repo/.cordon/config.toml", '[filesystem]\n"/etc" = "deny"\n"/usr" = "write"\n')
    assert w.access("/etc/passwd", "-P", ":workspace") == "deny"
    assert w.access("/usr/x", "-P", ":workspace") == "read"
    w.write("repo/.cordon/config.toml", 'default_permissions = ":danger-full-access"\n')
    assert "repo/.cordon/config.toml:1:1" in w.fails("why", "./x").err


@case
def a_project_file_may_not_be_reached_by_a_link_that_leaves(w: World):
    w.write("evil/config.toml", '[filesystem]\n"/etc" = "deny"\n')
    (w.repo / ".cordon").symlink_to(w.top / "evil")
    assert "symbolic link" in w.fails("why", "./x").err
    (w.repo / ".cordon").unlink()
    (w.repo / ".cordon").mkdir()
    (w.repo / ".cordon/config.toml").symlink_to("../../evil/config.toml")
    assert "symbolic link" in w.fails("why", "./x").err
    (w.repo / ".cordon/config.toml").unlink()
    w.write("repo/inside.toml", '[filesystem]\n"/etc" = "deny"\n')
    (w.repo / ".cordon/config.toml").symlink_to("../inside.toml")
    assert w.access("/etc/passwd") == "deny"


@case
def own_files_stay_read_only_in_every_policy(w: World):
    w.write_config(
        '[permissions.all.filesystem]\n":root" = "write"\n"~/.config" = "write"\n'
        f'"{w.config}" = "write"\n"{PROGRAM}" = "write"\n'
    )
    assert w.access("~/x", "-P", "all") == "write"
    for path in (w.config, PROGRAM, w.home / ".local/state/cordon/log", "/etc/cordon/config.toml"):
        assert w.access(path, "-P", "all") == "read", path
    assert w.access(w.home / ".local/state/cordon/secrets/1", "-P", "all") == "deny"
    other = w.write("other.toml", w.config.read_text())
    assert w.access(other, "-P", "all", "--config-file", "../other.toml") == "read"
    assert w.access(w.config, "-P", "all", "--config-file", "../other.toml") == "read"


# ---- The command line itself ----------------------------------------------------


@case
def options_may_stand_anywhere(w: World):
    w.write_config(DEV)
    for words in (
        ["why", "--json", "-P", "net", "example.com"],
        ["why", "example.com", "-P", "net", "--json"],
        ["--json", "-P", "net", "why", "example.com"],
        ["why", "--json", "-Pnet", "--", "example.com"],
    ):
        assert w.ok(*words).json["profile"] == "net", words
    assert w.ok("why", "--path", "--json", "--", "--json").json["asked"] == "--json"


@case
def wrong_words_are_refused_with_a_suggestion(w: World):
    for words, said in (
        (["wyh", "x"], "did you mean 'why'?"),
        (["why", "x", "--jsno"], "did you mean --json?"),
        (["why", "x", "--config-fil", "y"], "did you mean --config-file?"),
        (["why"], "no path or host is given"),
        (["why", "a/b", "c/d"], "one operand"),
        (["explain", "x"], "no operand"),
        (["check", "--write"], "no option --write"),
        (["why", "x", "-Z"], "unknown option '-Z'"),
        (["why", "x", "--profile"], "needs a value"),
        (["why", "x", "--json=1"], "takes no value"),
        (["why", "x", "--path", "--host"], "together"),
        (["why", "x", "-P", "a", "-P", "b"], "twice"),
        (["help", "nothing"], "there is no command 'nothing'"),
        (["--json"], "no command"),
        (["proxy"], "the network of profile :read-only is off"),
        (["explain", "--config-file="], "the name of the configuration file is empty"),
        (["profiles", "nope"], "there is no profile 'nope'; known are: :agent, "),
        (["why", "/x", "-P", ":worksapce"], "there is no profile ':worksapce'; did you mean"),
    ):
        assert said in w.fails(*words).err, (words, w.fails(*words))
    silent = w.run(check=125)
    assert silent.err.startswith("usage: ") and silent.out == ""


@case
def help_and_version_are_answers(w: World):
    assert re.fullmatch(r"cordon \d+\.\d+\.\d+\n", w.ok("--version").out)
    assert w.ok("version").out == w.ok("-V").out == w.ok("--version").out
    assert len(w.ok("-h").out) < len(w.ok("--help").out)
    for command in ("init", "check", "profiles", "why", "explain", "doctor", "help", "version"):
        full = w.ok(command, "--help").out
        assert full.startswith(f"usage: cordon {command}")
        assert w.ok("help", command).out == full
        assert len(w.ok(command, "-h").out) < len(full) + 40
        assert max(len(line) for line in full.splitlines()) <= 90


@case
def errors_are_json_too_when_json_is_asked_for(w: World):
    w.write_config("a = 1\n")
    found = w.fails("why", "./x", "--json").json["error"]
    assert found["code"] == "policy" and found["line"] == 1 and found["file"] == str(w.config)
    assert found["message"] and str(w.config) not in found["message"]
    assert w.fails("why", "--json", "--nonsense").json["error"]["code"] == "argument"
    for words, cause in ((["why", "x", "--path", "--host"], "option_conflict"), (["run"], "no_command"),
                         (["why", "x", "-P", "a", "-P", "b"], "option_conflict"), (["why"], "argument")):
        assert w.cause(*words) == cause, words
    assert w.fails("why", "--nonsense").out == ""


@case
def warnings_go_to_stderr_or_into_the_json(w: World):
    w.write_config('[permissions.a.filesystem]\n":root" = "read"\n":nothing" = "read"\n')
    said = w.ok("why", "/x", "-P", "a")
    assert said.err.startswith("cordon: warning: ") and ":nothing" in said.err
    quiet = w.ok("why", "/x", "-P", "a", "--quiet")
    assert quiet.err == "" and quiet.out == "read\n"
    found = w.ok("why", "/x", "-P", "a", "--json")
    assert found.err == "" and ":nothing" in found.json["warnings"][0]["message"]


@case
def control_characters_in_names_are_escaped(w: World):
    said = w.ok("why", "./a\x1b[31m\nb", "-P", ":workspace")
    assert "\x1b" not in said.out and "\\x1b" in said.out, said
    said = w.fails("why", "x", "--\x1b[2J")
    assert "\x1b" not in said.err
    odd = w.write("odd\x1b\n.toml", "a = 1\n")
    said = w.fails("why", "./x", "--config-file", str(odd))
    assert "\x1b" not in said.err


@case
def names_that_are_not_utf8_are_answered(w: World):
    name = b"caf\xe9".decode("utf-8", "surrogateescape")
    found = w.ok("why", "--json", f"./{name}", "-P", ":workspace").json
    assert found["access"] == "write" and found["path"] == f"{w.repo}/{name}"
    assert "\\xe9" in w.ok("why", f"./{name}").out


def run_on_terminal(args, env):
    """What the program prints to a terminal."""
    try:
        pid, master = pty.fork()
    except OSError as error:
        raise Skip(f"no terminals here: {error}") from error
    if pid == 0:
        os.execve(PROGRAM, [PROGRAM, *args], env)
    out = b""
    try:
        while chunk := os.read(master, 65536):
            out += chunk
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(master)
    return out.decode()


@case
def colour_is_for_terminals_only(w: World):
    args = ["why", "/etc/passwd"]
    env = {**w.env, "TERM": "xterm"}
    assert "\x1b[33m" in run_on_terminal(args, env)
    assert "\x1b" not in run_on_terminal(args, {**env, "NO_COLOR": "1"})
    assert "\x1b" not in run_on_terminal(args, {**env, "TERM": "dumb"})
    assert "\x1b" not in w.ok(*args).out


@case
def output_that_can_not_be_written_is_an_error(w: World):
    if not os.path.exists("/dev/full"):
        raise Skip("no /dev/full here")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "why", "/etc/passwd"], stdout=full, env=w.env,
                              stderr=subprocess.PIPE, cwd=w.repo, check=False)
    assert done.returncode == 125 and b"can't write" in done.stderr, done


@case
def a_host_without_a_port_is_told_which_ports_differ(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p.network]\nenabled = true\n'
                   'domains = { "*" = "allow", "example.com:80" = "deny", '
                   '"example.com:8000-8010" = "allow", "example.org:1" = "deny" }\n')
    found = w.ok("why", "--json", "example.com").json
    assert found["decision"] == "deny" and found["port"] is None
    assert sorted((p["first"], p["last"], p["decision"]) for p in found["ports"]) == [
        (80, 80, "deny"), (8000, 8010, "allow")], found["ports"]
    text = w.ok("why", "example.com").out
    assert "some have rules of their own: deny example.com:80, allow example.com:8000-8010" in text
    for host in ("example.com:443", "www.example.com"):
        assert w.ok("why", "--json", host).json["ports"] == []
        assert "rules of their own" not in w.ok("why", host).out


def run_with_input(w, text, *args):
    done = subprocess.run([PROGRAM, *args], cwd=w.repo, env=w.env, input=text, timeout=20,
                          capture_output=True, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@case
def check_reads_the_standard_input(w: World):
    w.write_config("x = ")
    good = b'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
    status, out, _ = run_with_input(w, good, "check", "-")
    assert status == 0 and "'p' is in force" in out and "<stdin>" in out, out
    status, out, _ = run_with_input(w, good + b"[x]\n", "check", "-")
    assert status == 125 and "<stdin>:4:2" in out, out
    status, out, _ = run_with_input(w, b"a = 1\n" + b"#" * 70000, "check", "--syntax-only", "-")
    assert status == 0 and out == "ok: <stdin> is TOML 1.0\n", out
    status, _, err = run_with_input(w, b"a = \n", "check", "--syntax-only", "-")
    assert status == 125 and "<stdin>:1:5" in err, err
    status, out, err = run_with_input(w, b"#" * (17 << 20), "check", "--syntax-only", "-")
    assert status == 125 and "limit" in err, err
    assert run_with_input(w, b"", "check", "-")[0] == 0
    for args in (["check", "--config-file", "-"], ["why", "x", "--config-file", "-"],
                 ["explain", "--config-file=-"], ["profiles", "--config-file", "-"]):
        status, _, err = run_with_input(w, good, *args)
        assert status == 125 and "only 'cordon check -'" in err, (args, err)


@case
def a_trusted_project_is_named_and_not_edited(w: World):
    w.write_config(DEV)
    w.write("repo/.cordon/config.toml", '[filesystem]\n"/srv" = "read"\n')
    digest = hashlib.sha256((w.repo / ".cordon/config.toml").read_bytes()).hexdigest()
    w.write_config(DEV + f'\n[trust]\n"{w.repo}" = "sha256:{digest}"\n')
    text = w.ok("explain").out
    assert "profile     dev  ~/.config/cordon/config.toml:" in text, text
    assert f"widened by  the trusted project {w.repo}/.cordon/config.toml\n" in text, text
    assert w.ok("explain", "--json").json["trusted"] == [f"{w.repo}/.cordon/config.toml"]
    edits = change(w.ok("why", "/usr", "--json").json)["edits"]
    assert [e["file"] for e in edits] == [str(w.config)], edits


@case
def the_hint_to_trust_a_project_can_be_pasted(w: World):
    w.write_config('default_permissions = ":workspace"\n')
    repo = w.top / 'odd "name" \\ \u202e\t'
    repo.mkdir()
    (repo / ".cordon").mkdir()
    (repo / ".cordon/config.toml").write_text('[filesystem]\n"/usr" = "write"\n')
    ask = ["why", "-q", "--path", "/usr/x", "-C", str(repo)]
    assert w.ok(*ask).out == "read\n"
    hint = w.ok("why", "--path", "/usr/x", "-C", str(repo)).err
    line = hint.rstrip("\n").split("in your own configuration: ")[1]
    w.write_config('default_permissions = ":workspace"\n[trust]\n' + line + "\n")
    assert w.ok(*ask).out == "write\n", line
    (repo / ".cordon/config.toml").write_text('[filesystem]\n"/usr" = "write"\n#\n')
    assert w.ok(*ask).out == "read\n"


@case
def check_tells_what_run_would_refuse_everywhere(w: World):
    profile = '[permissions.dev]\nextends = ":workspace"\n'
    for rules, name in (
        ('globs = "strict"\n[permissions.dev.filesystem]\n"~/**/*.pem" = "deny"\n', "deny_future"),
        ('[permissions.dev.limits]\nmemory = "1GB"\n', "limits"),
    ):
        w.write_config(profile + rules)
        said = w.ok("check").out
        assert f"the profile 'dev' needs {name} " in said and "1 warning" in said, said
        assert name in w.fails("run", "-P", "dev", "--", "true").err
        w.write_config(f'accept_missing = ["{name}"]\n' + profile + rules)
        assert "warning" not in w.ok("check").out
    w.write_config(profile + '[permissions.dev.limits]\ntimeout = "1h"\n')
    assert "warning" not in w.ok("check").out


run_cases()
