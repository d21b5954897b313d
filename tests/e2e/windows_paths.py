#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Paths, configuration and names of Windows, in an imagined host."""

import json

from cli import World, case, run_cases

HOME = "C:\\Users\\me"
REPO = HOME + "\\repo"
FILES = {
    REPO + "\\.git": "dir",
    REPO + "\\.env": "file",
    REPO + "\\Readme.md": "file",
    HOME + "\\.ssh\\id": "file",
    HOME + "\\AppData\\Local\\Temp": "dir",
    "D:/data/x": "file",
    "C:\\junction": {"link": "C:\\Users\\me\\repo"},
    "C:\\verbatim": {"link": "\\??\\D:\\data"},
    "C:\\rooted": {"link": "\\Users\\me\\.ssh"},
    "C:\\relative": {"link": "Users\\me"},
    "C:\\above": {"link": "..\\..\\x"},
}
CONFIG = """\
default_permissions = "dev"
[permissions.dev]
extends = ":workspace"
[permissions.dev.filesystem]
":secrets" = "deny"
'D:\\data' = "deny"
'~\\private' = "deny"
":workspace_roots" = { 'sub\\dir' = "deny", "**/*.pem" = "deny" }
"""


def windows(w, files=None, config=CONFIG, **more):
    view = {"view": 1, "platform": "windows", "home": HOME, "cwd": REPO, "tmpdir": HOME + "\\AppData\\Local\\Temp",
            "files": FILES if files is None else files, **more}
    w.write_config(config)
    return ("--platform", "windows", "--host-view", str(w.write("view.json", json.dumps(view))), "--config-file",
            str(w.config))


def ask(w, path, *args):
    found = w.run("why", "--json", "--path", path, *(args or windows(w))).json
    return (found["access"], found["path"]) if "error" not in found else found["error"]["cause"]


@case
def separators_drives_and_prefixes_are_one_path(w: World):
    for path in (REPO + "\\.git\\x", "c:/users/ME/repo/.GIT/x", ".git\\x", ".git/x", "\\\\?\\C:\\Users\\me\\repo\\.git\\x",
                 "~\\repo\\.git\\x", "~/repo/.git/x", "x\\..\\.git\\x", "C:\\junction\\.git\\x", "C:\\relative\\repo\\.git\\x"):
        assert ask(w, path) == ("read", REPO + "\\.git\\x"), path
    assert ask(w, "C:\\verbatim\\x") == ("deny", "D:\\data\\x")
    assert ask(w, "C:\\rooted\\id") == ("deny", HOME + "\\.ssh\\id")
    assert ask(w, "new") == ("write", REPO + "\\new")
    assert ask(w, "D:\\") == ("read", "D:\\")
    assert ask(w, "C:\\above\\y") == ask(w, "..\\..\\..\\..\\x\\y") == ask(w, "C:\\..\\x\\y") == ("read", "C:\\x\\y")


@case
def a_stream_is_its_file_and_an_end_that_is_dropped_is_none(w: World):
    for path in (".env", ".ENV::$DATA", ".env:hidden", ".env.", ".env ", ".env. .", "\\\\?\\" + REPO + "\\.env"):
        assert ask(w, path) == ("deny", REPO + "\\.env"), path
    for path in (".git::$INDEX_ALLOCATION\\config", ".git.\\config", ".git:i30:$INDEX_ALLOCATION/config"):
        assert ask(w, path) == ("read", REPO + "\\.git\\config"), path


@case
def what_cannot_be_told_from_the_text_is_refused(w: World):
    bad = ("GIT~1\\config", "PROGRA~1", "new\\ENV~1", "NUL", "nul.txt", "COM1", "lpt9.log", "COM\u00b9", "CONIN$", "aux \\x",
           "C:x", "\\x", "/x", "\\\\server\\share\\x", "\\\\?\\UNC\\server\\share", "\\\\.\\PhysicalDrive0",
           "\\\\?\\Volume{1}\\x", "\\\\?\\C:\\Users\\..\\x", "\\\\?\\C:\\a/b", ".git \\config", ".git..\\config", ":stream",
           "a?b", "a\tb", "\\\\?\\" + REPO + "\\.env.", "\\\\?\\" + REPO + "\\.env::$DATA")
    for path in bad:
        assert ask(w, path) == "bad_path", path
    listed = windows(w, files={**FILES, "C:\\PROGRA~1": "dir"})
    assert ask(w, "C:\\progra~1\\x", *listed) == ("read", "C:\\PROGRA~1\\x")
    assert ask(w, "a~b")[0] == "write" and ask(w, "long name~1.txt")[0] == "write"


@case
def what_only_windows_has_in_a_path_makes_one(w: World):
    for path in (HOME + "\\x", "C:/Users/me/x", "\\\\?\\C:\\Users\\me\\x", "~\\x"):
        assert w.run("why", "--json", path, *windows(w)).json["path"] == HOME + "\\x", path
    # A share is no path that a policy can name, but it is no host either.
    assert w.cause("why", "\\\\srv\\x", *windows(w)) == "bad_path"
    assert w.run("why", "--json", "registry.example:443", *windows(w)).json["host"] == "registry.example"
    w.write_config("")
    assert w.cause("why", HOME + "\\x") == "syntax"


@case
def keys_are_written_as_on_windows(w: World):
    assert ask(w, "D:\\DATA\\y") == ("deny", "D:\\DATA\\y".replace("DATA", "data"))
    assert ask(w, "~\\private\\x")[0] == "deny"
    assert ask(w, "SUB\\dir\\x")[0] == "deny" and ask(w, "subdir\\x")[0] == "write"
    assert ask(w, "a\\b\\KEY.PEM")[0] == "deny"
    glob = windows(w, config=CONFIG + "'C:\\junction2\\**\\*.key' = 'deny'\n'\\\\?\\D:\\other' = 'deny'\n")
    assert ask(w, "C:\\junction2\\a\\b.KEY", *glob)[0] == "deny" and ask(w, "D:\\other\\x", *glob)[0] == "deny"
    found = w.ok("explain", "--json", *windows(w)).json
    assert found["directory"] == REPO and any(f["path"] == "D:\\data" for f in found["files"]), found["files"]


@case
def keys_that_name_no_file_or_two_are_errors(w: World):
    for key in ("C:\\x.", "C:\\x ", "C:\\a\\NUL", "C:\\a:b", "C:\\a\\*.p:s", "C:\\a\\*.", "/x", "C:x", "\\\\srv\\share", "\\\\.\\C:",
                "~\\GIT~1", "~\\com1.txt", "C:\\a\tb"):
        args = windows(w, config=CONFIG + json.dumps(key) + " = 'deny'\n")
        assert w.cause("why", "--path", "x", *args) == "bad_path", key
    for option in ("--deny", "--add-write"):
        for path in ("x.", "NUL", "a:b", "GIT~1", "\\\\srv\\share\\x"):
            assert w.cause("why", "--path", "x", option, path, *windows(w)) == "bad_path", (option, path)
    assert w.cause("why", "--path", "x", "--config", "permissions.dev.filesystem.'C:\\x.' = 'deny'", *windows(w)) == "bad_path"


@case
def a_deny_counts_for_every_spelling_and_an_allow_for_those_of_the_table(w: World):
    long_s, kelvin, composed = "\u017f", "\u212a", "\u00e9"
    config = CONFIG + "".join(f"'D:\\{a}\\{n}' = '{b}'\n" for a, b in (("deny", "deny"), ("open", "read"))
                              for n in ("s", "K", composed, "\u00e4\u00df")).replace("D:\\deny", "C:\\deny")
    args = windows(w, config=config.replace("'D:\\data' = \"deny\"", "'D:\\' = \"deny\""))
    for name in ("s", "S", "k", "K", "\u00c9", "\u00c4\u00df"):
        assert ask(w, "C:\\deny\\" + name, *args)[0] == "deny", name
        if name in ("S", "s", "k", "K"):
            continue
    for name in (long_s, kelvin, "e\u0301", "E\u0301", "\u00e4ss", "\u00e4\u1e9e"):
        assert ask(w, "C:\\deny\\" + name, *args)[0] == "deny", name
    tree = {**FILES, "D:\\open\\s": "file", "D:\\open\\" + long_s: "file", "D:\\open\\K": "file", "D:\\open\\" + composed: "file"}
    args = windows(w, files=tree, config=config.replace("'D:\\data' = \"deny\"", "'D:\\' = \"deny\""))
    for name in ("s", "S", "k", "K", composed, composed.upper()):
        assert ask(w, "D:\\open\\" + name, *args)[0] == "read", name
    for name in (long_s, kelvin, "e\u0301"):
        assert ask(w, "D:\\open\\" + name, *args)[0] == "deny", name
    assert ask(w, "D:\\open\\" + long_s, *args)[1] == "D:\\open\\" + long_s  # another file than s


@case
def the_places_are_those_of_windows(w: World):
    args = windows(w, config="default_permissions = 'p'\n[permissions.p.filesystem]\n':minimal' = 'read'\n':tmpdir' = 'write'\n")
    for path, access in (("C:\\Windows\\System32\\cmd.exe", "read"), ("C:\\Program Files\\x", "read"), ("C:\\ProgramData\\x", "read"),
                         ("C:\\Users\\me\\x", "deny"), ("C:\\x", "deny"), ("D:\\x", "deny"), (HOME + "\\AppData\\Local\\Temp\\x", "write")):
        assert ask(w, path, *args)[0] == access, path
    moved = {"SystemRoot": "D:\\Win", "ProgramData": "D:\\Data"}
    args = windows(w, files={**FILES, "D:\\Win": "dir", "D:\\Data": "dir"}, env=moved,
                   config="default_permissions = 'p'\n[permissions.p.filesystem]\n':minimal' = 'read'\n")
    assert ask(w, "D:\\Win\\x", *args)[0] == "read" and ask(w, "C:\\Windows\\x", *args)[0] == "deny"
    all_ = windows(w, config="default_permissions = 'p'\n[permissions.p.filesystem]\n':root' = 'read'\n':slash_tmp' = 'write'\n")
    assert ask(w, "D:\\x", *all_)[0] == "read" and ask(w, "C:\\tmp\\x", *all_)[0] == "read"


@case
def the_configuration_is_in_the_profile_and_for_all_users(w: World):
    user = HOME + "\\AppData\\Roaming\\cordon\\config.toml"
    text = {"text": "default_permissions = 'mine'\n[permissions.mine]\nextends = ':workspace'\n"}
    view = dict(view=1, platform="windows", home=HOME, cwd=REPO)
    for where, env in ((user, {}), ("D:\\conf\\cordon\\config.toml", {"APPDATA": "D:\\conf"}),
                       ("C:\\ProgramData\\cordon\\config.toml", {}), ("D:\\pd\\cordon\\config.toml", {"ProgramData": "D:\\pd"})):
        name = str(w.write("view.json", json.dumps({**view, "env": env, "files": {where: text, REPO: "dir"}})))
        args = ("--platform", "windows", "--host-view", name)
        assert w.ok("explain", "--json", *args).json["profile"]["name"] == "mine", where
        assert ask(w, where, "--add-write", "D:\\", "--add-write", HOME, *args)[0] == "read", where  # P25
    assert ask(w, HOME + "\\AppData\\Local\\cordon\\secrets\\x")[0] == "deny"
    config = CONFIG.replace('extends', 'workspace_roots = { \'D:\\data2\' = true }\nextends')
    args = windows(w, files={**FILES, "D:\\data2": "dir"}, config=config)
    assert ask(w, "D:\\data2\\x", *args)[0] == "write" and ask(w, "D:\\data2\\.git", *args)[0] == "read"


@case
def a_view_of_windows_has_names_of_windows(w: World):
    for path in ("C:\\a.", "C:\\a\\NUL", "C:\\a:b", "\\\\srv\\x", "C:x", "/x", "C:\\..\\x"):
        assert w.cause("explain", *windows(w, files={path: "file"})) == "host_view", path
    assert w.cause("explain", *windows(w, files={"C:\\a": {"link": "\\\\srv\\x"}})) == "host_view"
    assert w.cause("explain", *windows(w, files={"C:\\a": "file", "c:\\A": "file"})) == "host_view"
    assert w.ok("explain", *windows(w, files={"C:\\s": "file", "C:\\\u017f": "file"}))


run_cases()
