#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""windows_mutants.py BUILD: breaks what lowers for Windows in one place at a time and runs its tests.

Each mutant has to be caught. Works on the tree that it lies in, which must be clean, and puts every
file back. BUILD is a directory of Meson, as scripts/configure makes them. Not part of `make check`.
"""
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
ACL, NET = "backend/windows/acl.c", "backend/windows/net.c"
TOKEN, ELEVATED = "backend/win_token/lower.c", "backend/win_elevated/lower.c"
# (what it breaks, file, text, its replacement)
MUTANTS = (
    ("what is narrower is not closed", ACL, "(s->write == INHERITS_ALLOW || has_own)) {", "(s->write == INHERITS_ALLOW && has_own)) {"),
    ("what is in a closed directory opens again", ACL, "s->write = INHERITS_DENY;\n\t}", "s->write = INHERITS_NONE;\n\t}"),
    ("no pins", ACL, "if (is_known(l->pinned, path))", "if (path.len || is_known(l->pinned, path))"),
    ("a root may be deleted", ACL, "if (adds && is_root && add_pin", "if (adds && !is_root && add_pin"),
    ("directories above are not pinned", ACL, "path_is_under(at, root); at = path_parent(at)) {", "path_is_under(at, root) && !at.len; at = path_parent(at)) {"),
    ("pins are inherited", ACL, ".inherits = which != DENIES_DELETE", ".inherits = true"),
    ("entries are not inherited", ACL, ".inherits = which != DENIES_DELETE", ".inherits = which == ALLOWS"),
    ("protected lists are forgotten", ACL, "is_cut = file->inherits_nothing || is_usually", "is_cut = is_usually"),
    ("protected lists of every Windows are forgotten", ACL, "if (depth == 1 || str_eq(path, places->home))\n\t\treturn true;", "if (depth > 0)\n\t\treturn false;"),
    ("entries of an object's own are forgotten", ACL, "has_own = is_cut || file->has_own_list;", "has_own = is_cut;"),
    ("reading is denied to a capability", ACL, 'add_ace(l, DENIES_READ, path, STR("group"), e)', 'add_ace(l, DENIES_READ, path, STR("cap:readonly"), e)'),
    ("the account may not write", ACL, 'if (l->has_accounts && add_ace(l, which', 'if (!l->has_accounts && add_ace(l, which'),
    ("what may be read is not opened", ACL, "if (!adds)\n\t\treturn 0;\n\treturn want", "if (!adds || want != ACCESS_DENY)\n\t\treturn 0;\n\treturn want"),
    ("order swapped: denies first", ACL, "enum { ALLOWS, DENIES_WRITE,", "enum { DENIES_WRITE, ALLOWS,"),
    ("what is reopened is taken", ACL, "if (want == ACCESS_WRITE && s->write == INHERITS_DENY)", "if (want == ACCESS_WRITE && s->write == INHERITS_DENY && !path.len)"),
    ("what is missing is not made", ACL, "want == ACCESS_WRITE || (!is_inside && !is_demanded)", "want == ACCESS_WRITE || !is_inside || !is_demanded"),
    ("what is missing is made everywhere", ACL, "want == ACCESS_WRITE || (!is_inside && !is_demanded)", "want == ACCESS_WRITE || (!is_inside && !is_demanded && !path.len)"),
    ("links are not protected as such", ACL, "is_known(l->links, path) ? ACCESS_READ", "is_known(l->links, path) && !path.len ? ACCESS_READ"),
    ("one capability for all policies", ACL, "STR_ARG(digest), STR_ARG(name)", "STR_ARG(str_from(digest, digest.len)), STR_ARG(name)"),
    ("Everyone restricts the token", ACL, '*logon = STR("logon");', '*logon = STR("S-1-1-0");'),
    ("a token may hide files", TOKEN, "plan->needs.items[i].guarantee == G_FS_READ", "plan->needs.items[i].guarantee == G_DENY_FUTURE"),
    ("any root for a token", TOKEN, "if (!is_root_of_mode(", "if (path.len == 1 && !is_root_of_mode("),
    ("a temporary directory alone for a token", TOKEN, "if (!has_workspace)", "if (!has_workspace && l->roots.count > 9)"),
    ("the doubt about deleting is forgotten", TOKEN, "[G_FS_WRITE] = { false,", "[G_FS_WRITE] = { true,"),
    ("a token turns the network off", TOKEN, "[G_NET_OFF] = { false,", "[G_NET_OFF] = { true,"),
    ("the elevated token is not of the accounts", ELEVATED, "l.has_accounts = true;", "l.has_accounts = false;"),
    ("a port beside the proxy's", NET, "proxy_port - 1u", "proxy_port - 2u"),
    ("half of IPv6", NET, "bit < 128", "bit < 127"),
    ("a block of IPv4", NET, '"126.0.0.0/8", "128.0.0.0/1"', '"128.0.0.0/1", "128.0.0.0/1"'),
    ("UDP on the loopback", NET, '"cordon_offline_block_loopback_udp", "udp"', '"cordon_offline_block_loopback_udp", "tcp"'),
    ("one family", NET, "add_family(l, open, 4, e) < 0", "add_family(l, open, 6, e) < 0"),
    ("a managed network is online", NET, 'net_mode(net) == NET_FULL ? "online"', 'net_mode(net) != NET_OFF ? "online"'),
    ("an allow counts for every spelling", "plan/index_build.c", "host->folds, host->has_table, e);", "host->folds, false, e);"),
    ("a deny counts for the table alone", "plan/index_build.c", "if (!x || !host->has_table)", "if (!x || host->has_table)"),
    ("a stream is another file", "base/windows_path.c", "*name = str_first(whole, colon);", "*name = colon > 4096 ? whole : str_first(whole, whole.len);"),
    ("dots at the end are kept", "base/windows_path.c", "while (is_last && colon == whole.len", "while (is_last && colon > whole.len"),
    ("a device is a file", "base/windows_path.c", 'return is_device(name) ? "is the name of a device" : NULL;', 'return is_device(name) && !name.len ? "is the name of a device" : NULL;'),
    ("a short name is a name", "base/windows_path.c", "stem.p[at - 1] == '~';", "stem.p[at - 1] == '~' && stem.len > 8;"),
)


def build(directory):
    return subprocess.run(["ninja", "-C", directory, "src/cordon"], capture_output=True, check=False).returncode == 0


def fails(test, env):
    """Ends at the first case that fails."""
    with subprocess.Popen([sys.executable, "-u", TOP / f"tests/e2e/{test}.py"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as running:
        has_failed = any(line.startswith(b"not ok") for line in running.stdout)
        running.terminate()
    return has_failed


def is_caught(directory, change):
    name, text, other = change
    path = TOP / "src" / name
    before = path.read_text()
    assert before.count(text) >= 1, f"{name} has no {text!r}"
    try:
        path.write_text(before.replace(text, other, 1))
        if not build(directory):
            return None
        env = dict(os.environ, CORDON=str(Path(directory) / "src/cordon"))
        env.setdefault("CORDON_WINDOWS_POLICIES", "60")
        return fails("windows_lowering" if name.startswith("backend/") else "windows_paths", env)
    finally:
        path.write_text(before)


def main():
    directory, caught = str(Path(sys.argv[1]).resolve()), 0
    for what, *change in MUTANTS:
        result = is_caught(directory, change)
        caught += bool(result)
        print({True: "caught    ", False: "NOT caught", None: "no program"}[result], what, flush=True)
    build(directory)
    print(f"{caught} of {len(MUTANTS)} caught")
    return caught != len(MUTANTS)


sys.exit(main())
