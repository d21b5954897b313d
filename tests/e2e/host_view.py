#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--host-view: questions about a host that a file describes."""

import json
import os

from cli import World, case, run_cases

FILES = {
    "/tmp": {"link": "private/tmp"},
    "/private/tmp": "dir",
    "/Users/me/repo/Readme": "file",
    "/Users/me/repo/.git": "dir",
    "/Users/me/repo/sub/.env": "file",
    "/Users/me/.ssh/id": "file",
    "/private/var/run/docker.sock": "socket",
}
CONFIG = """\
default_permissions = "dev"
[permissions.dev]
extends = ":workspace"
[permissions.dev.filesystem]
":secrets" = "deny"
"~/later" = "deny"
":workspace_roots" = { "**/*.pem" = "deny" }
"""


def write_view(w, files=None, **more):
    view = {
        "view": 1,
        "platform": "macos",
        "home": "/Users/me",
        "cwd": "/Users/me/repo",
        "files": FILES if files is None else files,
    }
    view.update(more)
    return str(w.write("view.json", json.dumps({k: v for k, v in view.items() if v is not ...})))


def mac(w, *args, **more):
    return ("--platform", "macos", "--host-view", write_view(w, **more), *args)


def access(w, path, **more):
    found = w.run("why", "--json", "--path", path, *mac(w, "--config-file", str(w.config), **more))
    return found.json["access"], found.json["path"]


@case
def names_are_found_in_any_case_and_keep_their_own(w: World):
    w.write_config(CONFIG)
    assert access(w, "readme") == ("write", "/Users/me/repo/Readme")
    assert access(w, ".GIT/config")[0] == "read"
    assert access(w, "~/.SSH/ID") == ("deny", "/Users/me/.ssh/id")
    assert access(w, "SUB/.Env")[0] == "deny"
    assert access(w, "x/KEY.PEM")[0] == "deny"
    assert access(w, "x/KEY.PEN")[0] == "write"


@case
def what_is_missing_is_denied_in_every_spelling(w: World):
    w.write_config(CONFIG)
    for name in ("~/later/x", "~/LATER/x", "~/LATEſ/x".replace("ſ", "R")):
        assert access(w, name)[0] == "deny", name
    assert access(w, ".Claude/x")[0] == "read"
    assert access(w, "~/late")[0] == "read"


@case
def on_a_volume_that_minds_case_they_are_other_names(w: World):
    w.write_config(CONFIG)
    assert access(w, "~/later/x", case="sensitive")[0] == "deny"
    assert access(w, "~/Later/x", case="sensitive")[0] == "read"
    assert access(w, "README", case="sensitive") == ("write", "/Users/me/repo/README")


@case
def links_of_that_host_are_followed(w: World):
    w.write_config(CONFIG)
    assert access(w, "/tmp/x") == ("write", "/private/tmp/x")
    assert access(w, "/TMP/x") == ("write", "/private/tmp/x")


@case
def its_own_configuration_counts_and_not_this_users(w: World):
    w.write_config("default_permissions = 'nonsense'\n")
    args = mac(w, files={**FILES, "/Users/me/.config/cordon/config.toml": {"text": CONFIG}})
    found = w.ok("explain", "--json", *args).json
    assert found["profile"]["name"] == "dev", found["profile"]
    assert found["directory"] == "/Users/me/repo" and found["platform"] == "macos"


@case
def nothing_of_this_host_counts(w: World):
    w.write("here.txt")
    env = dict(os.environ, CORDON_PROFILE="nonsense", CORDON_MODE="nonsense", TMPDIR="/nonsense")
    found = w.run("why", "--json", "--path", "here.txt", *mac(w), env=env).json
    assert found["path"] == "/Users/me/repo/here.txt" and found["access"] == "read", found


@case
def other_directories_of_it_can_be_chosen(w: World):
    found = w.ok("explain", "--json", "-C", "../repo/SUB", *mac(w)).json
    assert found["directory"] == "/Users/me/repo/sub", found
    assert w.fails("explain", "-C", "/nowhere", *mac(w))


@case
def windows_has_drives(w: World):
    view = dict(platform="windows", home="C:\\Users\\me", cwd="C:\\Users\\me\\repo",
                files={"C:\\Users\\me\\repo\\.git": "dir", "D:/data": "dir",
                       "C:\\Users\\me\\repo\\file": {"type": "file", "protected": True, "acl": [
                           {"sid": "S-1-1-0", "type": "allow", "access": "read", "inherit": True}]}})
    args = ("--mode", "workspace-write", "--platform", "windows", "--host-view", write_view(w, **view))
    for path, expected in ((".GIT\\x", "read"), ("new", "write"), ("d:\\DATA\\x", "read")):
        assert w.run("why", "--json", "--path", path, *args).json["access"] == expected, path


@case
def a_view_that_is_none_is_an_error_with_its_place(w: World):
    bad = (
        dict(view=2), dict(view=...), dict(cwd=...), dict(files=...), dict(colour="red"),
        dict(case="maybe"), dict(cwd="repo"), dict(cwd=None), dict(proxy_port=0), dict(home=1),
        dict(env={"A=B": "x"}), dict(files={"a": "file"}), dict(files={"/a": "directory"}),
        dict(files={"/a": {}}), dict(files={"/a": {"link": "b", "text": "c"}}),
        dict(files={"/a": {"link": ""}}), dict(files={"/a": {"text": "x", "mode": 1}}),
        dict(files={"/a": "file", "/a/b": "file"}), dict(files={"/a/b": "file", "/a": "file"}),
        dict(files={"/a": "file", "/A": "file"}), dict(files={"/a": {"type": "file", "acl": []}}),
    )
    for more in bad:
        assert w.cause("explain", *mac(w, **more)) == "host_view", more
    name = str(w.write("view.json", "{"))
    assert w.cause("explain", "--platform", "macos", "--host-view", name) == "host_view"
    assert w.cause("explain", "--platform", "macos", "--host-view", "none.json") == "host_view"
    assert w.cause("explain", "--host-view", write_view(w)) == "host_view"
    loop = {"/l": {"link": "m"}, "/m": {"link": "l"}}
    assert w.cause("why", "--path", "/l", *mac(w, files=loop)) == "link_loop"


@case
def bytes_that_are_no_utf8_can_be_written(w: World):
    args = mac(w, files={"/Users/me/repo/\udcff": "file"})
    found = w.run("why", "--json", "--path", b"\xff", *args).json
    assert found["path"].endswith("\udcff") and found["access"] == "read", found


@case
def no_run_takes_one(w: World):
    assert w.fails("run", "--host-view", write_view(w), "true")


run_cases()
