# SPDX-License-Identifier: MIT
"""What the conformance cases share: a box to try things in, the table, and TAP.

A case is tried with one backend as one user. What must be refused inside is
paired with what must work inside, and with a control: the same attempt without
a sandbox, in a tree that was built the same way, works. After every run nothing
of it may be alive, and nothing of it may lie about.

A case states which guarantees (P16) what it shows rests on. Where the backend lacks one
of them on this host, as support.txt says, the case is not tried; what else the backend
lacks is accepted by name, so that all that it does give is tried. That a loss which
nobody accepted is refused has cases of its own (cases_guarantees.py).

The attempts are the probe's (probe.h). In the texts of attempts, policies and
paths, {work}, {out}, {home}, {tmp} and {top} are the box's directories.
"""

import ctypes
import encodings.idna  # noqa: F401  now: the ordinary user may not be able to read it later
import fnmatch
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from sanitizer import without_noise  # noqa: E402

SECONDS = 30  # for one process; a loaded machine is slow
FIRST_UID = 61183  # of the ordinary user when the tests run as root: nobody's, not in passwd
MARKED = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "LANG": "C"}
PLACEHOLDERS = {".git", ".codex", ".agents", ".cordon", "HEAD", "refs", "objects", "commondir"}

# Whole policies that a backend refuses by name, whatever its guarantees: such a refusal is a
# skip, which support.txt has to predict.
REFUSALS = (
    "can enforce only the modes",
    "the policy lets the command change it",
    "if all of '/' is writable",
)

# How a path that is read-only, or not there at all, may refuse a change.
READ_ONLY = {"EROFS", "EACCES", "EPERM", "EXDEV", "EBUSY"}
HIDDEN = {"ENOENT", "EACCES", "EPERM"}
FORBIDDEN = {"EPERM", "EACCES", "ENOSYS"}


SOURCES = Path(__file__).resolve().parents[2]
# {name: meaning}, of the program's own list.
GUARANTEES = dict(
    re.findall(r'X\(\w+, "(\w+)", "([^"]+)"\)', (SOURCES / "src/policy/guarantee.h").read_text(encoding="utf-8"))
)
BACKENDS = tuple(b for b in ("native", "bwrap", "landlock") if (SOURCES / "src/backend" / b).is_dir())
# What :workspace needs. The others are needed only where a policy says so, and no case
# says so without being about it: they are never accepted.
EVERYDAY = set(GUARANTEES) - {"fs_read", "fs_reopen", "deny_future", "net_managed", "limits"}


class Skip(Exception):
    pass


class Wrong(AssertionError):
    pass


def check(condition, text):
    if not condition:
        raise Wrong(text)


# ---- The table -----------------------------------------------------------------

CASES = []


@dataclass
class Case:
    name: str
    run: Callable
    who: tuple  # of "root", "user"
    needs: frozenset  # what it shows can't be had without; empty: all backends do it


_needs = frozenset()


def these_need(*guarantees):
    """What the cases that follow need, unless one says otherwise."""
    global _needs  # pylint: disable=global-statement
    check(set(guarantees) <= set(GUARANTEES), f"{guarantees}")
    _needs = frozenset(guarantees)


def case(function=None, *, who=("root", "user"), needs=None):
    """Adds a function that takes an Arena to the table; its name is a sentence."""
    wanted = _needs if needs is None else frozenset(needs)
    check(wanted <= set(GUARANTEES), f"{wanted}")

    def add(f):
        check(all(c.name != f.__name__ for c in CASES), f"two cases are named {f.__name__}")
        CASES.append(Case(f.__name__, f, who, wanted))
        return f

    return add(function) if function else add


@dataclass
class Control:
    """How the attempt is tried without a sandbox, and what shows that it would have worked."""

    prefix: str = ""  # another attempt that runs it, such as as-ns-root
    accept: frozenset = frozenset({"OK"})
    needs_root: bool = False  # shown in root's column alone
    host_lacks: frozenset = frozenset()  # outcomes that mean: not to be had on this host


SAME = Control()
AS_ROOT = Control(needs_root=True)
IN_NAMESPACE = Control(prefix="as-ns-root ")


def rows(names, refused, allowed=(), errors=READ_ONLY, control=SAME, who=("root", "user"), needs=None, **box):
    """One case: attempts that are refused inside, others that work inside, all work outside.

    `control` is None only where another case shows it.
    """

    def run(arena):
        inside = arena.box(**box)
        before = inside.snapshot()
        done = inside.run(*allowed, *refused)
        for attempt, got in zip(allowed, done):
            check(got.startswith("OK"), f"allowed, but {got}: {attempt}")
        for attempt, got in zip(refused, done[len(allowed) :]):
            check(got in errors, f"expected one of {sorted(errors)}, got {got}: {attempt}")
        check_same(before, inside.snapshot(), "was changed from inside")
        show_control(arena, refused, allowed, control, box)

    run.__name__ = names
    case(run, who=who, needs=needs)


def show_control(arena, refused, allowed, control, box):
    if control is None or control.needs_root and arena.uid != 0:
        return
    for attempt, got in zip(allowed, arena.box(**box).bare(*allowed)):
        check(got.startswith("OK"), f"the control of what is allowed is {got}: {attempt}")
    for attempt in refused:
        # In a tree of its own: one attempt must not spoil the next one's.
        got = arena.box(**box).bare(control.prefix + attempt)[0]
        if got in control.host_lacks:
            raise Skip(f"{attempt.split()[0]}: {got} on this host without a sandbox")
        check(got.split()[0] in control.accept, f"the control is {got}, shows nothing: {attempt}")


def without_losses(text):
    """Without what is said of losses that were accepted, and has a case of its own."""
    return "".join(line for line in text.splitlines(True) if ": its loss was accepted" not in line)


# ---- What a tree looks like ------------------------------------------------------


def describe(path):
    st = os.lstat(path)
    parts = [oct(st.st_mode), st.st_uid, st.st_gid, st.st_nlink, st.st_mtime_ns, st.st_ctime_ns]
    if stat.S_ISREG(st.st_mode):
        parts += [st.st_size, hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]]
        parts += [(n, os.getxattr(path, n)) for n in sorted(os.listxattr(path))]
    elif stat.S_ISLNK(st.st_mode):
        parts.append(os.readlink(path))
    return parts


def snapshot(*tops):
    seen = {}
    for top in tops:
        if not os.path.lexists(top):
            seen[str(top)] = None
            continue
        seen[str(top)] = describe(top)
        for where, directories, files in os.walk(top):
            for name in directories + files:
                seen[os.path.join(where, name)] = describe(os.path.join(where, name))
    return seen


def check_same(before, after, what):
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        check(old == new, f"{path} {what}: {old} -> {new}")


def becomes_true(condition, seconds=SECONDS):
    """Whether it is true within that time. The look that finds it true is the last one: a second might not."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= end:
            return False
        time.sleep(0.002)
    return True


def await_true(condition, otherwise):
    check(becomes_true(condition), otherwise)


def await_path(path):
    await_true(lambda: os.path.lexists(path), f"{path} did not appear")


# ---- Processes -------------------------------------------------------------------


def children(pid):
    """Of all its threads; empty when it is gone."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="utf-8") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass
    return found


def state_of(pid):
    """(state, name), or None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return None
    return text[text.rindex(")") + 2], text[text.index("(") + 1 : text.rindex(")")]


def descendants():
    """{pid: name} of the living below this process: orphans too, since it is their reaper."""
    below, found = children(os.getpid()), {}
    while below:
        pid = below.pop()
        state = state_of(pid)
        if state is not None and state[0] not in "ZX":
            found[pid] = state[1]
        below += children(pid)
    return found


def command_of(pid):
    """Its state, its parent and its words."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        state, parent = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[:2]
        return f"{state} of {parent}: {words}"
    except OSError:
        return "gone by now"


def reap(known=()):
    """Collects orphans that have ended; `known` are children that others wait for."""
    for pid in children(os.getpid()):
        state = state_of(pid)
        if pid not in known and state is not None and state[0] in "ZX":
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass


def become_reaper():
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.prctl(36, 1, 0, 0, 0) == 0, "PR_SET_CHILD_SUBREAPER")
    tasks = f"/proc/{os.getpid()}/task/{os.getpid()}/children"
    check(os.path.exists(tasks), "the kernel does not list children: survivors would not be seen")


# ---- The box ---------------------------------------------------------------------


class Box:
    """Directories to try things in, and a policy. Only `work` and `tmp` are writable by default."""

    def __init__(self, arena, top, tree=None, policy=None, options=(), watch=("{out}",), env=None):
        self.arena = arena
        self.top = Path(top)
        self.home, self.work = self.top / "home", self.top / "work"
        self.out, self.tmp = self.top / "out", self.top / "tmp"
        for path in (self.home, self.work, self.out, self.tmp):
            path.mkdir()
        self.names = {n: str(getattr(self, n)) for n in ("top", "home", "work", "out", "tmp")}
        self.env = {**MARKED, "HOME": str(self.home), "TMPDIR": str(self.tmp), **(env or {})}
        if arena.cache:
            self.env["XDG_CACHE_HOME"] = arena.cache
        for name in os.environ:
            if name.startswith(("ASAN", "UBSAN", "LSAN")):
                self.env[name] = os.environ[name]
        self.write("{out}/file", "outside\n")
        self.write("{work}/file", "inside\n")
        for name, text in (tree or {}).items():
            self.make(name, text)
        if policy is not None:
            self.write("{home}/.config/cordon/config.toml", self.fill(policy))
            options = ("-P", "box", *options)
        elif not options:
            options = ("--mode", "workspace-write")
        self.options = options
        self.watch = watch

    def fill(self, text):
        for name, value in self.names.items():
            text = text.replace("{" + name + "}", value)
        return text

    def path(self, text):
        return Path(self.fill(text))

    def write(self, name, text=""):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def make(self, name, text):
        """name/ is a directory, a text that starts with -> a link, = a hard link."""
        path = self.path(name)
        if name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        elif text.startswith("->"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(self.fill(text[2:]))
        elif text.startswith("="):
            os.link(self.fill(text[1:]), path)
        else:
            self.write(name, self.fill(text))

    def make_all_metadata(self):
        """Every name that a run would keep from being made: then it needs no placeholder."""
        options = [self.fill(o) for o in self.options]
        out, _, _ = self.finish([self.arena.program, "explain", "--json", *options])
        for holder in json.loads(out)["placeholders"]:
            if holder["type"] == "directory" or not os.path.basename(holder["path"]).endswith((".json", ".yml")):
                os.makedirs(holder["path"], exist_ok=True)
            else:
                Path(holder["path"]).write_bytes(b"{}")

    def snapshot(self):
        return snapshot(*[self.fill(w) for w in self.watch])

    def words(self, attempts):
        words = []
        for attempt in attempts:
            words += [*shlex.split(self.fill(attempt)), ";"]
        return words[:-1]

    def argv(self, *attempts, options=None, program=None):
        options = [self.fill(o) for o in (self.options if options is None else options)]
        accepted = [word for name in self.arena.accepts for word in ("--accept-missing", name)]
        head = [*self.arena.prefix, program or self.arena.program, "run", "--backend", self.arena.backend]
        head += [*accepted, *options, "--"]
        return head + ([self.arena.probe, *self.words(attempts)] if attempts else [])

    def start(self, argv, env=None, cwd=None, **more):
        more = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **more}
        return subprocess.Popen(
            argv,
            cwd=cwd or self.work,
            env={**self.env, **(env or {})},
            stderr=more.pop("stderr", subprocess.PIPE),
            **more,
        )

    def finish(self, argv, status=0, says_losses=False, **more):
        """Runs to the end. Returns (stdout, stderr, status)."""
        argv = [os.fspath(word) for word in argv]
        process = self.start(argv, **more)
        try:
            out, err = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Wrong(f"not done after {SECONDS} s: {argv}: {out!r} {err!r}") from None
        out, err = (t.decode("utf-8", "backslashreplace") if t else "" for t in (out, err))
        err = without_noise(err)
        if not says_losses:
            err = without_losses(err)
        if status == 0 and process.returncode == 125:
            self.arena.skip_refusal(err)
        check("Sanitizer" not in err and "runtime error:" not in err, err)
        if status is not None:
            told = f"{shlex.join(argv)}\nstatus {process.returncode}\n{out}{err}"
            check(process.returncode == status, told)
        return out, err, process.returncode

    def outcomes(self, attempts, argv, **more):
        out, err, _ = self.finish(argv, **more)
        lines = out.splitlines()
        check(len(lines) == len(attempts), f"{len(attempts)} attempts, {len(lines)} outcomes: {err}")
        return lines

    def run(self, *attempts, options=None, makes=(), **more):
        """The outcome of each attempt inside; afterwards nothing may be left but what it makes."""
        before = self.listing() | {self.fill(path) for path in makes}
        lines = self.outcomes(attempts, self.argv(*attempts, options=options), **more)
        self.check_clean(before)
        return lines

    def bare(self, *attempts, **more):
        """The outcome of each attempt without a sandbox."""
        if not attempts:
            return []
        return self.outcomes(attempts, [self.arena.probe, *self.words(attempts)], **more)

    def refuses(self, *attempts, options=None, **more):
        """The whole run is refused (125). Returns what it says."""
        argv = self.argv(*(attempts or ["pid"]), options=options)
        _, err, _ = self.finish(argv, status=125, **more)
        check(err.startswith("cordon: ") and "\n" in err, f"refused without a word: {err!r}")
        return err

    # What is made for a run and must be gone: placeholders, and anything in the home.
    def listing(self):
        found = set()
        for top in (self.work, self.tmp, self.out, self.home):
            for where, directories, files in os.walk(top):
                for name in directories + files:
                    if name in PLACEHOLDERS or str(where).startswith(str(self.home)):
                        found.add(os.path.join(where, name))
        return found

    def audit_log(self):
        """What a run with a managed network, or in which somebody is asked, leaves on purpose."""
        logs = [self.home / f".local/state/cordon/audit/{name}.jsonl" for name in ("network", "approvals")]
        return {str(path) for log in logs for path in (log, f"{log}.lock", *log.parents)}

    def check_clean(self, before):
        self.arena.check_nothing_lives()
        left = self.listing() - before - self.audit_log()
        check(not left, f"left behind: {sorted(left)}")


def slowness():
    """Where there is more to do than the processors can, all takes longer by that much; but a limit
    that grows with whatever else goes on would be none."""
    return min(5.0, max(1.0, os.getloadavg()[0] / os.cpu_count()))


class Arena:
    """A case on one backend as one user."""

    cache = None  # where what is known of this host's bwrap is kept, for all cases alike

    def __init__(self, backend, program, probe, prefix=(), lacks=frozenset(), needs=frozenset()):
        self.backend, self.program, self.probe, self.prefix = backend, program, probe, prefix
        self.lacks = lacks
        self.accepts = sorted(lacks & EVERYDAY - needs)
        self.uid = os.getuid()
        self.tops, self.guests = [], []

    def box(self, under="/var/tmp", **more):
        top = tempfile.mkdtemp(prefix="cordon-conf-", dir=under)
        self.tops.append(top)
        return Box(self, top, **more)

    def guest(self, argv, **more):
        """A process of the host's, as a victim or a helper; ended with the case."""
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **more)
        self.guests.append(process)
        return process

    @staticmethod
    def skip_refusal(err):
        for line in err.splitlines():
            if any(text in line for text in REFUSALS):
                raise Skip(line)

    def victim(self, **more):
        return self.guest(["sleep", "1000"], stdout=subprocess.DEVNULL, **more)

    def check_nothing_lives(self, seconds=1.0):
        known = {g.pid for g in self.guests}
        seconds *= slowness()
        left, last, quiet = seconds, time.monotonic(), 0
        # The kernel's list of children may miss one while another ends: look twice.
        while quiet < 2:
            reap(known)
            alive = {p: v for p, v in descendants().items() if p not in known}
            quiet = 0 if alive else quiet + 1
            if alive and left < 0:
                told = {pid: command_of(pid) for pid in alive}
                self.kill_all(alive)
                raise Wrong(f"still alive {seconds:.1f} s after the run: {told}")
            if alive:
                time.sleep(0.005)
            # Where this process gets no processor, those that have to end may get none either.
            now = time.monotonic()
            left, last = left - min(now - last, 0.02), now

    @staticmethod
    def kill_all(alive):
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass

    @staticmethod
    def remove(top):
        try:
            shutil.rmtree(top)
        except (OSError, RecursionError):
            # Closed to us, or deeper than Python can go.
            subprocess.run(["chmod", "-R", "u+rwx", top], check=False, stderr=subprocess.DEVNULL)
            subprocess.run(["rm", "-rf", top], check=True)

    def close(self):
        for guest in self.guests:
            guest.kill()
            guest.wait()
        self.guests = []
        try:
            self.check_nothing_lives()
        finally:
            for top in self.tops:
                self.remove(top)


# ---- Which skips are expected ------------------------------------------------------

FACTS = {
    "always": lambda: True,
    "known_limit": lambda: True,
    "not_root": lambda: os.getuid() != 0,
    "not_x86_64": lambda: os.uname().machine != "x86_64",
    "no_git": lambda: shutil.which("git") is None,
    "no_bwrap": lambda: shutil.which("bwrap") is None,
    "no_io_uring": lambda: not _answers("io-uring-setup"),
    "no_user_namespaces": lambda: not _answers("unshare user"),
    "no_reflink": lambda: not _can_clone(),
    "no_peer_handles": lambda: tuple(int(n) for n in os.uname().release.split(".")[:2]) < (6, 5),
    "no_legacy_tiocsti": lambda: _setting("dev/tty/legacy_tiocsti") == "0",
}
# landlock_below_N: this kernel's Landlock has not what ABI N brought, or there is none.
FACTS |= {f"landlock_below_{n}": lambda n=n: _landlock_abi() < n for n in range(1, 11)}
probe_of_facts = None


def _landlock_abi():
    create_ruleset, version = 444, 1
    return ctypes.CDLL(None, use_errno=True).syscall(create_ruleset, None, ctypes.c_size_t(0), version)


def _setting(name):
    try:
        return Path("/proc/sys", name).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _answers(attempt):
    done = subprocess.run([probe_of_facts, *attempt.split()], capture_output=True, check=False)
    return done.stdout.startswith(b"OK")


def _can_clone():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as top:
        for name in "ab":
            Path(top, name).write_text("text", encoding="utf-8")
        return _answers(f"clone-file {top}/a {top}/b")


@dataclass
class Support:
    """support.txt: what each backend lacks, and which cases can't be tried where."""

    lacks: list  # of (backend, guarantee, fact, reason)
    cases: list  # of (backend, who, case, fact, reason)

    def lacking(self, backend):
        """{guarantee: reason} on this host."""
        found = {}
        for b, guarantee, fact, reason in self.lacks:
            if fnmatch.fnmatchcase(backend, b) and FACTS[fact]():
                found.setdefault(guarantee, reason)
        return found


def read_support(path):
    support = Support([], [])
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split(None, 4)
        check(len(fields) == 5 and fields[3] in FACTS, f"{path}:{number}: {line}")
        if fields[1] == "lacks":
            backend, _, guarantee, fact, reason = fields
            check(guarantee in GUARANTEES, f"{path}:{number}: {line}")
            support.lacks.append((backend, guarantee, fact, reason))
        else:
            support.cases.append(fields)
    return support


def lines_for(support, backend, who, name):
    for b, w, c, fact, reason in support.cases:
        if all(fnmatch.fnmatchcase(x, y) for x, y in ((backend, b), (who, w), (name, c))):
            yield fact, reason


def predicts_skip(support, backend, who, name):
    lines = lines_for(support, backend, who, name)
    return any(fact != "known_limit" and FACTS[fact]() for fact, _ in lines)


def must_skip(support, backend, who, name):
    return any(fact == "always" for fact, _ in lines_for(support, backend, who, name))


def known_limit(support, backend, who, name):
    """Why the case is known to fail, or None."""
    for fact, reason in lines_for(support, backend, who, name):
        if fact == "known_limit":
            return reason
    return None
