#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The profile that macOS would get means what the resolver says (P20), by a model of SBPL (sbpl.py)."""

import json
import os
import random
from pathlib import Path

from cli import World, case, run_cases
from sbpl import READINGS, Profile, ProfileError, parse

SEED = int(os.environ.get("CORDON_SEED") or random.SystemRandom().randrange(1 << 32))
POLICIES = int(os.environ.get("CORDON_SEATBELT_POLICIES") or 300)
NAMES = ["a", "b", "k", "s", "ss", ".env", "x.pem", "é", "ß", "A(b)", "q+r", "[z]", 'd"q', "b\\s", "n\nl", "f;g", "$^"]
GLOBS = ["**/*.pem", "**/.env", "a/*", "**/s*", "*/k", "**/[a-c]", "**/{k,.env}", "b/**", "**/*é*", "?", "**/a/**/b", "a*/k", "*s/**/a*"]
CONFIG = """\
default_permissions = "dev"
[permissions.dev]
extends = ":workspace"
[permissions.dev.filesystem]
":secrets" = "deny"
"""
WRITES = ("file-write-data", "file-write-create")


def lowering(w, view, config, *args):
    name = str(w.write("view.json", json.dumps(view)))
    w.write_config(config)
    options = ("--platform", "macos", "--host-view", name, "--config-file", str(w.config), *args)
    return w.ok("explain", "--json", *options).json, options


def why(w, options, path):
    found = w.run("why", "--json", "--path", path, *options).json
    return found["path"], found["access"]


def both(profile, operation, subject):
    answers = [profile.allows(operation, subject, r) for r in READINGS]
    assert answers[0] == answers[1], f"{operation} {subject!r}: {answers}, by {READINGS}"
    return answers[0]


def mac(files, **more):
    return {"view": 1, "platform": "macos", "home": "/Users/me", "cwd": "/w/r", "files": files, **more}


def raw(path):
    return path.encode("utf-8", "surrogateescape")


# ---- The model: each fact of it ---------------------------------------------------


def profile_of(*rules, **params):
    return Profile("(version 1)(deny default)" + "".join(rules), params)


@case
def an_operation_falls_back_to_its_wildcards_by_lists(w: World):
    p = profile_of('(allow file-read-data (subpath "/"))(deny file-read* (literal "/f"))')
    assert p.allows("file-read-data", b"/f", "lists") and not p.allows("file-read-data", b"/f", "text")
    p = profile_of('(allow file-write* (subpath "/"))(deny file-write-unlink (literal "/f"))')
    assert not both(p, "file-write-unlink", b"/f") and both(p, "file-write-create", b"/f")


@case
def the_last_rule_of_a_list_counts_and_not_the_deepest(w: World):
    p = profile_of('(deny file-read* (literal "/a/b"))(allow file-read* (subpath "/a"))')
    assert both(p, "file-read-data", b"/a/b")


@case
def a_rule_without_a_filter_is_only_a_default_by_lists(w: World):
    p = profile_of('(deny network-outbound (literal "/s"))(allow network-outbound)')
    assert not p.allows("network-outbound", b"/s", "lists") and p.allows("network-outbound", b"/s", "text")


@case
def filters_of_paths_go_by_components(w: World):
    p = profile_of('(allow file-read* (subpath "/a/b"))')
    assert both(p, "file-read-data", b"/a/b") and both(p, "file-read-data", b"/a/b/c")
    assert not both(p, "file-read-data", b"/a/bc") and not both(p, "file-read-data", b"/a")


@case
def a_profile_that_sandbox_exec_refuses_is_refused(w: World):
    for bad in ('(allow file-read* (subpath (param "NONE")))', '(allow file-read* (subpath "/a/"))',
                '(allow network-outbound (remote ip "10.0.0.1:80"))', '(allow file-read* (regex #"(?i)a"))',
                '(allow file-read* (regex #"a{2}"))', '(allow file-read* (colour "red"))', "(allow"):
        try:
            profile_of(bad)
        except ProfileError:
            continue
        assert False, bad


@case
def addresses_are_not_paths(w: World):
    p = profile_of('(allow network-outbound (remote ip "localhost:3128"))')
    assert both(p, "network-outbound", ("remote", b"localhost", b"3128"))
    assert not both(p, "network-outbound", ("remote", b"localhost", b"3129"))
    assert not both(p, "network-outbound", ("remote", b"*", b"3128"))
    assert not both(p, "network-outbound", b"/s")


@case
def a_path_is_compared_as_the_kernel_has_it(w: World):
    # Facts 6, 7, 9, 10: links, firmlinks, case and "..": a filter with another spelling matches nothing.
    p = profile_of('(allow file-read* (subpath "/tmp"))(allow file-read* (regex #"^/a/\\.git$"))')
    assert both(p, "file-read-data", b"/tmp/x") and not both(p, "file-read-data", b"/private/tmp/x")
    assert both(p, "file-read-data", b"/a/.git") and not both(p, "file-read-data", b"/a/.GIT")
    assert not both(p, "file-read-data", b"/System/Volumes/Data/tmp/x")


@case
def the_long_spelling_of_the_data_volume_is_the_short_one(w: World):
    # Fact 7: a rule for /System/Volumes/Data/Users would match nothing.
    long = "/System/Volumes/Data"
    config = CONFIG + f'"{long}/Users/me/keys" = "deny"\n"/system/volumes/data/private/etc/x" = "deny"\n"{long}/w2" = "deny"\n'
    for files in ({"/w/r": "dir", "/Users/me/keys": "file"}, {"/w/r": "dir", f"{long}/Users/me/keys": "file"}):
        found, options = lowering(w, mac(files), config)
        p = Profile(found["lowering"]["profile"], found["lowering"]["params"])
        for denied in (b"/Users/me/keys", b"/private/etc/x", f"{long}/w2".encode()):
            assert not both(p, "file-read-data", denied), denied
        assert both(p, "file-read-data", b"/Users/me/key")
        assert why(w, options, f"{long}/Users/me/keys/x") == ("/Users/me/keys/x", "deny")


@case
def what_does_not_exist_needs_no_literal_beside_its_subpath(w: World):
    # Fact 8 is said, not shown: the lowering leaves a missing path out by both.
    p = profile_of('(allow file-write* (require-all (subpath "/w") (require-not (literal "/w/m"))'
                   ' (require-not (subpath "/w/m"))))')
    assert both(p, "file-write-create", b"/w/x")
    assert not both(p, "file-write-create", b"/w/m") and not both(p, "file-write-create", b"/w/m/x")


@case
def a_hard_link_is_no_write(w: World):
    p = profile_of('(allow file-write* (subpath "/w"))')  # fact 11
    assert both(p, "file-write-create", b"/w/x") and not both(p, "file-link", b"/w/x")
    assert both(profile_of('(allow file* (subpath "/w"))'), "file-link", b"/w/x")


@case
def looking_at_a_directory_is_an_operation_of_its_own(w: World):
    p = profile_of('(allow file-read-metadata (literal "/w"))')  # facts 6 and 12
    assert both(p, "file-read-metadata", b"/w") and not both(p, "file-read-data", b"/w")


@case
def a_rename_asks_for_nothing_of_what_lies_below(w: World):
    # Fact 13: the deny below says nothing of a directory above it, which has to be kept by itself.
    p = profile_of('(allow file-write* (require-all (subpath "/w") (require-not (subpath "/w/d/secret"))))')
    assert not both(p, "file-write-unlink", b"/w/d/secret")
    assert both(p, "file-write-unlink", b"/w/d") and both(p, "file-write-create", b"/w/e")


@case
def execution_is_no_part_of_reading(w: World):
    p = profile_of('(allow process-exec (subpath "/"))(deny file-read* (literal "/f"))')  # fact 14
    assert both(p, "process-exec", b"/f") and not both(p, "file-read-data", b"/f")


@case
def a_wildcard_is_denied_with_all_its_operations(w: World):
    p = profile_of('(allow file-write* (subpath "/w"))(deny file-write* (literal "/w/f"))')  # fact 15
    for operation in ("file-write-data", "file-write-create", "file-write-unlink", "file-write-mode"):
        assert not both(p, operation, b"/w/f") and both(p, operation, b"/w/g"), operation


@case
def preferences_stay_closed_where_a_path_is(w: World):
    # Fact 16. Cordon's own secrets (P25) are closed in each, so not everything may be read.
    for profile in (":read-only", ":workspace"):
        found, _ = lowering(w, mac({"/w/r": "dir"}), f'default_permissions = "{profile}"\n')
        assert "user-preference-read" not in found["lowering"]["profile"], profile


@case
def listening_is_more_than_binding(w: World):
    p = profile_of('(allow network-bind (local ip "localhost:*"))')  # fact 17
    here = ("local", b"localhost", b"80")
    assert both(p, "network-bind", here) and not both(p, "network-inbound", here)


@case
def strings_and_regexes_are_read_as_far_as_anybody_knows(w: World):
    p = profile_of(r'(allow file-read* (literal "/a\"\\\x41"))(allow file-read* (literal "/[b]"))')  # facts 20 and 22
    assert both(p, "file-read-data", b'/a"\\A') and both(p, "file-read-data", b"/[b]")
    assert not both(p, "file-read-data", b"/b")
    p = profile_of('(allow file-read* (regex #"^/[^a](b|c)+$"))')  # fact 21: bytes, not characters
    assert both(p, "file-read-data", b"/xbc") and not both(p, "file-read-data", b"/abc")
    assert not both(p, "file-read-data", "/\u00e9b".encode())
    p = profile_of('(allow file-read* (literal (param "P")))', P='/"(;')  # fact 23
    assert both(p, "file-read-data", b'/"(;')


@case
def dots_are_no_way_to_a_path(w: World):
    p = profile_of('(allow file-read* (subpath "/a/./b"))(allow file-read* (literal "/a/../c"))')  # fact 9
    assert not both(p, "file-read-data", b"/a/b") and not both(p, "file-read-data", b"/c")


@case
def what_is_denied_everywhere_leaves_the_root_to_be_looked_at(w: World):
    # Fact 12: a program that can't read "/" is killed, and realpath() looks at each directory on the way.
    config = 'default_permissions = "few"\n[permissions.few.filesystem]\n":minimal" = "read"\n"/w/r" = "write"\n'
    found, _ = lowering(w, mac({"/w/r": "dir", "/o/f": "file"}), config)
    p = Profile(found["lowering"]["profile"], found["lowering"]["params"])
    assert both(p, "file-read-data", b"/") and both(p, "file-read-metadata", b"/w")
    assert not both(p, "file-read-data", b"/o/f") and not both(p, "file-read-data", b"/w")


@case
def a_bare_allow_of_connecting_opens_unix_sockets_and_an_address_does_not(w: World):
    p = profile_of("(allow network-outbound)")  # fact 19
    assert both(p, "network-outbound", b"/s") and both(p, "network-outbound", ("remote", b"*", b"80"))
    p = profile_of('(allow network-outbound (remote ip "*:*"))')
    assert not both(p, "network-outbound", b"/s") and both(p, "network-outbound", ("remote", b"*", b"80"))


# ---- P20: random policies and trees ------------------------------------------------


def random_path(rng, top, depth):
    return top + "".join("/" + rng.choice(NAMES) for _ in range(rng.randint(1, depth)))


def random_tree(rng):
    files = {"/w/r": "dir", "/o/x": "file", "/Users/me": "dir"}
    for _ in range(rng.randint(2, 10)):
        path = random_path(rng, rng.choice(["/w/r", "/w/r", "/o"]), 3)
        above = path
        while above != "/" and files.get(above) != "file":
            above = os.path.dirname(above)
        folded = {p.casefold() for p in files}
        if above == "/" and path.casefold() not in folded and not any(p.startswith(path + "/") for p in files):
            files[path] = rng.choice(["file", "dir", "dir"])
    return files


def random_policy(rng, files):
    lines = ["default_permissions = 'p'", "[permissions.p]"]
    lines.append(rng.choice(["", "extends = ':workspace'", "extends = ':read-only'", "extends = ':workspace'"]))
    lines.append("[permissions.p.filesystem]")
    keys = {}
    for _ in range(rng.randint(1, 6)):
        path = rng.choice([*files, random_path(rng, rng.choice(["/w/r", "/o"]), 3)])
        if not set(path) & set("*?[{\\"):
            keys[path] = rng.choice(["read", "write", "deny", "deny"])
    for _ in range(rng.randint(0, 2)):
        keys[rng.choice(["/w/r/", "/o/", "/w/r/a/"]) + rng.choice(GLOBS)] = "deny"
    if rng.random() < 0.2:
        keys[":secrets"] = "deny"
    lines += [f"{json.dumps(k, ensure_ascii=False)} = '{v}'" for k, v in keys.items()]
    return "\n".join(lines) + "\n", [k for k in keys if not set(k) & set("*?[{:")]


def misspell(rng, path, files, folds):
    """Another spelling of what does not exist; what exists has one name."""
    if not folds or path in files:
        return path
    known = path
    while known not in files and not any(f.startswith(known + "/") for f in files):
        known = os.path.dirname(known)
    rest = path[len(known):]
    for a, b in (("s", "ſ"), ("k", "\u212a"), ("é", "e\u0301"), ("ss", "ß")):
        if rng.random() < 0.4:
            rest = rest.replace(a, b)
    return known + "".join(c.upper() if rng.random() < 0.4 and len(c.upper()) == 1 else c for c in rest)


def is_below_file(path, files):
    return any(kind == "file" and path.startswith(f + "/") for f, kind in files.items())


def check_path(w, profile, options, path, pins):
    canonical, access = why(w, options, path)
    if canonical == "/":
        return canonical, access
    subject = raw(canonical)
    for operation in ("file-read-data", "process-exec"):
        assert both(profile, operation, subject) == (access != "deny"), f"{operation} {path!r}: {access}"
    for operation in WRITES:
        assert both(profile, operation, subject) == (access == "write"), f"{operation} {path!r}: {access}"
    stays = canonical in pins or why(w, options, os.path.dirname(canonical))[1] != "write"
    expected = access == "write" and not stays
    assert both(profile, "file-write-unlink", subject) == expected, f"unlink {path!r}: {access}, {stays}"
    return canonical, access


def check_policy(w, number, seed):
    rng = random.Random(seed)
    files = random_tree(rng)
    folds = rng.random() < 0.6
    config, entries = random_policy(rng, files)
    view = mac(files, case="insensitive" if folds else "sensitive")
    name = str(w.write("view.json", json.dumps(view)))
    w.write_config(config)
    options = ("--platform", "macos", "--host-view", name, "--config-file", str(w.config))
    found = w.run("explain", "--json", *options).json
    if "error" in found:
        return False  # two entries that contradict each other, a link, …
    lowered = found["lowering"]
    if "refusal" in lowered:
        return False
    profile = Profile(lowered["profile"], lowered["params"])
    pins = {pin["path"] for pin in found["pins"]}
    asked = rng.sample([*files, *entries], min(5, len(files) + len(entries)))
    asked += [random_path(rng, rng.choice(["/w/r", "/w/r", "/o"]), 4) for _ in range(4)]
    asked += [rng.choice(entries) + "/" + rng.choice(NAMES) for _ in entries[:2]]
    for path in asked:
        path = misspell(rng, path, files, folds)
        if is_below_file(path, files):
            continue
        canonical, access = check_path(w, profile, options, path, pins)
        if access == "write" or canonical not in files:
            continue
        above = os.path.dirname(canonical)
        while above != "/":  # what is narrower can't be moved away with a directory above it
            assert not both(profile, "file-write-unlink", raw(above)), f"{above!r} above {canonical!r}"
            above = os.path.dirname(above)
    return True


@case
def globs_say_the_same_in_both(w: World):
    names = ("ab/k", "ab/c/k", "AB/K", "B", "bc", "d", "[", "]", "a-b", "q^", "\u017fx", "x\u212a", "ss", "\u00df", "fi", "\ufb01x")
    for glob in ("a*/k", "[a-c]", "**/[!a-d]", "*x", "s*", "**/{a*b,d}/k", "[]^-]", "*i", "**/?"):
        for case_ in ("sensitive", "insensitive"):
            config = CONFIG + f'"/w/r/{glob}" = "deny"\n'
            found, options = lowering(w, mac({"/w/r": "dir"}, case=case_), config)
            profile = Profile(found["lowering"]["profile"], found["lowering"]["params"])
            for name in names:
                path, access = why(w, options, "/w/r/" + name)
                if case_ == "insensitive" and not name.isascii() and set(glob) & set("?["):
                    continue  # bytes of the folded name against bytes of the name: docs/platforms.md
                answer = both(profile, "file-read-data", raw(path))
                assert answer == (access != "deny"), f"{glob} {name!r} {case_}: {access}"


@case
def the_profile_answers_as_the_resolver_does(w: World):
    print(f"# CORDON_SEED={SEED}, {POLICIES} policies")
    checked = 0
    for number in range(POLICIES):
        try:
            checked += check_policy(w, number, f"{SEED}-{number}")
        except AssertionError as error:
            raise AssertionError(f"policy {number}: {error}\n{w.config.read_text()}"
                                 f"{(w.top / 'view.json').read_text() if (w.top / 'view.json').exists() else ''}") from None
    print(f"# {checked} policies had a profile")
    assert checked >= POLICIES * 0.7, checked


# ---- Quoting, and what can't be said -------------------------------------------------


def random_name(rng):
    """Bytes of a name, none that a glob would take for its own."""
    length = rng.randint(1, 12)
    special = b"\"'()[]^$.+|;#\n\t\r -{}&<>,"
    out = bytearray()
    while len(out) < length:
        c = rng.choice([rng.randrange(1, 256), rng.choice(special), rng.choice(special), rng.randrange(97, 123)])
        if c not in b"/*?[{\\":
            out.append(c)
    return b"_" + bytes(out)


@case
def any_byte_of_a_name_is_quoted(w: World):
    rng = random.Random(f"{SEED}-names")
    print(f"# CORDON_SEED={SEED}")
    for _ in range(40):
        name, other = random_name(rng), random_name(rng)
        files = {"/w/r": "dir", "/w/r/" + other.decode("utf-8", "surrogateescape"): "dir"}
        view = mac(files, case=rng.choice(["insensitive", "sensitive"]))
        lowered = lowering(w, view, "", "--full-auto", "--deny", name, "--deny", other)[0]["lowering"]
        profile = Profile(lowered["profile"], lowered["params"])
        for denied in (name, other, name + b"/x", other + b"/\n"):
            assert not both(profile, "file-write-create", b"/w/r/" + denied), (name, other)
            assert not both(profile, "file-read-data", b"/w/r/" + denied), (name, other)
        for near in (b"Q" + name, name + b"Q", name[:-1], other + b"Q", name[1:] + b"Q"):
            assert near in (b"_",) or both(profile, "file-write-create", b"/w/r/" + near), (name, near)


@case
def the_profile_has_no_deny_but_the_first(w: World):
    found, _ = lowering(w, mac({"/w/r": "dir"}), CONFIG)
    forms = parse(found["lowering"]["profile"].encode())
    assert [f for f in forms if f[0] == "deny"] == [["deny", "default"]]
    assert found["lowering"]["argv"][:3] == ["/usr/bin/sandbox-exec", "-p", found["lowering"]["profile"]]
    assert found["lowering"]["argv"][-1] == "--"
    given = [f"-D{k}={v}" for k, v in found["lowering"]["params"].items()]
    assert sorted(found["lowering"]["argv"][3:-1]) == sorted(given)


@case
def the_builtin_profiles_are_held_but_for_four_guarantees(w: World):
    for mode in ("read-only", "workspace-write"):
        found, _ = lowering(w, mac({"/w/r": "dir"}), "", "--mode", mode)
        assert set(found["lowering"]["missing"]) == {"ipc", "proc", "kernel", "tree_death"}
        assert found["enforced"] is False, found["enforced"]
    found, _ = lowering(w, mac({"/w/r": "dir"}), "", "--mode", "danger-full-access")
    assert found["lowering"] is None


@case
def what_a_profile_cannot_say_is_refused_by_guarantee(w: World):
    found, _ = lowering(w, mac({"/w/r": "dir"}), CONFIG.replace("[permissions.dev.filesystem]",
                                                                 'tmp = "private"\n[permissions.dev.filesystem]'))
    assert found["lowering"]["refusal"]["guarantee"] == "fs_read", found["lowering"]
    for limit, refused in (("timeout = '1s'", None), ("cpu_time = '1s'", "limits"), ("open_files = 9", "limits"), ("file_size = '1M'", "limits")):
        found, _ = lowering(w, mac({"/w/r": "dir"}), CONFIG.replace("[permissions.dev.filesystem]",
                                                                     f"limits.{limit}\n[permissions.dev.filesystem]"))
        assert found["lowering"].get("refusal", {}).get("guarantee") == refused, (limit, found["lowering"])
    many = "".join(f'"/w/r/{i:05}{"n" * 60}" = "deny"\n' for i in range(9000))
    found, _ = lowering(w, mac({"/w/r": "dir"}), CONFIG + many)
    assert found["lowering"]["refusal"]["guarantee"] == "fs_carve", found["lowering"]
    assert "profile" not in found["lowering"]


@case
def three_configurations_of_examples_mean_what_they_say(w: World):
    top = Path(__file__).parents[2] / "examples/macos"
    options = ("--platform", "macos", "--host-view", str(top / "host.json"), "--config-file")
    repo, home = "/Users/ana/work/repo/", "/Users/ana/"
    expected = {
        "shop": {"write": (repo + "src/a.js", home + ".npm/_cacache/x"),
                 "read": (repo + "package-lock.json", repo + "certs/dev/ca.pem", repo + ".git/config"),
                 "deny": (repo + "certs/prod.pem", repo + "apps/web/.env.local", repo + "x/.ENV", home + ".ssh/id_ed25519")},
        "crate": {"write": (repo + "src/lib.rs", home + ".cargo/registry/x"), "read": (home + ".rustup/toolchains",),
                  "deny": (home + ".cargo/credentials.toml", home + "Documents/a", "/private/tmp/x")},
        "infra": {"write": (repo + "modules/net/main.tf",), "read": (repo + "src/lib.rs",),
                  "deny": (repo + "state/x", repo + "modules/net/README.md", repo + "modules/a.tfstate", home + ".kube/config")},
    }
    for name, answers in expected.items():
        found = w.ok("explain", "--json", *options, str(top / f"{name}.toml")).json["lowering"]
        p = Profile(found["profile"], found["params"])
        for access, paths in answers.items():
            for path in paths:
                assert w.run("why", "--json", "--path", path, *options, str(top / f"{name}.toml")).json["access"] == access, path
                assert both(p, "file-read-data", raw(path)) == (access != "deny"), (name, path)
                assert both(p, "file-write-data", raw(path)) == (access == "write"), (name, path)
                assert not both(p, "file-link", raw(path)), (name, path)
        # For people: no numbers of parameters, no classes of capitals.
        said = w.ok("explain", *options, str(top / f"{name}.toml")).out
        assert "(param " not in said and "[nN]" not in said and f"(subpath {repo[:-1]}" in said, said


# ---- Bad input --------------------------------------------------------------------------


@case
def a_view_that_lies_is_an_error_that_names_it(w: World):
    for files, word in (({"/w/r": "dir", "/w/r/f": "file", "/w/r/f/g": "file"}, "/w/r/f"),
                        ({"/w/r": "dir", "/w/r/d": "dir", "/W/R/d": "file"}, "/W/R/d"),
                        ({"/w/r": "dir", "/w/r/x": {"kind": "file"}}, "kind")):
        name = str(w.write("view.json", json.dumps(mac(files))))
        said = w.run("explain", "--platform", "macos", "--host-view", name)
        assert said.status != 0 and word in said.err, (files, said.err)
    loop = mac({"/w/r": "dir", "/w/a": {"link": "b"}, "/w/b": {"link": "a"}})
    w.write_config('[permissions.p]\nextends = ":workspace"\n[permissions.p.filesystem]\n"/w/a/x" = "deny"\n')
    name = str(w.write("view.json", json.dumps(loop)))
    said = w.run("explain", "--platform", "macos", "--host-view", name, "--config-file", str(w.config), "-P", "p")
    assert said.status != 0 and "symbolic links in a row" in said.err, said.err


# ---- The network ----------------------------------------------------------------------

PROXY, HOST = ("remote", b"localhost", b"43128"), ("remote", b"*", b"443")


def network(w, table, **more):
    files = {"/w/r": "dir", "/private/var/run/a.sock": "socket", "/private/var/run/b.sock": "socket",
             "/var": {"link": "private/var"}}
    found, _ = lowering(w, mac(files, proxy_port=43128, **more), CONFIG + "[permissions.dev.network]\n" + table)
    return Profile(found["lowering"]["profile"], found["lowering"]["params"])


@case
def the_network_is_off_managed_or_full(w: World):
    sock = b"/private/var/run/a.sock"
    p = network(w, "enabled = false\n")
    assert not any(both(p, "network-outbound", s) for s in (PROXY, HOST, sock))
    p = network(w, "enabled = true\n")
    assert both(p, "network-outbound", HOST) and both(p, "network-bind", ("local", b"*", b"80"))
    assert both(p, "network-outbound", sock)  # but none in what is denied
    assert not both(p, "network-outbound", b"/Users/me/.ssh/agent.sock")
    assert both(p, "network-bind", b"/w/r/s") and not both(p, "network-bind", b"/o/s")
    p = network(w, 'enabled = true\ndomains = { "a.com" = "allow" }\n')
    assert both(p, "network-outbound", PROXY)
    assert not both(p, "network-outbound", HOST) and not both(p, "network-outbound", sock)
    assert not both(p, "network-outbound", ("remote", b"localhost", b"80"))
    assert not both(p, "network-outbound", b"/private/var/run/mDNSResponder")
    assert not both(p, "network-inbound", ("local", b"localhost", b"80"))


@case
def one_port_is_opened_whatever_the_port_of_the_proxy(w: World):
    p = network(w, 'enabled = true\nallow_local_binding = true\ndomains = { "*" = "allow" }\n')
    assert both(p, "network-outbound", PROXY)
    for port in (43127, 43129, 4312, 431288, 3128, 53, 1, 65535):
        for host in (b"localhost", b"*"):
            assert not both(p, "network-outbound", ("remote", host, str(port).encode())), (host, port)
    # Who listens with allow_local_binding can't be connected to, and listens on the loopback alone.
    assert both(p, "network-inbound", ("local", b"localhost", b"8000"))
    assert not both(p, "network-inbound", ("local", b"192.0.2.1", b"8000"))


@case
def the_proxy_keeps_the_network_and_two_files(w: World):
    files = {"/w/r": "dir"}
    table = '[permissions.dev.network]\nenabled = true\n'
    found, _ = lowering(w, mac(files), CONFIG + table)
    assert "proxy_profile" not in found["lowering"]  # nothing is managed
    found, _ = lowering(w, mac(files), CONFIG + table + 'domains = { "a.com" = "allow" }\n')
    p = Profile(found["lowering"]["proxy_profile"], {})
    assert both(p, "network-outbound", HOST) and both(p, "network-inbound", ("local", b"localhost", b"43128"))
    for name in (b"/private/etc/hosts", b"/private/etc/resolv.conf", b"/private/var/run/resolv.conf"):
        assert both(p, "file-read-data", name) and both(p, "file-read-metadata", name)
    assert both(p, "file-read-metadata", b"/etc") and not both(p, "file-read-data", b"/etc")
    for name in (b"/", b"/private/etc", b"/private/etc/master.passwd", b"/private/etc/hosts/x", b"/Users/me/.ssh/id",
                 b"/w/r/x", b"/usr/bin/true", b"/dev/null", b"/private/etc/hosts.equiv"):
        for operation in ("file-read-data", "file-write-data", "file-write-create", "file-write-unlink", "file-link",
                          "process-exec"):
            assert not both(p, operation, name), (operation, name)
    for name in (b"/private/etc/hosts", b"/private/etc/resolv.conf"):
        assert not both(p, "file-write-data", name) and not both(p, "process-exec", name)
    # Unix sockets, the system's resolver among them; services; other processes.
    assert not both(p, "network-outbound", b"/private/var/run/mDNSResponder")
    for operation in ("mach-lookup", "process-fork", "process-exec", "signal", "process-info-pidinfo", "sysctl-write",
                      "iokit-open", "ipc-posix-shm-read-data", "system-socket", "user-preference-read"):
        assert not both(p, operation, b"com.apple.anything"), operation


@case
def unix_sockets_are_opened_one_by_one_by_their_real_paths(w: World):
    p = network(w, 'enabled = true\nunix_sockets = { "/var/run/a.sock" = "allow" }\n')
    assert both(p, "network-outbound", b"/private/var/run/a.sock")
    assert not both(p, "network-outbound", b"/private/var/run/b.sock")


@case
def own_listeners_can_be_reached_from_outside_and_not_from_inside(w: World):
    p = network(w, 'enabled = true\nallow_local_binding = true\ndomains = { "a.com" = "allow" }\n')
    assert both(p, "network-bind", ("local", b"localhost", b"80"))
    assert both(p, "network-inbound", ("local", b"localhost", b"80"))
    assert not both(p, "network-outbound", ("remote", b"localhost", b"80"))


run_cases()
