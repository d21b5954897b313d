# SPDX-License-Identifier: MIT
"""Weaknesses that other sandboxes were found to have. Most are covered by cases elsewhere;
PEERS says by which, and the rest of this file has the others."""

import os
import resource
import shutil
import socket
import subprocess

from conform import CASES, HIDDEN, READ_ONLY, await_path, case, check, check_same, these_need

PEERS = {
    "codex: descriptors of the caller reach the command": "inherited_descriptors_do_not_reach_the_command",
    "codex: sendmsg on a unix datagram socket is open": "unix_datagrams_do_not_reach_the_host",
    "codex: domains without the proxy mean full network": "managed_network_is_never_the_whole_network",
    "codex: writing everywhere drops the namespaces": "writing_everywhere_keeps_the_namespaces",
    "codex: a glob that matches a directory masks nothing": "globs_deny_files_and_directories_at_any_depth",
    "codex: a later name that matches is readable": "a_name_that_appears_later_is_masked_when_it_is_seen",
    "codex: hard links to a masked file": "a_hard_link_that_existed_before_is_another_name",
    "codex: a bwrap on PATH is trusted by name": "programs_on_the_path_are_not_trusted",
    "codex: nested namespaces, mounts, keys": "nothing_can_be_mounted_with_capabilities_of_a_new_namespace",
    "codex: set-id files made by root": "nobody_leaves_set_id_files",
    "codex: secrets in the environment and in /proc/1": "secrets_of_the_environment_are_nowhere_inside",
    "codex: a killed caller leaves everything running": "nothing_survives_a_kill_of_cordon_at_any_stage",
    "codex: signals do not reach the command": "signals_to_cordon_reach_the_command",
    "codex: placeholders in /tmp and TMPDIR": "temporary_directories_get_no_placeholders",
    "codex: not found is a panic": "commands_that_can_not_run_say_so",
    "codex: minimal profiles can not start anything": "a_minimal_profile_runs_programs",
    "codex: many masks run out of descriptors": "many_masks_need_few_descriptors",
    "codex: bytes that are not UTF-8 are a panic": "bytes_that_are_not_text_pass_through",
    "codex: a sandbox in a sandbox fails oddly": "a_sandbox_in_a_sandbox_works_or_is_refused_by_name",
    "codex: a symlinked .codex stops every run": "dangling_and_looping_metadata_links_are_held_or_refused_by_name",
    "srt: .git/commondir is writable": "git_commit_mode_works_and_keeps_what_git_runs",
    "srt: symlinked protected names can be replaced": "a_symlinked_git_is_protected_as_a_link_and_as_what_it_leads_to",
    "srt: two runs in one directory race": "two_runs_in_one_directory_do_not_undo_each_other",
    "srt: descriptors from 16 on leak": "inherited_descriptors_do_not_reach_the_command",
    "srt: its own settings are writable": "cordons_own_files_can_not_be_written",
    "srt: IPC, host name and keys are shared": "ipc_objects_of_the_host_are_not_there",
    "srt: root keeps its capabilities": "no_capability_and_no_new_privilege_is_left",
    "srt: unknown keys are dropped": "a_misspelt_rule_is_an_error",
    "srt: a denied path that is missing is not protected": "denied_things_can_not_be_replaced_listed_or_made",
    "srt: a denied directory is a writable tmpfs": "denied_things_can_not_be_replaced_listed_or_made",
    "srt: phantom files break git": "git_sees_nothing_of_the_placeholders",
    "srt: worktrees can not be committed in": "git_linked_worktrees_are_protected_and_can_be_committed_in",
    "srt: TMPDIR is named but not made": "temporary_files_can_be_made",
    "srt: read inside denied inside read fails to start": "rules_within_rules_hold_at_any_depth",
    "srt: denying the own program's place stops everything": "the_program_itself_may_be_denied",
    "srt: no control terminal": "a_terminal_is_not_typed_into",
    "srt: a single writable file": "a_single_file_may_be_writable",
    "srt: a missing writable directory": "a_missing_write_root_is_skipped_with_a_warning",
    "landscape: sockets below /run": "unix_sockets_of_the_host_can_not_be_reached_by_path",
    "landscape: continuing a call whose memory can change": "a_socket_swapped_in_during_the_check_is_not_reached",
    "landscape: io_uring is not seen": "io_uring_setup_is_refused",
    "landscape: x32 and other tables": "foreign_system_calls_are_killed",
    "landscape: one listener for a filter chain": "a_second_listener_is_refused_or_harmless",
    "landscape: an atomic replace ends access": "an_atomic_replace_keeps_its_access",
    "landscape: MPTCP is forgotten": "the_hosts_ipv4_loopback_is_not_reached",
    "landscape: IPv6 is forgotten": "the_hosts_ipv6_loopback_is_not_reached",
    "landscape: spaces and newlines in mount tables": "odd_names_are_protected_like_others",
    "landscape: read-only binds are remounted": "masks_and_pins_can_not_be_taken_off",
    "landscape: masking a missing path leaves it behind": "a_run_leaves_no_file_anywhere",
    "landscape: a project's own file widens": "a_projects_own_file_can_not_widen",
    "landscape: modes that can't be had are faked": "what_can_not_be_enforced_is_refused",
}


these_need()


@case
def every_weakness_of_the_peers_has_a_case(arena):
    names = {c.name for c in CASES}
    missing = {weakness: name for weakness, name in PEERS.items() if name not in names}
    check(not missing, f"{missing}")
    check(arena.backend, "")


@case
def managed_network_is_never_the_whole_network(arena):
    policy = """
[permissions.box]
extends = ":workspace"
[permissions.box.network]
enabled = true
domains = { "example.com" = "allow" }
"""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    box = arena.box(policy=policy)
    out, err, status = box.finish(box.argv(f"tcp 127.0.0.1 {port} 0"), status=None)
    check(status == 125 and "net_managed" in err or out.strip() != "OK", f"{status} {out} {err}")
    check(box.bare(f"tcp 127.0.0.1 {port} 0") == ["OK"], "the control shows nothing")
    listener.close()


@case(needs={"proc", "kernel", "fs_carve"})
def writing_everywhere_keeps_the_namespaces(arena):
    box = arena.box(policy='[permissions.box.filesystem]\n":root" = "write"\n')
    pid = arena.victim().pid
    got = box.run("write {out}/file", f"kill {pid} 0", "status CapEff:", "unshare user",
                  "open-write /proc/sysrq-trigger", "open-write /proc/sys/kernel/core_pattern",
                  f"read /proc/{pid}/cmdline")
    check(got[0] == "OK" and got[1] == "ESRCH", f"{got}")
    check(got[2] == "OK 0000000000000000" and got[3] == "EPERM", f"{got}")
    check(set(got[4:]) <= READ_ONLY | HIDDEN, f"{got}")


@case
def programs_on_the_path_are_not_trusted(arena):
    box = arena.box()
    for place in ("{work}/bin", "{home}/bin"):
        for name in ("bwrap", "cordon", "newuidmap", "newgidmap", "setpriv", "unshare", "mount", "ip"):
            script = box.write(f"{place}/{name}", f"#!/bin/sh\n: >{box.top}/trusted\nexit 3\n")
            script.chmod(0o755)
        box.path(place).chmod(0o777)  # what only this user may write is trusted, but for what the policy opens
        box.env["PATH"] = f"{box.path(place)}:{box.env['PATH']}"
    box.run("pid")
    check(not box.path("{top}/trusted").exists(), "a program on PATH was run")
    subprocess.run(["bwrap"], env=box.env, check=False)
    check(box.path("{top}/trusted").exists(), "the control shows nothing")


@case(needs={"tree_death"})
def temporary_directories_get_no_placeholders(arena):
    box = arena.box()
    process = box.start(box.argv("hold {work}/ready"))
    await_path(box.path("{work}/ready"))
    seen = os.listdir(box.tmp)
    process.kill()
    process.communicate()
    check(seen == [], f"in TMPDIR: {seen}")


@case
def commands_that_can_not_run_say_so(arena):
    box = arena.box(tree={"{work}/plain": "text"})
    for command, status in (("no-such-command-here", 127), ("{work}/missing", 127), ("{work}/plain", 126),
                            ("{work}", 126)):
        _, err, _ = box.finish([*box.argv(), box.fill(command)], status=status)
        check("cordon: " in err and err.count("\n") <= 2, err)
    box.finish([*box.argv(), "/bin/sh", "-c", "kill -KILL $$"], status=137)
    box.finish([*box.argv(), "/bin/sh", "-c", "exit 42"], status=42)


@case(needs={"fs_read"})
def a_minimal_profile_runs_programs(arena):
    policy = """
[permissions.box.filesystem]
":minimal" = "read"
"{work}" = "write"
"""
    box = arena.box(policy=policy)
    out, _, _ = box.finish([*box.argv(), "/bin/sh", "-c", "cat file; echo x >new; cat ../out/file; ls ../out"],
                           status=None)
    check(out == "inside\n", f"{out}")
    check(box.path("{work}/new").exists(), "not writable")
    check(box.path("{out}/file").read_bytes() == b"outside\n", "control")


@case(needs={"fs_read", "fs_carve"})
def many_masks_need_few_descriptors(arena):
    policy = '[permissions.box.filesystem]\n":root" = "read"\n"{work}" = "write"\n"{work}/**/*.env" = "deny"\n'
    tree = {f"{{work}}/d{n % 20}/{n}.env": "SECRET" for n in range(400)}
    box = arena.box(policy=policy, tree=tree)

    # bwrap gets some of its mounts by descriptor.
    count = 96 if arena.backend == "bwrap" else 64

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))

    got = box.run("read {work}/d0/0.env", "read {work}/d19/399.env", "read {work}/file", preexec_fn=limit)
    check(set(got[:2]) <= HIDDEN and got[2].startswith("OK"), f"{got}")
    check(box.bare("read {work}/d19/399.env") == ["OK SECRET"], "the control shows nothing")


ODD = [b"a b", b"new\nline", b"back\\slash", b"caf\xe9", b"tab\t", b"o\x01ctl", "ü".encode(), b"\\040", b"'q\""]


@case(needs={"fs_carve", "protect_missing"})
def odd_names_are_protected_like_others(arena):
    for odd in ODD:
        box = arena.box()
        top = os.fsencode(box.work) + b"/" + odd
        os.makedirs(top + b"/.git")
        with open(top + b"/.git/config", "wb") as file:
            file.write(b"[core]\n")
        script = b"echo x >new && ! echo x >.git/config && ! mkdir .codex && ! mv .git old && " \
                 b"! echo x >../../out/file"
        argv = [os.fsencode(a) for a in box.argv()] + [b"/bin/sh", b"-c", script]
        process = subprocess.run(argv, cwd=top, env=box.env, capture_output=True, check=False)
        check(process.returncode == 0, f"{odd!r}: {process}")
        check(set(os.listdir(top)) == {b".git", b"new"}, f"{odd!r}: {os.listdir(top)}")
        with open(top + b"/.git/config", "rb") as file:
            check(file.read() == b"[core]\n", f"{odd!r}: was written")
    box.bare("write {out}/file")
    check(box.path("{out}/file").read_bytes() != b"outside\n", "the control shows nothing")


@case
def bytes_that_are_not_text_pass_through(arena):
    box = arena.box()
    argv = [os.fsencode(a) for a in box.argv()] + [b"/bin/sh", b"-c", b'printf %s "$ODD$1"', b"sh", b"\xff\xfe"]
    done = subprocess.run(argv, cwd=box.work, env={**box.env, "ODD": b"\xe9\x80"}, capture_output=True, check=False)
    check(done.returncode == 0 and done.stdout == b"\xe9\x80\xff\xfe", f"{done}")


@case
def a_sandbox_in_a_sandbox_works_or_is_refused_by_name(arena):
    box = arena.box()
    inner = [arena.program, "run", "--mode", "read-only", "--", arena.probe, "write", str(box.out / "file")]
    before = box.snapshot()
    out, err, status = box.finish([*box.argv(), *inner], status=None)
    check(status in (0, 125), f"{status} {out} {err}")
    if status == 125:
        check("cordon" in err and ("sandbox" in err or "namespace" in err), f"not by name: {err}")
    else:
        check(out.strip() in READ_ONLY, f"{out}")
    check_same(before, box.snapshot(), "was changed")


@case(needs={"fs_carve", "protect_missing"})
def cordons_own_files_can_not_be_written(arena):
    policy = """
[permissions.box.filesystem]
":root" = "read"
"{home}" = "write"
"{work}" = "write"
"{home}/.config/cordon" = "write"
"""
    box = arena.box(policy=policy, watch=("{home}/.config/cordon/config.toml",))
    before = box.snapshot()
    attempts = ["write {home}/.config/cordon/config.toml", "unlink {home}/.config/cordon/config.toml",
                "symlink-over x {home}/.config/cordon/config.toml", "rename {home}/.config {home}/c2",
                "rename {home}/.config/cordon {home}/c2", "create {home}/.config/cordon/approvals.toml",
                "create {home}/.config/cordon/.approvals.toml.lock"]
    makes = ["{home}/new", "{home}/.config/cordon/config.toml.new"]
    got = box.run("create {home}/new", *attempts, makes=makes)
    check(got[0] == "OK" and set(got[1:]) <= READ_ONLY, f"{got}")
    check(before == box.snapshot(), "was changed")
    check(box.bare(attempts[0]) == ["OK"], "the control shows nothing")
    # Not there yet: it can't be made either.
    box = arena.box(options=("--mode", "workspace-write", "--add-write", "{home}"))
    got = box.run("create {home}/new", "mkdir {home}/.config", "mkdir {home}/.config/cordon",
                  "create {home}/.config/cordon/config.toml", makes=["{home}/new", "{home}/.config"])
    check(got[0] == "OK" and got[3] in READ_ONLY | HIDDEN, f"{got}")
    check(not box.path("{home}/.config/cordon/config.toml").exists(), "was made")


@case(needs={"fs_carve"})
def the_program_that_runs_can_not_be_replaced(arena):
    box = arena.box()
    copy = shutil.copy(arena.program, box.path("{work}/cordon"))
    attempts = ["create {work}/new", "write {work}/cordon", "unlink {work}/cordon",
                "rename {work}/new {work}/cordon"]
    got = box.outcomes(attempts, box.argv(*attempts, program=copy))
    check(got[0] == "OK" and set(got[1:]) <= READ_ONLY | {"ETXTBSY"}, f"{got}")
    with open(copy, "rb") as one, open(arena.program, "rb") as two:
        check(one.read() == two.read(), "was changed")
    check(box.bare("unlink {work}/cordon") == ["OK"], "the control shows nothing")


@case
def a_misspelt_rule_is_an_error(arena):
    box = arena.box(policy='[permissions.box.filesystem]\n":root" = "read"\n[permissions.box]\nglob = "strict"\n')
    check("glob" in box.refuses(), "the key is not named")
    box = arena.box(policy='[permissions.box.filesystem]\n":root" = "read"\n":secrts" = "deny"\n')
    check(":secrts" in box.refuses(), "the token is not named")


@case
def temporary_files_can_be_made(arena):
    box = arena.box()
    out, _, _ = box.finish([*box.argv(), "/bin/sh", "-c", 'f=$(mktemp) && echo x >"$f" && echo "$f"'])
    check(out.startswith(str(box.tmp)), out)


@case(needs={"fs_read", "fs_carve"})
def the_program_itself_may_be_denied(arena):
    """The command still starts when what Cordon itself needs can't be read inside."""
    box = arena.box(policy='[permissions.box.filesystem]\n":root" = "read"\n"{top}/bin" = "deny"\n')
    box.path("{top}/bin").mkdir()
    copy = shutil.copy(arena.program, box.path("{top}/bin/cordon"))
    attempts = ["pid", f"open-read {copy}"]
    got = box.outcomes(attempts, box.argv(*attempts, program=copy))
    check(got[0].startswith("OK") and got[1] in HIDDEN, f"{got}")
    check(box.bare(f"open-read {copy}") == ["OK"], "the control shows nothing")


@case(needs={"fs_write"})
def a_single_file_may_be_writable(arena):
    policy = '[permissions.box.filesystem]\n":root" = "read"\n"{out}/file" = "write"\n'
    box = arena.box(policy=policy, tree={"{out}/other": "x"})
    got = box.run("write {out}/file", "truncate {out}/file", "write {out}/other", "create {out}/new")
    check(got[:2] == ["OK", "OK"] and set(got[2:]) <= READ_ONLY, f"{got}")
    check(box.bare("write {out}/other", "create {out}/new") == ["OK", "OK"], "the control shows nothing")


@case(needs={"fs_write"})
def a_missing_write_root_is_skipped_with_a_warning(arena):
    policy = '[permissions.box]\nextends = ":workspace"\n[permissions.box.filesystem]\n"{out}/missing" = "write"\n'
    box = arena.box(policy=policy)
    out, err, _ = box.finish(box.argv("mkdir {out}/missing", "create {work}/new"))
    got = out.split()
    check(got[0] in READ_ONLY and got[1] == "OK" and "missing" in err, f"{got} {err}")
    check(box.bare("mkdir {out}/missing") == ["OK"], "the control shows nothing")


@case
def an_atomic_replace_keeps_its_access(arena):
    box = arena.box(tree={"{work}/state": "old"})
    got = box.run("create {work}/state.new", "rename {work}/state.new {work}/state", "write {work}/state",
                  "read {work}/state")
    check(got == ["OK", "OK", "OK", "OK EVIL"], f"{got}")


@case(needs={"fs_write", "fs_carve"})
def a_projects_own_file_can_not_widen(arena):
    config = '[filesystem]\n"{out}" = "write"\n"{work}/ro" = "read"\n'
    box = arena.box(tree={"{work}/.cordon/config.toml": config, "{work}/ro/file": "x"})
    before = box.snapshot()
    got = box.run("write {work}/file", "write {out}/file", "write {work}/ro/file", "write {work}/.cordon/config.toml")
    check(got[0] == "OK" and set(got[1:]) <= READ_ONLY, f"{got}")
    check_same(before, box.snapshot(), "was changed")
    check(box.bare("write {out}/file", "write {work}/ro/file") == ["OK", "OK"], "the control shows nothing")


@case
def what_can_not_be_enforced_is_refused(arena):
    box = arena.box(policy='[permissions.box]\nextends = ":workspace"\nglobs = "strict"\n'
                    '[permissions.box.filesystem]\n"{work}/**/*.env" = "deny"\n')
    out, err, status = box.finish(box.argv("create {work}/x.env"), status=None)
    check(status == 125 and "deny_future" in err or out.strip() in READ_ONLY | HIDDEN, f"{status} {out} {err}")
    box = arena.box()
    for platform in ("macos", "windows"):
        check(platform in box.refuses(options=("--platform", platform)), "the platform is not named")
    check(not box.path("{work}/x.env").exists(), "")
