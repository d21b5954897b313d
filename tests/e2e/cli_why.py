#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `why` tells a person to do, and that it is good advice."""

import json
import os
import re
import socket
import stat
import subprocess
import sys

from cli import PROGRAM, Skip, World, case, change, run, run_cases

DEV = """\
default_permissions = "dev"

[permissions.dev]
extends = ":workspace"

[permissions.dev.filesystem]
"~/private" = "deny"
"""


@case
def what_is_missing_is_not_opened_by_its_directory(w: World):
    w.write_config(DEV)
    (w.home / ".cache").mkdir()
    for path in ("/nonexistent/a", "~/.cache/other"):
        suggested = change(w.ok("why", path, "--json").json)
        full = path.replace("~", str(w.home))
        assert suggested["needs_path"] == full, suggested
        assert [e["key"] for e in suggested["edits"]] == [f'"{full}"'], suggested
        assert suggested["text"].startswith("create it first, then "), suggested
    w.write_config(DEV + '"~/.cache/other" = "write"\n')
    found = w.ok("why", "~/.cache/other/x", "--json").json
    suggested = change(found)
    assert suggested["possible"] and not suggested["edits"], suggested
    assert suggested["needs_path"] == str(w.home / ".cache/other"), suggested
    assert found["warnings"][0]["message"].endswith("; create it first"), found["warnings"]
    (w.home / ".cache/other").mkdir()
    assert w.access("~/.cache/other/x") == "write"


@case
def a_link_in_a_denied_directory_leads_nowhere(w: World):
    """Nor does one beside a path that is open there; a link that can be seen leads on."""
    (w.repo / "shut/open").mkdir(parents=True)
    (w.repo / "other").mkdir()
    (w.repo / "other/file").write_text("text\n")
    (w.repo / "shut/file").symlink_to("../other/file")
    (w.repo / "shut/dir").symlink_to("../other")
    (w.repo / "shut/open/file").symlink_to("../../other/file")
    (w.repo / "link").symlink_to("shut/dir")
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   f'[permissions.p.filesystem]\n"{w.repo}/shut" = "deny"\n"{w.repo}/shut/open" = "read"\n')
    for path, at in (("shut/file", "shut/file"), ("shut/dir/file", "shut/dir"), ("link/file", "shut/dir"),
                     ("shut/open/../dir/new", "shut/dir")):
        found = w.ok("why", "--json", "--path", path).json
        assert found["access"] == "deny" and found["path"] == str(w.repo / at), (path, found)
        assert w.run("run", "--", "cat", path, check=1).status == 1, path
    for path in ("shut/open/file", "other/file"):
        assert w.access(path) == "write" and w.ok("run", "--", "cat", path).out == "text\n", path
    assert (w.repo / "link/file").read_text() == "text\n", "the control shows nothing"


@case
def errors_that_a_mount_gives_are_explained(w: World):
    """What the shell says inside is what 'why' tells of that path, and of no other."""
    (w.repo / "kept/dir").mkdir(parents=True)
    auto = ("--mode", "workspace-write")
    w.write_config('[permissions.p]\nextends = ":workspace"\n[permissions.p.filesystem]\n'
                   f'"{w.repo}/kept/dir" = "read"\n')
    for path, script, error, args in ((".claude", "mkdir .claude", "File exists", auto),
                                      (".claude", "echo >.claude", "Is a directory", auto),
                                      (".mcp.json", "mkdir .mcp.json", "File exists", auto),
                                      (".mcp.json", "echo >.mcp.json", "Permission denied", auto),
                                      (".mcp.json", "mv .mcp.json x", "Device or resource busy", auto),
                                      ("kept", "mv kept x", "Device or resource busy", ("-P", "p"))):
        said = w.ok("run", *args, "--", "sh", "-c", f"! {script}")
        assert error in said.err, said
        told = w.run("why", "--json", "--path", path, *args).json["inside"]
        assert told and error in told, told
    assert w.run("why", "--json", "--path", "other", *auto).json["inside"] is None


@case
def a_refusal_names_the_question_with_the_options_of_its_run(w: World):
    """What is printed is pasted into a shell, and names the option that denies."""
    tool = w.write("a dir/it's", "#!/bin/sh\n")
    tool.chmod(0o755)
    (w.repo / "sub").mkdir()
    w.write_config(DEV)
    for options in (
        ["--deny", str(tool)],
        ["--full-auto", "--deny", "../a dir"],
        ["-P", "dev", "-C", "sub", "-c", f'permissions.dev.filesystem."{tool}"="deny"', "--allow-host", "*.example.org"],
    ):
        said = run(w, *options, "--", str(tool))
        assert said.status == 126, said
        line = said.err.strip().split("to see which rule: ")[1]
        shell = ["sh", "-c", line.replace("cordon ", "\"$0\" ", 1) + " --json", PROGRAM]
        done = subprocess.run(shell, cwd=w.repo, env=w.env, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done
        found = json.loads(done.stdout)
        assert found["access"] == "deny" and found["rule"]["file"] in ("--deny", "--config"), found


@case
def a_socket_is_there_to_be_connected_to(w: World):
    w.write_config(DEV)
    path = w.top / "s.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(8)
        ask = ["-c", "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])", str(path)]

        def connects(*options):
            return run(w, *options, "--", sys.executable, *ask).status == 0

        found = w.run("why", str(path), "--json")
        assert found.status == 1 and found.json["connect"]["decision"] == "deny" and not connects(), found
        assert found.json["access"] == "read" and "network off" in w.run("why", str(path)).out
        # The edit is enough, and the answer then is what a run does.
        w.write_config(DEV + change(found.json)["toml"])
        found = w.run("why", str(path), "--json")
        assert found.status == 0 and found.json["connect"]["decision"] == "allow" and connects(), found
        # By another name, as /var/run is one.
        (w.top / "link").symlink_to(w.top)
        w.write_config(DEV + f'[permissions.dev.network]\nenabled = true\n'
                             f'unix_sockets = {{ "{w.top}/link/s.sock" = "allow" }}\n')
        assert w.run("why", str(path)).status == 0 and connects()
        # Every socket, and how that one is closed then.
        found = w.run("why", str(path), "--network", "full", "--json")
        assert found.status == 0 and connects("--network", "full"), found
        assert change(found.json)["possible"] and change(found.json)["edits"][0]["value"] == '"deny"', found
        assert w.run("why", str(path), "--network", "full", "--deny", str(path)).status == 1
        assert not connects("--network", "full", "--deny", str(path))
        # Asked as a file, it is one.
        assert w.run("why", str(path), "--read").status == 0 and w.run("why", str(path), "--write").status == 1
        assert w.run("why", "/dev/null", "--json").json["connect"] is None


@case
def an_option_is_named_where_only_it_can_be_changed(w: World):
    w.write_config(DEV)
    suggested = change(w.run("why", "/etc", "--deny", "/etc", "--json").json)
    assert not suggested["possible"] and "--deny" in suggested["why_not"] and "--add-read" in suggested["why_not"], suggested
    suggested = change(w.run("why", "/etc/passwd", "--add-read", "/etc", "--write", "--json").json)
    assert suggested["possible"], suggested


@case
def the_status_is_the_answer(w: World):
    w.write_config(DEV)
    (w.home / "private").mkdir()
    w.write("repo/Makefile")
    for status, words in (
        (0, ["./x"]), (0, ["/etc/passwd"]), (0, ["/etc/passwd", "--read"]), (1, ["/etc/passwd", "--write"]),
        (1, ["~/private"]), (1, ["~/private", "--read"]), (0, ["./x", "--write"]), (1, ["example.org"]),
        (0, ["example.org", "--network", "full"]), (0, ["example.org", "--allow-host", "example.org"]),
        (1, ["./x", "--deny", "x"]), (1, ["./x", "--mode", "read-only", "--write"]),
        (125, ["~other/x"]), (125, ["./x", "-P", "none"]),
    ):
        for more in ([], ["--json"], ["-q"]):
            found = w.run("why", *words, *more)
            assert found.status == status, (words, found)


@case
def a_file_that_is_here_is_a_path(w: World):
    w.write_config(DEV)
    w.write("repo/Makefile")
    w.write("elsewhere/README")
    (w.repo / "dangling").symlink_to("nowhere")
    for words in (["Makefile"], ["README", "-C", str(w.top / "elsewhere")], ["dangling"]):
        assert w.ok("why", *words, "--json").json["kind"] == "path", words
    for words in (["README.md"], ["Makefile", "--host"], ["Makefile.in", "-C", str(w.top / "elsewhere")]):
        found = w.run("why", *words, "--json")
        assert found.status == 1 and found.json["kind"] == "host", found


@case
def the_starters_network_is_enabled_where_it_is_off(w: World):
    w.ok("init")
    line = w.config.read_text().splitlines().index("enabled = false") + 1
    edits = change(w.ok("why", "example.com:443", "--json").json)["edits"]
    assert (edits[0]["line"], edits[0]["key"], edits[0]["value"]) == (line, "enabled", "true"), edits
    assert edits[1]["key"] == '"example.com:443"', edits


@case
def an_edit_for_a_host_is_one_that_run_takes(w: World):
    w.ok("init")
    found = w.ok("why", "example.com", "--json").json
    assert found["caveat"] is None, found
    suggested = change(found)
    edited = w.config.read_text().replace("enabled = false", "enabled = true") + suggested["toml"]
    tried = str(w.write("tried.toml", edited))
    assert w.decision("example.com", "--config-file", tried) == "allow"
    for network in ((), ("--network", "full"), ("--network", "off")):
        w.ok("run", "--config-file", tried, *network, "--", "true")
    # Nothing to say where no edit leads there.
    found = w.ok("why", "example.com", "--mode", "danger-full-access", "--json").json
    assert found["caveat"] is None and not change(found)["possible"], found


@case
def what_a_rule_alone_does_not_tell_of_a_run_is_said(w: World):
    for host in ("localhost:5432", "a.localhost", "127.0.0.2:80", "[::1]:80"):
        for option in ((), ("--allow-host", host)):
            assert "--host-port" in w.ok("why", host, *option, "--json").json["caveat"], (host, option)
        said = w.ok("why", host).out
        assert re.search("\n  for one run: --host-port .*\n  for 'cordon proxy' alone, which is no run:\n  make a profile",
                         said), said
        assert "cordon proxy" not in w.ok("why", "example.com").out
        assert w.ok("why", host, "--network", "full", "--json").json["caveat"] is None, host
    w.write_config("""
        default_permissions = "a"
        [permissions.a.network]
        enabled = true
        mode = "limited"
        domains = { "example.com" = "allow" }
        """)
    assert "no TLS" in w.ok("why", "example.com:443").out
    assert w.ok("why", "example.org:443", "--json").json["caveat"] is None
    assert "no TLS" in w.ok("explain").out


@case
def hosts_of_a_network_that_is_off_are_told_by_check(w: World):
    w.ok("init")
    starter = w.config.read_text()
    assert "warning" not in w.ok("check").out
    w.write_config(starter.replace("# domains", "domains"))
    said = "the profile 'dev' allows hosts, but its network is off: 'enabled' is false on line "
    assert said in w.ok("check").out
    assert w.ok("run", "true").err == ""
    w.write_config(starter.replace("# domains", "domains").replace("enabled = false", "enabled = true"))
    assert "warning" not in w.ok("check").out


@case
def the_starter_says_what_run_refuses(w: World):
    w.ok("init")
    text = w.config.read_text()
    assert text.count("'cordon run' refuses") == 1, text
    offered = [line[2:] for line in text.splitlines() if line.startswith("# ") and " = " in line]
    assert any(line.startswith("domains = ") for line in offered), offered
    assert not any(line.startswith(("memory", "processes")) for line in offered), offered
    w.write_config(text.replace("# [permissions.dev.limits]", "[permissions.dev.limits]")
                   .replace("# timeout", "timeout").replace("# file_size", "file_size"))
    w.ok("run", "--", "true")


def find_device():
    """Any that a sandbox does not have by itself, or None."""
    usual = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
    for entry in sorted(os.scandir("/dev"), key=lambda entry: entry.name):
        if entry.name not in usual and stat.S_ISCHR(entry.stat(follow_symlinks=False).st_mode):
            return entry.path
    return None


def has(w, test, path, *args):
    """Whether the command finds it so."""
    found = w.ok("run", *args, "--", "sh", "-c", f'test {test} "$1" && echo yes; true', "sh", path)
    return found.out == "yes\n"


def entries(filesystem, more=""):
    return ["-P", "p", "-c", f'permissions.p={{{more}filesystem={{{filesystem}}}}}']


@case
def of_proc_and_sys_it_is_said_what_holds_inside(w: World):
    for path, place in (("/proc/sys/kernel/hostname", "/proc"), ("/sys/kernel", "/sys")):
        found = w.ok("why", path, "--write", "--json").json
        assert found["inside"].startswith(f"inside, {place} ") and not found["answer"], found
        assert change(found)["possible"] is False, found
        assert "  " + found["inside"] + "\n" in w.ok("why", path).out
        # As it says: an entry does not make it writable.
        args = entries(f'":root"="read","{path}"="write"')
        assert w.access(path, *args) == "write" and w.ok("why", path, "--json", *args).json["inside"]
        assert has(w, "-r", path, *args) and not has(w, "-w", path, *args)
    # What is denied by name is so, and nothing below it is opened again.
    w.write_config('[permissions.p.filesystem]\n":root" = "read"\n"/sys" = "deny"\n'
                   '"/sys/kernel" = "read"\n')
    args = ["-P", "p"]
    found = w.ok("why", "/sys", "--json", *args).json
    assert found["access"] == "deny" and found["inside"] is None and change(found)["possible"], found
    found = w.ok("why", "/sys/kernel", "--json", *args).json
    assert "denied like what is above it" in found["inside"], found
    assert not has(w, "-e", "/sys/kernel", *args)
    found = w.ok("why", "/sys/module", "--json", *args).json
    assert found["inside"] is None and not change(found)["possible"], found
    # Nothing to say elsewhere, nor without a sandbox.
    assert w.ok("why", "/usr", "--json").json["inside"] is None
    assert w.ok("why", "/sys", "--json", "--mode", "danger-full-access").json["inside"] is None


@case
def of_dev_it_is_said_what_holds_inside(w: World):
    found = w.ok("why", "/dev/null", "--write", "--json").json
    assert "can be used" in found["inside"] and not change(found)["possible"], found
    assert has(w, "-w", "/dev/null")
    assert not change(w.ok("why", "/dev", "--write", "--json").json)["possible"]
    device = find_device()
    if not device:
        raise Skip("this machine has no other device")
    found = w.ok("why", device, "--write", "--json").json
    assert "only by a write entry" in found["inside"] and change(found)["possible"], found
    assert not has(w, "-e", device)
    args = entries(f'":root"="read","{device}"="write"')
    assert w.ok("why", device, "--json", *args).json["inside"] is None
    assert has(w, "-e", device, *args)


@case
def of_a_private_tmp_it_is_said_what_holds_inside(w: World):
    held = w.write("tmp/held", "")
    root = '":root"="read",":tmpdir"="write"'
    shared, private = entries(root), entries(root, 'tmp="private",')
    assert w.ok("why", held, "--json", *shared).json["inside"] is None
    assert has(w, "-e", held, *shared)
    found = w.ok("why", held, "--json", *private).json
    assert found["inside"].startswith(f"inside, {w.top}/tmp is empty and writable"), found
    assert not has(w, "-e", held, *private) and has(w, "-w", held.parent, *private)
    assert not change(w.ok("why", held.parent, "--json", *private).json)["possible"]
    # What an entry names is the host's.
    named = entries(f'{root},"{held}"="read"', 'tmp="private",')
    assert w.ok("why", held, "--json", *named).json["inside"] is None
    assert has(w, "-e", held, *named) and not has(w, "-w", held, *named)


@case
def a_host_that_a_built_in_profile_names_is_denied_by_an_own_one(w: World):
    w.ok("init")
    host = "api.openai.com"
    for config in ("", "default_permissions = 'mine'\n[permissions.mine]\nextends = ':agent-codex'\n"):
        w.write_config(config)
        args = () if config else ("-P", ":agent-codex")
        found = w.ok("why", *args, host, "--json").json
        assert found["decision"] == "allow" and found["why_not"] is None, found
        suggested = change(found)
        tried = str(w.write("tried.toml", config + suggested["toml"]))
        own = ("--config-file", tried, "-P", suggested["profile"] or "mine")
        assert w.decision(host, *own) == "deny" and w.decision("chatgpt.com", *own) == "allow", suggested


@case
def an_own_profile_is_chosen_by_what_chooses_now(w: World):
    w.write_config('default_permissions = ":read-only"\n')
    for args, env, words in (
        (["--mode", "workspace-write"], {},
         "; and use -P my-workspace in place of --mode or --full-auto"),
        (["-P", ":workspace"], {}, "; and use -P my-workspace in place of -P :workspace"),
        ([], {"CORDON_MODE": "workspace-write"}, "; and use -P my-workspace in place of CORDON_MODE"),
    ):
        w.env.update(env)
        suggested = change(w.ok("why", "/usr", "--json", *args).json)
        assert suggested["text"].endswith(words) and not suggested["toml_top"], suggested
        assert [e["file"] for e in suggested["edits"]] == [str(w.config)], suggested
        tried = w.write("tried.toml", w.config.read_text() + suggested["toml"])
        assert w.access("/usr", "--config-file", str(tried), "-P", suggested["profile"]) == "write"
    del w.env["CORDON_MODE"]
    suggested = change(w.ok("why", "/usr", "--json").json)
    last = suggested["edits"][-1]
    assert (last["key"], last["line"]) == ("default_permissions", 1), suggested
    w.write_config(f"{last['key']} = {last['value']}\n" + suggested["toml"])
    assert w.access("/usr") == "write"


@case
def it_is_said_what_a_name_was_taken_for(w: World):
    w.write_config(DEV)
    said = w.ok("why", "src").out
    assert said.startswith(f"write  {w.repo}/src\n") and said.endswith("cordon why --host src\n"), said
    assert w.ok("why", "nosuch.txt").out.endswith("cordon why --path nosuch.txt\n")
    assert w.ok("why", "ünï.txt").out.endswith("cordon why --path NAME\n")
    assert w.ok("why", "my notes").out.endswith("cordon why --host 'my notes'\n")
    for name in ("my notes.txt", "a+b.txt", "*.txt"):
        assert w.fails("why", name).err.endswith(f"cordon why --path '{name}'\n"), name
        assert w.ok("why", "--path", name, "--json").json["path"] == str(w.repo / name)
        for words in (["--host", name], ["-q", name], ["--json", name]):
            assert "--path" not in w.fails("why", *words).err, words
    assert w.fails("why", "a\x1b[31mb").err.endswith("cordon why --path NAME\n")
    for words in (["src:80"], ["--host", "src"], ["192.0.2.1"], ["-q", "src"], ["--json", "src"], ["./src"],
                  ["--path", "src"], ["--write", "src"]):
        said = w.ok("why", *words).out
        assert "--path" not in said and "--host" not in said, words
    (w.repo / "src").mkdir()
    hint = "       a file of this name is here: 'cordon why ./src' asks about it\n"
    assert w.ok("why", "--host", "src").out.startswith("deny   host src\n" + hint)
    assert w.ok("why", "--host", "src", "--json").json["is_file_too"] is True
    assert w.ok("why", "src").out.startswith(f"write  {w.repo}/src\n")
    assert w.ok("why", "example.com", "--json").json["is_file_too"] is False
    for option in ("--read", "--write"):
        found = w.ok("why", "src", option, "--json").json
        assert found["kind"] == "path" and found["path"] == str(w.repo / "src"), found


@case
def what_is_no_host_and_no_path_is_refused(w: World):
    w.write_config(DEV)
    for args in (["https://example.com/x"], ["--host", "https://example.com"]):
        assert "write the host only, not a URL; did you mean 'example.com:443'?" in w.fails("why", *args).err
    assert "is a URL" in w.fails("why", "--read", "https://example.com/x").err
    assert "did you mean 'example.com:22' (ssh)?" in w.fails("why", "git@example.com").err
    for pattern in ("*.example.com", "example.com:80-90"):
        assert f"'{pattern}' is a pattern" in w.fails("why", pattern).err
    for name in ("~someone", "~someone/x"):
        assert f"can't expand '{name}'" in w.fails("why", name).err
    assert w.access("~/x") == "read"
    assert w.ok("why", "--path", "~someone", "-q").out == "write\n"


@case
def new_lines_go_where_the_file_can_take_them(w: World):
    top = 'default_permissions = "dev"\n[permissions.dev]\n'
    for text, inside in (
        ('network = { enabled = true, mode = "full" }', "inline"),
        ('network.enabled = true\nnetwork.domains."b.com" = "allow"', "dotted"),
        ('[permissions.dev.network]\nenabled = true\ndomains = { "b.com" = "allow" }', "inline"),
        ('[permissions.dev.network]\nenabled = true\n[permissions.dev.network.domains]\n"b.com" = "allow"',
         "header"),
    ):
        w.write_config(top + text + "\n")
        suggested = change(w.ok("why", "a.com", "--json").json)
        assert [e["inside"] for e in suggested["edits"]] == [inside] and not suggested["toml"], suggested
        edit = suggested["edits"][0]
        lines = w.config.read_text().splitlines()
        added = f"{edit['prefix']}{edit['key']} = {edit['value']}"
        if inside == "inline":
            at = edit["table_line"] - 1
            lines[at] = lines[at][: lines[at].rindex("}")] + ", " + added + " }"
        else:
            lines.insert(edit["table_line"], added)
        w.write_config("\n".join(lines) + "\n")
        assert w.decision("a.com") == "allow", lines


run_cases()
