# SPDX-License-Identifier: MIT
"""The kernel: mounts, namespaces, devices, settings, dangerous calls, capabilities, terminals."""

import os
import pty
import select
import stat
import time

from conform import (
    AS_ROOT,
    FORBIDDEN,
    HIDDEN,
    READ_ONLY,
    Control,
    Skip,
    case,
    check,
    check_same,
    rows,
    these_need,
    without_losses,
)
from sanitizer import without_noise

# ---- Mounts and namespaces --------------------------------------------------------------

these_need("kernel")

rows(
    "nothing_can_be_mounted",
    refused=[
        "mount-tmpfs {work}/dir",
        "mount-bind {work}/dir {out}",
        "mount-bind {work}/plain {work}/.git",
        "open-tree {work}/dir",
        "move-mount {work}/dir {out}",
        "fsopen tmpfs",
        "remount {out}",
        "mount-setattr {work}",
        "pivot-root {work}/dir",
        "chroot {work}/dir",
    ],
    allowed=["mkdir {work}/new"],
    errors=FORBIDDEN,
    # The last three need mount points first, which the plain tree does not have.
    control=Control(prefix="as-ns-root ", accept=frozenset({"OK", "EINVAL"})),
    tree={"{work}/dir/": "", "{work}/plain/": "", "{work}/.git/": ""},
)

rows(
    "nothing_can_be_mounted_with_capabilities_of_a_new_namespace",
    refused=[
        "as-ns-root mount-tmpfs {work}/dir",
        "as-ns-root mount-bind {work}/dir {out}",
        "as-ns-root umount {work}",
        "as-ns-root remount /",
        "as-ns-root chroot {work}/dir",
        "as-ns-root unshare net",
    ],
    allowed=["mkdir {work}/new"],
    errors=FORBIDDEN,
    control=Control(accept=frozenset({"OK", "EINVAL"})),
    tree={"{work}/dir/": ""},
)

rows(
    "masks_and_pins_can_not_be_taken_off",
    refused=[
        "umount {work}/secret",
        "umount {work}/.git",
        "umount {work}",
        "umount {work}/docs",
        "umount /proc",
        "umount /proc/sys",
        "remount {work}/docs",
        "mount-setattr {work}/docs",
        "mount-bind {work} {work}/docs",
        "rmdir {work}/secret",
        "rename {work}/secret {work}/s2",
    ],
    allowed=["write {work}/file"],
    errors=FORBIDDEN | READ_ONLY,
    # Outside there is nothing to take off: EINVAL says that the call was made.
    control=Control(prefix="as-ns-root ", accept=frozenset({"OK", "EINVAL", "ENOTEMPTY", "ENOENT"})),
    tree={"{work}/secret/file": "SECRET", "{work}/docs/file": "d", "{work}/.git/config": "c"},
    policy="""
[permissions.box.filesystem]
":root" = "read"
"{work}" = "write"
"{work}/secret" = "deny"
"{work}/docs" = "read"
""",
    watch=("{work}/secret", "{work}/docs", "{work}/.git", "{out}"),
    needs={"kernel", "fs_read", "fs_carve"},
)

for _space in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"):
    rows(
        f"a_new_{_space}_namespace_can_not_be_made",
        refused=[f"unshare {_space}"],
        allowed=["pid"],
        errors=FORBIDDEN,
        control=Control(prefix="" if _space == "user" else "as-ns-root "),
    )

rows(
    "a_user_namespace_can_not_be_made_by_clone",
    refused=["clone-userns low", "clone-userns high", "clone3-userns"],
    allowed=["pid"],
    errors=FORBIDDEN,
)


@case(needs={"fs_read", "fs_carve"})
def a_profile_may_allow_user_namespaces(arena):
    policy = '[permissions.box]\nextends = ":workspace"\nisolation = { userns = true }\n'
    policy += '[permissions.box.filesystem]\n"{work}/hidden" = "deny"\n'
    box = arena.box(policy=policy, tree={"{work}/.git/config": "c"}, watch=("{out}", "{work}/.git"))
    before = box.snapshot()
    box.write("{work}/hidden/file", "SECRET")
    got = box.run("unshare user", "as-ns-root bind-peek {work} {tmp} hidden/file", "as-ns-root write {out}/file", "as-ns-root write {work}/.git/config",
                  "as-ns-root umount {work}/.git", "as-ns-root mount-setattr {work}/.git",
                  "as-ns-root remount {out}")
    check(got[0] == "OK", f"not allowed: {got}")
    check(all(one not in ("OK", "EUSERS") for one in got[1:]), f"{got}")
    # Root is mapped nowhere by who lacks CAP_SETFCAP (Linux 5.12), and in here all lack it.
    got = box.run("map-as-root"), box.bare("map-as-root")
    check(got == (["EPERM" if arena.uid == 0 else "OK"], ["OK"]), f"{got}")
    # By one of control groups those of the host, in which others are, could be mounted.
    spaces = [f"unowned unshare {space}" for space in ("mnt", "pid", "net", "ipc", "uts", "cgroup")]
    got = box.run(*spaces)
    check(got == ["OK"] * 5 + ["EPERM"], f"{got}")
    check(box.bare(spaces[-1]) == ["OK"], "the control shows nothing")
    got = box.bare("as-ns-root bind-peek {work} {tmp} hidden/file")
    check(got == ["OK"], f"the control shows nothing: {got}")
    check_same(before, box.snapshot(), "was changed")


@case(needs={"fs_read", "fs_carve", "protect_missing"})
def a_namespace_without_the_mounts_of_the_policy_is_not_to_be_had(arena):
    """From it the kernel would let names be moved away that something is mounted on here."""
    policy = '[permissions.box]\nextends = ":workspace"\nisolation = { userns = true }\n'
    policy += '[permissions.box.filesystem]\n"{work}/hidden" = "deny"\n"{work}/docs" = "read"\n'
    policy += '"{work}/a/b/secret" = "deny"\n'
    tree = {"{work}/.git/config": "c", "{work}/docs/text": "t", "{work}/a/b/secret": "s",
            "{work}/hidden": "h", "{work}/own/file": "f"}
    box = arena.box(policy=policy, tree=tree)
    kept = (".git", ".codex", "docs", "hidden", "a")
    got = box.run("forget-root {work} own own2", *[f"forget-root {{work}} {name} moved" for name in kept])
    check(got[0] == "OK", f"nothing can be moved, so this shows nothing: {got}")
    check(got[1:] == ["EBUSY"] * len(kept), f"{got}")
    for name in (".git/config", "docs/text", "hidden", "a/b/secret", "own2/file"):
        check(os.path.exists(box.path(f"{{work}}/{name}")), f"{name} is gone")
    got = box.bare("forget-root {work} .git moved", "forget-root {work} docs moved2")
    check(got == ["OK", "OK"], f"the control shows nothing: {got}")


@case
def namespaces_of_others_can_not_be_entered(arena):
    box = arena.box()
    pid = arena.victim().pid
    names = [f"setns /proc/1/ns/{n}" for n in ("mnt", "pid", "net", "user", "uts", "ipc")]
    names += [f"setns /proc/self/ns/{n}" for n in ("mnt", "net", "user")]
    got = box.run("pid", *names, f"setns /proc/{pid}/ns/mnt", f"setns-pidfd {pid}", "setns-pidfd 1")
    check(got[0].startswith("OK"), f"{got}")
    for attempt, one in zip(names, got[1:]):
        check(one in FORBIDDEN | HIDDEN | {"EINVAL", "ESRCH"}, f"{one}: {attempt}")
    check(all(one != "OK" for one in got[1:]), f"{got}")
    if arena.uid == 0:
        got = arena.box().bare(f"setns /proc/{pid}/ns/mnt", f"setns /proc/{pid}/ns/net")
        check(got == ["OK", "OK"], f"the control shows nothing: {got}")


# ---- Capabilities and privileges ---------------------------------------------------------


@case
def no_capability_and_no_new_privilege_is_left(arena):
    box = arena.box()
    names = ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:", "NoNewPrivs:", "Seccomp:"]
    got = box.run(*[f"status {n}" for n in names])
    check(got[:4] == ["OK 0000000000000000"] * 4, f"{dict(zip(names, got))}")
    check(got[4:] == ["OK 1", "OK 2"], f"{got}")
    if arena.uid == 0:
        check(box.bare("status CapEff:") != ["OK 0000000000000000"], "the control shows nothing")


@case
def no_capability_could_be_got_back(arena):
    """Beside no_new_privs, which keeps every one of them away."""
    got = arena.box().run("status CapBnd:")
    check(got == ["OK 0000000000000000"], f"{got}")


@case(needs={"kernel", "proc"})
def pid_1_has_no_capability_and_the_same_filter(arena):
    box = arena.box()
    out, _, _ = box.finish([*box.argv(), "/bin/cat", "/proc/1/status", "/proc/self/status"])
    one, own = out.split("Name:")[1:]

    def field(text, name):
        return [line.split()[1] for line in text.splitlines() if line.startswith(name)][0]

    for name in ("CapEff:", "CapPrm:", "NoNewPrivs:", "Seccomp:", "Seccomp_filters:"):
        check(field(one, name) == field(own, name), f"{name} {field(one, name)} {field(own, name)}")
    check(field(own, "PPid:") == "1", "the command is not PID 1's child")


SET_ID = ["chmod {work}/file 04755", "fchmod {work}/file 02755", "fchmodat {work}/file 06755",
          "fchmodat2 {work}/file 04755", "chmod-fd {work}/file 04755", "create-mode {work}/n1 04755",
          "openat2-mode {work}/n2 04755", "mknod-mode {work}/n3 04755", "mkdir-mode {work}/n4 02755",
          "chmod {work}/dir 02755", "tmpfile-mode {work} {work}/n5 04755"]
SET_ID += [f"raw-mode {call} {{work}}/{call} 04755" for call in ("open", "creat", "openat", "mknod", "mknodat")]
SET_ID += ["raw-mode chmod {work}/plain 04755", "raw-mode fchmodat {work}/plain2 04755"]


@case
def nobody_leaves_set_id_files(arena):
    """A set-user-ID file in a workspace would be its owner's to any local user."""
    tree = {"{work}/dir/": "", "{work}/plain": "x", "{work}/plain2": "x"}
    box = arena.box(tree=tree)
    box.run("chmod {work}/file 0755", *SET_ID)
    found = []
    for name in sorted(os.listdir(box.work)):
        mode = os.lstat(box.work / name).st_mode
        if stat.S_ISREG(mode) and mode & 0o6000:
            found.append(f"{name} {mode:o}")
    check(not found, f"set-id files on the host: {found}")
    check(os.lstat(box.path("{work}/file")).st_mode & 0o777 == 0o755, "plain chmod does not work")
    check(os.lstat(box.path("{work}/dir")).st_mode & 0o7777 == 0o2755, "a directory has no group for what is in it")
    equal = arena.box(tree=tree)
    equal.bare(*SET_ID)
    for name in ("file", "plain", "plain2", "n1", "n2", "n3", "n5", "openat", "mknodat"):
        mode = os.lstat(equal.path(f"{{work}}/{name}")).st_mode
        check(mode & 0o4000, f"the control shows nothing: {name} {mode:o}")


# ---- Devices --------------------------------------------------------------------------------

rows(
    "no_device_can_be_made",
    refused=["mknod {work}/null c 1 3", "mknod {work}/disk b 7 0"],
    allowed=["mkfifo {work}/fifo", "mknod {work}/plain f 0 0"],
    errors=FORBIDDEN | READ_ONLY,
    control=AS_ROOT,
)


# Their mode is 0666 already: what the control does to the host's changes nothing.
rows(
    "devices_of_the_host_keep_their_mode",
    refused=[f"chmod /dev/{name} 0666" for name in ("null", "zero", "full", "random", "urandom")]
    + ["chmod-fd /dev/null 0666", "fchmod /dev/zero 0666", "chmod /proc/self/fd/0 0666"],
    allowed=["open-write /dev/null", "open-read /dev/zero"],
    errors=READ_ONLY | FORBIDDEN,
    control=AS_ROOT,
    who=("root",),
)


@case(who=("root",))
def an_existing_device_node_elsewhere_can_not_be_opened(arena):
    box = arena.box()
    for place in ("{work}", "{out}"):
        os.mknod(box.path(f"{place}/zero"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
        os.mknod(box.path(f"{place}/loop"), stat.S_IFBLK | 0o666, os.makedev(7, 0))
    names = ["{work}/zero", "{out}/zero", "{work}/loop", "{out}/loop"]
    got = box.run("read {work}/file", *[f"open-read {n}" for n in names])
    check(got[0].startswith("OK") and set(got[1:]) <= FORBIDDEN | {"ENXIO"}, f"{got}")
    got = box.run(*[f"open-write {n}" for n in names[:2]])
    check(set(got) <= FORBIDDEN | READ_ONLY, f"{got}")
    check(box.bare("open-read {work}/zero", "open-read {out}/zero") == ["OK"] * 2, "control")


@case
def dev_has_what_programs_need_and_nothing_of_the_host(arena):
    box = arena.box()
    good = ["null", "zero", "full", "random", "urandom"]
    got = box.run("list /dev", *[f"open-read /dev/{n}" for n in good], "open-write /dev/null",
                  "create /dev/shm/x", "unlink /dev/shm/x")
    check(got[1:] == ["OK"] * (len(good) + 3), f"{got}")
    names = set(got[0].split()[1:])
    usual = {*good, "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout", "stderr", "console", "core", "mqueue"}
    check(names <= usual, f"also in /dev: {sorted(names - usual)}")
    if arena.uid == 0:
        for name in sorted(set(os.listdir("/dev")) & {"kmsg", "mem", "fuse", "vda", "sda", "loop0"}):
            check(box.bare(f"open-read /dev/{name}")[0] != "ENOENT", "the control shows nothing")


@case(needs={"ipc"})
def files_in_the_hosts_dev_shm_are_not_there(arena):
    name = f"/cordon-conf-{os.getpid()}-{time.monotonic_ns()}"
    box = arena.box()
    check(box.bare(f"posix-shm-make {name}") == ["OK"], "control")
    try:
        got = box.run(f"posix-shm {name}", "pid")
        check(got[0] in HIDDEN and got[1].startswith("OK"), f"{got}")
        check(box.bare(f"posix-shm {name}") == ["OK"], "the control shows nothing")
    finally:
        box.bare(f"posix-shm-remove {name}")


@case(needs=())
def shared_memory_of_its_own_can_be_made(arena):
    name = f"/cordon-conf-own-{os.getpid()}"
    got = arena.box().run(f"posix-shm-make {name}", f"posix-shm {name}", f"posix-shm-remove {name}")
    check(got == ["OK"] * 3, f"{got}")


# ---- /proc and /sys -------------------------------------------------------------------------

these_need("fs_write")

SETTINGS = [
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/fs/mqueue/msg_max",
    "/proc/irq/default_smp_affinity",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/cgroup.procs",
]


@case
def settings_of_the_kernel_are_not_even_opened_for_writing(arena):
    """Nothing is ever written here, inside or outside: opening is the whole attempt."""
    box = arena.box()
    there = [path for path in SETTINGS if os.path.exists(path)]
    got = box.run("write {work}/file", "read /proc/sys/kernel/ostype",
                  *[f"open-write {path}" for path in there])
    check(got[0] == "OK" and got[1].startswith("OK Linux"), f"{got[:2]}")
    for path, one in zip(there, got[2:]):
        check(one in READ_ONLY | HIDDEN, f"{one}: {path}")
    if arena.uid == 0:
        outside = dict(zip(there, box.bare(*[f"open-write {path}" for path in there])))
        for path in ("/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern"):
            check(outside.get(path, "OK") == "OK", f"the control shows nothing: {outside}")


# Anyone may write there: it asks to be woken on one's own descriptor, and sets nothing.
HARMLESS = {"OK", "/proc/pressure/io", "/proc/pressure/cpu", "/proc/pressure/memory", "/proc/pressure/irq"}


@case
def nothing_in_proc_and_sys_may_be_written(arena):
    """By what access() says of every file there, except of the processes' own."""
    box = arena.box()
    got = box.run("writable /proc", "writable /sys")
    check(set(" ".join(got).split()) <= HARMLESS, f"{got}"[:2000])
    got = box.bare("writable /proc")
    check(arena.uid != 0 or "/proc/sys/kernel/core_pattern" in got[0], "the control shows nothing")


@case
def writing_everywhere_does_not_mean_the_kernels_files(arena):
    box = arena.box(policy='[permissions.box.filesystem]\n":root" = "write"\n')
    got = box.run("writable /proc", "writable /sys", "create {out}/new")
    check(got[2] == "OK", f"{got}")
    check(set(" ".join(got[:2]).split()) <= HARMLESS, f"{got}"[:2000])


@case(needs={"kernel"})
def memory_and_logs_of_the_kernel_can_not_be_read(arena):
    box = arena.box()
    names = [n for n in ("/proc/kcore", "/proc/kmsg") if os.path.exists(n)]
    got = box.run(*[f"open-read {n}" for n in names])
    for name, one in zip(names, got):
        check(one in FORBIDDEN | HIDDEN, f"{one}: {name}")
    if arena.uid == 0:
        check("OK" in box.bare(*[f"open-read {n}" for n in names]), "the control shows nothing")


@case
def only_mounts_of_the_plan_are_writable(arena):
    box = arena.box()
    out, _, _ = box.finish([*box.argv(), "/bin/cat", "/proc/self/mountinfo"])
    expected = {str(box.work), str(box.tmp), "/tmp", "/proc"}
    for line in out.splitlines():
        place, options = line.split()[4:6]
        good = "ro" in options.split(",") or place in expected or place.startswith("/dev/")
        check(good, f"a writable mount: {line}")
        flags = options.split(",")
        good = {"nosuid", "nodev"} <= set(flags) or place.startswith("/dev")
        check(good, f"set-id files and devices count there: {line}")


@case
def sys_and_cgroups_can_not_be_written(arena):
    box = arena.box()
    names = [f"/sys/fs/cgroup/{n}" for n in sorted(os.listdir("/sys/fs/cgroup"))
             if os.path.isdir(f"/sys/fs/cgroup/{n}")][:6] if os.path.isdir("/sys/fs/cgroup") else []
    attempts = [f"mkdir {n}/cordon-conf" for n in ["/sys/fs/cgroup", *names]]
    attempts += [f"open-write {n}/cgroup.procs" for n in names]
    attempts += ["open-write /sys/kernel/tracing/trace_marker", "open-write /sys/module/loop/uevent"]
    got = box.run(*attempts)
    for attempt, one in zip(attempts, got):
        check(one in READ_ONLY | HIDDEN, f"{one}: {attempt}")
    if arena.uid == 0 and names:
        outside = box.bare(*[f"open-write {n}/cgroup.procs" for n in names])
        check("OK" in outside, f"the control shows nothing: {outside}")


@case(needs={"proc"})
def only_processes_of_the_sandbox_are_seen(arena):
    box = arena.box()
    pid = arena.victim().pid
    got = box.run("processes", "pid", f"read /proc/{pid}/cmdline", "read /proc/self/cmdline")
    count = len(got[0].split()) - 1
    check(count <= 4, f"{got[0]}")
    check(got[2] in HIDDEN and got[3].startswith("OK"), f"{got}")
    check(box.bare(f"read /proc/{pid}/cmdline")[0].startswith("OK sleep"), "control")


@case(needs={"fs_write", "proc"})
def entries_for_proc_sys_and_dev_open_nothing_of_the_host(arena):
    """A rule that names them, or a workspace in them: the sandbox's own, or no run at all."""
    pid = arena.victim().pid
    tries = [("--add-read", "/proc"), ("--add-write", "/proc"), ("--add-write", "/proc/sys"),
             ("--add-read", f"/proc/{pid}"), ("--add-write", "/sys"), ("--add-read", "/dev"),
             ("--add-write", "/dev"), ("-C", "/proc/sys/kernel"), ("-C", "/sys/kernel"), ("-C", "/")]
    attempts = [f"read /proc/{pid}/cmdline", "open-write /proc/sys/kernel/core_pattern",
                "mkdir /sys/fs/cgroup/cordon-conf", "open-read /dev/kmsg", "open-read /dev/loop0"]
    for options in tries:
        box = arena.box(options=("--mode", "workspace-write", *options))
        out, err, status = box.finish(box.argv(*attempts), status=None)
        arena.check_nothing_lives()
        check(status in (0, 125), f"{options}: {status} {out} {err}")
        if status == 0:
            got = out.splitlines()
            check(all(one in READ_ONLY | HIDDEN for one in got), f"{options}: {got}")
    if arena.uid == 0:
        got = box.bare(*attempts[:2])
        check([one.split()[0] for one in got] == ["OK", "OK"], f"the control shows nothing: {got}")


@case(needs={"ipc"})
def a_granted_dev_shm_is_the_hosts(arena):
    name = f"cordon-conf-{os.getpid()}-{time.monotonic_ns()}"
    box = arena.box(options=("--mode", "workspace-write", "--add-write", "/dev/shm"))
    try:
        got = box.run(f"create /dev/shm/{name}")
        check(got == ["OK"] and os.path.exists(f"/dev/shm/{name}"), f"{got}")
    finally:
        if os.path.exists(f"/dev/shm/{name}"):
            os.unlink(f"/dev/shm/{name}")
    got = arena.box().run(f"create /dev/shm/{name}")
    check(got[0] in {"OK", *READ_ONLY} and not os.path.exists(f"/dev/shm/{name}"), f"not granted: {got}")


# ---- Dangerous calls --------------------------------------------------------------------------

these_need("kernel")

REACHED = Control(accept=frozenset({"OK", "ENOENT", "EINVAL", "EBADF", "ENOKEY", "EFAULT"}))


def dangerous(name, attempts, needs_root=False, host_lacks=()):
    control = Control(accept=REACHED.accept, needs_root=needs_root, host_lacks=frozenset(host_lacks))
    rows(f"{name}_is_refused", refused=attempts, allowed=["pid"], errors=FORBIDDEN, control=control)


dangerous("process_vm_readv", ["process-vm"])
dangerous("bpf", ["bpf"], needs_root=True)
dangerous("perf_event_open", ["perf"])
dangerous("userfaultfd", ["userfaultfd"])
dangerous("the_keyring", ["add-key x", "keyctl", "request-key no-such-key"])
dangerous("io_uring_setup", ["io-uring-setup"], host_lacks={"ENOSYS", "EPERM"})
dangerous("swapoff_acct_and_quotactl", ["swapoff", "acct"], needs_root=True)
dangerous("reboot", ["reboot"], needs_root=True)
dangerous("sethostname", ["sethostname"], needs_root=True)
dangerous("reading_the_kernel_log", ["syslog"], needs_root=True)
dangerous("fanotify", ["fanotify"], needs_root=True)
dangerous("setting_the_clock", ["settime"], needs_root=True)
dangerous("open_by_handle_at", ["handle {out}/file {out}"], needs_root=True)


@case
def modules_and_kexec_are_refused(arena):
    """Kernels without them answer ENOSYS by themselves; then there is no control to show."""
    box = arena.box()
    got = box.run("pid", "module-load", "module-unload", "kexec")
    check(got[0].startswith("OK") and set(got[1:]) <= FORBIDDEN, f"{got}")


@case
def unknown_system_calls_do_not_exist(arena):
    box = arena.box()
    got = box.run("call 600", "call 1000", "call 99999", "pid")
    check(got[:3] == ["ENOSYS"] * 3 and got[3].startswith("OK"), f"{got}")


@case
def foreign_system_calls_are_killed(arena):
    box = arena.box()
    if os.uname().machine != "x86_64":
        raise Skip("only x86-64 has foreign tables")
    got = box.run("x32", "int80", "pid")
    check(got[:2] == ["signal 31"] * 2 and got[2].startswith("OK"), f"{got}")
    got = box.bare("x32", "int80")
    check(set(got) <= {"OK", "ENOSYS"}, f"the control shows nothing: {got}")


rows(
    "debugging_a_child_works",
    refused=["mem 1", "ptrace 1"],
    allowed=["ptrace-child", "mem-self"],
    errors=FORBIDDEN | {"ESRCH"},
    control=None,  # host_processes_can_not_be_signalled_traced_or_opened has it
)


@case
def a_second_listener_is_refused_or_harmless(arena):
    """A filter chain has one listener: a second must fail, not take over the first."""
    box = arena.box()
    got = box.run("seccomp-listener", "unix-self {tmp}/own")
    check(got[0] in FORBIDDEN | {"EBUSY"} and got[1] == "OK", f"{got}")
    check(box.bare("seccomp-listener") == ["OK"], "the control shows nothing")


# ---- Terminals -----------------------------------------------------------------------------------

TIOCSTI, TIOCLINUX = 0x5412, 0x541C


def on_terminal(box, argv):
    """Runs it as the leader of a session with a new terminal. Returns what it printed."""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(box.work)
        os.execve(argv[0], argv, box.env)
    text, end = b"", time.monotonic() + 30
    while time.monotonic() < end:
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        text += data
    os.close(master)
    _, status = os.waitpid(pid, 0)
    check(os.waitstatus_to_exitcode(status) == 0, f"{argv}: {status} {text}")
    return without_losses(without_noise(text.decode("utf-8", "replace").replace("\r", ""))).splitlines()


@case
def terminals_of_others_can_not_be_opened(arena):
    box = arena.box()
    master, slave = pty.openpty()
    name = os.ttyname(slave)
    try:
        got = box.run(f"open-write {name}", f"open-read {name}", "read {work}/file", "list /dev/pts")
        check(set(got[:2]) <= FORBIDDEN | HIDDEN and got[2].startswith("OK"), f"{got}")
        check(box.bare(f"open-write {name}") == ["OK"], "the control shows nothing")
    finally:
        os.close(master)
        os.close(slave)


@case(needs=())
def terminals_of_its_own_can_be_made(arena):
    got = arena.box().run("open-read /dev/ptmx", "open-write /dev/ptmx")
    check(got == ["OK", "OK"], f"{got}")


INJECT = [f"ioctl-tty {n} {bits}" for n in (TIOCSTI, TIOCLINUX) for bits in ("low", "high")]


@case
def a_terminal_is_not_typed_into(arena):
    box = arena.box()
    attempts = [*INJECT, "ioctl-tty 0x5413 low", "open-tty"]
    got = on_terminal(box, box.argv(*attempts))
    lines = [line for line in got if line]
    check(set(lines[:4]) <= {"EPERM", "EACCES"}, f"{got}")
    check(lines[4] == "OK", f"TIOCGWINSZ: {got}")
    check(lines[5].startswith("OK"), f"/dev/tty: {got}")
    got = on_terminal(box, [arena.probe, *box.words(INJECT[:2])])
    # What was typed is echoed in between.
    check(sum(line.endswith("OK") for line in got) == 2, f"the control shows nothing: {got}")


TIOCEXCL, TIOCNXCL = 0x540C, 0x540D


@case
def a_terminal_is_not_kept_from_others(arena):
    """It would stay so after the run."""
    box = arena.box()
    attempts = [f"ioctl-tty {TIOCEXCL} low", f"ioctl-tty {TIOCEXCL} high", f"ioctl-tty {TIOCNXCL} low"]
    got = on_terminal(box, box.argv(*attempts))
    check(got == ["EPERM", "EPERM", "OK"], f"{got}")
    check(on_terminal(box, [arena.probe, *box.words(attempts[:1])]) == ["OK"], "the control shows nothing")


@case
def the_output_of_a_terminal_is_not_stopped(arena):
    """Whoever writes to it then waits, Cordon too, and no key starts it again."""
    box = arena.box()
    got = on_terminal(box, box.argv("stop-output", "ioctl-tty 0x5413 low"))
    check(got == ["EPERM", "OK"], f"{got}")
    check(on_terminal(box, [arena.probe, "stop-output"]) == ["OK"], "the control shows nothing")
