# SPDX-License-Identifier: MIT
"""Files of the caller's that the command has as standard streams (P12), and nothing else of."""

import fcntl
import os
import pty
import shutil
import socket
import stat
import sys
import termios

from conform import Skip, case, check, check_same, these_need

these_need("fs_write")

TEXT = "what the log says already\n"
LOG = {"{out}/log": TEXT}

METADATA = [
    "fd-chmod 0", "fd-chmod-empty 0", "fd-chown 0", "fd-chown-empty 0", "fd-times 0", "fd-touch 0",
    "fd-times-empty 0", "fd-setxattr 0", "fd-setflags 0",
    "chmod /dev/stdin 0751", "chmod /dev/fd/0 0751", "chmod /proc/self/fd/0 0751",
    "chmod /proc/thread-self/fd/0 0751", "chmod {work}/to-it 0751", "chown /dev/stdin", "utimes /proc/self/fd/0",
    "setxattr /dev/stdin", "setxattrat /proc/self/fd/0", "fchmodat2 /dev/stdin 0751", "setattr /proc/self/fd/0",
    "pid-chmod 0", "task-chmod 0", "parent-chmod 0", "opath-chmod 0",
    "as-fd 0 77 fd-chmod 77", "as-fd 0 77 chmod /proc/self/fd/77 0751", "passed-as-fd 0 78 fd-chmod 78",
    "passed-as-fd 0 78 fd-times 78",
]
# What not every kernel, C library or file system has.
MAY_LACK = ("fd-chmod-empty", "fd-setflags", "setxattrat", "fchmodat2", "setattr", "fd-setxattr", "setxattr")
REFUSED = {"EPERM", "EACCES", "EROFS", "ENOSYS", "ELOOP", "ENOENT"}
# What works in the workspace beside that, however it is asked for.
ALLOWED = [
    "chmod {work}/file 0640", "fchmod {work}/file 0644", "chown {work}/file", "utimes {work}/file",
    "setxattr {work}/file", "futimens {work}/file", "truncate {work}/file", "ftruncate {work}/file",
    "write {work}/file", "create {work}/new", "chmod {work}/new 0600", "pipe-nonblock", "socket-nonblock",
]


def try_metadata(arena, flags):
    tree = {**LOG, "{work}/to-it": "->/proc/self/fd/0"}
    box = arena.box(tree=tree, watch=("{out}",))
    before = box.snapshot()
    with open(os.open(box.path("{out}/log"), flags), "rb") as stream:
        got = box.run(*METADATA, *ALLOWED, stdin=stream)
    for attempt, outcome in zip(METADATA, got):
        check(outcome in REFUSED, f"{attempt}: {outcome}")
    for attempt, outcome in zip(ALLOWED, got[len(METADATA):]):
        check(outcome.startswith("OK"), f"allowed, but {outcome}: {attempt}")
    check_same(before, box.snapshot(), "was changed")
    for attempt in METADATA:
        equal = arena.box(tree=tree)
        with open(os.open(equal.path("{out}/log"), flags), "rb") as stream:
            done = equal.bare(attempt, stdin=stream)[0]
        if attempt.startswith(MAY_LACK) and done in ("ENOSYS", "EOPNOTSUPP", "ENOTTY", "EINVAL"):
            continue
        check(done == "OK", f"the control is {done}, shows nothing: {attempt}")


@case
def metadata_of_a_file_to_read_from_stays(arena):
    try_metadata(arena, os.O_RDONLY)


@case
def metadata_of_a_file_to_write_to_stays(arena):
    try_metadata(arena, os.O_WRONLY)


@case
def metadata_of_a_file_to_append_to_stays(arena):
    try_metadata(arena, os.O_WRONLY | os.O_APPEND)


@case
def metadata_of_a_stream_that_has_no_name_any_more_stays(arena):
    box = arena.box(tree=LOG)
    with open(box.path("{out}/log"), "rb") as stream:
        os.unlink(box.path("{out}/log"))
        got = box.run("fd-chmod 0", "chmod /proc/self/fd/0 0751", stdin=stream)
        check(set(got) <= REFUSED, f"{got}")
        check(stat.S_IMODE(os.fstat(stream.fileno()).st_mode) != 0o751, "was changed")
        check(box.bare("fd-chmod 0", stdin=stream) == ["OK"], "the control shows nothing")


@case
def metadata_of_a_named_pipe_stays(arena):
    box = arena.box()
    os.mkfifo(box.path("{out}/fifo"))
    with open(os.open(box.path("{out}/fifo"), os.O_RDWR), "rb", buffering=0) as stream:
        got = box.run("fd-chmod 0", "fd-times 0", stdin=stream)
        check(set(got) <= REFUSED, f"{got}")
        check(box.bare("fd-chmod 0", "fd-times 0", stdin=stream) == ["OK"] * 2, "the control shows nothing")


@case(needs=())
def a_file_that_may_be_written_is_changed_through_a_stream_too(arena):
    box = arena.box(tree={"{work}/log": TEXT})
    with open(os.open(box.path("{work}/log"), os.O_WRONLY | os.O_APPEND), "rb") as stream:
        got = box.run("fd-chmod 0", "fd-times 0", "fd-clear-append 0", "fd-truncate 0", stdin=stream)
    check(got == ["OK"] * 4, f"{got}")


# ---- Appending ------------------------------------------------------------------------------

OVERWRITING = [
    "fd-truncate 0", "truncate /proc/self/fd/0", "truncate /dev/stdin", "fd-punch 0", "fd-allocate 0",
    "fd-zero-request 0", "fd-clear-append 0", "fd-no-append 0", "fd-aio 0", "open-read-trunc /dev/stdin",
    "open-over {work}/to-it", "open-new-over {work}/to-it", "openat2-trunc /proc/self/fd/0",
    "as-fd 0 77 fd-truncate 77", "as-fd 0 77 fd-clear-append 77", "passed-as-fd 0 78 fd-clear-append 78",
    "fd-copy-over 0 {work}/file",
]
# The same stream once more: what is written goes to its end.
NAMES = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0"]
APPENDING = [f"{how} {name}" for name in NAMES for how in ("open-over", "open-new-over")]
APPENDING += ["fd-write 0", "fd-nonblock 0", "as-fd 0 77 open-new-over /proc/self/fd/77"]


def check_appended(box, before):
    text = box.path("{out}/log").read_bytes()
    after = os.stat(box.path("{out}/log"))
    check(text.startswith(TEXT.encode()), f"was overwritten: {text!r}")
    check((before.st_mode, before.st_uid, before.st_gid) == (after.st_mode, after.st_uid, after.st_gid), "metadata")
    return text


@case
def a_stream_for_appending_is_only_appended_to(arena):
    tree = {**LOG, "{work}/to-it": "->/proc/self/fd/0"}
    box = arena.box(tree=tree)
    before = os.stat(box.path("{out}/log"))
    flags = os.O_WRONLY | os.O_APPEND
    with open(os.open(box.path("{out}/log"), flags), "rb") as stream:
        got = box.run(*OVERWRITING, *APPENDING, *ALLOWED, stdin=stream)
        check(fcntl.fcntl(stream, fcntl.F_GETFL) & os.O_APPEND, "O_APPEND was taken away")
    for attempt, outcome in zip(OVERWRITING, got):
        check(not outcome.startswith("OK"), f"{attempt}: {outcome}")
    for attempt, outcome in zip(APPENDING + ALLOWED, got[len(OVERWRITING):]):
        check(outcome.startswith("OK"), f"allowed, but {outcome}: {attempt}")
    text = check_appended(box, before)
    check(text.count(b"OVER") == 2 * len(NAMES) + 1, f"{text!r}")
    for attempt in OVERWRITING + APPENDING[:-3]:
        equal = arena.box(tree=tree)
        with open(os.open(equal.path("{out}/log"), flags), "rb") as stream:
            done = equal.bare(attempt, stdin=stream)[0]
        # The kernel itself refuses what is no way to overwrite.
        if done in ("EBADF", "EOPNOTSUPP", "ENOSYS", "EINVAL"):
            continue
        check(done == "OK", f"the control is {done}, shows nothing: {attempt}")
        text = equal.path("{out}/log").read_bytes()
        check(not text.startswith(TEXT.encode()) or len(text) > len(TEXT) + 4, f"shows nothing: {attempt}: {text!r}")


@case
def a_stream_for_appending_stays_so_while_its_number_is_swapped(arena):
    box = arena.box(tree=LOG)
    before = os.stat(box.path("{out}/log"))
    with open(os.open(box.path("{out}/log"), os.O_WRONLY | os.O_APPEND), "rb") as stream:
        got = box.run("swap 0", stdin=stream, makes=["{work}/own"])
    check(got == ["OK"], f"{got}")
    check_appended(box, before)
    check(os.stat(box.path("{out}/log")).st_mtime > 1, "the times were changed")


@case
def a_stream_for_reading_and_appending_is_for_appending_alone(arena):
    """It could be mapped, and overwritten so; nobody can be asked about that."""
    box = arena.box(tree=LOG)
    before = os.stat(box.path("{out}/log"))
    with open(os.open(box.path("{out}/log"), os.O_RDWR | os.O_APPEND), "rb") as stream:
        got = box.run("fd-map 0", "fd-clear-append 0", "fd-chmod 0", "fd-write 0", "open-new-over /dev/stdin", stdin=stream)
    check(not any(outcome.startswith("OK") for outcome in got[:3]), f"{got}")
    check(got[3:] == ["OK", "OK"], f"{got}")
    check(check_appended(box, before).endswith(b"OVER"), "nothing was appended")
    equal = arena.box(tree=LOG)
    with open(os.open(equal.path("{out}/log"), os.O_RDWR | os.O_APPEND), "rb") as stream:
        check(equal.bare("fd-map 0", stdin=stream) == ["OK"], "the control shows nothing")
    check(equal.path("{out}/log").read_bytes().startswith(b"OVER"), "the control shows nothing")


# What each is tried on, how that was opened, and with which backends the file is cut.
ALL = ("native", "bwrap", "landlock")
SENT = [
    ("truncate /proc/self/fd/78", "{out}/file", os.O_RDONLY, ()),
    ("truncate /dev/fd/78", "{out}/file", os.O_PATH, ()),
    ("truncate /proc/self/fd/78/file", "{out}", os.O_RDONLY, ()),
    ("in-fd 78 truncate file", "{out}", os.O_RDONLY, ()),
    ("in-fd 78 truncate /proc/self/cwd/file", "{out}", os.O_RDONLY, ()),
    ("fd-truncate 78", "{out}/file", os.O_RDWR, ALL),
    # Where places decide, it has none that may be written.
    ("truncate /proc/self/fd/78", "{out}/file", os.O_WRONLY, ("native", "bwrap")),
    ("in-fd 78 truncate {work}/file", "{out}", os.O_RDONLY, ALL),
    ("truncate file", "{out}", os.O_RDONLY, ALL),
    ("truncate /proc/self/cwd/file", "{out}", os.O_RDONLY, ALL),
]


def send(box, path, flags):
    ours, theirs = socket.socketpair()
    fd = os.open(box.path(path), flags)
    socket.send_fds(ours, [b"x"], [fd])
    os.close(fd)
    ours.close()
    return theirs


@case
def what_is_sent_from_outside_is_not_cut_beside_a_stream_for_appending(arena):
    """cordon makes the call then, and no Landlock keeps it from that."""
    for attempt, path, flags, may in SENT:
        box = arena.box(tree=LOG)
        attempt = f"received-as-fd 0 78 {attempt}"
        may = arena.backend in may
        log = os.open(box.path("{out}/log"), os.O_WRONLY | os.O_APPEND)
        with send(box, path, flags) as stream, open(log, "rb") as appended:
            got = box.run(attempt, stdin=stream, stderr=appended)[0]
        check(got == "OK" if may else got in REFUSED, f"{attempt}: {got}")
        if not may:
            check(box.path("{out}/file").read_bytes() == b"outside\n", f"was cut: {attempt}")
            with send(box, path, flags) as stream:
                done = box.bare(attempt, stdin=stream)[0]
            check(done == "OK", f"the control is {done}, shows nothing: {attempt}")


@case
def a_stream_that_another_overwrites_is_not_for_appending_alone(arena):
    """2>>log >log: the command may do to it what it may do by the other."""
    box = arena.box(tree=LOG)
    path = box.path("{out}/log")
    with open(os.open(path, os.O_WRONLY | os.O_APPEND), "rb") as stream, open(path, "r+b") as other:
        out, err, _ = box.finish(box.argv("fd-truncate 0"), stdin=stream, stdout=other)
    check(not out and path.read_bytes() == b"OK\n", f"{err} {path.read_bytes()}")


# ---- What people do ----------------------------------------------------------------------------

# What is in a new file afterwards (any of these), and what a log ends with.
COMMANDS = [
    ("echo one; echo two >&2", (b"one\n",), b"one\n"),
    # tee opens the file anew, with a place of its own in it.
    ("echo one | tee -a /dev/stdout", (b"one\none\n", b"one\n"), b"one\none\n"),
    ("echo one | tee /dev/stderr", (b"one\n",), b"one\n"),
    ("printf 'text' >in; dd if=in conv=sparse status=none", (b"text",), b"text"),
    ("printf 'text' >in; cp in /dev/stdout", (b"text",), b"text"),
    ("cat /dev/null >/dev/stdout; echo end", (b"end\n",), b"end\n"),
]


# These cut the file before they write: a log has to be spared that.
CUTTING = [
    ("printf 'b\\na\\n' >list; sort -o /dev/stdout list", b"a\nb\n"),
    ("truncate -s 4 /dev/stdout", b"\0\0\0\0"),
    ("head -c 100000 /dev/zero >in; dd if=in conv=sparse status=none", bytes(100000)),
    ("head -c 100000 /dev/zero >in; cp --sparse=always in /dev/stdout", bytes(100000)),
]


def run_to(arena, command, flags):
    box = arena.box(tree=LOG)
    path = box.path("{out}/log")
    with open(os.open(path, flags), "wb") as stream:
        _, err, _ = box.finish([*box.argv(), "/bin/sh", "-c", command], status=None, stdout=stream)
    return path.read_bytes(), err


@case(needs=())
def commands_write_to_a_file_as_they_do_without_a_sandbox(arena):
    python = f"{sys.executable} -c \"open('/dev/stdout', 'w').write('text')\""
    commands = COMMANDS + ([(python, (b"text",), b"text")] if os.access(sys.executable, os.X_OK) else [])
    for command, new, wanted in commands:
        got, err = run_to(arena, command, os.O_WRONLY | os.O_TRUNC)
        check(got in new, f"{command}: {got!r} {err}")
        got, err = run_to(arena, command, os.O_WRONLY | os.O_APPEND)
        check(got == TEXT.encode() + wanted, f"{command}: {got!r} {err}")
    for command, wanted in CUTTING:
        got, err = run_to(arena, command, os.O_WRONLY | os.O_TRUNC)
        check(got == wanted, f"{command}: {got[:80]!r} {err}")
        got, err = run_to(arena, command, os.O_WRONLY | os.O_APPEND)
        check(got.startswith(TEXT.encode()), f"{command}: {got[:80]!r} {err}")


# ---- Terminals -----------------------------------------------------------------------------------

TERMINAL = ["fd-chmod 0", "fd-times 0", "fd-chown 0", "chmod /dev/stdin 0751", "chmod /proc/self/fd/0 0751"]


def try_terminal(arena, take):
    box = arena.box()
    master, slave = pty.openpty()
    try:
        # Who it is given to has to be able to open it.
        mode = stat.S_IMODE(os.fstat(slave).st_mode)
        got = box.run(*TERMINAL, "tty 0", "write {work}/file", stdin=slave, start_new_session=True, preexec_fn=take)
        check(set(got[:-2]) <= REFUSED, f"{got}")
        check(got[-2:] == ["OK", "OK"], f"{got}")
        check(stat.S_IMODE(os.fstat(slave).st_mode) == mode, "its mode was changed")
        check(box.bare(*TERMINAL[:2], stdin=slave) == ["OK"] * 2, "the control shows nothing")
    finally:
        os.close(master)
        os.close(slave)


@case
def metadata_of_the_own_terminal_stays(arena):
    try_terminal(arena, lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))


@case
def metadata_of_another_terminal_stays(arena):
    try_terminal(arena, None)


# ---- Set-id files ----------------------------------------------------------------------------------


@case(needs=())
def git_makes_a_repository_for_a_group(arena):
    if not shutil.which("git"):
        raise Skip("there is no git")
    box = arena.box()
    box.finish([*box.argv(), "git", "init", "-q", "--bare", "--shared", "shared"])
    mode = os.stat(box.path("{work}/shared/objects")).st_mode
    check(mode & stat.S_ISGID and mode & 0o070 == 0o070, f"{mode:o}")
