#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bwrap backend and the bwrap that it finds: fakes of all kinds ($FALSE_BWRAP), the cache of
what it can do, a /proc that can't be had, thousands of masks, other programs that use the library.

Each case runs as root (when this is root) and as an ordinary user, beside the real bwrap as a
control. The conformance table says what the sandbox holds; here it is whether there is one.
"""

import contextlib
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

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "conformance"))
import conform  # noqa: E402  pylint: disable=wrong-import-position
from sanitizer import is_instrumented  # noqa: E402  pylint: disable=wrong-import-position

USER = 61191
SECONDS = 1.0
HELP_SECONDS = 2.0  # in which a bwrap has to answer to --help
TRIES = 4
PATH = "/usr/local/bin:/usr/bin:/bin"
_cases = []


def case(function):
    _cases.append(function)
    return function


class Skip(Exception):
    pass


class World:
    """A home that only its owner writes to, below which nothing is distrusted, and a workspace."""

    def __init__(self, top, who, binaries):
        self.who, self.top = who, Path(top)
        self.program, self.fake = f"{binaries}/cordon", f"{binaries}/false_bwrap"
        self.home, self.work, self.bin = (self.top / n for n in ("home", "work", "bin"))
        for path in (self.home, self.work, self.bin, self.home / ".cache"):
            path.mkdir()
        (self.work / "file").write_text("text\n", encoding="utf-8")
        self.report = self.home / "report.json"
        self.env = {"HOME": str(self.home), "PATH": PATH, "LANG": "C"}
        self.give()

    def give(self):
        if self.who == "user" and os.getuid() == 0:
            for path in (self.top, *self.top.rglob("*")):
                os.chown(path, USER, USER, follow_symlinks=False)

    def keywords(self):
        if self.who == "user" and os.getuid() == 0:
            return {"user": USER, "group": USER, "extra_groups": []}
        return {}

    def run(self, *options, command=("/bin/cat", "file"), path=None, prefix=(), cwd=None):
        self.report.unlink(missing_ok=True)
        argv = [*prefix, str(self.program), "run", "--report", str(self.report), *options, "--", *command]
        env = {**self.env, **({"PATH": path} if path else {})}
        begin = time.monotonic()
        done = subprocess.run(argv, cwd=cwd or self.work, env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60, check=False, **self.keywords())
        done.seconds = time.monotonic() - begin
        done.told = json.loads(self.report.read_text(encoding="utf-8")) if self.report.exists() else {}
        return done

    def plant(self, mode, directory=None):
        """A fake on PATH, before the real one."""
        directory = directory or self.bin
        directory.mkdir(exist_ok=True)
        target = directory / "bwrap"
        target.unlink(missing_ok=True)
        shutil.copy(self.fake, target)
        target.chmod(0o755)
        (directory / "mode").write_text(mode + "\n", encoding="utf-8")
        self.give()
        return f"{directory}:{PATH}"


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def works(done, backend="bwrap"):
    check(done.returncode == 0 and done.stdout == "text\n", f"{done}")
    check(done.told.get("backend") == backend, f"{done.told.get('backend')}: {done}")


def refused(done, *words):
    check(done.returncode == 125 and done.stdout == "", f"{done}")
    for word in words:
        check(word in done.stderr, f"'{word}' is not said: {done.stderr}")


def soon(w, attempt, limit=SECONDS):
    """The quickest of a few: others use the machine, too. With sanitizers its time is not the program's."""
    limit *= 3 if is_instrumented(w.program) else 1
    for _ in range(TRIES):
        busy = conform.slowness()
        done = attempt()
        if done.seconds < limit * max(busy, conform.slowness()):
            return done
    raise AssertionError(f"it took {done.seconds:.2f} s")


def living_fakes(w):
    """Each is run by a path, or by a descriptor, of this one file."""
    found = []
    for link in Path("/proc").glob("[0-9]*/exe"):
        try:
            found += [link.parent.name] if link.samefile(w.bin / "bwrap") else []
        except OSError:
            continue  # It has ended, or has no file.
    return found


def check_none_lives(w):
    left = living_fakes(w)
    check(not left, f"left: {left}")


# ---- Which bwrap ------------------------------------------------------------------------------


@case
def the_real_one_is_used(w):
    works(w.run("--backend", "bwrap"))
    works(w.run("--backend", "bwrap", "--mode", "workspace-write"))


@case
def one_in_the_workspace_is_passed_over_and_said(w):
    done = w.run("--backend", "bwrap", path=w.plant("pass", w.work / "bin"))
    works(done)
    check("passed over" in done.stderr and f"{w.work}/bin/bwrap" in done.stderr, done.stderr)
    check("working directory" in done.stderr, done.stderr)
    done = w.run("--backend", "bwrap", path=f"bin::.:{PATH}")
    works(done)
    check("passed over" not in done.stderr, f"relative ones are not even looked at: {done.stderr}")


@case
def one_that_the_policy_opens_is_passed_over(w):
    path = w.plant("pass")
    done = w.run("--backend", "bwrap", "--mode", "workspace-write", "--add-write", str(w.bin), path=path)
    works(done)
    check("lets the command change it" in done.stderr, done.stderr)


@case
def one_that_others_can_write_is_passed_over(w):
    path = w.plant("pass")
    for target, mode in ((w.bin / "bwrap", 0o775), (w.bin, 0o757)):
        before = target.stat().st_mode
        target.chmod(mode)
        done = w.run("--backend", "bwrap", path=path)
        target.chmod(before)
        works(done)
        check("can be written by others" in done.stderr, done.stderr)


@case
def one_with_rights_of_its_own_is_passed_over(w):
    path = w.plant("pass")
    (w.bin / "bwrap").chmod(0o4755)
    done = w.run("--backend", "bwrap", path=path)
    works(done)
    check("set-uid" in done.stderr, done.stderr)


@case
def without_any_the_next_backend_is_tried(w):
    empty = w.home / "empty"
    empty.mkdir()
    w.give()
    refused(w.run("--backend", "bwrap", path=str(empty)), "bwrap", "install bubblewrap")
    works(w.run(path=str(empty)), "native")


# ---- What it does --------------------------------------------------------------------------------


@case
def one_that_is_none_is_refused_by_name_and_soon(w):
    named = str(w.bin / "bwrap")
    for mode, *words in (("hang", "--help", "ms"), ("flood", named), ("other", "does not answer"),
                         ("old", "--perms", "0.5.0"), ("quit", "without a word"),
                         ("complain", "namespaces"), ("lie", "which process"), ("pass", "bwrap"),
                         ("swap", "which process"), ("flee", "bwrap"), ("lose", "bwrap")):
        path = w.plant(mode)
        done = soon(w, lambda: w.run("--backend", "bwrap", path=path), SECONDS + (HELP_SECONDS if mode == "hang" else 0))
        refused(done, *words)
        check(not (w.work / "ran").exists(), mode)


@case
def one_that_makes_no_sandbox_runs_nothing(w):
    path = w.plant("pass")
    done = w.run("--backend", "bwrap", "--mode", "workspace-write", command=("/bin/touch", "ran"), path=path)
    refused(done, "bwrap")
    check(not (w.work / "ran").exists(), "the command ran without a sandbox")
    done = w.run("--backend", "bwrap", "--mode", "workspace-write", command=("/bin/touch", "ran"))
    check(done.returncode == 0 and (w.work / "ran").exists(), f"the control shows nothing: {done}")


@case
def one_that_makes_less_than_it_was_told_runs_nothing(w):
    (w.bin / "real").symlink_to(shutil.which("bwrap"))
    # The control is the same one, with all that it was told.
    works(w.run("--backend", "bwrap", path=w.plant("--none")))
    # Without those of ipc it complains by itself, of what it can't mount then.
    for option in ("uts", "cgroup", "net"):
        done = w.run("--backend", "bwrap", path=w.plant(f"--unshare-{option}"))
        refused(done, "find itself in namespaces of its own")


@case
def one_that_hangs_when_it_is_needed_leaves_nothing(w):
    path = w.plant("stay")
    refused(soon(w, lambda: w.run("--backend", "bwrap", path=path)), "bwrap", "hangs")
    check_none_lives(w)


@case
def what_it_has_started_beside_ends_with_it(w):
    (w.bin / "real").symlink_to(shutil.which("bwrap"))
    works(w.run("--backend", "bwrap", path=w.plant("breed")))
    check_none_lives(w)
    # Those that were named, by one that is gone or by one that stays.
    for mode in ("flee", "lose"):
        refused(w.run("--backend", "bwrap", path=w.plant(mode)), "bwrap")
        check_none_lives(w)


@case
def cordon_is_its_own_inner_stage_under_any_name(w):
    if is_instrumented(w.program):
        raise Skip("not static, and so it could not be started by its descriptor alone")
    own, w.program = w.program, w.home / "cordon-next"
    shutil.copy(own, w.program)
    w.give()
    works(w.run("--backend", "bwrap"))
    # Nothing else is asked for it.
    w.env["CORDON_PROGRAM"] = "/nonexistent/cordon"
    works(w.run("--backend", "bwrap"))
    # Nor is it looked for by its name.
    done = subprocess.run(["bash", "-c", f"exec -a cordon-elsewhere {w.program} run --backend bwrap -- /bin/cat file"],
                          cwd=w.work, env=w.env, stdin=subprocess.DEVNULL, text=True, capture_output=True,
                          timeout=60, check=False, **w.keywords())
    check(done.returncode == 0 and done.stdout == "text\n", f"{done}")


@case
def signals_to_the_host_program_do_not_make_it_wait_for_ever(w):
    if w.keywords():
        raise Skip("the library of the build may be out of the user's reach")

    def attempt(path):
        env = {**w.env, "PATH": path, "CORDON_PROGRAM": w.program}
        begin = time.monotonic()
        done = subprocess.run([os.environ["ALARMED_HOST"], "/bin/cat", "file"], cwd=w.work, env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        done.seconds = time.monotonic() - begin
        return done

    done = attempt(PATH)
    check(done.returncode == 0 and done.stdout == "text\n", f"{done}")
    path = w.plant("stay")
    refused(soon(w, lambda: attempt(path)), "bwrap", "hangs")


@case
def a_host_program_whose_group_has_no_number_keeps_its_helper(w):
    """Where a pid namespace begins. For the program cordon it is in bad_hosts.py."""
    if w.keywords() or os.getuid() != 0:
        raise Skip("only root can make a pid namespace in which bwrap is root's")
    apart = ("unshare", "--pid", "--fork", "--mount-proc")
    env = {**w.env, "CORDON_PROGRAM": w.program}
    for prefix in ((), apart):
        done = subprocess.run([*prefix, os.environ["ALARMED_HOST"], "/bin/cat", "file"], cwd=w.work, env=env,
                              stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=60, check=False)
        check(done.returncode == 0 and done.stdout == "text\n", f"{prefix}: {done}")


@case
def a_host_program_has_no_child_too_many(w):
    if w.keywords():
        raise Skip("the library of the build may be out of the user's reach")
    env = {**w.env, "CORDON_PROGRAM": w.program}
    for way in ("background", "foreground", "careless"):
        done = subprocess.run([os.environ["PARENT_HOST"], way], cwd=w.work, env=env, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, timeout=60, check=False)
        check(done.returncode == 0, f"{way}: {done}")


def children_of(pid):
    """Those of all its threads."""
    try:
        return [int(word) for thread in os.listdir(f"/proc/{pid}/task")
                for word in Path(f"/proc/{pid}/task/{thread}/children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def await_true(condition, what, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.02)


def lives(pid):
    """A zombie does not: whoever reaps it may take their time."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


class ForkedHost:
    """A host program with a run, and with a child that has copies of its channels."""

    def __init__(self, w, *words):
        env = {**w.env, "CORDON_PROGRAM": w.program}
        self.process = subprocess.Popen([os.environ["PARENT_HOST"], "forked", *words], cwd=w.work, env=env,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        # Nothing is writable, so there is no warden to end it.
        said = {self.process.stdout.readline().strip(), self.process.stdout.readline().strip()}
        check("up" in said, f"the command does not run: {said}")
        self.idler = int((said - {"up"}).pop())

    def descendants(self, pid=None):
        return [each for child in children_of(pid or self.process.pid) if child != self.idler
                for each in (child, *self.descendants(child))]

    def kill(self):
        """And all but its own child ends."""
        found = self.descendants()
        check(found, "it has no run")
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        await_true(lambda: not any(lives(pid) for pid in found), f"something lives on: {found}", 5)
        check(os.path.exists(f"/proc/{self.idler}"), "its child is gone, too")
        os.kill(self.idler, signal.SIGKILL)


@case
def a_killed_host_program_takes_its_run_along_though_it_has_forked(w):
    if w.keywords():
        raise Skip("the library of the build may be out of the user's reach")
    for backend in ("native", "bwrap", "landlock"):
        for words in ((), ("foreground",), ("foreground", "thread")):
            ForkedHost(w, backend, *words).kill()


@case
def a_killed_host_program_takes_a_stopped_sandbox_along_though_it_has_forked(w):
    """All that it has started hears nothing then, and is woken."""
    if w.keywords():
        raise Skip("the library of the build may be out of the user's reach")
    for backend in ("native", "bwrap", "landlock"):
        for words in ((), ("foreground",), ("foreground", "thread")):
            host = ForkedHost(w, backend, *words)
            for pid in host.descendants():
                # bwrap's own process, and who ends it, leave once the sandbox stands.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            host.kill()


@case
def who_is_killed_while_it_is_asked_leaves_nothing(w):
    """A fake that hangs, and cordon killed before its patience ends."""
    env = {**w.env, "PATH": w.plant("hang")}
    with subprocess.Popen([str(w.program), "run", "--backend", "bwrap", "--", "/bin/true"], cwd=w.work, env=env,
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **w.keywords()) as cordon:
        await_true(lambda: living_fakes(w), "it is not asked")
        cordon.kill()
        cordon.wait()
        await_true(lambda: not living_fakes(w), "it is left", 5)


# ---- What is kept ------------------------------------------------------------------------------


@case
def what_it_can_do_is_asked_once(w):
    cache = w.home / ".cache/cordon/bwrap"
    works(w.run("--backend", "bwrap"))
    check(cache.exists() and cache.stat().st_mode & 0o22 == 0, "nothing is kept")
    text = cache.read_text(encoding="utf-8")
    check("/bwrap\n" in text, text)
    before = cache.stat().st_mtime_ns
    works(w.run("--backend", "bwrap"))
    check(cache.stat().st_mtime_ns == before, "it was asked again")
    # Each of these makes it worthless, and it is written anew.
    for spoil in (lambda: cache.write_text(text + "x", encoding="utf-8"), lambda: cache.write_text("", encoding="utf-8"),
                  lambda: cache.write_text(text.replace("features 1", "features 2"), encoding="utf-8")):
        spoil()
        works(w.run("--backend", "bwrap"))
        check(cache.read_text(encoding="utf-8") == text, "it was not written anew")
    cache.unlink()
    cache.symlink_to(w.work / "file")
    works(w.run("--backend", "bwrap"))
    check((w.work / "file").read_text(encoding="utf-8") == "text\n", "it was written through a link")


@case
def a_link_in_the_place_of_its_directory_is_not_followed(w):
    # An earlier command, with a profile that opens ~/.cache, can have left it there.
    victim = w.home / "victim"
    victim.mkdir()
    (victim / "bwrap").write_text("precious\n", encoding="utf-8")
    link = w.home / ".cache/cordon"
    done = w.run("--backend", "bwrap", "--mode", "workspace-write", "--add-write", str(w.home / ".cache"),
                 command=("/bin/sh", "-c", f"ln -s {victim} {link} && ! echo x 2>/dev/null >{victim}/bwrap && cat file"))
    works(done)
    check(link.is_symlink(), "the command made no link")
    w.give()
    works(w.run("--backend", "bwrap"))
    check(sorted(os.listdir(victim)) == ["bwrap"], f"{os.listdir(victim)}")
    check((victim / "bwrap").read_text(encoding="utf-8") == "precious\n", "it was written through a link")
    # A directory that others may write to is no better; the control is one of the user's alone.
    link.unlink()
    link.mkdir()
    link.chmod(0o777)
    w.give()
    works(w.run("--backend", "bwrap"))
    check(os.listdir(link) == [], "it was written where others can write")
    link.chmod(0o700)
    works(w.run("--backend", "bwrap"))
    check(os.listdir(link) == ["bwrap"], f"{os.listdir(link)}")


@case
def a_cache_that_the_command_may_write_is_not_asked(w):
    cache = w.home / ".cache/cordon/bwrap"
    works(w.run("--backend", "bwrap", "--mode", "workspace-write", "--add-write", str(w.home / ".cache")))
    check(not cache.exists(), "it was written where the command could write")


@case
def who_has_no_cache_directory_gets_none(w):
    shutil.rmtree(w.home / ".cache")
    works(w.run("--backend", "bwrap"))
    check(not (w.home / ".cache").exists(), "it was made")


# ---- /proc ------------------------------------------------------------------------------------------


@case
def without_a_proc_of_its_own_it_is_refused_unless_that_is_accepted(w):
    if os.getuid() != 0:
        raise Skip("only root can cover a part of /proc for this")
    cover = "mount -t tmpfs none /proc/fs && exec \"$@\""
    drop = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"] if w.who == "user" else []
    prefix = ["unshare", "-m", "/bin/sh", "-c", cover, "sh", *drop]
    w.keywords = lambda: {}
    done = w.run("--backend", "bwrap", prefix=prefix)
    refused(done, "bwrap", "/proc", "systempaths=unconfined")
    done = w.run("--backend", "bwrap", "--accept-missing", "proc", prefix=prefix)
    works(done)
    check("proc" in done.stderr and "not enforced" in done.stderr, done.stderr)
    check("proc" in json.dumps(done.told.get("guarantees", done.told)), f"{done.told}")
    script = "echo lost $CORDON_SANDBOX_LOST"
    done = w.run("--backend", "bwrap", "--accept-missing", "proc", prefix=prefix, command=("/bin/sh", "-c", script))
    check(done.stdout == "lost proc\n", repr(done.stdout))
    script = "test -e /proc/1/status && ! echo 1 >/proc/self/oom_score_adj && cat file"
    done = w.run("--backend", "bwrap", "--accept-missing", "proc", prefix=prefix, command=("/bin/sh", "-c", script))
    works(done)


# ---- Much -----------------------------------------------------------------------------------------------


@case
def thousands_of_masks(w):
    count = 5000
    for n in range(count):
        directory = w.work / f"d{n % 50}"
        directory.mkdir(exist_ok=True)
        (directory / f"{n}.env").write_text("SECRET\n", encoding="utf-8")
    config = w.home / ".config/cordon/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[permissions.box.filesystem]\n":root" = "read"\n"%s" = "write"\n"%s/**/*.env" = "deny"\n'
                      % (w.work, w.work), encoding="utf-8")
    w.give()
    script = "cat d0/0.env d49/4999.env d7/2007.env; cat file"
    done = w.run("--backend", "bwrap", "-P", "box", command=("/bin/sh", "-c", script))
    check(done.stdout == "text\n" and done.stderr.count("Permission denied") == 3, f"{done}")
    check(done.told.get("backend") == "bwrap", f"{done.told}")
    check(done.seconds < 30, f"it took {done.seconds:.1f} s")


@case
def placeholders_that_can_not_be_made_are_done_without(w):
    command = ("/bin/sh", "-c", "ls -A; cat file; touch new")
    done = w.run("--backend", "bwrap", "-P", ":workspace", command=command)
    check(done.told.get("backend") == "bwrap" and ".codex" in done.stdout.split() and (w.work / "new").exists(), f"{done}")
    (w.work / "new").unlink()
    if os.getuid() != 0:
        raise Skip("only root can make a workspace that is another's")
    os.chown(w.work, 0, 0)
    done = w.run("--backend", "bwrap", "-P", ":workspace", command=command)
    check(done.told.get("backend") == "bwrap" and "text" in done.stdout.split(), f"{done}")
    # Nobody but root could, and nobody but root has to be kept from it.
    can_make = w.who == "root"
    check((".codex" in done.stdout.split()) == can_make, f"{done}")
    check((w.work / "new").exists() == can_make, f"{done}")
    check(not (w.work / ".codex").exists(), "a placeholder is left")


@case
def a_program_that_can_not_be_read_can_be_the_inner_stage(w):
    if os.getuid() != 0:
        raise Skip("only root can have a program that nobody else can read")
    w.program = w.bin / "cordon"
    shutil.copy(os.environ["CORDON"], w.program)
    for path, mode in ((w.bin, 0o755), (w.program, 0o711)):
        os.chown(path, 0, 0)
        path.chmod(mode)
    works(w.run("--backend", "bwrap"))


@case
def a_window_into_the_kernel_is_hidden_though_bwrap_runs_when_it_is_found(w):
    if os.getuid() != 0:
        raise Skip("only root can mount a second /proc")
    (w.work / "window").mkdir()
    w.give()
    drop = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups") if w.who == "user" else ()
    prefix = ("unshare", "-m", "--propagation", "private", "sh", "-c",
              'mount -t proc proc window && exec "$@"', "sh", *drop)
    w.who = "root"  # until it is mounted
    plain = subprocess.run([*prefix, "ls", "window/self"], cwd=w.work, capture_output=True, text=True, check=False)
    check("mountinfo" in plain.stdout, f"the control shows nothing: {plain}")
    for profile in (":read-only", ":workspace"):
        done = w.run("--backend", "bwrap", "-P", profile, command=("/bin/ls", "window/self", "file"), prefix=prefix)
        check(done.stdout == "file\n" and "ermission denied" in done.stderr, f"{done}")


# ---- Running the cases ----------------------------------------------------------------------------------


def base_directory():
    """Where nobody else writes: what lies in /tmp is never trusted."""
    for path in (os.environ.get("HOME"), "/root", "/opt", "/srv"):
        if path and os.access(path, os.W_OK) and not os.stat(path).st_mode & 0o22:
            return path
    return None


def run_one(function, who, base, binaries):
    top = tempfile.mkdtemp(prefix="cordon-bwrap-", dir=base)
    os.chmod(top, 0o755)
    try:
        function(World(top, who, binaries))
        return ""
    except Skip as reason:
        return f" # SKIP {reason}"
    finally:
        shutil.rmtree(top)


def main():
    if not shutil.which("bwrap"):
        print("1..0 # SKIP there is no bwrap")
        return
    # Root's own home is closed to others: a user's case needs a place that is not.
    base = "/opt" if os.getuid() == 0 else base_directory()
    if not base:
        print("1..0 # SKIP every directory here can be written by others")
        return
    binaries = tempfile.mkdtemp(prefix="cordon-bwrap-bin-", dir=base)
    os.chmod(binaries, 0o755)
    for name in ("CORDON", "FALSE_BWRAP"):
        shutil.copy(os.environ[name], f"{binaries}/{name.lower()}")
    identities = ["root", "user"] if os.getuid() == 0 else ["user"]
    wanted = [(f, who) for who in identities for f in _cases if not sys.argv[1:] or f.__name__ in sys.argv[1:]]
    failed = 0
    print(f"1..{len(wanted)}")
    for number, (function, who) in enumerate(wanted, 1):
        try:
            print(f"ok {number} - {function.__name__} as {who}{run_one(function, who, base, binaries)}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {function.__name__} as {who}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
    shutil.rmtree(binaries)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
