#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random attempts under random policies: what the policy refuses is named, and nothing else.

strace, inside, sees what the kernel answers to each attempt. The control is the same attempt, by the same
user without rights, in the same tree without a sandbox. What works there and is refused inside has to be in
the report, with its operation, path and error; what works inside, or fails by the host's own modes, must
not be. CORDON_SEED repeats a failure, CORDON_ROUNDS tries more.
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from sanitizer import without_noise  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("CORDON", "build/cordon"))
SEED = int(os.environ.get("CORDON_SEED") or random.SystemRandom().randrange(1 << 32))
ROUNDS = int(os.environ.get("CORDON_ROUNDS", "3"))
# Seeds that have found a wrong name before, and with which backend.
FOUND_BEFORE = [(2737669190, "bwrap"), (3341344992, "bwrap")]
ATTEMPTS = 80
USER = 61183
SECONDS = 120
# The ordinary user may not be able to read the one that runs this.
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable
LESS = [w for name in ("fs_carve", "protect_missing", "proc", "tree_death") for w in ("--accept-missing", name)]
POLICY_ERRORS = ("EROFS", "EACCES", "EPERM", "EBUSY", "EEXIST", "ENOENT")
HOST_ERRORS = ("EACCES", "EPERM")

# Run inside, under strace, and outside: one system call for each attempt, after a look at a name that tells which.
PROBE = r"""
import json, os, sys
def at(one, path, run):
    if one["way"] != "fd":
        return run(path, None)
    fd = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY)
    try:
        return run(os.path.basename(path), fd)
    finally:
        os.close(fd)
O = os
FLAGS = {"open-write": O.O_WRONLY, "append": O.O_WRONLY | O.O_APPEND, "open-both": O.O_RDWR,
         "open-trunc": O.O_WRONLY | O.O_TRUNC, "read-trunc": O.O_RDONLY | O.O_TRUNC, "create": O.O_WRONLY | O.O_CREAT,
         "read-create": O.O_RDONLY | O.O_CREAT, "create-new": O.O_WRONLY | O.O_CREAT | O.O_EXCL,
         "nofollow": O.O_WRONLY | O.O_NOFOLLOW, "tmpfile": O.O_WRONLY | O.O_TMPFILE}
def attempt(one):
    how, path, other = one["how"], one["path"], one.get("other")
    if how in FLAGS:
        return lambda p, d: O.close(O.open(p, FLAGS[how] | O.O_NONBLOCK, 0o644, dir_fd=d))
    return {
        "unlink": lambda p, d: O.unlink(p, dir_fd=d), "rmdir": lambda p, d: O.rmdir(p, dir_fd=d),
        "mkdir": lambda p, d: O.mkdir(p, dir_fd=d), "mkfifo": lambda p, d: O.mkfifo(p, dir_fd=d),
        "symlink": lambda p, d: O.symlink("x", p, dir_fd=d), "link": lambda p, d: O.link(other, p, dst_dir_fd=d),
        "rename": lambda p, d: O.rename(p, other, src_dir_fd=d), "replace": lambda p, d: O.rename(other, p, dst_dir_fd=d),
        "chmod": lambda p, d: O.chmod(p, 0o600, dir_fd=d), "chown": lambda p, d: O.chown(p, -1, O.getgid(), dir_fd=d),
        "utime": lambda p, d: O.utime(p, (1, 1), dir_fd=d), "touch": lambda p, d: O.utime(p, None, dir_fd=d),
        "lutime": lambda p, d: O.utime(p, (1, 1), dir_fd=d, follow_symlinks=False),
        "truncate": lambda p, d: O.truncate(p, 1), "setxattr": lambda p, d: O.setxattr(p, "user.x", b"x"),
        "removexattr": lambda p, d: O.removexattr(p, "user.there"),
    }[how]
import errno
for number, one in enumerate(json.load(open(sys.argv[1]))):
    try:
        os.stat(f"/cordon-attempt-{number}")
    except OSError:
        pass
    try:
        at(one, one["path"], attempt(one))
        print("OK")
    except OSError as e:
        print(errno.errorcode[e.errno])
"""

# how: (operation, what is there before)
HOWS = {
    "open-write": ("open-write", "file"), "append": ("open-write", "file"), "open-both": ("open-write", "file"),
    "open-trunc": ("open-write", "file"), "read-trunc": ("open-write", "file"), "nofollow": ("open-write", "file"),
    "create": ("create", None), "read-create": ("create", None), "create-new": ("create", None),
    "tmpfile": ("create", "dir"),
    "unlink": ("unlink", "file"), "rmdir": ("rmdir", "dir"), "mkdir": ("mkdir", None), "mkfifo": ("mknod", None),
    "symlink": ("symlink", None), "link": ("link", None), "rename": ("rename", "file"), "replace": ("rename", "file"),
    "chmod": ("chmod", "file"), "chown": ("chown", "file"), "utime": ("utime", "file"), "touch": ("utime", "file"),
    "lutime": ("utime", "file"), "truncate": ("truncate", "file"), "setxattr": ("xattr", "file"),
    "removexattr": ("xattr", "file"),
}
NO_DIR_FD = ("truncate", "setxattr", "removexattr")


class Round:
    """One tree, one policy and its attempts, all of it made from a seed."""

    def __init__(self, seed, backend, uid, top):
        self.random = random.Random(f"{seed} {backend} {uid}")
        self.backend, self.uid, self.top = backend, uid, Path(top)
        self.tree, self.work = self.top / "tree", self.top / "tree/work"
        names = [(), ("work",)] + [(a,) for a in "abc"] + [(a, b) for a in ("a", "b", "work") for b in "de"]
        names += [(*d, "deep") for d in names if len(d) == 2]
        self.dirs = [self.tree.joinpath(*d) for d in names]
        self.shut = set(self.random.sample(self.dirs[2:], 3))
        self.access = self.choose_access()
        self.attempts = [self.choose_attempt(i) for i in range(ATTEMPTS)]
        # Where it may write, but can't now, nothing can be protected: such a run is refused.
        self.shut = {path for path in self.shut if "write" not in (self.access.get(path), self.access.get(path.parent))}

    def choose_access(self):
        found = {self.work: "write"}
        kinds = ["write"] if self.backend == "landlock" else ["read", "write", "write", "deny"]
        for path in self.random.sample(self.dirs[2:], 5):
            found[path] = self.random.choice(kinds)
        return found

    def choose_attempt(self, number):
        rnd = self.random
        how = rnd.choice(list(HOWS))
        place = rnd.choice(self.dirs)
        one = {"backend": self.backend, "how": how, "place": place, "name": f"x{number}", "there": HOWS[how][1]}
        one["real"] = str(place / one["name"])
        if how in ("rename", "link", "replace"):
            # Between directories it is EXDEV more often than not.
            other = place if rnd.random() < 0.7 else rnd.choice(self.dirs)
            one["other"] = str(other / f"y{number}")
        if one["there"] == "file" and rnd.random() < 0.15:
            one["mode"] = 0o400
        # Something else than what the call is for: missing, or there already.
        if rnd.random() < 0.1:
            one["there"] = rnd.choice([None, "file", "dir"])
        if self.backend != "landlock" and rnd.random() < 0.08 and one["there"]:
            self.access[Path(one["real"])] = rnd.choice(["read", "write", "deny"])
        one["way"] = rnd.choice(["absolute", "relative", "up", "link", "fd"])
        if one["way"] == "fd" and how in NO_DIR_FD:
            one["way"] = "absolute"
        one["path"] = self.spell(one)
        return one

    def is_hidden(self, directory):
        """Whether the policy denies it: the entry with the most components decides."""
        entries = [path for path in (directory, *directory.parents) if path in self.access]
        return bool(entries) and self.access[entries[0]] == "deny"

    def spell(self, one):
        path = one["real"]
        if one["way"] == "relative":
            return os.path.relpath(path, self.work)
        if one["way"] == "up":
            return f"{one['place']}/./inner/../{one['name']}"
        if one["way"] == "link":
            return f"{self.top}/links/{self.dirs.index(one['place'])}/{one['name']}"
        return path

    def build(self):
        for path in self.dirs:
            (path / "inner").mkdir(parents=True)
        (self.top / "links").mkdir()
        for number, path in enumerate(self.dirs):
            (self.top / f"links/{number}").symlink_to(path)
        for one in self.attempts:
            path = Path(one["real"])
            if one["there"] == "dir":
                path.mkdir()
            elif one["there"] == "file":
                path.write_text("text\n", encoding="utf-8")
                if one["how"] == "removexattr":
                    os.setxattr(path, "user.there", b"x")
                path.chmod(one.get("mode", 0o644))
            if one["how"] in ("link", "replace"):
                Path(one["other"]).write_text("other\n", encoding="utf-8")
        for path in self.shut:
            path.chmod(0o555)
        (self.top / "probe.py").write_text(PROBE, encoding="utf-8")
        (self.top / "attempts.json").write_text(json.dumps([
            {key: one[key] for key in ("how", "path", "way", "other") if key in one} for one in self.attempts]))
        entries = "".join(f'"{path}" = "{access}"\n' for path, access in self.access.items())
        config = self.top / "home/.config/cordon/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text('[permissions.box]\ndenials = "writes"\nprotect = []\n[permissions.box.filesystem]\n'
                          f'":root" = "read"\n"{self.top}/trace" = "write"\n{entries}', encoding="utf-8")
        (self.top / "trace").mkdir()

    def remove(self):
        for path in self.shut:
            if path.exists():
                path.chmod(0o755)
        for name in ("tree", "links", "home", "trace"):
            shutil.rmtree(self.top / name, ignore_errors=True)

    def start(self, words):
        env = {"HOME": str(self.top / "home"), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1",
               **{name: os.environ[name] for name in os.environ if name.startswith(("ASAN", "UBSAN", "LSAN"))}}
        done = subprocess.run([str(word) for word in words], cwd=self.work, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS, check=False, text=True)
        err = without_noise(done.stderr)
        assert done.returncode == 0 and "Sanitizer" not in err and "runtime error" not in err, \
            f"{words}: status {done.returncode}\n{done.stdout}{err}"
        return done.stdout.split()

    def run_outside(self):
        weak = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"] if self.uid == 0 else []
        return self.start([*weak, PYTHON, self.top / "probe.py", self.top / "attempts.json"])

    def run_inside(self):
        trace, report = self.top / "trace/all", self.top / "report.json"
        options = ["-q", "--backend", self.backend, *(LESS if self.backend == "landlock" else []), "-P", "box"]
        self.start([PROGRAM, "run", *options, "--report", report, "--", "strace", "-f", "-o", trace,
                    PYTHON, self.top / "probe.py", self.top / "attempts.json"])
        found = json.loads(report.read_text(encoding="utf-8"))
        assert found["denials_unlisted"] == 0, found
        return read_trace(trace.read_text(encoding="utf-8", errors="replace")), found["denials"]

    def check(self):
        """How many were refused by the policy, and what is wrong."""
        self.build()
        try:
            outside = self.run_outside()
            self.remove()
            self.build()
            inside, denials = self.run_inside()
        finally:
            self.remove()
        assert len(outside) == len(inside) == ATTEMPTS, (len(outside), len(inside))
        wrong, refused = [], 0
        by_path = {}
        for denial in denials:
            by_path.setdefault(denial["subject"], []).append(denial)
        for one, out, got in zip(self.attempts, outside, inside):
            one["is_hidden"] = self.is_hidden(one["place"])
            subjects = [one["real"], *([one["other"]] if one["how"] in ("rename", "replace") else [])]
            if one["how"] == "replace":
                subjects.reverse()
            named = [denial for subject in subjects for denial in by_path.pop(subject, [])]
            refused += out == "OK" and got in POLICY_ERRORS
            text = judge(one, out, got, named)
            if text:
                wrong.append(f"{text}: {one['how']} {one['path']} ({one['way']}, there: {one['there']}, "
                             f"{one.get('other', '')}): outside {out}, inside {got}, named "
                             f"{[(d['operation'], d['subject'], d['errno'], d['count']) for d in named]}")
        wrong += [f"named, but nobody tried it: {denial}" for rest in by_path.values() for denial in rest]
        return refused, wrong


def read_trace(text):
    """What the kernel answered to each attempt: the last call after its mark, of those that matter."""
    calls = (r"(?:open(?:at)?|creat|unlink(?:at)?|rmdir|mkdir(?:at)?|mknod(?:at)?|symlink(?:at)?|link(?:at)?|"
             r"rename(?:at2?)?|f?chmod(?:at2?)?|f?chown(?:at)?|lchown|utimensat|truncate|l?(?:set|remove)xattr)")
    found = []
    for line in text.splitlines():
        if "cordon-attempt-" in line:
            found.append(None)
            continue
        match = re.match(rf"\d+ +{calls}\(.*\) += (-?\d+)(?: (E\w+))?", line)
        # The directory is opened first, and what is opened is closed.
        if match and found and "O_PATH" not in line:
            found[-1] = match[2] or "OK"
        elif match and found and match[2]:
            found[-1] = "NODIR"
    return found


def judge(one, out, got, named):
    """What is wrong, or None."""
    if len(named) > 1:
        return "named twice"
    if got == "OK":
        return "works, but is named" if named else None
    if out in HOST_ERRORS:
        return "the host's modes refuse it, but it is named" if named else None
    if got not in POLICY_ERRORS:
        return "fails by itself, but is named" if named else None
    # It would fail anyway, but not for lack of rights: then it may be named or not.
    if out != "OK" and not named:
        return None
    # A denied directory, of which something is open again, hides all else with that error, whether it is there or not.
    if out == got and not (got == "ENOENT" and one["is_hidden"]):
        return "it fails outside likewise, but is named" if named else None
    # A name on the way, or what is to be linked, is hidden: that is not what the call is to change.
    if (got == "ENOENT" and one["way"] == "up") or (got in ("ENOENT", "EACCES") and one["how"] == "link"
                                                    and one["backend"] != "landlock"):
        return None
    if not named:
        return "is not named"
    if out != "OK":
        return None
    operation = HOWS[one["how"]][0]
    told = named[0]["operation"], named[0]["errno"]
    wanted = {operation, "create"} if operation == "open-write" else {operation, "open-write"} if \
        operation == "create" and one["there"] else {operation}
    return None if told[0] in wanted and told[1] == got else f"is named as {told}"


def run_as(uid, function):
    """In a process of that user; what it prints is the result."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            if uid != os.getuid():
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            status = 0 if function() else 1
        except BaseException as e:  # pylint: disable=broad-except
            print(f"# {type(e).__name__}: {e}".replace("\n", "\n# "))
        finally:
            sys.stdout.flush()
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def try_round(seed, backend, uid):
    top = tempfile.mkdtemp(prefix="cordon-denials-", dir="/var/tmp")
    try:
        os.chmod(top, 0o755)
        refused, wrong = Round(seed, backend, uid, top).check()
        for text in wrong:
            print("# " + text)
        print(f"# {refused} of {ATTEMPTS} attempts were refused by the policy")
        return not wrong and refused > 0
    finally:
        shutil.rmtree(top, ignore_errors=True)


def main():
    if not shutil.which("strace") or not shutil.which("setpriv"):
        print("1..0 # SKIP strace or setpriv is not there")
        return 0
    users = [("root", 0), ("user", USER)] if os.getuid() == 0 else [("user", os.getuid())]
    table = [(SEED + i, backend, *user) for i in range(ROUNDS)
             for backend in os.environ.get("CORDON_BACKENDS", "native bwrap landlock").split() for user in users]
    if not os.environ.get("CORDON_SEED"):
        table += [(seed, backend, *user) for seed, backend in FOUND_BEFORE for user in users]
    print(f"1..{len(table)}\n# CORDON_SEED={SEED}", flush=True)
    failed = 0
    for number, (seed, backend, who, uid) in enumerate(table, 1):
        is_right = run_as(uid, lambda: try_round(seed, backend, uid))  # pylint: disable=cell-var-from-loop
        failed += not is_right
        print(f"{'ok' if is_right else 'not ok'} {number} - what_the_policy_refuses_is_named {backend} {who} {seed}",
              flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
