# SPDX-License-Identifier: MIT
"""What the end-to-end tests share: a made-up home, a project in it, and TAP.

The program under test is $CORDON. Each case is a function that takes a World;
`run_cases()` runs all that @case collected and prints TAP. No case may leave
anything behind, and none may need root or the network.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from sanitizer import without_noise  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("CORDON", "build/cordon"))
SOURCE = Path(__file__).resolve().parent.parent.parent
SECONDS = 40  # for one process; a loaded machine is slow with sanitizers
NONE = ["--backend", "none"]
BOTH = ([], NONE)  # in a sandbox and without one

_cases = []


def case(function):
    _cases.append(function)
    return function


class Skip(Exception):
    pass


class Result:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    @property
    def json(self):
        return json.loads(self.out)

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def change(found):
    """The edit of the configuration that `why --json` suggests, with what it leads to."""
    edits = [s for s in found["suggestions"] if s["scope"] == "config"]
    return {"to": found["wanted"], "possible": bool(edits), "why_not": found["why_not"],
            **(edits[0] if edits else {})}


def is_no(args, result):
    """`why` answers by its status: 1 is no, and no failure."""
    return result.status == 1 and "why" in args


class World:
    """A home directory, a project, and no configuration of the system."""

    def __init__(self, top):
        self.top = Path(top).resolve()
        self.home = self.top / "home"
        self.repo = self.top / "repo"
        self.config = self.home / ".config/cordon/config.toml"
        self.home.mkdir()
        self.repo.mkdir()
        (self.top / "tmp").mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        self.env["TMPDIR"] = str(self.top / "tmp")
        for name in os.environ:
            if name.startswith(("ASAN", "UBSAN", "LSAN")):
                self.env[name] = os.environ[name]

    def write_config(self, text):
        self.config.parent.mkdir(parents=True, exist_ok=True)
        self.config.write_bytes(text if isinstance(text, bytes) else text.encode())

    def write(self, name, text=""):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def run(self, *args, env=None, cwd=None, check=None):
        """Runs cordon. `check` is the status that it has to end with."""
        done = subprocess.run(
            [PROGRAM, *args],
            cwd=cwd or self.repo,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
        out = done.stdout.decode("utf-8", "surrogateescape")
        err = without_noise(done.stderr.decode("utf-8", "surrogateescape"))
        result = Result(done.returncode, out, err)
        assert result.status in (0, 125, check) or is_no(args, result), f"cordon {args}: {result!r}"
        assert "Sanitizer" not in err and "runtime error" not in err, repr(result)
        if check is not None:
            assert result.status == check or (check == 0 and is_no(args, result)), \
                f"cordon {args}: expected {check}, got {result!r}"
        return result

    def ok(self, *args, **kwargs):
        return self.run(*args, check=0, **kwargs)

    def fails(self, *args, **kwargs):
        """Ends with 125 and says why: a headline, perhaps lines below it, and no internals."""
        result = self.run(*args, check=125, **kwargs)
        headline, *lines = result.err.splitlines()
        assert headline.startswith("cordon: error: ") and len(result.err) < 2048, repr(result)
        assert all(line.startswith("  ") and line.strip() for line in lines), repr(result)
        assert ".c:" not in result.err, f"a place in the source is shown: {result!r}"
        return result

    def cause(self, *args, **kwargs):
        """Why it fails, by the name that docs/causes.md lists."""
        error = self.run(args[0], "--json", *args[1:], check=125, **kwargs).json["error"]
        return error["cause"]

    def access(self, path, *args):
        return self.ok("why", "--json", "--path", str(path), *args).json["access"]

    def decision(self, host, *args):
        return self.ok("why", "--json", "--host", host, *args).json["decision"]


def run(w, *args, env=None, cwd=None, stdin=b"", raw=False, fds=(), command="run"):
    """`cordon run ARGS`, whatever its status."""
    done = subprocess.run([PROGRAM, command, *args], cwd=cwd or w.repo,
                          env={**w.env, **(env or {})}, input=stdin, capture_output=True,
                          timeout=SECONDS * 3, pass_fds=fds, check=False)
    done.stderr = without_noise(done.stderr)
    assert b"Sanitizer" not in done.stderr and b"runtime error" not in done.stderr, done.stderr
    if raw:
        return done
    return Result(done.returncode, done.stdout.decode("utf-8", "surrogateescape"),
                  done.stderr.decode("utf-8", "surrogateescape"))


def ok(w, *args, **kwargs):
    result = run(w, *args, **kwargs)
    assert result.status == 0, f"cordon {args}: {result!r}"
    return result


def refused(w, *args, **kwargs):
    """125, one line that says why, and nothing was run."""
    result = run(w, *args, **kwargs)
    assert result.status == 125, f"cordon {args}: {result!r}"
    assert result.err.startswith("cordon: error: "), repr(result)
    assert len(result.err) < 2048 and ".c:" not in result.err, repr(result)
    return result


def start(w, *args, **kwargs):
    return subprocess.Popen([PROGRAM, "run", *args], cwd=w.repo, env=w.env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **kwargs)


def wait_for(what, seconds=SECONDS):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := what():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


def state_of(pid):
    """A letter, as of `ps`; X of one that is gone."""
    try:
        return chr(Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0][0])
    except OSError:
        return "X"


def is_alive(pid):
    return state_of(pid) not in "ZX"


def processes_with(mark, states="RSDTtI"):
    """The processes in these states whose command line has `mark` in it, but for this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            has_mark = mark.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if has_mark and int(pid) != os.getpid() and state_of(pid) in states:
            found.append(int(pid))
    return found


class Sleeper:
    """A `sleep` that can be told from all others, and so be waited for and ended: `words` start it."""

    count = 0

    def __init__(self):
        Sleeper.count += 1
        self.time = f"300.{os.getpid():08d}{Sleeper.count:03d}"
        self.words = f"sleep {self.time}"

    def wait(self, states="RSDI"):
        """Until it is there, executed: what is stopped or interrupted before may be a shell."""
        return wait_for(lambda: processes_with(f"sleep\0{self.time}\0", states))

    def end(self):
        for pid in self.wait():
            os.kill(pid, signal.SIGTERM)


# Connects again and again to the socket argv[3], or without one to that of its last child,
# amid argv[1] processes of argv[2] descriptors each: there it is looked for who has it.
CROWD = """
import os, resource, socket, sys, time
count, each = int(sys.argv[1]), int(sys.argv[2])
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (each + 64, hard))
for _ in range(each): os.open('/dev/null', os.O_RDONLY)
for _ in range(count):
    if os.fork() == 0: time.sleep(60); os._exit(0)
if len(sys.argv) > 3:
    path = sys.argv[3]
else:
    told, tell = os.pipe()
    if os.fork() == 0:
        server = socket.socket(socket.AF_UNIX)
        for path in ('/dev/shm/own', 'own'):
            try: server.bind(path); break
            except OSError: pass
        server.listen(9); os.write(tell, path.encode()); time.sleep(60); os._exit(0)
    path = os.read(told, 99).decode()
while True:
    began = time.monotonic()
    try: socket.socket(socket.AF_UNIX).connect(path); said = 'OK'
    except OSError as error: said = error.strerror
    print(said, '%.2f' % (time.monotonic() - began), flush=True)
    if count == 0: os.kill(0, 9)
"""


def check_crowd(outcome, report, seconds):
    """That it ended by its --timeout of 4 s, and that what was not found out was refused."""
    assert outcome.returncode == 124 and seconds < 20, (seconds, outcome)
    lines = [line.rsplit(" ", 1) for line in outcome.stdout.splitlines()]
    assert lines and {said for said, _ in lines} == {"Permission denied"}, outcome
    assert "too many processes and descriptors" in Path(report).read_text(encoding="utf-8"), outcome


def run_one(function):
    top = tempfile.mkdtemp(prefix="cordon-e2e-", dir="/var/tmp")
    try:
        function(World(top))
    finally:
        subprocess.run(["chmod", "-R", "u+rwx", top], check=False)
        shutil.rmtree(top)


def run_cases():
    print(f"1..{len(_cases)}")
    failed = 0
    for number, function in enumerate(_cases, 1):
        name = function.__name__
        try:
            run_one(function)
            print(f"ok {number} - {name}")
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}")
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
        sys.stdout.flush()
    sys.exit(failed > 0)
