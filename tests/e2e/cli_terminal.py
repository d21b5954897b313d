#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that a file, a name or a word holds can rewrite a terminal or forge a line.

Every command, with hostile text in every place where text can stand, prints no control
character but the ends of its own lines, and no line that the text made up.
"""

import itertools
import os
import re

from cli import World, case, run_cases

FORGED = "deny  /etc/shadow forged"

# As TOML has them, and as a path or a word does.
HOSTILE = {
    "escape": ("\\u001b[31m\\u001bc", b"\x1b[31m\x1bc"),
    "newline": (f"\\ncordon: warning: none\\n{FORGED}",
                f"\ncordon: warning: none\n{FORGED}".replace("/", "_").encode()),
    "return": ("\\r\\t\\b\\u007f", b"\r\t\b\x7f"),
    "c1": ("\\u0085\\u009b31m", b"\xc2\x85\xc2\x9b31m"),
    "bidi": ("\\u202e\\u2066\\u2028\\u200f", b"\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\xe2\x80\x8f"),
    "not UTF-8": (None, b"\xff\x9b\xc3\xe2\x80"),
    # What is cut must be cut at a whole character.
    "long": ("\\u20ac" * 200 + "\\u001b", b"\xe2\x82\xac" * 80 + b"\x1b"),
}

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
                     "\udc80-\udcff]")

COMMANDS = [
    ["why", "--path", "x"],
    ["why", "--path", "x", "-q"],
    ["why", "--host", "example.com"],
    ["why", "--host", "example.com:443"],
    ["explain"],
    ["explain", "-q"],
    ["explain", "--platform", "macos"],
    ["check"],
    ["check", "-q"],
    ["profiles"],
    ["profiles", "-q"],
    ["run", "true"],
    ["run", "--trace", "true"],
    ["run", "--dry-run", "true"],
]


def check_clean(result, what):
    for name, text in (("stdout", result.out), ("stderr", result.err)):
        found = CONTROL.search(text)
        assert not found, (what, name, found, text)
        for line in text.split("\n"):
            assert not line.startswith(FORGED[:5] + FORGED[5:].replace("/", "_")), (what, text)
            assert not line.startswith(("deny  /etc/shadow", "cordon: warning: none")), (what, text)


def run_all(w, what, *args, env=None, commands=None):
    for command in commands or COMMANDS:
        check_clean(w.run(*command, *args, env=env), (what, command))


def toml_texts():
    return [(name, toml) for name, (toml, _) in HOSTILE.items() if toml]


# Places in a project file; "@" is the hostile text.
PROJECT = [
    '[filesystem]\n"/a@" = "write"\n',
    '[filesystem]\n"/a@" = "deny"\n',
    '[filesystem]\n"~/a@" = "read"\n',
    '[filesystem]\n"/a@*" = "deny"\n',
    '[filesystem]\n"/a@*" = "write"\n',
    '[filesystem]\n":workspace_roots" = { "a@" = "deny" }\n',
    '[filesystem]\n":workspace_roots" = { "a@" = "write" }\n',
    '[filesystem]\n"a@" = "deny"\n',
    '[filesystem]\n":a@" = "write"\n',
    '[filesystem]\n":a@" = "deny"\n',
    '[filesystem]\n"/a" = "@"\n',
    '[network]\nenabled = true\ndomains = { "a@.example.com" = "allow" }\n',
    '[network]\ndomains = { "a@.example.com" = "deny" }\n',
    '[network]\nunix_sockets = { "/run/a@" = "allow" }\n',
    '[network]\nunix_sockets = { "/run/a@" = "deny" }\n',
    '[network]\nmode = "@"\n',
    '[network]\nproxy_url = "http://a@"\n',
    '[limits]\ntimeout = "@"\n',
    '[limits]\n"@" = 1\n',
    'protect = ["a@"]\n',
    '"@" = 1\n',
    '[filesystem."@"]\n"@" = "@"\n',
]

# Places in the configuration of the user.
USER = [
    'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\ndescription = "@"\n',
    'default_permissions = "p@"\n[permissions."p@"]\nextends = ":workspace"\n',
    'default_permissions = "@"\n',
    '[permissions.p]\nextends = "@"\n',
    '[permissions."p@"]\nextends = "p@"\n',
    'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\nprotect = ["a@"]\n'
    'workspace_roots = { "/r@" = true, "~/r@" = true, "r@" = true }\n',
    'default_permissions = "p"\n[permissions.p.filesystem]\n":root" = "read"\n"/a@" = "write"\n'
    '"/b@" = "deny"\n"/c@" = "read"\n"/tmp/@/**" = "deny"\n":x@" = "read"\n',
    'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
    '[permissions.p.environment]\nexclude = ["a@*"]\ninclude = ["b@"]\nset = { "C" = "@" }\n',
    'default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
    '[permissions.p.environment]\nset = { "C@" = "x" }\n',
    'default_permissions = "p"\n[permissions.p.network]\nenabled = true\n'
    'unix_sockets = { "/run/a@" = "allow" }\ndomains = { "@" = "deny" }\n',
    'default_permissions = "p"\n[permissions.p.network]\nenabled = true\n'
    'unix_sockets = { "/run/a@" = "allow" }\ndomains = { "example.com" = "allow" }\n',
    '[trust]\n"/d@" = "sha256:@"\n',
    '[features]\n"f@" = true\n',
    'accept_missing = ["@"]\n',
    '[linux]\nbackends = ["@"]\n',
    '"@" = 1\n',
    '# @\nx = "@\n',
]


@case
def a_project_file(w: World):
    w.write_config('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                   '[permissions.p.network]\nenabled = true\nallow_local_binding = false\n')
    for (name, text), place in itertools.product(toml_texts(), PROJECT):
        w.write("repo/.cordon/config.toml", place.replace("@", text))
        run_all(w, (name, place), commands=[["why", "--path", "x"], ["explain"], ["check"]])


@case
def the_users_file(w: World):
    for (name, text), place in itertools.product(toml_texts(), USER):
        w.write_config(place.replace("@", text))
        run_all(w, (name, place), commands=[["why", "--path", "x"], ["explain"], ["check"],
                                            ["profiles"], ["profiles", "p"]])


@case
def every_command(w: World):
    for name, text in toml_texts():
        w.write_config(f'default_permissions = "p{text}"\n[permissions."p{text}"]\n'
                       f'extends = ":workspace"\ndescription = "{text}"\n'
                       f'[permissions."p{text}".filesystem]\n"/a{text}" = "write"\n'
                       f'"/b{text}" = "deny"\n[permissions."p{text}".network]\nenabled = true\n'
                       f'unix_sockets = {{ "/run/a{text}" = "allow" }}\n')
        w.write("repo/.cordon/config.toml", f'[filesystem]\n"/c{text}" = "write"\n')
        run_all(w, name)
        raw = HOSTILE[name][1]
        run_all(w, name, commands=[["profiles", b"p" + raw], ["why", b"/b" + raw]])


@case
def raw_bytes_of_toml(w: World):
    for name, (_, raw) in HOSTILE.items():
        for place in (b'[filesystem]\n"/a@" = "write"\n', b"# @\n", b"x@ = 1\n", b"x = '''@'''\n"):
            w.write("repo/.cordon/config.toml", place.replace(b"@", raw))
            run_all(w, (name, place), commands=[["why", "--path", "x"], ["check"], ["explain"],
                                                ["check", "--syntax-only", ".cordon/config.toml"]])


@case
def words_of_the_command_line(w: World):
    for name, (_, raw) in HOSTILE.items():
        for args in ([raw], [b"-" + raw], [b"--" + raw], ["why", b"/" + raw], ["why", b"./" + raw],
                     ["why", "--host", raw], ["why", raw, raw], ["explain", b"--platform=" + raw],
                     ["why", "x", "-P", raw], ["why", "x", "--mode", raw], ["help", raw],
                     ["why", "x", "-C", raw], ["why", "x", "--config-file", raw],
                     ["why", "x", b"--config=" + raw], ["why", "x", b"--config=a" + raw + b"=1"],
                     ["why", "x", "--enable", raw], ["check", raw], ["check", raw, "--config-file", "x"],
                     ["check", "--syntax-only", raw], ["profiles", raw],
                     ["init", b"no/" + raw + b"/\xff/" + raw * 300],
                     ["run", "-P", raw, "true"], ["run", "-C", raw, "true"],
                     ["run", "--backend", raw, "true"], ["run", "--sandbox", raw, "true"],
                     ["run", "--platform", raw, "true"], ["run", "--network", raw, "true"],
                     ["run", "--timeout", raw, "true"], ["run", b"--env==" + raw, "true"],
                     ["run", "--accept-missing", raw, "true"],
                     ["run", b"--report=no/" + raw, "true"], ["run", b"--deny=/" + raw, "true"],
                     ["run", b"--add-write=/no/" + raw, "true"], [b"run", b"--" + raw, "true"],
                     ["run", "--trace", "--dry-run", b"no/" + raw],
                     ["run", "-q", "--dry-run", "--full-auto", "true", raw]):
            check_clean(w.run(*args), (name, args))
        check_clean(w.run("why", "x", env={"CORDON_PROFILE": os.fsdecode(raw)}), name)
        check_clean(w.run("why", "x", env={"CORDON_MODE": os.fsdecode(raw)}), name)
        check_clean(w.run("run", "true", env={"CORDON_LOG": os.fsdecode(raw)}), name)


@case
def names_of_files(w: World):
    for name, (_, raw) in HOSTILE.items():
        top = os.path.join(os.fsencode(w.top), b"d" + raw)
        os.makedirs(os.path.join(top, b".cordon"))
        for text in (b'[filesystem]\n"/a" = "write"\n', b"x", b'[filesystem]\nx = "write"\n'):
            with open(os.path.join(top, b".cordon/config.toml"), "wb") as file:
                file.write(text)
            for command in (["why", "--path", "x"], ["explain"], ["check"], ["profiles"]):
                check_clean(w.run(*command, cwd=top), (name, command))
                check_clean(w.run(*command, "-C", top), (name, command))
        os.unlink(os.path.join(top, b".cordon/config.toml"))
        os.symlink(b"gone" + raw, os.path.join(top, b".cordon/config.toml"))
        check_clean(w.run("why", "x", "-C", top), name)
        config = os.path.join(top, b"c" + raw + b".toml")
        for text in (b'default_permissions = "nobody"\n', b"x = ", b"[permissions.p]\n"
                     b'extends = ":workspace"\n[permissions.p.filesystem]\n"/gone" = "write"\n'):
            with open(config, "wb") as file:
                file.write(text)
            for command in (["why", "x", "-P", "p", "--config-file", config], ["check", config],
                            ["check", "--syntax-only", config], ["init", config],
                            ["profiles", "--config-file", config],
                            ["explain", "--config-file", config]):
                check_clean(w.run(*command), (name, command))
        check_clean(w.run("init", "--force", config), name)
        check_clean(w.run("why", "x", env={"HOME": os.fsdecode(top)}), name)
        check_clean(w.run("explain", env={"XDG_CONFIG_HOME": os.fsdecode(top)}), name)
        check_clean(w.run("explain", env={"TMPDIR": os.fsdecode(top)}), name)


@case
def git_and_links(w: World):
    for name, (_, raw) in HOSTILE.items():
        top = os.path.join(os.fsencode(w.top), b"g" + raw)
        os.makedirs(os.path.join(top, b"sub" + raw))
        os.symlink(b"/nowhere/" + raw, os.path.join(top, b".codex"))
        os.symlink(b"sub" + raw, os.path.join(top, b".agents"))
        with open(os.path.join(top, b".git"), "wb") as file:
            file.write(b"gitdir: sub" + raw + b"\n")
        for command in (["why", "--path", "x"], ["why", "--path", ".codex"],
                        ["why", "--path", ".agents"], ["explain"], ["check"]):
            check_clean(w.run(*command, "--mode", "workspace-write", "-C", top), (name, command))


run_cases()
