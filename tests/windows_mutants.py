#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""windows_mutants.py BUILD [WORD]: breaks what lowers for Windows, and what edits access lists, in one place at a time
and runs its tests. With WORD only mutants whose file has it in its name.

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
EDIT, APPLY, WALK = (f"backend/windows/acl_{name}.c" for name in ("edit", "apply", "walk"))
CLEANUP, JOURNAL, BIND = (f"backend/windows/acl_{name}.c" for name in ("cleanup", "journal", "bind"))
SID, NEAR = "backend/windows/sid.c", "backend/windows/near.c"
# Which tests find what is broken there; for all others an e2e test.
UNIT = {EDIT: "edit apply", APPLY: "apply", WALK: "apply", CLEANUP: "apply", JOURNAL: "apply", BIND: "near", SID: "edit", NEAR: "near"}
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
    ("one capability for all policies", ACL, "buf_add(&text, digest);", "buf_add(&text, str_from(digest, digest.len));"),
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
    ("one family", NET, "add_family(&l, open_port, 4, e) < 0", "add_family(&l, open_port, 6, e) < 0"),
    ("a managed network is online", NET, 'net_mode(net) == NET_FULL ? "online"', 'net_mode(net) != NET_OFF ? "online"'),
    ("an allow counts for every spelling", "plan/index_build.c", "host->folds, host->has_table, e);", "host->folds, false, e);"),
    ("a deny counts for the table alone", "plan/index_build.c", "if (!x || !host->has_table)", "if (!x || host->has_table)"),
    ("a stream is another file", "base/windows_path.c", "*name = str_first(whole, colon);", "*name = colon > 4096 ? whole : str_first(whole, whole.len);"),
    ("dots at the end are kept", "base/windows_path.c", "while (is_last && colon == whole.len", "while (is_last && colon > whole.len"),
    ("a device is a file", "base/windows_path.c", 'return is_device(name) ? "is the name of a device" : NULL;', 'return is_device(name) && !name.len ? "is the name of a device" : NULL;'),
    ("a deny behind the allows", EDIT, "if (ace->is_deny)\n\t\treturn at;", "if (ace->is_deny && !all->count)\n\t\treturn at;"),
    ("what is inherited goes to the front", EDIT, "while ((ace->flags & ACL_INHERITED) && at", "while (!(ace->flags & ACL_INHERITED) && at"),
    ("an allow before a deny of somebody else's", EDIT, "if (entry->effect == EFFECT_DENY &&\n", "if (entry->effect == EFFECT_UNKNOWN &&\n"),
    ("entries are added twice", EDIT, "is_there = is_there || is_same(&all->items[j], ace);", "is_there = is_there && is_same(&all->items[j], ace);"),
    ("another mask is the same entry", EDIT, "entry->mask == ace->mask &&", "(entry->mask & 1) == (ace->mask & 1) &&"),
    ("other flags are the same entry", EDIT, "entry->flags == ace->flags && str_eq", "str_eq"),
    ("a list out of order is taken", EDIT, "if (!is_canonical(list))", "if (!is_canonical(list) && list.len < 8)"),
    ("an unknown kind is in order", EDIT, "entry->effect == EFFECT_UNKNOWN || rank", "rank"),
    ("a list may be too long", EDIT, "if (size > ACL_MAX_BYTES)", "if (size > 2 * ACL_MAX_BYTES)"),
    ("entries of others are taken out", EDIT, "if (all.items[i].sid.len && is_one_of", "if (all.items[i].sid.len || is_one_of"),
    ("FILE_DELETE_CHILD is allowed", EDIT, "WRITE_ATTRIBUTES | DELETE,\n};", "WRITE_ATTRIBUTES | DELETE | DELETE_CHILD,\n};"),
    ("the list may be changed", EDIT, "DELETE_CHILD | WRITE_DAC | WRITE_OWNER", "DELETE_CHILD | WRITE_OWNER"),
    ("a file inherits as a directory", EDIT, "ace.flags = is_dir ?", "ace.flags = !is_dir ?"),
    ("a missing entry is there", EDIT, "!search.is_found)", "!search.ace)"),
    ("any SID is a capability", SID, "if (get32(sid.p + HEAD_BYTES + 4 * i) != marker[i])", "if (get32(sid.p + HEAD_BYTES + 4 * i) == 1 + marker[i])"),
    ("all capabilities are one", SID, "digest[4 * i + 3];", "0u * digest[4 * i + 3];"),
    ("a SID has zeros in front", SID, "(at > 1 && text->p[0] == '0') || ", ""),
    ("a change before its record", APPLY, "if (record(run, &intent, e) < 0 ||\n", "if ("),
    ("a placeholder before its record", APPLY, "if (record(run, &made, e) < 0 ||\n\t\t", "if ("),
    ("the journal of another policy is taken", APPLY, "if (!acl_has_sid(&mine, records->items[i].sids.items[j]))", "if (!mine.sids.count)"),
    ("what the user made goes", APPLY, "return was_made ? record(run, &kept, e) : 0;", "return was_made && !kept.path.len ? record(run, &kept, e) : 0;"),
    ("two runs at once", APPLY, "|| system->lock(system->user, e) < 0)", ")"),
    ("placeholders stay after a run", APPLY, "r = remove_all_made(run, e);", "r = run->a ? 0 : remove_all_made(run, e);"),
    ("pins are passed on", APPLY, "const bool passes_on = ace->inherits && is_dir;", "const bool passes_on = is_dir;"),
    ("nothing is passed on", WALK, "passed_on[level.count++] = aces[i];", "(void)aces;"),
    ("what is written is not read back", WALK, "if (is_same_list(&now, to))", "if (now.bytes.len || is_same_list(&now, to))"),
    ("a failure is not undone", WALK, "undo(walk, object, &a, fresh, fresh_count);", "(void)undo;"),
    ("protected lists inherit", WALK, "if (is_inherited && before.is_protected)", "if (!is_inherited && before.is_protected)"),
    ("links are entered", WALK, "return goes_on && is_dir ? go_below", "return goes_on && child->is_dir ? go_below"),
    ("a deny may be skipped", WALK, "if (level->aces[i].is_deny)\n\t\t\treturn false;", "if (!level->aces)\n\t\t\treturn false;"),
    ("no list may be skipped", WALK, "return e->cause == CAUSE_ACL_UNUSUAL ||", "return !e->cause ||"),
    ("what is below keeps its entries", WALK, "return child->is_dir && !child->is_link ? go_below(&below, e) : 0;\n}\n\n/* NOLINT", "return child->is_dir && child->is_link ? go_below(&below, e) : 0;\n}\n\n/* NOLINT"),
    ("what a run holds is cleaned", CLEANUP, "place = acl_journals_hold_sid(c->all, sid) ?", "place = !c->all ?"),
    ("what has moved is not found", CLEANUP, "return system->open_id(", "return !system ? 0 : 0 && system->open_id("),
    ("what was put in its place is cleaned instead", CLEANUP, "if (out->handle && memcmp(out->id, record->id, ACL_ID_BYTES) == 0)", "if (out->handle)"),
    ("the journal goes before the work", CLEANUP, "if (clean_record(c, &records->items[i], e) < 0 && !first.code)\n\t\t\tfirst = *e;", "if (clean_record(c, &records->items[i], e) < 0 && first.code)\n\t\t\tfirst = *e;"),
    ("journals stay", CLEANUP, "return c->held.count || acl_journals_hold_made", "return !c->held.count || acl_journals_hold_made"),
    ("a torn record counts", JOURNAL, "if (!str_eq(digest, (struct str){ hex, DIGEST_DIGITS }))", "if (!digest.len)"),
    ("a record goes on behind a torn one", JOURNAL, "buf_add_char(out, '\\n');\n\tbuf_add(out, (struct str){ hex", "buf_add(out, (struct str){ hex"),
    ("what is full is removed", JOURNAL, "if (r == 0 && is_empty) {", "if (r == 0) {"),
    ("what a run needs is removed", JOURNAL, "if (acl_journals_hold_path(all, made->path))\n\t\treturn 0;", "if (!made->path.len)\n\t\treturn 0;"),
    ("what is the user's is removed", JOURNAL, "if (records->items[i].kind == ACL_KEPT &&", "if (records->items[i].kind == ACL_OBJECT &&"),
    ("allows first", BIND, "(int)b->ace.is_deny - (int)a->ace.is_deny", "(int)a->ace.is_deny - (int)b->ace.is_deny"),
    ("an unknown name is left out", BIND, 'if (!str_is(name, "group") || !known->group.len)', 'if (!str_is(name, "group"))'),
    ("every placeholder is a directory", BIND, "kind != PLACEHOLDER_DIR;", "kind == PLACEHOLDER_DIR && !path.len;"),
    ("what is far down is not near", NEAR, "add_path(n, plan->regions.items[i].path, e) < 0", "path_depth(plan->regions.items[i].path) < 7 && add_path(n, plan->regions.items[i].path, e) < 0"),
    ("a short name is a name", "base/windows_path.c", "stem.p[at - 1] == '~';", "stem.p[at - 1] == '~' && stem.len > 8;"),
)


def build(directory, *targets):
    return subprocess.run(["ninja", "-C", directory, *(targets or ["src/cordon"])], capture_output=True, check=False).returncode == 0


def fails(test, env):
    """Ends at the first case that fails."""
    with subprocess.Popen([sys.executable, "-u", TOP / f"tests/e2e/{test}.py"], env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as running:
        has_failed = any(line.startswith(b"not ok") for line in running.stdout)
        running.terminate()
    return has_failed


def unit_fails(directory, name):
    """None: it does not compile. A crash, or no end, is a failure too."""
    tests = [f"tests/unit/test_windows_{'acl_' * (test != 'near')}{test}" for test in UNIT[name].split()]
    if not build(directory, *tests):
        return None
    for test in tests:
        try:
            if subprocess.run([Path(directory) / test], capture_output=True, check=False, timeout=60).returncode != 0:
                return True
        except subprocess.TimeoutExpired:
            return True
    return False


def is_caught(directory, change):
    name, text, other = change
    path = TOP / "src" / name
    before = path.read_text()
    assert before.count(text) >= 1, f"{name} has no {text!r}"
    try:
        path.write_text(before.replace(text, other, 1))
        if name in UNIT:
            return unit_fails(directory, name)
        if not build(directory):
            return None
        env = dict(os.environ, CORDON=str(Path(directory) / "src/cordon"))
        env.setdefault("CORDON_WINDOWS_POLICIES", "60")
        return fails("windows_lowering" if name.startswith("backend/") else "windows_paths", env)
    finally:
        path.write_text(before)


def main():
    directory, caught = str(Path(sys.argv[1]).resolve()), 0
    chosen = [mutant for mutant in MUTANTS if all(word in mutant[1] for word in sys.argv[2:])]
    for what, *change in chosen:
        result = is_caught(directory, change)
        caught += bool(result)
        print({True: "caught    ", False: "NOT caught", None: "no program"}[result], what, flush=True)
    build(directory)
    print(f"{caught} of {len(chosen)} caught")
    return caught != len(chosen)


sys.exit(main())
