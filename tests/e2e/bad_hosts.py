#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Hosts that do not want sandboxes: each gives the right backend, or a refusal that names
cause and fix, within a second.

The hosts are made for real, in namespaces of their own, and end with the case: switches
of the kernel, mounts over /proc, filters as containers have them ($FORBID), a bwrap that
is not what it should be. Each case runs as root (when this is root) and as an ordinary
user, beside a control: the same command on the host as it is.

The second is measured from the execution of cordon to its end. Other tests run at the
same time, so the quickest of a few tries counts, and where there is more to do than the
processors can the time is longer by that much. With sanitizers it is not the program's.
"""

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import conform  # noqa: E402  pylint: disable=wrong-import-position
from sanitizer import is_instrumented, without_leaks, without_noise  # noqa: E402  pylint: disable=wrong-import-position

SECONDS = 1.0  # that cordon may take
HELP_SECONDS = 2.0  # in which a bwrap has to answer to --help
DOCTOR_SECONDS = 5.0
TRIES = 5  # of which the quickest counts
HANG_SECONDS = 30
USER = 61190
LIBC = ctypes.CDLL(None, use_errno=True)
NEWNS, NEWUSER, NEWPID = 0x20000, 0x10000000, 0x20000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
ST_FLAGS = {os.ST_NOSUID: 2, os.ST_NODEV: 4, os.ST_NOEXEC: 8, os.ST_NOATIME: 1024, os.ST_RELATIME: 1 << 21}

SUPPORT = conform.read_support(Path(conform.__file__).with_name("support.txt"))
_cases = []


def case(function):
    _cases.append(function)
    return function


class Skip(Exception):
    pass


def check(condition, text):
    if not condition:
        raise AssertionError(text)


# ---- Making a host -----------------------------------------------------------------


def call(name, *args):
    if getattr(LIBC, name)(*args) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}{args}: {os.strerror(error)}")


def mount(source, target, kind=None, flags=0, data=None):
    words = [None if w is None else os.fsencode(w) for w in (source, target, kind)]
    call("mount", *words, ctypes.c_ulong(flags), None if data is None else os.fsencode(data))


def bind(source, target):
    mount(source, target, flags=MS_BIND)


def bind_read_only(target):
    mount(target, target, flags=MS_BIND | MS_REC)
    have = os.statvfs(target).f_flag
    kept = sum(flag for st, flag in ST_FLAGS.items() if have & st)
    mount(None, target, flags=MS_BIND | MS_REMOUNT | MS_RDONLY | kept)


class Outcome:
    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds
        self.backend = None

    def __repr__(self):
        return f"status {self.status}, {self.backend}, {self.seconds:.2f} s\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class World:
    """A home, a workspace, a directory for temporary files and one for programs; a user."""

    def __init__(self, top, who, binaries):
        self.top, self.who = Path(top), who
        self.program, self.forbid, self.fake = (f"{binaries}/{n}" for n in ("cordon", "forbid", "fake_bwrap"))
        self.more = []  # directories elsewhere, to be removed
        self.drops = who == "user" and os.getuid() == 0
        self.home, self.work, self.tmp, self.bin = (self.top / n for n in ("home", "work", "tmp", "bin"))
        for path in (self.home, self.work, self.tmp, self.bin):
            path.mkdir()
        (self.work / "file").write_text("text\n", encoding="utf-8")
        self.report = self.top / "report.json"
        self.env = {"HOME": str(self.home), "TMPDIR": str(self.tmp), "LANG": "C",
                    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        for name in os.environ:
            if name.startswith(("ASAN", "UBSAN", "LSAN")):
                self.env[name] = os.environ[name]
        self.give()

    def give(self, top=None):
        top = top or self.top
        for path in (top, *top.rglob("*")):
            if self.drops:
                os.chown(path, USER, USER, follow_symlinks=False)

    def configure(self, text):
        path = self.home / ".config/cordon/config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{work}", str(self.work)), encoding="utf-8")
        self.give()

    # What runs in the child, from the fork to the exec.
    def become_host(self, setup, namespaces, ready, go):
        if self.drops and namespaces & NEWUSER:
            self.become_user()  # the namespace is to be the user's own
        if namespaces:
            # Not dumpable after setuid: its maps could not be written by its own user.
            call("prctl", 4, 1, 0, 0, 0)
            call("unshare", namespaces)
            os.write(ready, b"r")
            check(os.read(go, 1) == b"g", "no maps")
            if namespaces & NEWNS:
                mount(None, "/", flags=MS_REC | MS_PRIVATE)
            if namespaces & NEWPID:
                self.leave_to_child()
                self.leave_to_child()  # PID 1 of the new namespace is not what is tried
                mount("proc", "/proc", "proc")
        setup(self)
        if self.drops and not namespaces & NEWUSER:
            self.become_user()

    @staticmethod
    def become_user():
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)

    @staticmethod
    def leave_to_child():
        pid = os.fork()
        if pid:
            _, status = os.waitpid(pid, 0)
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)

    @staticmethod
    def map_ids(pid, is_all):
        """All that this namespace has, or the user alone."""
        if not is_all:
            Path(f"/proc/{pid}/setgroups").write_text("deny", encoding="utf-8")
        for name in ("uid", "gid"):
            own = USER if os.getuid() == 0 else getattr(os, f"get{name}")()
            text = f"{own} {own} 1"
            if is_all:
                lines = Path(f"/proc/self/{name}_map").read_text(encoding="utf-8").splitlines()
                text = "\n".join("{0} {0} {2}".format(*line.split()) for line in lines)
            Path(f"/proc/{pid}/{name}_map").write_text(text, encoding="utf-8")

    def start(self, argv, setup, namespaces, env):
        """Forks what becomes the host and then the command; returns (pid, pipes, when)."""
        out, err, ready, go, when = (os.pipe() for _ in range(5))
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                null = os.open("/dev/null", os.O_RDONLY)
                for number, fd in enumerate((null, out[1], err[1])):
                    os.dup2(fd, number)
                os.chdir(self.work)
                self.become_host(setup, namespaces, ready[1], go[0])
                os.write(when[1], struct.pack("d", time.monotonic()))
                os.execve(argv[0], [os.fspath(a) for a in argv], env)
            except BaseException:  # pylint: disable=broad-except
                traceback.print_exc()
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(98)
        for pipe in (out, err, ready, when):
            os.close(pipe[1])
        os.close(go[0])
        if namespaces and os.read(ready[0], 1) == b"r":
            if namespaces & NEWUSER:
                self.map_ids(pid, is_all=self.who == "root")
            os.write(go[1], b"g")
        os.close(go[1])
        os.close(ready[0])
        return pid, (out[0], err[0]), when[0]

    def once(self, argv, setup, namespaces, env):
        pid, pipes, when = self.start(argv, setup, namespaces, env)
        texts = {pipe: b"" for pipe in pipes}
        pending, end = set(pipes), time.monotonic() + HANG_SECONDS
        while pending and time.monotonic() < end:
            for pipe in select.select(list(pending), [], [], 1)[0]:
                data = os.read(pipe, 65536)
                texts[pipe] += data
                if not data:
                    pending.discard(pipe)
        if pending:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        ended = time.monotonic()
        began = os.read(when, 8)
        for pipe in (*pipes, when):
            os.close(pipe)
        out, err = (texts[pipe].decode("utf-8", "replace") for pipe in pipes)
        check(len(began) == 8, f"the host could not be made: {out}{err}")
        check(not pending, f"not done after {HANG_SECONDS} s: {argv}: {out} {err}")
        seconds = ended - struct.unpack("d", began)[0]
        return Outcome(os.waitstatus_to_exitcode(status), out, without_noise(err), seconds)

    def try_on(self, setup, *options, command=("/bin/cat", "file"), limit=SECONDS, **host):
        """cordon run on that host; the quickest of a few tries."""
        words = ["run", *options, "--report", str(self.report), "--", *command]
        self.report.unlink(missing_ok=True)
        done = self.quickest(words, setup, limit, **host)
        if self.report.exists():
            done.backend = json.loads(self.report.read_text(encoding="utf-8")).get("backend")
        return done

    def doctor(self, setup, **host):
        """What `cordon doctor` says of that host; it tries more than one run."""
        done = self.quickest(["doctor", "--json"], setup, DOCTOR_SECONDS, **host)
        told = json.loads(done.out)
        check(done.status == (0 if told["ok"] else 1), repr(done))
        return told

    def quickest(self, words, setup, limit, namespaces=0, prefix=(), env=None):
        argv = [*prefix, self.program, *words]
        limit *= 3 if is_instrumented(self.program) else 1
        if self.who == "user" and namespaces:
            namespaces |= NEWUSER
        for _ in range(TRIES):
            busy = conform.slowness()
            done = self.once(argv, setup, namespaces, {**self.env, **(env or {})})
            check("Sanitizer" not in done.err and "runtime error" not in done.err, repr(done))
            if done.seconds < limit * max(busy, conform.slowness()):
                return done
        raise AssertionError(f"too slow: {done!r}")


def nothing(_world):
    pass


def works(done, backend, out="text\n"):
    check(done.status == 0 and done.out == out, repr(done))
    check(done.backend == backend, f"expected {backend}: {done!r}")
    return done


def refused(done, *words):
    """One headline, and indented lines below it, that name cause and fix."""
    check(done.status == 125 and done.out == "", repr(done))
    lines = [line for line in done.err.splitlines() if not line.startswith("cordon: warning: ")]
    check(lines and lines[0].startswith("cordon: error: ") and all(line.startswith("  ") for line in lines[1:]), repr(done))
    for word in words:
        check(word in done.err, f"'{word}' is not said: {done!r}")
    return done


MODE = ("--mode", "workspace-write")
# What has to be accepted for a sandbox by Landlock alone.
LESS = [word for name in sorted(set(SUPPORT.lacking("landlock")) & conform.EVERYDAY)
        for word in ("--accept-missing", name)]


def without_namespaces(w, setup, cause, fix, **host):
    """No namespaces: refused with cause and fix, for doctor too; Landlock does with less."""
    done = refused(w.try_on(setup, *MODE, **host), "native", cause, fix)
    told = w.doctor(setup, **host)
    check(not told["ok"] and any(fix in json.dumps(a) for a in told["advice"]), f"'{fix}' is no advice: {told['advice']}")
    for backend in conform.BACKENDS:
        check(backend in done.err, f"{backend} is not said to have been tried: {done!r}")
    if "landlock" in conform.BACKENDS:
        done = works(w.try_on(setup, *MODE, *LESS, **host), "landlock")
        check("native" in done.err and cause in done.err, f"why not native is not said: {done!r}")


@case
def an_ordinary_host_gives_native(w):
    works(w.try_on(nothing, *MODE), "native")
    check(w.doctor(nothing)["ok"], "doctor does not think so")


# ---- Switches of the kernel ----------------------------------------------------------


def no_user_namespaces(_world):
    Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="utf-8")


@case
def no_user_namespace_is_to_be_had(w):
    works(w.try_on(nothing, *MODE, namespaces=NEWUSER), "native")  # the control
    without_namespaces(w, no_user_namespaces, "user.max_user_namespaces is 0", "user.max_user_namespaces=15000",
                       namespaces=NEWUSER)


@case
def no_namespace_of_one_kind_is_to_be_had(w):
    for kind in ("mnt", "pid", "net", "ipc", "uts", "cgroup"):
        name = f"user.max_{kind}_namespaces"

        def close(_world, path=f"/proc/sys/user/max_{kind}_namespaces"):
            Path(path).write_text("0", encoding="utf-8")

        if kind == "net":
            without_namespaces(w, close, f"{name} is 0", f"{name}=15000", namespaces=NEWUSER)
        else:
            refused(w.try_on(close, *MODE, namespaces=NEWUSER), f"{name} is 0", f"{name}=15000")


@case
def a_read_only_proc(w):
    def close(_world):
        bind_read_only("/proc")

    refused(w.try_on(close, *MODE, namespaces=NEWNS), "native", "/proc is mounted read-only")
    works(w.try_on(close, *MODE, *LESS, namespaces=NEWNS), "landlock")


@case
def a_proc_of_another_pid_namespace(w):
    """Numbers in it mean other processes."""
    if w.who != "root":
        raise Skip("only root can make a pid namespace alone")
    for options in ((), ("--backend", "bwrap"), ("--backend", "landlock", *LESS)):
        done = w.try_on(nothing, *MODE, *options, prefix=["/usr/bin/unshare", "--pid", "--fork"])
        refused(done, "belongs to another pid namespace", "--mount-proc")
        works(w.try_on(nothing, *MODE, *options, prefix=["/usr/bin/unshare", "--pid", "--fork", "--mount-proc"]),
              options[1] if options else "native")


WATCHES = 3000  # that take far longer to be set than the command to begin


def few_watches(_world):
    Path("/proc/sys/user/max_inotify_watches").write_text(str(WATCHES), encoding="utf-8")


@case
def names_that_can_not_be_watched_for_are_refused_before_the_command_runs(w):
    w.configure('default_permissions = "p"\n[permissions.p]\nextends = ":workspace"\n'
                '[permissions.p.filesystem]\n"{work}/**/*.key" = "deny"\n')
    for i in range(WATCHES + 10):
        (w.work / f"d/{i}").mkdir(parents=True)
    w.give()
    script = ("/bin/sh", "-c", ": >ran; cat file")
    done = w.try_on(few_watches, namespaces=NEWUSER, command=script)
    refused(done, "can't watch", "max_user_watches")
    check(not (w.work / "ran").exists(), "the command was run")
    works(w.try_on(nothing, namespaces=NEWUSER, command=script), "native")
    check((w.work / "ran").exists(), "the control shows nothing")


# ---- /proc ------------------------------------------------------------------------------


def cover_proc(_world):
    """What container engines cover, as far as this kernel has it."""
    for name in ("kcore", "keys", "timer_list", "interrupts"):
        if os.path.exists(f"/proc/{name}"):
            bind("/dev/null", f"/proc/{name}")


@case
def a_covered_proc_as_containers_have_it(w):
    works(w.try_on(nothing, *MODE, namespaces=NEWNS), "native")
    done = w.try_on(cover_proc, *MODE, namespaces=NEWNS)
    refused(done, "native", "/proc is partly covered", "systempaths=unconfined")
    told = w.doctor(cover_proc, namespaces=NEWNS)
    check(not told["ok"] and "systempaths=unconfined" in json.dumps(told["advice"]), f"{told}")
    if "bwrap" in conform.BACKENDS and os.path.exists("/usr/bin/bwrap") and w.who == "root":
        # With the host's /proc, which is said. (In a user's namespace root's bwrap is a stranger's.)
        done = works(w.try_on(cover_proc, *MODE, "--accept-missing", "proc", namespaces=NEWNS), "bwrap")
        check("guarantee proc is not enforced" in done.err and "/proc is partly covered" in done.err, repr(done))


def view_of_kernel(mode):
    def setup(world):
        place = world.work / "closed/proc"
        place.mkdir(parents=True, exist_ok=True)
        world.give()
        mount("proc", place, "proc")
        place.parent.chmod(mode)
    return setup


@case
def a_proc_in_the_workspace_is_hidden_or_refused_where_it_is_closed(w):
    """The command could open a directory of its user's that is closed: what is in it has to be known."""
    namespaces = NEWNS | NEWPID
    script = ("/bin/sh", "-c", "chmod 700 closed; test -e closed/proc/self/status && echo seen; cat file")
    closed = w.work / "closed"
    works(w.try_on(view_of_kernel(0o700), *MODE, namespaces=namespaces, command=script), "native")
    done = w.try_on(view_of_kernel(0), *MODE, namespaces=namespaces, command=script)
    closed.chmod(0o700)
    if w.who == "user":
        refused(done, str(closed), "chmod u+rX")
    else:
        works(done, "native")  # root sees it, and so it is hidden
    done = w.try_on(view_of_kernel(0), "--mode", "danger-full-access", namespaces=namespaces, command=script)
    closed.chmod(0o700)
    check(done.status == 0 and done.out == "seen\ntext\n", f"the control shows nothing: {done!r}")


# ---- Filters ------------------------------------------------------------------------------


@case
def no_clone3_as_containers_have_it(w):
    works(w.try_on(nothing, *MODE, prefix=[w.forbid, "clone3", "--"]), "native")


@case
def no_namespaces_and_no_mounts_as_containers_have_it(w):
    prefix = [w.forbid, "clone3", "namespaces", "mounts", "--"]
    without_namespaces(w, nothing, "container", "seccomp=unconfined", prefix=prefix)


@case
def namespaces_but_no_mounts(w):
    """A filter that knows only half of it: the namespaces are made, and of no use."""
    for what in ("mounts", "mount-api"):
        done = w.try_on(nothing, *MODE, prefix=[w.forbid, what, "--"])
        if done.status == 0:
            works(done, "bwrap")  # whose mounts are of the old kind
        else:
            refused(done, "native", "container" if what == "mounts" else "Linux 5.")


# Sandboxes of other programs: the mark, a filter such as theirs, its name, and the way out.
AROUND = {
    "codex": ("CODEX_SANDBOX_NETWORK_DISABLED", ["codex"], "codex's sandbox", "danger-full-access"),
    "claude": ("SANDBOX_RUNTIME", ["clone3", "namespaces", "mounts"], "Claude Code's sandbox", "CLAUDE_CODE_SHELL_PREFIX"),
}


@case
def in_another_program_s_sandbox_it_is_said_which_and_what_to_do(w):
    for mark, what, name, way_out in AROUND.values():
        env, prefix = {mark: "1"}, [w.forbid, *what, "--"]
        # Also where a switch of the kernel's is off, as in the second one.
        for setup, namespaces in ((nothing, 0), (no_user_namespaces, NEWUSER)):
            host = {"env": env, "prefix": prefix, "namespaces": namespaces}
            for options in ((), ("--backend", "native")):
                done = refused(w.try_on(setup, *MODE, *options, **host), name, mark, way_out)
                check("sysctl" not in done.err and "unconfined" not in done.err, f"advice that does not help: {done!r}")
            advice = json.dumps(w.doctor(setup, **host)["advice"])
            check(name in advice and way_out in advice and "sysctl" not in advice, f"{advice}")
        # What is said there is no decision, and a variable alone is no sandbox.
        works(w.try_on(nothing, *MODE, env=env), "native")
        done = w.try_on(nothing, *MODE, "--backend", "none", env=env, prefix=prefix)
        check(done.status == 0 and done.out == "text\n", f"it does not get through the filter: {done!r}")
        check(name not in w.try_on(no_user_namespaces, *MODE, env=env, namespaces=NEWUSER).err, "said of a variable")


@case
def who_can_t_close_what_it_inherited_runs_nothing(w):
    """It could keep others from noticing the end of a run."""
    for options in ((), ("--backend", "none")):
        done = w.try_on(nothing, *MODE, *options, prefix=[w.forbid, "close-range", "--"])
        check(done.status == 125, f"{options}: {done!r}")


@case
def no_landlock(w):
    """A kernel without it, one that was started without it, and a filter around this process."""
    for what, fix in (("landlock", "CONFIG_SECURITY_LANDLOCK"), ("landlock-at-boot", "lsm="),
                      ("landlock-calls", "allow the landlock_* system calls")):
        refused(w.try_on(nothing, *MODE, prefix=[w.forbid, what, "--"]), "fs_write", "Landlock", fix)
        refused(w.try_on(nothing, "--backend", "landlock", *LESS, prefix=[w.forbid, what, "--"]), "Landlock", fix)
        check(not w.doctor(nothing, prefix=[w.forbid, what, "--"])["ok"], what)


# ---- Other systems ---------------------------------------------------------------------------

UNAME26 = 0x0020000
WSL1 = "4.4.0-19041-Microsoft"
WSL2 = "5.15.153.1-microsoft-standard-WSL2"


def windows_kernel(release):
    def setup(world):
        # A /proc that is not covered has to be somewhere, or there would be no new one.
        # uname() can't be made to lie but by a personality, and then the file is asked.
        LIBC.personality(UNAME26)
        whole = world.top / "proc"
        whole.mkdir(exist_ok=True)
        mount("proc", whole, "proc")
        for name, text in (("sys/kernel/osrelease", release + "\n"),
                           ("version", f"Linux version {release} (Microsoft@Microsoft.com) #1 SMP\n")):
            made = world.tmp / os.path.basename(name)
            made.write_text(text, encoding="utf-8")
            bind(made, f"/proc/{name}")
    return setup


@case
def windows_subsystem_1_is_refused_by_name(w):
    done = w.try_on(windows_kernel(WSL1), *MODE, namespaces=NEWNS | NEWPID)
    refused(done, "WSL", "WSL2")
    told = w.doctor(windows_kernel(WSL1), namespaces=NEWNS | NEWPID)
    check(not told["ok"] and "WSL2" in json.dumps(told), f"{told}")


@case
def windows_subsystem_2_is_plain_linux(w):
    works(w.try_on(windows_kernel(WSL2), *MODE, namespaces=NEWNS | NEWPID), "native")


# ---- Little room ---------------------------------------------------------------------------------


@case
def a_read_only_tmp(w):
    done = w.try_on(lambda _: bind_read_only("/tmp"), *MODE, namespaces=NEWNS, env={"TMPDIR": "/tmp"},
                    command=("/bin/sh", "-c", "cat file; echo x >new; ! touch /tmp/cordon-bad-host 2>/dev/null"))
    works(done, "native")
    check((w.work / "new").exists(), "the workspace can't be written")


@case
def a_tmpdir_that_is_not_there(w):
    for value in ("/nonexistent/tmp", str(w.top / "no/such"), "relative", ""):
        done = w.try_on(nothing, *MODE, env={"TMPDIR": value})
        works(done, "native")


@case
def few_descriptors(w):
    # Each directory that holds a missing name (P9) takes one.
    for count in (8, 12, 16, 24, 64, 80):
        done = w.try_on(lambda _, n=count: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)), *MODE)
        if done.status == 125:
            refused(done)
            # The words are libc's: glibc's and musl's.
            check("Too many open files" in done.err or "No file descriptors" in done.err, repr(done))
            check(count < 64, f"{count} are enough: {done!r}")
        else:
            works(done, "native")


@case
def who_is_refused_for_want_of_descriptors_has_not_run(w):
    ran = w.work / "ran"
    for count in (*range(14, 24), *range(30, 44), 80):
        done = w.try_on(lambda _, n=count: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)), *MODE,
                        command=("/bin/sh", "-c", "echo >ran; sleep 0.1"))
        check(ran.exists() == (done.status == 0), f"{count}: {done!r}")
        ran.unlink(missing_ok=True)
    check(done.status == 0, f"it never works: {done!r}")


@case
def a_small_stack(w):
    """Refused, where it would be a SIGSEGV somewhere."""
    if is_instrumented(w.program):
        raise Skip("with sanitizers all needs more")
    for kib in (64, 128, 255, 256, 1024):
        done = w.try_on(nothing, *MODE, prefix=["/usr/bin/prlimit", f"--stack={kib * 1024}"])
        if kib < 256:
            refused(done, "ulimit -s")
        else:
            works(done, "native")


@case
def no_more_processes(w):
    """Whichever process is the first that can't be started, the way out is named."""
    if w.who == "root":
        raise Skip("root has no such limit")

    def try_with(most, *options):
        # Set by the user: who becomes one that has too many already may not even execute.
        return w.try_on(nothing, *options, prefix=["/usr/bin/prlimit", f"--nproc={most}:{most}"], env=without_leaks())

    for options in (MODE, ("--mode", "read-only"), ("--backend", "none")):
        works(w.try_on(nothing, *options), "none" if "none" in options else "native")
        refused(try_with(1, *options), "ulimit -u")
    # Who asks bwrap for its options, bwrap, and then its own child.
    works(w.try_on(nothing, "--backend", "bwrap"), "bwrap")
    for most in (1, 2, 3):
        refused(try_with(most, "--backend", "bwrap"), "ulimit -u")


# As what it needs of descriptors differs, so does where they end: before, in or after the connect.
CONNECTS = ("import socket\ntry: socket.socket(socket.AF_UNIX).connect('nothing')\n"
            "except OSError as error: print(error.strerror)")


@case
def few_descriptors_for_a_connect(w):
    if not os.path.exists("/usr/bin/python3"):
        raise Skip("no python3 that both users can run")
    said = set()
    for count in (*range(34, 50), 80):
        done = w.try_on(lambda _, n=count: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)), *MODE,
                        command=("/usr/bin/python3", "-I", "-S", "-c", CONNECTS))
        if done.status == 125:
            refused(done)
        else:
            check(done.status == 0, repr(done))
            said.add(done.out)
    check(said == {"Too many open files\n", "No such file or directory\n"}, f"{said}, at last {done!r}")


MASKS = """
[permissions.many]
extends = ":workspace"
[permissions.many.filesystem]
":workspace_roots" = { "**/*.env" = "deny" }
"""


def make_masks(w):
    for n in range(5000):
        path = w.work / f"d{n // 100}" / f"{n}.env"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"SECRET")
    w.configure(MASKS)
    return "cat file; cat d0/0.env d49/4999.env 2>/dev/null; true"


@case
def five_thousand_masks(w):
    script = make_masks(w)
    works(w.try_on(nothing, "-P", "many", command=("/bin/sh", "-c", script)), "native")
    works(w.try_on(nothing, *MODE, command=("/bin/sh", "-c", script)), "native", "text\nSECRETSECRET")


# ---- bwrap -------------------------------------------------------------------------------------------

# The options of each version that were not in the one before, and how many operands they have.
BWRAP_OPTIONS = {
    "0.4.0": {
        0: "help version unshare-all share-net unshare-user unshare-user-try unshare-ipc unshare-pid unshare-net"
           " unshare-uts unshare-cgroup unshare-cgroup-try die-with-parent new-session as-pid-1",
        1: "args chdir dev proc tmpfs mqueue dir remount-ro seccomp sync-fd block-fd userns-block-fd info-fd"
           " json-status-fd uid gid hostname lock-file unsetenv exec-label file-label cap-add cap-drop userns"
           " userns2 pidns",
        2: "bind bind-try dev-bind dev-bind-try ro-bind ro-bind-try setenv symlink file bind-data ro-bind-data",
    },
    "0.4.1": {},
    "0.5.0": {0: "clearenv", 1: "perms", 2: "chmod"},
    "0.6.0": {1: "add-seccomp-fd"},
    "0.7.0": {1: "size"},
    "0.8.0": {0: "disable-userns assert-userns-disabled"},
    "0.9.0": {1: "argv0"},
    "0.10.0": {2: "bind-fd ro-bind-fd"},
    "0.11.0": {0: "level-prefix", 1: "overlay-src tmp-overlay ro-overlay", 3: "overlay"},
}
BWRAP = ("--backend", "bwrap", *MODE)
ANSWERS = "0.8.0"  # what a fake pretends to be that has to be asked more than once


def bwrap_options(version):
    lines = []
    for one, added in BWRAP_OPTIONS.items():
        lines += [f"--{name} {count}" for count, names in added.items() for name in names.split()]
        if one == version:
            return lines
    raise KeyError(version)


def needs_bwrap(w):
    if "bwrap" not in conform.BACKENDS or not os.path.exists("/usr/bin/bwrap"):
        raise Skip("there is no bwrap here")
    w.trusted = trusted_directory(w)


def trusted_directory(w):
    """Where nobody else can write: all that is above it belongs to root or the user."""
    for place in ("/opt", "/usr/local", os.path.expanduser("~")):
        if os.access(place, os.W_OK) and os.stat(place).st_mode & 0o22 == 0:
            made = Path(tempfile.mkdtemp(prefix="cordon-bad-", dir=place))
            made.chmod(0o755)
            w.more.append(made)
            return made
    raise Skip("there is no directory of which only root and the user have a say")


def put_bwrap(w, where, kind, version=ANSWERS):
    where.mkdir(exist_ok=True)
    program = Path(shutil.copy(w.fake, where / "bwrap"))
    (where / "bwrap.conf").write_text("\n".join([kind, *bwrap_options(version)]), encoding="utf-8")
    w.give(where)
    return program


def has_run(program):
    return Path(f"{program}.ran").exists()


@case
def a_bwrap_of_this_host(w):
    needs_bwrap(w)
    works(w.try_on(nothing, *BWRAP), "bwrap")
    refused(w.try_on(nothing, *BWRAP, env={"PATH": str(w.trusted)}), "no bwrap on PATH", "install bubblewrap")


def group_has_no_number(_world):
    check(os.getpgrp() == 0, "it is in a group of this namespace")


@case
def a_group_that_has_no_number(w):
    """Who comes into a container from outside (docker exec) is in a group of the host's."""
    works(w.try_on(group_has_no_number, *MODE, namespaces=NEWPID | NEWNS), "native")
    # In a namespace that an ordinary user makes root is nobody, and bwrap nobody's to trust.
    if w.who == "root":
        needs_bwrap(w)
        works(w.try_on(group_has_no_number, *BWRAP, namespaces=NEWPID | NEWNS), "bwrap")


@case
def a_bwrap_that_can_not_be_trusted_is_passed_over_and_said(w):
    needs_bwrap(w)
    local = put_bwrap(w, w.work / "bin", "then-runs")
    loose = put_bwrap(w, w.trusted, "then-runs")
    loose.chmod(0o775)
    others = put_bwrap(w, w.tmp / "bin", "then-runs")  # below /var/tmp, and the policy's to write
    for program, why in ((local, "working directory"), (loose, "written by others"), (others, "")):
        done = w.try_on(nothing, *BWRAP, env={"PATH": f"{program.parent}:{w.env['PATH']}"})
        works(done, "bwrap")
        check("passed over" in done.err and str(program) in done.err and why in done.err, repr(done))
        done = w.try_on(nothing, *BWRAP, env={"PATH": str(program.parent)})
        refused(done, str(program), "passed over", "install bubblewrap")
        check(not has_run(program), f"{program} was run")
    loose.chmod(0o755)
    w.try_on(nothing, *BWRAP, env={"PATH": str(loose.parent)})
    check(has_run(loose), "the control shows nothing")


def bwrap_of(told):
    return next(backend for backend in told["backends"] if backend["name"] == "bwrap")


@case
def the_doctor_starts_no_bwrap_that_a_run_would_pass_over(w):
    needs_bwrap(w)
    program = put_bwrap(w, w.trusted / "bin", "then-runs")
    env = {"PATH": f"{program.parent}:{w.env['PATH']}"}
    elsewhere, w.work = w.work, w.trusted
    check(bwrap_of(w.doctor(nothing, env=env))["works"], "the one behind it is not tried")
    w.work = elsewhere
    w.configure(f'default_permissions = "dev"\n[permissions.dev.filesystem]\n":root" = "read"\n"{program.parent}" = "write"\n')
    check(bwrap_of(w.doctor(nothing, env=env))["works"], "the one behind it is not tried")
    w.configure("no policy")
    check("trusted" in bwrap_of(w.doctor(nothing, env=env))["reason"], "trusted without a policy")
    check(not has_run(program), "it was run")
    w.configure("")
    check(not bwrap_of(w.doctor(nothing, env=env))["works"] and has_run(program), "the control shows nothing")


@case
def older_and_newer_versions_of_bwrap(w):
    needs_bwrap(w)
    for version in BWRAP_OPTIONS:
        program = put_bwrap(w, w.trusted, "version", version)
        done = w.try_on(nothing, *BWRAP, env={"PATH": str(w.trusted)})
        if version.startswith("0.4."):
            refused(done, str(program), "has no --perms", "0.5.0 or newer")
        else:
            works(done, "bwrap")
            check(done.err == "", f"{version}: {done!r}")
        check(has_run(program), f"{version} was not asked")


@case
def a_bwrap_that_is_none(w):
    needs_bwrap(w)
    for kind in ("hangs", "garbage", "floods", "crashes"):
        program = put_bwrap(w, w.trusted, kind)
        limit = SECONDS + (HELP_SECONDS if kind == "hangs" else 0)
        refused(w.try_on(nothing, *BWRAP, env={"PATH": str(w.trusted)}, limit=limit), str(program), "--help")
        check(has_run(program), f"the control shows nothing: {kind}")
        # Without being named it does not matter.
        works(w.try_on(nothing, *MODE, env={"PATH": str(w.trusted)}), "native")


@case
def a_bwrap_that_misbehaves_later(w):
    needs_bwrap(w)
    for kind in ("then-hangs", "then-says-yes", "then-says-no", "then-runs"):
        program = put_bwrap(w, w.trusted, kind)
        done = w.try_on(nothing, *BWRAP, env={"PATH": str(w.trusted)}, command=("/bin/sh", "-c", "echo x >ran"))
        refused(done, "bwrap")
        check(has_run(program) and not (w.work / "ran").exists(), f"{kind}: {done!r}")
        if kind == "then-says-no":
            check("namespace" in done.err, f"what bwrap says is not said: {done!r}")


@case
def a_bwrap_that_is_only_slow(w):
    needs_bwrap(w)
    put_bwrap(w, w.trusted, "then-works-hard")
    works(w.try_on(nothing, *BWRAP, env={"PATH": str(w.trusted)}, limit=8.0), "bwrap")


@case
def five_thousand_masks_by_bwrap(w):
    needs_bwrap(w)
    script = make_masks(w)
    works(w.try_on(nothing, "--backend", "bwrap", "-P", "many", command=("/bin/sh", "-c", script)), "bwrap")


@case
def a_host_where_only_bwrap_gets_through(w):
    """The order of the backends, and why the first is not it."""
    needs_bwrap(w)
    done = w.try_on(nothing, *MODE, prefix=[w.forbid, "mount-api", "--"])
    works(done, "bwrap")
    check("native" in done.err, f"why not native is not said: {done!r}")
    w.configure('linux.backends = ["bwrap", "native"]\n')
    done = works(w.try_on(nothing, *MODE), "bwrap")
    check(done.err == "", repr(done))


# ---- Running them -----------------------------------------------------------------------------------


def run_one(function, who, binaries):
    top, world = tempfile.mkdtemp(prefix="cordon-bad-", dir="/var/tmp"), None
    try:
        os.chmod(top, 0o755)
        world = World(top, who, binaries)
        function(world)
    finally:
        for path in (top, *(world.more if world else ())):
            shutil.rmtree(path)


def main():
    everyone = ["root", "user"] if os.getuid() == 0 else ["user"]
    wanted = [(f, who) for who in everyone for f in _cases if len(sys.argv) < 2 or f.__name__ in sys.argv[1:]]
    failed = 0
    print(f"1..{len(wanted)}")
    with tempfile.TemporaryDirectory(prefix="cordon-bad-bin-", dir="/var/tmp") as binaries:
        os.chmod(binaries, 0o755)
        shutil.copy(os.environ["CORDON"], f"{binaries}/cordon")
        for name in ("FORBID", "FAKE_BWRAP"):
            shutil.copy(os.environ[name], f"{binaries}/{name.lower()}")
        for number, (function, who) in enumerate(wanted, 1):
            label = f"{number} - {function.__name__} as {who}"
            try:
                run_one(function, who, binaries)
                print(f"ok {label}", flush=True)
            except Skip as reason:
                print(f"ok {label} # SKIP {reason}", flush=True)
            except Exception:  # pylint: disable=broad-except
                failed += 1
                print(f"not ok {label}")
                print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
