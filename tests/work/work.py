# SPDX-License-Identifier: MIT
"""What the tests of real work share: a place to work in, a terminal, and TAP.

Each case is a function that takes a World and does real work through w.run(). It is
called several times, each time in a new place: first without Cordon, which proves that
the work can be done here at all, then with everything in the sandbox, with each backend.
Its assertions have to hold each time, what it returns has to be the same each time, and
so have the names that it leaves behind. As root all of it is done as root and as an
ordinary user.

A case may need guarantees; with a backend that lacks one of them here, as the conformance
table's support.txt says, it is not tried. What else that backend lacks is accepted; a
known limit there is one here too.

The program under test is $CORDON. No case may need the network or leave anything.
"""

import fcntl
import os
import pwd
import re
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import conform  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(os.environ.get("CORDON", "build/cordon"))
SECONDS = 30
TEMPORARY = "/var/tmp"

SUPPORT = conform.read_support(Path(conform.__file__).with_name("support.txt"))

_cases = []


def case(function=None, *, below=TEMPORARY, needs=(), is_spread=False, is_heavy=False):
    """`below` is for work in a directory of which the policy has an opinion of its own. What
    is spread is not tried by everybody with every backend, but with each at least once; what
    is heavy only once, by the ordinary user."""

    def add(f):
        _cases.append((f, below, frozenset(needs), is_spread, is_heavy))
        return f

    return add(function) if function else add


class Skip(Exception):
    pass


class Identity:
    """`keywords` is what makes subprocess be that one."""

    def __init__(self, name, uid=None, gid=None, keywords=None):
        self.name = name
        self.uid, self.gid = uid, gid
        self.keywords = keywords or {}
        if uid is not None:
            self.keywords = {"user": uid, "group": gid, "extra_groups": []}


def identities():
    if os.geteuid() != 0:
        return [Identity("ordinary user")]
    users = [u for u in pwd.getpwall() if 1000 <= u.pw_uid < 60000] or [pwd.getpwnam("nobody")]
    return [Identity("root"), Identity("ordinary user", users[0].pw_uid, users[0].pw_gid)]


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def text(self):
        return self.out.decode("utf-8", "surrogateescape")

    def __repr__(self):
        err = self.err.decode("utf-8", "replace")
        return f"status {self.status}\n--- stdout\n{self.text[-4000:]}\n--- stderr\n{err[-4000:]}"


class World:
    """A home, a workspace and a directory for temporary files, all new."""

    def __init__(self, top, who, backend):
        self.top = Path(top)
        self.who = who
        self.backend = backend
        self.is_boxed = backend is not None
        self.options = ["--mode", "workspace-write"]
        self.home = self.top / "home"
        self.workspace = self.top / "workspace"
        self.tmp = self.top / "tmp"
        self.env = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            "TMPDIR": str(self.tmp), "TERM": "xterm", "PS1": "prompt> ", "LC_ALL": "C.UTF-8",
            # Commits of the same work have the same names.
            "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
        }
        os.chmod(self.top, 0o755)
        for path in (self.home, self.workspace, self.tmp):
            path.mkdir()
        self.write(self.home / ".gitconfig", "[user]\nname = Somebody\nemail = s@example.com\n"
                   "[init]\ndefaultBranch = main\n[advice]\ndetachedHead = false\n"
                   "[protocol \"file\"]\nallow = always\n")
        # The marks around what is pasted are not what the tests look for.
        self.env["INPUTRC"] = str(self.write(self.home / ".inputrc", "set enable-bracketed-paste off\n"))
        self.give(self.top)
        self.program = self.find_program()

    def find_program(self):
        """The program itself; a copy where the way to it is not for everybody, or writable inside (P25)."""
        reachable = subprocess.run(["test", "-x", PROGRAM], check=False, **self.who.keywords)
        if reachable.returncode == 0 and not PROGRAM.startswith("/tmp/"):
            return PROGRAM
        return shutil.copy2(PROGRAM, self.top / "cordon")

    def give(self, path):
        if self.who.uid is not None:
            subprocess.run(["chown", "-Rh", f"{self.who.uid}:{self.who.gid}", path], check=True)

    def write(self, path, text, mode=0o644):
        path = self.workspace / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        return path

    def write_all(self, files):
        for name, text in files.items():
            self.write(name, text)
        self.give(self.workspace)

    def configure(self, text):
        """A profile `work` of the user's own, which everything then runs under."""
        self.write(self.home / ".config/cordon/config.toml", text)
        self.give(self.home)
        self.options = ["-P", "work"]

    def prefix(self, *options, is_quiet=False):
        """Quiet is for a terminal, where what is said of accepted losses would be in the way."""
        if not self.is_boxed:
            return []
        accepted = sorted(set(SUPPORT.lacking(self.backend)) & conform.EVERYDAY)
        words = [word for name in accepted for word in ("--accept-missing", name)]
        words += ["--quiet"] if is_quiet and accepted else []
        return [self.program, "run", "--backend", self.backend, *words, *self.options, *options, "--"]

    def plain(self, *command, cwd=None, env=None, data=b"", check=0):
        """Without Cordon, whatever the case is run with."""
        return self.start(command, cwd, env, data, check)

    def run(self, *command, cwd=None, env=None, data=b"", check=0, options=(), says=None):
        """In the sandbox, or without it where the case is its own control. Cordon itself has
        nothing to say about it, or only lines that hold `says`."""
        result = self.start([*self.prefix(*options), *command], cwd, env, data, check)
        if self.is_boxed:
            own = [line for line in result.err.splitlines() if line.startswith(b"cordon:")
                   and b": its loss was accepted" not in line]
            assert all(says and says in line for line in own), f"what Cordon says about {command[:4]}: {result!r}"
        return result

    def shell(self, script, **keywords):
        return self.run("/bin/sh", "-euc", script, **keywords)

    def start(self, command, cwd, env, data, check):
        process = subprocess.Popen(
            command, cwd=cwd or self.workspace, env={**self.env, **(env or {})},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, **self.who.keywords)
        try:
            out, err = process.communicate(data, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            result = Result("none: it hung", out, err)
            raise AssertionError(f"{[str(c)[:200] for c in command]}: {result!r}") from None
        result = Result(process.returncode, out, err)
        assert check is None or result.status == check, \
            f"{[str(c)[:200] for c in command]}: expected {check}, got {result!r}"
        return result

    def need(self, *tools):
        """Skips, visibly, what needs a tool that this user does not have here."""
        for tool in tools:
            script = 'command -v "$1" >/dev/null'
            if self.plain("/bin/sh", "-c", script, "sh", tool, check=None).status != 0:
                raise Skip(f"{self.who.name} has no {tool} here")

    def python(self):
        """One that both users can run; the first in PATH need not be it."""
        for path in ("/usr/bin/python3", sys.executable):
            if os.path.exists(path) and self.plain(path, "-c", "", check=None).status == 0:
                return path
        raise Skip(f"{self.who.name} has no python3 here")

    def open_terminal(self, *command, rows=24, columns=80, is_plain=False, cwd=None):
        words = list(command) if is_plain else [*self.prefix(is_quiet=True), *command]
        return Terminal(self, words, rows, columns, cwd or self.workspace)

    def open_shell(self):
        """An interactive shell of the user, in which `cordon run` is typed."""
        terminal = self.open_terminal("bash", "--norc", "--noprofile", "-i", is_plain=True, columns=1000)
        terminal.expect("prompt> ")
        return terminal

    def typed(self, *command):
        return shlex.join([*(str(word) for word in self.prefix(is_quiet=True)), *command]) + "\n"

    def same_name(self, text):
        """The text without what differs between two places."""
        return text.replace(str(self.top), "TOP")

    def names(self):
        """What is in the workspace, once all that was there for the run only had time to go (P11)."""
        end = time.monotonic() + 10
        while (self.workspace / ".codex").exists() and time.monotonic() < end:
            time.sleep(0.02)
        found = sorted(os.listdir(os.fsencode(self.workspace)))
        git = self.workspace / ".git"
        return found + sorted(os.listdir(git)) if git.is_dir() else found


def members(group):
    """The name and the state, as of `ps`, of all processes of a process group."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            head, tail = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)
        except OSError:
            continue
        state, _, its_group = tail.split()[:3]
        if int(its_group) == group:
            yield head.split(b"(", 1)[1], state


class Terminal:
    """A command on a terminal of its own, typed at and read like a person would."""

    def __init__(self, world, words, rows, columns, cwd):
        self.seen = ""
        self.read = b""
        self.master, slave = os.openpty()
        self.resize(rows, columns)
        if world.who.uid is not None:
            os.fchown(slave, world.who.uid, world.who.gid)
        self.process = subprocess.Popen(
            [str(w) for w in words], cwd=cwd, env=world.env, stdin=slave, stdout=slave, stderr=slave,
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
            **world.who.keywords)
        os.close(slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def read_some(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            got = os.read(self.master, 65536)
        except OSError:
            return False
        self.read += got
        return bool(got)

    def start_job(self, text):
        """Types what starts or continues a job of bash, and waits until that has the terminal and runs."""
        shell, end = os.tcgetpgrp(self.master), time.monotonic() + SECONDS
        self.send(text)
        while True:
            job = os.tcgetpgrp(self.master)
            found = list(members(job)) if job != shell else []
            # Before it is executed it is a bash still, to which keys mean nothing; and what is
            # stopped forgets the key that would have stopped it when it goes on.
            if found and not any(name == b"bash" or state in b"Tt" for name, state in found):
                return
            assert time.monotonic() < end, f"no job goes on: {found}"
            self.read_some(0.02)

    def expect(self, pattern, seconds=SECONDS):
        """Reads until the pattern is there; gives the match. What it ended with is used up."""
        end = time.monotonic() + seconds
        while True:
            text = self.read.decode("utf-8", "replace")
            found = re.search(pattern, text)
            if found:
                self.seen += text[:found.end()]
                self.read = text[found.end():].encode()
                return found
            if time.monotonic() > end or (not self.read_some(0.2) and self.process.poll() is not None
                                          and not self.read_some(0)):
                text = self.read.decode("utf-8", "replace")
                if not re.search(pattern, text):
                    raise AssertionError(f"no {pattern!r} on the terminal after {self.seen[-1500:]!r}"
                                         f" but {text[-1500:]!r}, status {self.process.poll()}")

    def wait(self, seconds=SECONDS):
        """The status of the command, reading what it still writes."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"still runs: {self.seen[-1500:]!r} {self.read[-1500:]!r}"
            self.read_some(0.05)
        while self.read_some(0):
            pass
        return self.process.returncode

    def hang_up(self):
        os.close(self.master)
        self.master = -1

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.master >= 0:
            os.close(self.master)
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


# ---- Running the cases ---------------------------------------------------------


def remove(top):
    for directory, names, _ in os.walk(os.fsencode(top)):
        for name in names:
            path = os.path.join(directory, name)
            if not os.path.islink(path):
                os.chmod(path, stat.S_IRWXU)
    shutil.rmtree(top)


def run_in(directory, function, who, backend):
    top = os.path.realpath(tempfile.mkdtemp(prefix="cordon-work-", dir=directory))
    try:
        world = World(top, who, backend)
        given = function(world)
        return given, world.names()
    finally:
        remove(top)


class Control:
    """The work without Cordon: done once, and compared with what each backend gives."""

    def __init__(self, function, directory, who):
        self.arguments = directory, function, who
        self.result, self.failure = None, None
        try:
            self.result = run_in(*self.arguments, None)
        except Exception as reason:  # pylint: disable=broad-except
            self.failure = reason

    def compare(self, backend):
        if isinstance(self.failure, Skip):
            raise self.failure
        if self.failure:
            raise AssertionError("without Cordon it does not work either") from self.failure
        boxed = run_in(*self.arguments, backend)
        assert boxed[0] == self.result[0], f"inside: {boxed[0]!r}\noutside: {self.result[0]!r}"
        assert boxed[1] == self.result[1], f"left inside: {boxed[1]!r}\noutside: {self.result[1]!r}"


def run_with(backend, function, who, needs, control):
    """Gives "" or why it counts as skipped. A known limit must still be one."""
    lacks = SUPPORT.lacking(backend)
    for name in sorted(needs & set(lacks)):
        return f" # SKIP {backend} lacks {name}: {lacks[name]}"
    column = "root" if who.name == "root" else "user"
    limit = conform.known_limit(SUPPORT, backend, column, function.__name__)
    try:
        control.compare(backend)
    except Skip as reason:
        return f" # SKIP {reason}"
    except AssertionError:
        if limit and control.failure is None:
            return f" # SKIP known limit: {limit}"
        raise
    assert not limit, "support.txt calls this a limit, but it holds: take the line out"
    return ""


def choose_backends(backends, index, count, needs, is_spread, is_heavy):
    """Those that the person of that number tries a case with."""
    usable = [b for b in backends if not needs & set(SUPPORT.lacking(b))]
    if is_heavy:
        return usable[:1] if index == count - 1 else []
    if not is_spread:
        return backends
    return usable[index * len(usable) // count:(index + 1) * len(usable) // count] or usable[:1]


def run_cases(people=None):
    """All cases, or those that are named; --backend NAME is for one backend alone."""
    words = sys.argv[1:]
    backends = conform.BACKENDS
    if words[:1] == ["--backend"]:
        backends, words = words[1].split(","), words[2:]
    people = people or identities()
    wanted = [(who, *c[:3], choose_backends(backends, i, len(people), *c[2:]))
              for i, who in enumerate(people) for c in _cases if not words or c[0].__name__ in words]
    number, failed = 0, 0
    print(f"1..{sum(len(chosen) for *_, chosen in wanted)}")
    for who, function, directory, needs, chosen in wanted:
        if not chosen:
            continue
        begin = time.monotonic()
        control = Control(function, directory, who)
        print(f"# {time.monotonic() - begin:.2f} s")
        for backend in chosen:
            number += 1
            label = f"{number} - {backend}: {function.__name__} as {who.name}"
            begin = time.monotonic()
            try:
                print(f"ok {label}{run_with(backend, function, who, needs, control)}")
            except Exception:  # pylint: disable=broad-except
                failed += 1
                print(f"not ok {label}")
                for line in traceback.format_exc().splitlines():
                    print(f"# {line}")
            print(f"# {time.monotonic() - begin:.2f} s", flush=True)
    sys.exit(failed > 0)
