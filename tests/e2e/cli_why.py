#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `why` tells a person to do, and that it is good advice."""

from cli import World, case, run_cases

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
        flip = w.ok("why", path, "--json").json["flip"]
        full = path.replace("~", str(w.home))
        assert flip["needs_path"] == full, flip
        assert [e["key"] for e in flip["edits"]] == [f'"{full}"'], flip
        assert flip["text"].startswith(f"create it first (mkdir -p {full}), then "), flip
    w.write_config(DEV + '"~/.cache/other" = "write"\n')
    found = w.ok("why", "~/.cache/other/x", "--json").json
    flip = found["flip"]
    assert flip["possible"] and not flip["edits"], flip
    assert flip["needs_path"] == str(w.home / ".cache/other"), flip
    assert found["warnings"][0]["message"].endswith("; create it first"), found["warnings"]
    (w.home / ".cache/other").mkdir()
    assert w.access("~/.cache/other/x") == "write"


@case
def the_starters_network_is_enabled_where_it_is_off(w: World):
    w.ok("init")
    line = w.config.read_text().splitlines().index("enabled = false") + 1
    edits = w.ok("why", "example.com:443", "--json").json["flip"]["edits"]
    assert (edits[0]["line"], edits[0]["key"], edits[0]["value"]) == (line, "enabled", "true"), edits
    assert edits[1]["key"] == '"example.com:443"', edits


@case
def an_own_profile_is_chosen_by_what_chooses_now(w: World):
    w.write_config('default_permissions = ":read-only"\n')
    for args, env, words in (
        (["--mode", "workspace-write"], {}, "; and use -P my-workspace in place of --mode"),
        (["-P", ":workspace"], {}, "; and use -P my-workspace in place of -P :workspace"),
        ([], {"CORDON_MODE": "workspace-write"}, "; and use -P my-workspace in place of CORDON_MODE"),
    ):
        w.env.update(env)
        flip = w.ok("why", "/usr", "--json", *args).json["flip"]
        assert flip["text"].endswith(words) and not flip["toml_top"], flip
        assert [e["file"] for e in flip["edits"]] == [str(w.config)], flip
        tried = w.write("tried.toml", w.config.read_text() + flip["toml"])
        assert w.access("/usr", "--config-file", str(tried), "-P", flip["profile"]) == "write"
    del w.env["CORDON_MODE"]
    flip = w.ok("why", "/usr", "--json").json["flip"]
    last = flip["edits"][-1]
    assert (last["key"], last["line"]) == ("default_permissions", 1), flip
    w.write_config(f"{last['key']} = {last['value']}\n" + flip["toml"])
    assert w.access("/usr") == "write"


run_cases()
