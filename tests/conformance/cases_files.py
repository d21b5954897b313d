# SPDX-License-Identifier: MIT
"""Files: every way to write × every kind of place that must not be written, then
ways round: other names for the same file, renamed ancestors, descriptors, masks."""

import os

from conform import (
    HIDDEN,
    READ_ONLY,
    Skip,
    await_path,
    case,
    check,
    check_same,
    rows,
    these_need,
)

# ---- Every write primitive ---------------------------------------------------------

these_need("fs_write")

CARVED = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/docs" = "read"
"{work}/secret" = "deny"
"""
PLACES = ["{out}/p", "{work}/.git/p", "{work}/docs/p", "{work}/secret/p"]
CARVED_OPEN = CARVED.replace('"{work}/secret" = "deny"\n', "")
OPEN = "{work}/open"

# {p} is the place, {o} a directory that may be written, {s} a file in it.
PRIMITIVES = {
    "open": "write {p}/file",
    "append": "append {p}/file",
    "open_with_truncation": "open-trunc {p}/file",
    "pwritev2": "pwritev2 {p}/file",
    "openat2": "openat2-write {p}/file",
    "open_from_a_directory": "write-at {p} file",
    "creat": "create {p}/new",
    "openat2_creat": "openat2-create {p}/new",
    "creat_from_a_directory": "create-at {p} new",
    "o_tmpfile": "tmpfile {p} {p}/new",
    "o_tmpfile_linked_in": "tmpfile {o} {p}/new",
    "rename_in": "rename {s} {p}/new",
    "rename_over": "rename {s} {p}/file",
    "rename_out": "rename {p}/file {s}.out",
    "rename_within": "rename {p}/file {p}/new",
    "rename_of_a_directory": "rename {p}/dir {s}.dir",
    "exchange": "exchange {s} {p}/file",
    "exchange_out": "exchange {p}/file {s}",
    "rename_without_replacing": "noreplace {s} {p}/new",
    "whiteout": "whiteout {p}/file {p}/new",
    "link_out": "link {p}/file {s}.link",
    "link_in": "link {s} {p}/new",
    "link_of_a_descriptor": "link-fd {p}/file {s}.link",
    "symlink": "symlink target {p}/new",
    "symlink_swapped_in": "symlink-over target {p}/file",
    "unlink": "unlink {p}/file",
    "mkdir": "mkdir {p}/new",
    "rmdir": "rmdir {p}/dir",
    "mkfifo": "mkfifo {p}/new",
    "mknod": "mknod {p}/new f 0 0",
    "bind_of_a_socket": "bind-name {p}/new",
    "chmod": "chmod {p}/file 0600",
    "chmod_of_a_directory": "chmod {p} 0700",
    "fchmod": "fchmod {p}/file 0600",
    "fchmodat": "fchmodat {p}/file 0600",
    "fchmodat2": "fchmodat2 {p}/file 0600",
    "chmod_of_a_descriptor": "chmod-fd {p}/file 0600",
    "chown": "chown {p}/file",
    "lchown": "lchown {p}/link",
    "fchown": "fchown {p}/file",
    "fchownat": "fchownat {p}/file",
    "utimes": "utimes {p}/file",
    "utimes_of_a_link": "utimes-link {p}/link",
    "futimens": "futimens {p}/file",
    "setxattr": "setxattr {p}/file",
    "fsetxattr": "fsetxattr {p}/file",
    "setxattrat": "setxattrat {p}/file",
    "removexattr": "removexattr {p}/file",
    "file_flags": "setflags {p}/file",
    "file_setattr": "setattr {p}/file",
    "truncate": "truncate {p}/file",
    "ftruncate": "ftruncate {p}/file",
    "fallocate": "fallocate {p}/file",
    "punched_hole": "punch {p}/file",
    "mmap": "mmap {p}/file",
    "reopened_descriptor": "reopen {p}/file",
    "reopened_path_descriptor": "reopen-path {p}/file",
    "splice": "splice {p}/file",
    "sendfile": "sendfile {p}/file {s}",
    "copy_file_range": "copy-file-range {p}/file {s}",
    "clone_file": "clone-file {p}/file {s}",
    "io_uring": "io-uring {p}/file",
}
# Refused inside altogether, or (openat2, for root) not there: then open() is the allow.
ONLY_REFUSED = {"io_uring", "openat2", "openat2_creat", "whiteout"}
# Landlock knows no right for these, so they are refused everywhere where it is alone.
METADATA = {name for name in PRIMITIVES if name.startswith(
    ("chmod", "fchmod", "chown", "lchown", "fchown", "utimes", "futimens", "setxattr", "fsetxattr", "removexattr", "file_"))}
MAY_LACK = {"clone_file", "io_uring", "setxattrat", "file_setattr", "fchmodat2", "whiteout"}


def primitive_tree():
    tree = {}
    for place in [*PLACES, OPEN]:
        tree[f"{place}/file"] = "text that is long enough\n"
        tree[f"{place}/link"] = "->file"
        tree[f"{place}/dir/"] = ""
    for n in range(len(PLACES) + 1):
        tree[f"{OPEN}/s{n}"] = "source text\n"
    return tree


def places_of(arena):
    """All of them, but for a backend that knows nothing narrower inside what is writable."""
    return PLACES[:1] if arena.lacks & {"fs_carve", "fs_read"} else PLACES


def primitive_box(arena):
    is_whole = places_of(arena) == PLACES
    watch = ("{out}", "{work}/.git", "{work}/docs", "{work}/secret") if is_whole else ("{out}",)
    box = arena.box(tree=primitive_tree(), policy=CARVED if is_whole else None, watch=watch)
    for place in [*PLACES, OPEN]:
        os.setxattr(box.path(f"{place}/file"), "user.cordon", b"mark")
    return box


def primitive_case(name, template):
    def run(arena):
        def at(place, n):
            text = template.replace("{p}", place).replace("{o}", OPEN)
            return text.replace("{s}", f"{OPEN}/s{n}")

        places = places_of(arena)
        refused = [at(place, n) for n, place in enumerate(places)]
        is_only_refused = name in ONLY_REFUSED or name in METADATA and arena.backend == "landlock"
        allowed = "write {work}/open/file" if is_only_refused else at(OPEN, len(places))
        reads = [f"read {place}/file" for place in places]
        for attempt, got in zip(refused, primitive_box(arena).bare(*refused)):
            if name in MAY_LACK and got in ("ENOSYS", "EOPNOTSUPP", "EPERM", "EINVAL"):
                raise Skip(f"the control is {got}")
            check(got == "OK", f"the control is {got}, shows nothing: {attempt}")
        inside = primitive_box(arena)
        before = inside.snapshot()
        done = inside.run(*reads, allowed, *refused)
        for place, got in zip(places, done):
            want = HIDDEN if "secret" in place else {"OK text that is long enough\\x0a"}
            check(got in want, f"read {place}/file: {got}")
        check(done[len(places)] == "OK", f"allowed, but {done[len(places)]}: {allowed}")
        for attempt, got in zip(refused, done[len(places) + 1 :]):
            errors = READ_ONLY | (HIDDEN if "secret" in attempt else set())
            errors |= {"ENOSYS"} if is_only_refused else set()
            check(got in errors, f"expected one of {sorted(errors)}, got {got}: {attempt}")
        check_same(before, inside.snapshot(), f"was changed by {name}")

    run.__name__ = f"{name}_changes_nothing_that_is_read_only_or_denied"
    case(run)


for _name, _template in PRIMITIVES.items():
    primitive_case(_name, _template)


@case(needs=())
def modes_times_and_attributes_can_be_changed_where_one_may_write(arena):
    box = primitive_box(arena)
    names = sorted(METADATA - MAY_LACK - {"file_flags"})
    attempts = [PRIMITIVES[n].replace("{p}", OPEN).replace("{s}", f"{OPEN}/s0") for n in names]
    got = box.run(*attempts)
    check(got == ["OK"] * len(names), f"{dict(zip(names, got))}")


@case
def read_only_mode_writes_nothing(arena):
    box = arena.box(options=("--mode", "read-only"), watch=("{out}", "{work}", "{tmp}"))
    before = box.snapshot()
    attempts = ["write {work}/file", "create {work}/new", "create {tmp}/new", "unlink {work}/file"]
    done = box.run("read {work}/file", "open-write /dev/null", *attempts)
    check(done[0].startswith("OK inside") and done[1] == "OK", f"{done}")
    check(set(done[2:]) <= READ_ONLY, f"{done}")
    check_same(before, box.snapshot(), "was changed")
    check(arena.box().bare(*attempts) == ["OK"] * 4, "the control shows nothing")


@case
def the_default_profile_is_read_only(arena):
    box = arena.box(options=("--quiet",), watch=("{out}", "{work}"))
    before = box.snapshot()
    done = box.run("read {work}/file", "write {work}/file")
    check(done[0].startswith("OK") and done[1] in READ_ONLY, f"{done}")
    check_same(before, box.snapshot(), "was changed")
    check(box.bare("write {work}/file") == ["OK"], "the control shows nothing")


@case(needs=())
def ordinary_work_within_a_writable_root_is_not_hindered(arena):
    """Renames and links from one directory to another, which Landlock calls REFER."""
    box = arena.box(tree={"{work}/a/one": "1", "{work}/a/two": "2", "{work}/b/three": "3", "{work}/a/d/": ""})
    got = box.run("rename {work}/a/one {work}/b/one", "link {work}/a/two {work}/b/two",
                  "exchange {work}/a/two {work}/b/three", "rename {work}/a/d {work}/b/d",
                  "rename {work}/b/one {work}/b/three", "tmpfile {work}/a {work}/b/four",
                  "rename {work}/b {work}/c", "symlink c {work}/b", "mkfifo {work}/fifo",
                  "bind-name {work}/socket", "create {tmp}/new", "rename {work}/a/d {work}/x")
    check(got[:-1] == ["OK"] * 11 and got[-1] == "ENOENT", f"{got}")


def try_pipe(arena, place):
    """A read-only mount does not keep anyone from writing into a named pipe."""
    tree = {"{work}/docs/file": "d", "{work}/.git/config": "c"}
    box = arena.box(tree=tree, policy=None if place == "{out}" else CARVED_OPEN)
    os.mkfifo(box.path(f"{place}/pipe"))
    reader = os.open(box.path(f"{place}/pipe"), os.O_RDONLY | os.O_NONBLOCK)
    try:
        got = box.run(f"write {place}/pipe", "write {work}/file")
        check(got[1] == "OK", f"{got}")
        check(got[0] in READ_ONLY, f"{place}: {got}")
        check(box.bare(f"write {place}/pipe") == ["OK"], "the control shows nothing")
    finally:
        os.close(reader)


@case
def a_named_pipe_outside_is_not_written_into(arena):
    try_pipe(arena, "{out}")


@case(needs={"fs_carve"})
def a_named_pipe_in_a_read_only_carve_out_is_not_written_into(arena):
    try_pipe(arena, "{work}/docs")


# ---- Other names for the same file ---------------------------------------------------

these_need("fs_write")

rows(
    "other_names_of_a_read_only_file_are_no_way_to_it",
    refused=[
        "write /proc/self/root{out}/file",
        "write /proc/thread-self/root{out}/file",
        "write /proc/self/cwd/../out/file",
        "write ../out/file",
        "write {work}/../out/file",
        "write {work}/up/file",
        "write {work}/uplink",
        "write //{out}//file",
        "create {work}/up/new",
        "touch {work}/dangling",
    ],
    allowed=["write /proc/self/root{work}/file", "write /proc/self/cwd/file", "write ./file"],
    tree={
        "{work}/up": "->{out}",
        "{work}/uplink": "->../out/file",
        "{work}/dangling": "->{out}/missing",
    },
)

rows(
    "the_root_of_another_process_is_no_way_out",
    refused=["write /proc/1/root{out}/file", "write /proc/1/cwd/../out/file"],
    allowed=["write /proc/self/root{work}/file"],
    errors=READ_ONLY | HIDDEN,
    control=None,  # the next case's
)


@case
def the_root_of_a_host_process_is_no_way_out(arena):
    box, equal = arena.box(), arena.box()
    pid = arena.victim(cwd=box.out).pid
    for name in ("root{out}", "cwd"):
        got = box.run(f"write /proc/{pid}/{name}/file", "write {work}/file")
        check(got[0] in HIDDEN | READ_ONLY and got[1] == "OK", f"{name}: {got}")
        got = equal.bare(f"write /proc/{pid}/{name}/file")
        check(got == ["OK"], f"the control shows nothing: {got}")


# ---- Renamed ancestors (P8) ---------------------------------------------------------

these_need("fs_carve")

NESTED = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/ci/deploy/keys" = "read"
"{work}/a/b/secret" = "deny"
"""
NESTED_TREE = {
    "{work}/ci/deploy/keys/file": "key\n",
    "{work}/a/b/secret/file": "secret\n",
    "{work}/plain/file": "plain\n",
    "{work}/fresh/deploy/keys/file": "planted\n",
    "{work}/.git/config": "[core]\n",
}


@case
def renamed_ancestors_do_not_shake_off_a_rule(arena):
    attempts = [
        "rename {work}/ci {work}/old",
        "rename {work}/ci/deploy {work}/old",
        "rename {work}/ci/deploy/keys {work}/old",
        "rename {work}/a {work}/old",
        "rename {work}/a/b {work}/old",
        "rename {work}/.git {work}/old",
        "exchange {work}/ci {work}/fresh",
        "exchange {work}/fresh {work}/ci",
        "symlink-over fresh {work}/ci",
        "rename {work}/fresh {work}/ci",
        "rmdir {work}/ci/deploy/keys",
        "rename {work} {top}/moved",
    ]
    watch = ("{work}/ci", "{work}/a", "{work}/.git", "{out}")
    box = arena.box(tree=NESTED_TREE, policy=NESTED, watch=watch)
    before = box.snapshot()
    done = box.run("rename {work}/plain {work}/plain2", "create {work}/ci/new", *attempts)
    check(done[:2] == ["OK", "OK"], f"allowed: {done}")
    errors = READ_ONLY | {"EBUSY", "ENOTEMPTY", "EISDIR", "EEXIST"}
    for attempt, got in zip(attempts, done[2:]):
        check(got in errors, f"{got}: {attempt}")
    box.path("{work}/ci/new").unlink()
    after = box.snapshot()
    for path, seen in before.items():
        check(after.get(path, [0] * 4)[:4] == seen[:4], f"{path}: {seen} -> {after.get(path)}")
    # Without a sandbox each of these works, in a tree of its own.
    for attempt in attempts:
        if attempt.split()[0] in ("symlink-over", "rmdir") or attempt.endswith("fresh {work}/ci"):
            continue
        equal = arena.box(tree=NESTED_TREE)
        got = equal.bare(attempt)
        check(got == ["OK"], f"the control is {got}: {attempt}")


@case
def a_directory_made_anew_under_an_old_name_is_not_writable(arena):
    """`mv ci old; mkdir ci; write ci/...`: the way that needs no privilege at all."""
    steps = [
        "rename {work}/ci {work}/old",
        "mkdir {work}/ci",
        "mkdir {work}/ci/deploy",
        "mkdir {work}/ci/deploy/keys",
        "create {work}/ci/deploy/keys/planted",
    ]
    box = arena.box(tree=NESTED_TREE, policy=NESTED)
    got = box.run(*steps)
    check(got[-1] in READ_ONLY, f"{got}")
    check(not box.path("{work}/ci/deploy/keys/planted").exists(), "was planted")
    check(arena.box(tree=NESTED_TREE).bare(*steps) == ["OK"] * 5, "the control shows nothing")


# ---- Masks ----------------------------------------------------------------------------

these_need("fs_read", "fs_carve", "protect_missing")

MASKS = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/key" = "deny"
"{work}/keys" = "deny"
"{work}/keylink" = "deny"
"{out}/shadow" = "deny"
"{work}/later/missing" = "deny"
"""
MASKS_TREE = {
    "{work}/key": "SECRET",
    "{work}/keys/one": "SECRET",
    "{work}/keys/deep/two": "SECRET",
    "{work}/target": "SECRET",
    "{work}/keylink": "->target",
    "{work}/tokey": "->key",
    "{out}/shadow": "SECRET",
    "{work}/later/": "",
    "{work}/plain": "plain",
}
MASKED = [
    "{work}/key",
    "{work}/keys/one",
    "{work}/keys/deep/two",
    "{work}/target",
    "{work}/keylink",
    "{work}/tokey",
    "{out}/shadow",
    "/proc/self/root{work}/key",
    "/proc/self/cwd/key",
]

rows(
    "denied_files_directories_and_links_can_not_be_read",
    refused=[f"read {path}" for path in MASKED],
    allowed=["read {work}/plain", "read {out}/file"],
    errors=HIDDEN,
    tree=MASKS_TREE,
    policy=MASKS,
    watch=("{work}/key", "{work}/keys", "{work}/target", "{out}"),
)


@case
def denied_things_can_not_be_replaced_listed_or_made(arena):
    attempts = [
        "list {work}/keys",
        "rename {work}/key {work}/key2",
        "unlink {work}/key",
        "link {work}/key {work}/key3",
        "rename {work}/keys {work}/keys2",
        "create {work}/keys/new",
        "mkdir {work}/keys/newdir",
        "unlink {work}/keylink",
        "create {work}/later/missing",
        "mkdir {work}/later/missing",
        "symlink {out} {work}/later/missing",
        "rename {work}/plain {work}/later/missing",
    ]
    watch = ("{work}/key", "{work}/keys", "{work}/target", "{out}")
    box = arena.box(tree=MASKS_TREE, policy=MASKS, watch=watch)
    before = box.snapshot()
    done = box.run("create {work}/later/other", *attempts)
    check(done[0] == "OK", f"{done}")
    for attempt, got in zip(attempts, done[1:]):
        errors = READ_ONLY | HIDDEN | {"EEXIST", "EISDIR", "ENOTEMPTY", "EBUSY"}
        check(got in errors or got == "OK" and attempt.startswith("list"), f"{got}: {attempt}")
    check(done[1] in READ_ONLY | HIDDEN | {"OK"}, f"listed: {done[1]}")
    check_same(before, box.snapshot(), "was changed")
    check(not os.path.lexists(box.path("{work}/later/missing")), "the placeholder stayed")
    alone = ["list {work}/keys", "rename {work}/key {work}/key2", "create {work}/keys/new"]
    alone += ["unlink {work}/keylink", "create {work}/later/missing"]
    got = arena.box(tree=MASKS_TREE).bare(*alone)
    check([g.split()[0] for g in got] == ["OK"] * 5, f"the control shows nothing: {got}")


@case
def denied_programs_do_not_run_and_tell_nothing_of_themselves(arena):
    policy = MASKS.replace('"{work}/key" = "deny"', '"{work}/tool" = "deny"')
    box = arena.box(tree={**MASKS_TREE, "{work}/tool": "#!/bin/sh\necho ran\n"}, policy=policy)
    box.path("{work}/tool").chmod(0o755)
    os.setxattr(box.path("{work}/tool"), "user.cordon", b"value")
    script = "./tool; sh tool; (. ./tool); cat <tool; stat -c %s tool; cp tool copy; ls keys/one; cd keys; true"
    out, err, _ = box.finish([*box.argv(), "/bin/sh", "-c", script])
    check(out == "0\n", f"{out!r} {err}")
    check(not box.path("{work}/copy").exists(), "it was copied")
    out, _, _ = box.finish(["/bin/sh", "-c", script])
    check(out.count("ran") >= 3, f"the control shows nothing: {out}")


@case
def a_hard_link_that_existed_before_is_another_name(arena):
    """Documented: a mask covers a name; a second name of the same file has to be denied too.
    What a command can't do is make such a name."""
    policy = MASKS.replace('"{work}/keylink" = "deny"', '"{work}/second" = "deny"')
    tree = {**MASKS_TREE, "{work}/second": "={work}/key"}
    box = arena.box(tree=tree, policy=policy)
    got = box.run("read {work}/key", "read {work}/second", "link {work}/second {work}/third")
    check(set(got) <= HIDDEN | READ_ONLY, f"{got}")
    check(box.bare("read {work}/second") == ["OK SECRET"], "the control shows nothing")


# ---- Globs (P6) --------------------------------------------------------------------------

these_need("fs_read", "fs_carve")

GLOBS = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/**/*.env" = "deny"
"{work}/**/de*p" = "deny"
"""
GLOBS_TREE = {
    "{work}/a.env": "SECRET",
    "{work}/x/y/.env": "SECRET",
    "{work}/x/b.env/inner": "SECRET",
    "{work}/deep/inner": "SECRET",
    "{work}/real": "SECRET",
    "{work}/link.env": "->real",
    "{work}/a.env.md": "plain",
    "{work}/x/plain": "plain",
}
GLOBBED = ["a.env", "x/y/.env", "x/b.env/inner", "deep/inner"]
PLAIN_GLOBS_TREE = {name: text for name, text in GLOBS_TREE.items() if name not in ("{work}/link.env", "{work}/real")}

for _label, _tree, _names in (
    ("files_and_directories", PLAIN_GLOBS_TREE, GLOBBED),
    ("links_and_what_they_lead_to", GLOBS_TREE, [*GLOBBED, "link.env", "real"]),
):
    rows(
        f"globs_deny_{_label}_at_any_depth",
        refused=[f"read {{work}}/{name}" for name in _names],
        allowed=["read {work}/a.env.md", "read {work}/x/plain", "create {work}/x/new"],
        errors=HIDDEN,
        tree=_tree,
        policy=GLOBS,
        watch=tuple("{work}/" + name for name in ("a.env", "x/y", "x/b.env", "deep", "real")),
    )


# ---- Secrets (P5, P7) ----------------------------------------------------------------------------

SECRETS = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
":secrets" = "deny"
"~/.npmrc" = "read"
"{work}/open" = { ".env" = "write" }
"""
AGENTS = [".codex/auth.json", ".claude/.credentials.json", ".gemini/oauth_creds.json", ".qwen/oauth_creds.json",
          ".local/share/opencode/auth.json", ".pi/agent/auth.json", ".copilot/config.json"]
CREDENTIALS = [*AGENTS, ".config/gcloud/db", ".azure/x", ".pypirc", ".ssh/id_rsa"]

rows(
    "credentials_are_secrets_but_for_those_that_an_entry_names",
    refused=["read {work}/.env", "read {work}/sub/.env", *(f"read {{home}}/{name}" for name in CREDENTIALS)],
    allowed=["read {home}/.npmrc", "read {work}/open/.env", "append {work}/open/.env",
             "read {home}/.codex/config.toml", "read {home}/.gemini/settings.json"],
    errors=HIDDEN,
    tree={**{f"{{home}}/{name}": "SECRET" for name in [*CREDENTIALS, ".npmrc", ".codex/config.toml",
                                                       ".gemini/settings.json"]},
          **{f"{{work}}/{name}": "SECRET" for name in (".env", "sub/.env", "open/.env")}},
    policy=SECRETS,
    watch=("{home}", "{work}/.env", "{work}/sub"),
)


@case
def no_project_opens_a_secret(arena):
    tree = {"{home}/.npmrc": "SECRET", "{home}/.pypirc": "SECRET",
            "{work}/.cordon/config.toml": '[filesystem]\n":secrets" = "deny"\n"~/.pypirc" = "read"\n'}
    box = arena.box(tree=tree, policy=SECRETS)
    check(set(box.run("read {home}/.npmrc", "read {home}/.pypirc")) <= HIDDEN, "the project's word counts")
    box.path("{work}/.cordon/config.toml").write_text('[filesystem]\n"~/.pypirc" = "read"\n')
    got = box.run("read {home}/.npmrc", "read {home}/.pypirc")
    check(got[0] == "OK SECRET" and got[1] in HIDDEN, f"{got}")
    check(box.bare("read {home}/.pypirc") == ["OK SECRET"], "the control shows nothing")


# ---- Globs, later -------------------------------------------------------------------------------


@case
def a_name_that_appears_later_is_masked_when_it_is_seen(arena):
    box = arena.box(tree=PLAIN_GLOBS_TREE, policy=GLOBS)
    argv = box.argv("create {work}/ready", "await {work}/x/host.env", "create {work}/new.env",
                    "mkdir {work}/made", "create {work}/made/deeper.env", "await-closed {work}/x/host.env",
                    "await-closed {work}/new.env", "await-closed {work}/made/deeper.env", "read {work}/x/host.env",
                    "read {work}/new.env", "read {work}/made/deeper.env", "read {work}/x/host.txt")
    process = box.start(argv)
    await_path(box.path("{work}/ready"))
    box.write("{work}/x/host.txt", "plain")
    box.write("{work}/x/new.tmp", "SECRET")
    os.rename(box.path("{work}/x/new.tmp"), box.path("{work}/x/host.env"))
    out, err = process.communicate(timeout=30)
    got = out.decode().splitlines()
    check(process.returncode == 0 and len(got) == 12, f"{got} {err}")
    check(set(got[8:11]) <= HIDDEN, f"not masked: {got[8:11]} {err}")
    check(got[11] == "OK plain", f"{got}")
    check(box.bare("read {work}/x/host.env") == ["OK SECRET"], "the control shows nothing")


@case
def directories_that_appear_later_are_searched_and_masks_stay(arena):
    """A tree that is moved in, and a link: what that leads to has another name still, which
    a command could have read before it made the link."""
    box = arena.box(tree={**PLAIN_GLOBS_TREE, "{top}/ready/d/e/.env": "SECRET", "{out}/key": "SECRET"}, policy=GLOBS)
    argv = box.argv("create {work}/ready", "await {work}/moved", "await {work}/end",
                    "await-closed {work}/moved/d/e/.env", "await-closed {work}/later.env",
                    "read {work}/moved/d/e/.env", "read {work}/later.env",
                    "rename {work}/moved/d/e/.env {work}/plain", "unlink {work}/moved/d/e/.env",
                    "rename {work}/moved/d {work}/d2", "read {work}/d2/e/.env", "read {work}/d2/e/plain")
    process = box.start(argv)
    await_path(box.path("{work}/ready"))
    box.write("{top}/ready/d/e/plain", "plain")
    os.rename(box.path("{top}/ready"), box.path("{work}/moved"))
    os.symlink(box.path("{out}/key"), box.path("{work}/later.env"))
    box.write("{work}/end")
    out, err = process.communicate(timeout=30)
    got = out.decode().splitlines()
    check(process.returncode == 0 and len(got) == 12, f"{got} {err}")
    check(set(got[5:7]) <= HIDDEN, f"readable: {got[5:7]} {err}")
    check(set(got[7:9]) <= READ_ONLY | HIDDEN, f"the mask was moved: {got[7:9]}")
    # A mask goes with the directory in which it is.
    check(got[9] != "OK" or got[10] in HIDDEN, f"readable: {got}")
    check(got[11] == "OK plain", f"{got}")


# ---- Nesting (P7) -----------------------------------------------------------------------------

these_need("fs_read", "fs_carve", "fs_reopen")

REOPEN = """
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/a" = "deny"
"{work}/a/b" = "write"
"{work}/a/b/c" = "read"
"{work}/a/b/c/d" = "deny"
"{work}/a/b/c/d/e" = "write"
"{home}" = "deny"
"{home}/.config/git" = "read"
"""
REOPEN_TREE = {
    "{work}/a/file": "SECRET",
    "{work}/a/b/file": "b",
    "{work}/a/b/c/file": "c",
    "{work}/a/b/c/d/file": "SECRET",
    "{work}/a/b/c/d/e/file": "e",
    "{home}/.config/git/config": "git",
    "{home}/.config/other": "SECRET",
    "{home}/file": "SECRET",
}


@case
def rules_within_rules_hold_at_any_depth(arena):
    box = arena.box(tree=REOPEN_TREE, policy=REOPEN)
    reads = {"a/file": 0, "a/b/file": 1, "a/b/c/file": 1, "a/b/c/d/file": 0, "a/b/c/d/e/file": 1}
    writes = {"a/new": 0, "a/b/new": 1, "a/b/c/new": 0, "a/b/c/d/new": 0, "a/b/c/d/e/new": 1}
    homes = {".config/git/config": 1, ".config/other": 0, "file": 0}
    attempts = [f"read {{work}}/{n}" for n in reads] + [f"create {{work}}/{n}" for n in writes]
    attempts += [f"read {{home}}/{n}" for n in homes]
    got = box.run(*attempts)
    for attempt, allowed, one in zip(attempts, [*reads.values(), *writes.values(), *homes.values()], got):
        good = one.startswith("OK") if allowed else one in HIDDEN | READ_ONLY
        check(good, f"{one}: {attempt}")
    got = arena.box(tree=REOPEN_TREE).bare(*attempts)
    check(all(one.startswith("OK") for one in got), f"the control shows nothing: {got}")


ROOT_WRITE = """
[permissions.box.filesystem]
":root" = "write"
"{out}/p" = "read"
"{out}/secret" = "deny"
"""

rows(
    "writing_everywhere_still_keeps_what_is_protected",
    refused=[
        "write {out}/p/file",
        "write {work}/.git/config",
        "rename {work}/.git {work}/old",
        "mkdir {work}/.codex",
        "create {work}/.git/hooks/pre-commit",
        "read {out}/secret",
    ],
    allowed=["write {out}/file", "create {out}/new", "write {work}/file", "create {tmp}/new"],
    errors=READ_ONLY | HIDDEN | {"EEXIST"},
    tree={
        "{out}/p/file": "p\n",
        "{out}/secret": "SECRET",
        "{work}/.git/config": "[core]\n",
        "{work}/.git/hooks/": "",
    },
    policy=ROOT_WRITE,
    needs={"fs_read", "fs_carve", "protect_missing"},
    watch=("{out}/p", "{out}/secret", "{work}/.git"),
)


# ---- Temporary files -----------------------------------------------------------------------------

these_need("fs_carve", "protect_missing")


@case(needs={"fs_read", "fs_carve"})
def a_private_tmp_vanishes_with_the_run(arena):
    name = f"cordon-conf-private-{os.getpid()}"
    box = arena.box(
        policy='[permissions.box]\nextends = ":workspace"\ntmp = "private"\n',
        tree={"{tmp}/host": "HOST"},
    )
    got = box.run(f"create /tmp/{name}", "create {tmp}/new", "list /tmp", "read {tmp}/host")
    check(got[0] == "OK" and got[1] == "OK", f"{got}")
    check(got[3] in HIDDEN, f"the host's temporary file is visible: {got}")
    check(not os.path.exists(f"/tmp/{name}"), "it is on the host")
    check(not box.path("{tmp}/new").exists(), "it is on the host")
    shared = arena.box()
    got = shared.run(f"create /tmp/{name}", "create {tmp}/new")
    seen = os.path.exists(f"/tmp/{name}"), shared.path("{tmp}/new").exists()
    os.unlink(f"/tmp/{name}")
    check(got == ["OK", "OK"] and seen == (True, True), f"shared: {got} {seen}")


@case
def a_workspace_below_tmp_is_protected_like_any_other(arena):
    box = arena.box(under="/tmp", tree={"{work}/.git/config": "[core]\n"}, watch=("{work}/.git",))
    before = box.snapshot()
    got = box.run("create {work}/new", "write {work}/.git/config", "mkdir {work}/.codex",
                  "rename {work}/.git {work}/old", "rename {work} {top}/old")
    check(got[0] == "OK" and set(got[1:4]) <= READ_ONLY | {"EEXIST"}, f"{got}")
    check(got[4] in READ_ONLY, f"the root itself was moved: {got}")
    check_same(before, box.snapshot(), "was changed")
    got = box.bare("write {work}/.git/config", "mkdir {work}/.codex", "rename {work} {top}/old")
    check(got == ["OK"] * 3, f"the control shows nothing: {got}")


# ---- Standard streams -------------------------------------------------------------------------------

these_need("fs_write")


def try_streams(arena, name, mode):
    """Descriptor 0 is opened by the caller; inside it may be used, not opened anew for more."""
    tree = {"{work}/docs/file": "docs\n", "{work}/.git/config": "[core]\n"}
    policy = None if name.startswith("{out}") else CARVED_OPEN
    box = arena.box(tree=tree, policy=policy, watch=("{out}", "{work}/docs", "{work}/.git"))
    before = box.snapshot()
    with open(box.path(name), mode) as stdin:
        attempt = "fd-reopen 0"
        got = box.run(attempt, "write {work}/file", stdin=stdin)
        check(got[0] in READ_ONLY | HIDDEN and got[1] == "OK", f"{name}: {got}")
        check_same(before, box.snapshot(), "was changed")
        check(box.bare(attempt, stdin=stdin) == ["OK"], "the control shows nothing")


@case
def stdin_is_not_reopened_for_writing_outside(arena):
    try_streams(arena, "{out}/file", "rb")


@case(needs={"fs_carve"})
def stdin_is_not_reopened_for_writing_in_a_read_only_carve_out(arena):
    try_streams(arena, "{work}/docs/file", "rb")


@case(needs={"fs_carve"})
def stdin_is_not_reopened_for_writing_in_protected_metadata(arena):
    try_streams(arena, "{work}/.git/config", "rb")


@case
def a_directory_as_stdin_is_no_way_in(arena):
    tree = {"{work}/docs/file": "docs\n", "{work}/.git/config": "[core]\n"}
    is_whole = "fs_carve" not in arena.lacks
    for name in ("{out}", "{work}/docs", "{work}/.git") if is_whole else ("{out}",):
        box = arena.box(tree=tree, policy=CARVED_OPEN if is_whole else None, watch=("{out}", "{work}/docs", "{work}/.git"))
        before = box.snapshot()
        fd = os.open(box.path(name), os.O_RDONLY | os.O_DIRECTORY)
        try:
            out, err, status = box.finish(
                box.argv("fd-create-at 0 new", "write {work}/file"), status=None, stdin=fd)
            got = out.splitlines()
            refused = status == 125 and "cordon: " in err
            check(refused or got[0] in READ_ONLY | {"EBADF", "ENOTDIR"}, f"{name}: {got} {err}")
            check_same(before, box.snapshot(), "was changed")
            check(box.bare("fd-create-at 0 new", stdin=fd) == ["OK"], "the control shows nothing")
        finally:
            os.close(fd)


def try_offset(arena, name):
    box = arena.box(tree={name: "one\ntwo\nthree\n"})
    argv = ["/bin/sh", "-c", '{ "$@"; cat; }', "sh", *box.argv(), "/bin/sh", "-c", "read x; echo got $x"]
    with open(box.path(name), "rb") as stdin:
        out, err, _ = box.finish(argv, stdin=stdin)
    check(out == "got one\ntwo\nthree\n", f"{name}: {out!r} {err}")


@case(needs=())
def stdin_is_read_on_from_where_the_command_left_it(arena):
    """`{ cordon run -- head -1; cat; } <file`: the offset is the caller's own."""
    try_offset(arena, "{out}/lines")
    try_offset(arena, "{work}/lines")


@case(needs={"fs_carve"})
def stdin_in_protected_metadata_is_read_on_from_where_the_command_left_it(arena):
    try_offset(arena, "{work}/.git/lines")


# ---- The home as the workspace -------------------------------------------------------------


@case(needs=())
def the_home_is_no_workspace(arena):
    """`cd ~; cordon run --full-auto`: what a login obeys is not written because one stood there."""
    box = arena.box(tree={"{home}/.bashrc": "mine\n", "{home}/project/": ""}, watch=("{home}/.bashrc",))
    before = box.snapshot()
    for where in (box.home, box.home.parent, "/"):
        said = box.refuses("append {home}/.bashrc", cwd=where)
        check("--add-write" in said, said)
    got = box.run("create {home}/project/new", "append {home}/.bashrc", cwd=box.home / "project",
                  makes=("{home}/project/new",))
    check(got[0] == "OK" and got[1] in READ_ONLY, f"{got}")
    check(box.run("read {home}/.bashrc", options=("--mode", "read-only"), cwd=box.home)[0].startswith("OK"), "read")
    check_same(before, box.snapshot(), "was changed")
    got = box.bare("append {home}/.bashrc", cwd=box.home)
    check(got == ["OK"], f"the control shows nothing: {got}")


@case(needs=())
def the_workspace_stays_where_it_was_put(arena):
    """--workspace: where a command is run opens nothing, and what was opened stays open there."""
    box = arena.box(tree={"{work}/src/deep/": "", "{out}/file": "x"}, watch=("{out}",))
    before = box.snapshot()
    options = ("--mode", "workspace-write", "--workspace", "{work}")
    for where in (box.path("{work}/src/deep"), box.path("{out}")):
        got = box.run("write {out}/file", "create {out}/new", "create {work}/new", "unlink {work}/new",
                      options=options, cwd=where)
        check(set(got[:2]) <= READ_ONLY and got[2:] == ["OK", "OK"], f"{where}: {got}")
        check_same(before, box.snapshot(), "was changed")
    got = box.run("create {out}/new", "unlink {out}/new", options=("--mode", "workspace-write"), cwd=box.path("{out}"))
    check(got == ["OK", "OK"], f"without it: {got}")
    check(box.bare("write {out}/file", "create {out}/new") == ["OK", "OK"], "the control shows nothing")
