# SPDX-License-Identifier: MIT
"""What a run under Cordon costs, beside the same without it and beside other sandboxes.

Everything is measured in turns within one run, so that ratios mean something on a
shared machine; as root all of it twice: as root and as an ordinary user. Other
sandboxes are taken from $CORDON_BENCH_PEERS (a directory) or PATH; those that are
absent are named, and what is promised against them is then not judged. What is worked
in lies below $CORDON_BENCH_DIR (/var/tmp): disks differ in how soon they let a directory go.
"""

import glob
import itertools
import json
import os
import pathlib
import pwd
import resource
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROUNDS = max(60, int(os.environ.get("CORDON_BENCH_RUN_ROUNDS", "100")))
MASKS = (0, 100, 200, 400, 800)
TREE_FILES = 50_000
AT_ONCE = 20
ALIVE = 1000
BWRAP_ROUNDS = 300
COMPILE_ROUNDS = 15
COMPILE_TURNS = 300
TRUE = "/bin/true"
WORK_BELOW = os.environ.get("CORDON_BENCH_DIR", "/var/tmp")


class Failed(Exception):
    pass


class Identity:
    """Root, or an ordinary user; `keywords` is what makes subprocess be that one."""

    def __init__(self, name, uid=None, gid=None):
        self.name = name
        self.keywords = {} if uid is None else {"user": uid, "group": gid, "extra_groups": []}
        self.uid, self.gid = uid, gid


def identities():
    if os.geteuid() != 0:
        return [Identity("ordinary user")]
    user = pwd.getpwnam(os.environ.get("CORDON_BENCH_USER", "nobody"))
    return [Identity("root"), Identity("ordinary user", user.pw_uid, user.pw_gid)]


class Place:
    """A scratch directory with a home, a repository to work in, and the programs."""

    def __init__(self, who, cordon, spawn, floor):
        self.who = who
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="cordon-bench-", dir=WORK_BELOW))
        self.top.chmod(0o755)
        self.cordon = shutil.copy2(cordon, self.top / "cordon")
        self.spawn = shutil.copy2(spawn, self.top / "spawn")
        self.floor = shutil.copy2(floor, self.top / "floor")
        self.work = self.top / "work"
        self.environment = {
            "PATH": os.environ["PATH"],
            "LANG": "C",
            "HOME": str(self.top / "home"),
            # Some leave sockets behind, whose names are those of later runs: not in /tmp.
            "TMPDIR": str(self.top / "tmp"),
            "CODEX_HOME": str(self.top / "codex-home"),
        }
        for name in ("home", "home/.cache", "codex-home", "work", "tmp"):
            (self.top / name).mkdir()
        # Git makes the repository as the user that works in it.
        self.give()
        self.run(["git", "init", "-q", self.work])

    def give(self):
        if self.who.uid is not None:
            self.run(["chown", "-R", f"{self.who.uid}:{self.who.gid}", self.top], as_self=True)

    def run(self, command, as_self=False, cwd=None, **keywords):
        command = [str(word) for word in command]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, errors="replace",
                              cwd=cwd or self.work, env=self.environment,
                              **({} if as_self else self.who.keywords), **keywords)
        if done.returncode != 0:
            words = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise Failed(f"{' '.join(command)[:200]}: {words[0][:300]}")
        return done.stdout

    def time(self, cases, rounds, *options, cwd=None):
        """The rows of bench/spawn.c for commands by name."""
        if not cases:
            return {}
        words = [self.spawn, *options, rounds]
        for i, command in enumerate(cases.values()):
            words += ["---"] * (i > 0) + [resolve(command[0]), *command[1:]]
        rows = [json.loads(line) for line in self.run(words, cwd=cwd).splitlines()]
        return dict(zip(cases, rows))

    def write(self, name, text):
        path = self.top / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def remove(self):
        shutil.rmtree(self.top)


def resolve(program):
    return shutil.which(str(program)) or str(program)


# ---- The candidates ------------------------------------------------------------


def find_peer(name):
    directory = os.environ.get("CORDON_BENCH_PEERS")
    found = directory and shutil.which(name, path=directory)
    return found or shutil.which(name)


def native_codex(program):
    """The npm package starts a program of its own: that one, without node, is the fairer one."""
    package = pathlib.Path(os.path.realpath(program)).parent.parent
    for pattern in ("../codex-linux-*/vendor/*/bin/codex", "vendor/*/codex/codex"):
        for found in glob.glob(str(package / pattern)):
            return os.path.realpath(found)
    return program


def bwrap(place, *binds):
    """The namespaces of `cordon run` and as few mounts as do: only the first of what bwrap_same() has."""
    return ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc",
            "--unshare-uts", "--unshare-cgroup", "--die-with-parent", "--cap-drop", "ALL",
            "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", *binds,
            "--chdir", str(place.work)]


def bwrap_workspace(place):
    work, git, tmp = str(place.work), str(place.work / ".git"), str(place.top / "tmp")
    return bwrap(place, "--bind", "/tmp", "/tmp", "--bind", tmp, tmp, "--bind", work, work,
                 "--ro-bind", git, git)


TRACED = "cordon: trace: --"


def words_told(place, *options):
    """The arguments that Cordon gives bwrap. What goes in as a descriptor there is a path here, or an
    empty directory, which costs no more; what is held for the run is there for good, in a workspace
    of its own."""
    command = [place.cordon, "run", "--backend", "bwrap", *options, "--trace", "--", TRUE]
    told = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, cwd=place.work, env=place.environment, check=True, **place.who.keywords).stderr
    raw = place.work.with_name(f"{place.work.name}-raw")
    if not raw.exists():
        shutil.copytree(place.work, raw, symlinks=True)
    words = []
    for line in told.splitlines():
        if not line.startswith(TRACED):
            continue
        option, *operands = line.removeprefix(TRACED[:-2]).replace(str(place.work), str(raw)).split(" ")
        if option in ("--info-fd", "--userns-block-fd"):
            continue
        if option == "--file":
            option, operands = "--dir", operands[1:]
        if option in ("--ro-bind-data", "--bind-fd"):
            path = operands[1]
            option, operands = ("--bind", [path, path]) if option == "--bind-fd" else ("--ro-bind", ["/dev/null", path])
        if option in ("--ro-bind", "--tmpfs") and operands[-1].startswith(str(raw)):
            if not os.path.exists(operands[-1]):
                os.mkdir(operands[-1])
        words += [option, *operands]
    place.give()
    return [*drop_modes(words), "--chdir", str(raw)]


def bwrap_as_told(place, *options):
    """bwrap itself with the arguments that Cordon gives it."""
    return ["bwrap", *words_told(place, *options)]


def mount_points(place, command):
    """Without those that are the host's anyway, and those of the place itself."""
    seen = place.run([*command, "/bin/cat", "/proc/self/mountinfo"]).splitlines()
    mine = {line.split(" ")[4] for line in seen if not line.split(" ")[4].startswith(str(place.top))}
    host = {line.split(" ")[4] for line in open("/proc/self/mountinfo", encoding="utf-8")}
    return mine - host


def bwrap_same(place, *options):
    """The namespaces and the mounts of `cordon run`: as its own bwrap backend words them, with the
    places in /proc that only the native one closes whoever the user is. The command is not PID 1
    and has no capabilities. No seccomp, no Landlock, nobody who looks."""
    told, words = words_told(place, *options), ["bwrap", "--die-with-parent"]
    for i, word in enumerate(told):
        if word not in ("--as-pid-1", "--cap-add") and told[i - 1] != "--cap-add":
            words.append(word)
    wanted = mount_points(place, [place.cordon, "run", *options, "--"])
    for path in sorted(wanted - mount_points(place, words)):
        words += ["--ro-bind", path, path]
    lacking = wanted - mount_points(place, words)
    if lacking:
        raise Failed(f"bwrap does not mount {' '.join(sorted(lacking))}")
    return words


def drop_modes(words):
    """--perms belongs to what follows it, which may have become something that takes none."""
    kept = []
    for i, word in enumerate(words):
        is_mode = "--perms" in (word, words[i - 1])
        owner = words[i + (2 if word == "--perms" else 1)] if is_mode else ""
        if not is_mode or owner in ("--tmpfs", "--dir"):
            kept.append(word)
    return kept


def peers(place):
    """Name -> command of each peer that is here and works; name -> why not of the others."""
    here, absent = {}, {}
    wanted = {
        "bwrap": lambda program: bwrap(place),
        "firejail": lambda program: [program, "--quiet", "--noprofile"],
        "codex": lambda program: [native_codex(program), "sandbox", "--"],
        "srt": lambda program: [program],
    }
    for name, command in wanted.items():
        program = find_peer(name)
        if not program:
            absent[name] = "not installed" + (", `scripts/bootstrap all` does it" if name == "bwrap" else "")
            continue
        try:
            place.run([*command(program), TRUE])
            here[name] = command(program)
        except (Failed, OSError) as reason:
            absent[name] = f"does not run here: {reason}"
    return here, absent


# ---- The measurements ----------------------------------------------------------


def measure_start(place):
    here, absent = peers(place)
    cordon = [place.cordon, "run"]
    cases = {"true alone": [TRUE], "cordon run": [*cordon, "--", TRUE],
             "cordon run -P :workspace": [*cordon, "-P", ":workspace", "--", TRUE]}
    if "bwrap" in here:
        cases["bwrap, the same"] = [*bwrap_same(place), TRUE]
        cases["bwrap, the same as :workspace"] = [*bwrap_same(place, "-P", ":workspace"), TRUE]
        cases["bwrap, fewer mounts"] = [*here["bwrap"], TRUE]
        cases["bwrap, fewer mounts, :workspace"] = [*bwrap_workspace(place), TRUE]
    for name in ("firejail", "codex", "srt"):
        if name in here:
            label = {"codex": "codex sandbox"}.get(name, name)
            cases[label] = [*here[name], TRUE]
    rows = place.time(cases, ROUNDS)
    base = rows["true alone"]["median_us"]
    print(f"  {'':<44} {'median µs':>10} {'min':>9} {'p90':>9} {'× true':>7} {'peak KiB':>9}"
          f" {'execs':>6} {'processes':>10}")
    for name, row in rows.items():
        row["case"] = name
        row["ratio"] = row["median_us"] / base
        print(f"  {name:<44} {row['median_us']:>10.0f} {row['min_us']:>9.0f} {row['p90_us']:>9.0f}"
              f" {row['ratio']:>7.2f} {row['peak_kib']:>9} {row['execs']:>6} {row['processes']:>10}")
    for name, reason in absent.items():
        print(f"  {name}: absent, {reason}")
    return {"rows": list(rows.values()), "absent": absent}


def time_directories(place, count=3):
    """As many as a new workspace has placeholders, made and removed: µs, of which raw bwrap has none."""
    took = []
    for _ in range(50):
        begin = time.monotonic()
        for i in range(count):
            (place.work / f"empty{i}").mkdir()
        for i in range(count):
            (place.work / f"empty{i}").rmdir()
        took.append((time.monotonic() - begin) * 1e6)
    return interval(took)[0]


def measure_bwrap(place):
    """The backend that has bwrap make the sandbox, beside bwrap with the same arguments. A few percent
    decide here: each round is compared in itself, because a shared machine changes its speed."""
    if not shutil.which("bwrap"):
        print("  absent: needs bwrap")
        return []
    profiles = {"bwrap": (), "bwrap -P :workspace": ("-P", ":workspace")}
    cases = {}
    for name, options in profiles.items():
        cases[name] = [place.cordon, "run", "--backend", "bwrap", *options, "--", TRUE]
        cases[f"{name}, raw"] = [*bwrap_as_told(place, *options), TRUE]
    rows = place.time(cases, BWRAP_ROUNDS, "-a")
    found = []
    for name in profiles:
        mine, raw = rows[name]["all_us"], rows[f"{name}, raw"]["all_us"]
        ratio, low, high = interval([a / b for a, b in zip(mine, raw)])
        found.append({"case": name, "ratio": ratio, "low": low, "high": high})
        print(f"  {name:<32} {interval(mine)[0]:>10.0f} µs, raw {interval(raw)[0]:.0f} µs:"
              f" {ratio:.3f} (95 %: {low:.3f} to {high:.3f})")
    print(f"  three empty directories, made and removed there: {time_directories(place):.0f} µs")
    return found


def measure_landlock(place):
    """The backend without namespaces, beside the command alone."""
    run = [place.cordon, "run", "--quiet", "--backend", "landlock"]
    less = [word for name in ("proc", "tree_death", "fs_carve", "protect_missing")
            for word in ("--accept-missing", name)]
    cases = {"true alone": [TRUE], "landlock": [*run, *less, "--", TRUE],
             "landlock -P :workspace": [*run, *less, "-P", ":workspace", "--", TRUE],
             "the kernel's calls alone": [place.floor, "landlock", TRUE],
             # What a run reads and compiles before anything is started.
             "no run, the policy alone": [*run, *less, "--dry-run", "--", TRUE],
             "a static program that ends": [place.floor, "nothing"]}
    rows = place.time(cases, ROUNDS)
    base = rows["true alone"]["median_us"]
    for name, row in rows.items():
        row["case"] = name
        row["ratio"] = row["median_us"] / base
        print(f"  {name:<32} {row['median_us']:>10.0f} µs {row['ratio']:>7.2f} × true")
    return list(rows.values())


def bwrap_masks(place, files):
    """So that one sees what the same costs elsewhere; few rounds, it takes its time."""
    if not shutil.which("bwrap"):
        return {}
    return {f"bwrap {count}": [*bwrap_workspace(place),
                               *(w for path in files[:count] for w in ("--ro-bind", "/dev/null", path)),
                               TRUE] for count in (0, 400)}


def measure_masks(place):
    """Denied files, named one by one in a profile."""
    files = []
    for i in range(max(MASKS)):
        path = place.work / "masked" / f"d{i // 40:02}" / f"f{i:03}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("secret\n")
        files.append(str(path))
    place.give()
    cases = {}
    for count in MASKS:
        config = place.write(f"masks-{count}.toml", 'permissions.many.extends = ":workspace"\n'
                             "[permissions.many.filesystem]\n" +
                             "".join(f'"{path}" = "deny"\n' for path in files[:count]))
        cases[count] = [place.cordon, "run", "--config-file", config, "-P", "many", "--", TRUE]
    for count in (0, 400):
        cases[f"floor {count}"] = [place.floor, "masks", TRUE, *files[:count]]
    rows = place.time(cases, ROUNDS)
    rows.update(place.time(bwrap_masks(place, files), 10))
    base = rows[0]["median_us"]
    print(f"  {'masks':<12} {'median µs':>10} {'× none':>7}")
    for count, row in rows.items():
        row["case"] = count
        row["ratio"] = row["median_us"] / rows[f"{count.split()[0]} 0" if isinstance(count, str) else 0]["median_us"]
        print(f"  {count!s:<12} {row['median_us']:>10.0f} {row['ratio']:>7.2f}")
    first = (rows[400]["median_us"] - base) / 400
    second = (rows[800]["median_us"] - rows[400]["median_us"]) / 400
    least = (rows["floor 400"]["median_us"] - rows["floor 0"]["median_us"]) / 400
    print(f"  a mask costs {first:.1f} µs up to 400, {second:.1f} µs from there to 800;"
          f" the kernel's calls alone (floor) {least:.1f} µs")
    shutil.rmtree(place.work / "masked")
    return {"rows": list(rows.values()), "first_us": first, "second_us": second, "least_us": least}


def measure_globs(place):
    """`**` denies have to look at every name below the root before the command starts."""
    tree = place.top / "tree"
    for i in range(TREE_FILES):
        if i % 50 == 0:
            directory = tree / f"a{i // 2500:02}" / f"b{i % 2500 // 50:02}"
            directory.mkdir(parents=True)
        name = ".env" if i % 2500 == 0 else "key.pem" if i % 2500 == 1 else f"file{i}.c"
        (directory / name).touch()
    place.give()
    config = place.write("globs.toml", 'permissions.globs.extends = ":workspace"\n'
                         '[permissions.globs.filesystem.":workspace_roots"]\n'
                         '"**/.env" = "deny"\n"**/*.pem" = "deny"\n')
    cases = {"no globs": [place.cordon, "run", "-P", ":workspace", "--", TRUE],
             "two ** globs": [place.cordon, "run", "--config-file", config, "-P", "globs", "--", TRUE],
             "find -name": ["find", ".", "-name", ".env"]}
    rows = place.time(cases, 20, cwd=tree)
    for name, row in rows.items():
        row["case"] = name
        print(f"  {name:<32} {row['median_us'] / 1000:>10.2f} ms")
    shutil.rmtree(tree)
    return list(rows.values())


def measure_at_once(place):
    cases = {"true alone": [TRUE], "cordon run": [place.cordon, "run", "--", TRUE],
             "cordon run -P :workspace": [place.cordon, "run", "-P", ":workspace", "--", TRUE]}
    if shutil.which("bwrap"):
        cases["bwrap, fewer mounts"] = [*bwrap(place), TRUE]
        cases["bwrap, fewer mounts, :workspace"] = [*bwrap_workspace(place), TRUE]
    rows = place.time(cases, 30, "-n", AT_ONCE)
    for name, row in rows.items():
        row["case"] = name
        print(f"  {name:<32} {row['median_us'] / 1000:>10.2f} ms for all {AT_ONCE}")
    return list(rows.values())


def measure_net_start(place):
    """With the proxy, its namespaces and its listeners, and without a network."""
    run = [place.cordon, "run"]
    managed = ["--network", "managed", "--allow-host", "example.com"]
    cases = {"no network": [*run, "--", TRUE], "managed network": [*run, *managed, "--", TRUE],
             "no network, :workspace": [*run, "-P", ":workspace", "--", TRUE],
             "managed network, :workspace": [*run, "-P", ":workspace", *managed, "--", TRUE]}
    rows = place.time(cases, ROUNDS)
    for name, row in rows.items():
        row["case"] = name
        row["ratio"] = row["median_us"] / rows[name.replace("managed", "no")]["median_us"]
        print(f"  {name:<32} {row['median_us']:>10.0f} µs {row['ratio']:>7.2f} × without")
    return list(rows.values())


# ---- A thousand alive ----------------------------------------------------------


def available_kib():
    for line in open("/proc/meminfo", encoding="ascii"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1])
    return 0


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            found += [int(word) for word in pathlib.Path(path).read_text().split()]
        except OSError:
            pass
    return found


def family(pid):
    return [pid] + [member for child in children(pid) for member in family(child)]


def pss_kib(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


def await_words(descriptor, count, seconds):
    """How many of `count` commands have written their word."""
    os.set_blocking(descriptor, False)
    got, end = 0, time.monotonic() + seconds
    while got < count and time.monotonic() < end:
        try:
            got += os.read(descriptor, 65536).count(b"\n")
        except BlockingIOError:
            time.sleep(0.02)
    return got


def end_all(runs, members):
    """Ends each by its own process id; how many processes are left a second later."""
    for run in runs:
        run.send_signal(signal.SIGTERM)
    for run in runs:
        try:
            run.wait(30)
        except subprocess.TimeoutExpired:
            run.kill()
            run.wait()
    time.sleep(1)
    return sum(os.path.exists(f"/proc/{pid}") for pid in members)


def measure_alive(place):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
    reading, writing = os.pipe()
    runs, members = [], []
    before, begin = available_kib(), time.monotonic()
    try:
        for _ in range(ALIVE):
            runs.append(subprocess.Popen(
                [place.cordon, "run", "--", "/bin/sh", "-c", "echo up; exec sleep 120"],
                stdin=subprocess.DEVNULL, stdout=writing, cwd=place.work, env=place.environment,
                **place.who.keywords))
        up = await_words(reading, ALIVE, 60)
        took = time.monotonic() - begin
        alive = sum(run.poll() is None for run in runs)
        used = (before - available_kib()) / max(alive, 1)
        sample = [pss_kib(run.pid) for run in runs[:50]]
        for run in runs:
            members += family(run.pid)
    finally:
        begin = time.monotonic()
        left = end_all(runs, members)
        ended = time.monotonic() - begin - 1
        os.close(reading)
        os.close(writing)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    result = {"wanted": ALIVE, "up": up, "alive": alive, "start_s": took, "end_s": ended,
              "processes": len(members), "left": left, "kib_each": used,
              "supervisor_pss_kib": sum(sample) / len(sample)}
    print(f"  {min(up, alive)} of {ALIVE} alive after {took:.1f} s, {len(members)} processes;"
          f" {used:.0f} KiB each with what the kernel keeps for it, of that"
          f" {result['supervisor_pss_kib']:.0f} KiB the supervisor")
    print(f"  all ended within {ended:.1f} s, {left} left")
    return result


# ---- A job ---------------------------------------------------------------------


MAKEFILE = """objects := $(patsubst %.c,%.o,$(wildcard base/*.c))
all: $(objects)
%.o: %.c
	gcc -std=c17 -D_GNU_SOURCE -O1 -I. -c -o $@ $<
"""


def interval(values):
    """The median, and the order statistics that enclose it with 95 % confidence."""
    values = sorted(values)
    n = len(values)
    reach = 0.98 * n ** 0.5
    low, high = max(0, int(n / 2 - reach)), min(n - 1, int(n / 2 + reach))
    return values[n // 2], values[low], values[high]


class Compiler:
    """Compiles what it is told, one file after the other, where it was started."""

    LOOP = "while read file; do gcc -std=c17 -D_GNU_SOURCE -O1 -I. -c -o $file.$$.o $file; echo; done"

    def __init__(self, place, before=()):
        self.process = subprocess.Popen([*before, "/bin/sh", "-c", self.LOOP], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, cwd=place.work, env=place.environment,
                                        **place.who.keywords)

    def time(self, file):
        begin = time.monotonic()
        self.process.stdin.write(f"{file}\n".encode())
        self.process.stdin.flush()
        if not self.process.stdout.readline():
            raise Failed(f"the compiler ended at {file}")
        return time.monotonic() - begin

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def compile_in_turns(place):
    """Each file outside, outside once more as a control, and inside, right after each other and in
    another order each time: a shared machine changes its speed within seconds."""
    files = sorted(path.relative_to(place.work) for path in (place.work / "base").glob("*.c"))
    compilers = {"outside": Compiler(place), "control": Compiler(place),
                 "inside": Compiler(place, [place.cordon, "run", "-P", ":workspace", "--"])}
    ratios, orders = {"control": [], "inside": []}, list(itertools.permutations(compilers))
    try:
        for i in range(COMPILE_TURNS + 3):
            # Each file in all orders, one after the other.
            names = orders[(i + i // len(files)) % len(orders)]
            took = {name: compilers[name].time(files[i % len(files)]) for name in names}
            for name, values in ratios.items():
                if i >= 3:
                    values.append(took[name] / took["outside"])
    finally:
        for compiler in compilers.values():
            compiler.end()
    return {name: interval(values) for name, values in ratios.items()}


def measure_compile(place):
    if not (shutil.which("gcc") and shutil.which("make")):
        print("  absent: needs gcc and make")
        return None
    shutil.copytree(ROOT / "src" / "base", place.work / "base")
    place.write("work/Makefile", MAKEFILE)
    place.give()
    job = ["make", "-s", "-B", "-j2"]
    inside = [place.cordon, "run", "-P", ":workspace", "--"]
    rows = place.time({"outside": job, "inside": [*inside, *job]}, COMPILE_ROUNDS, "-a")
    whole, low, high = interval([inside / outside for inside, outside in
                                 zip(rows["inside"]["all_us"], rows["outside"]["all_us"])])
    outside = interval(rows["outside"]["all_us"])[0]
    print(f"  the whole job: {outside / 1e6:.2f} s outside; inside ×{whole:.3f} (95 %: {low:.3f} to {high:.3f})")
    start = place.time({"alone": [TRUE], "inside": [*inside, TRUE]}, 40)
    share = (start["inside"]["median_us"] - start["alone"]["median_us"]) / outside
    turns = compile_in_turns(place)
    for name, (ratio, low, high) in turns.items():
        print(f"  file by file, {name}: ×{ratio:.4f} (95 %: {low:.4f} to {high:.4f})")
    ratio, low, high = (value + share for value in turns["inside"])
    print(f"  with the start, {share:.2%} of the job: inside ×{ratio:.4f} (95 %: {low:.4f} to {high:.4f})")
    return {"outside_us": outside, "whole_ratio": whole, "ratio": ratio, "low": low, "high": high,
            "control": turns["control"], "rounds": COMPILE_ROUNDS, "turns": COMPILE_TURNS}


# ---- All of it -----------------------------------------------------------------


PARTS = {
    "start": (measure_start, f"starting, medians of {ROUNDS} rounds in turns"),
    "bwrap": (measure_bwrap, f"starting with --backend bwrap, {BWRAP_ROUNDS} rounds in turns"),
    "landlock": (measure_landlock, f"starting with --backend landlock, medians of {ROUNDS} rounds"),
    "masks": (measure_masks, "denied files, named one by one"),
    "globs": (measure_globs, f"`**` denies over {TREE_FILES:,} files"),
    "at_once": (measure_at_once, f"{AT_ONCE} at once"),
    "alive": (measure_alive, f"{ALIVE:,} alive at once"),
    "net_start": (measure_net_start, f"starting with a managed network, medians of {ROUNDS} rounds in turns"),
    "compile": (measure_compile, f"a compile job, {COMPILE_ROUNDS} pairs, and {COMPILE_TURNS} files in turns"),
}


def measure(cordon, spawn, floor, only=None):
    results = {}
    for who in identities():
        place = Place(who, cordon, spawn, floor)
        found = results[who.name] = {}
        try:
            for name, (function, title) in PARTS.items():
                if only and name not in only:
                    continue
                print(f"== as {who.name}: {title}", flush=True)
                found[name] = function(place)
        except Failed as reason:
            print(f"  FAILED: {reason}", flush=True)
            found["failed"] = str(reason)
        finally:
            place.remove()
    return results


def row_of(rows, case):
    return next((row for row in rows if row["case"] == case), None)


def judge_start(start):
    rows = start["rows"]
    own = row_of(rows, "cordon run")
    for mine, theirs, limit in (
            ("cordon run", "bwrap, the same", 0.5),
            ("cordon run -P :workspace", "bwrap, the same as :workspace", 0.5),
            ("cordon run", "bwrap, fewer mounts", None),
            ("cordon run -P :workspace", "bwrap, fewer mounts, :workspace", None),
            ("cordon run", "codex sandbox", 0.1),
            ("cordon run", "srt", 0.025)):
        other = row_of(rows, theirs)
        if other:
            yield f"{mine} against {theirs}", row_of(rows, mine)["median_us"] / other["median_us"], limit
    yield "peak memory of the supervisor, MB", own["peak_kib"] / 1000, 3
    yield "programs executed in a run", own["execs"], 2


def judge(found):
    """What, value and limit of every promise that could be measured; where the value is not
    sure, what it could as well be. Without a limit it is no promise, but worth to be known."""
    if "start" in found:
        yield from judge_start(found["start"])
    for row in found.get("starter", []):
        yield row["what"], row["ratio"], row["limit"], row["low"]
    for row in found.get("bwrap", []):
        yield f"--backend {row['case']} against raw bwrap with the same arguments", row["ratio"], 1.3, row["low"]
    if "landlock" in found:
        for name in ("landlock", "landlock -P :workspace"):
            yield f"--backend {name} against true alone", row_of(found["landlock"], name)["ratio"], 2
        calls, policy, nothing = (row_of(found["landlock"], name)["ratio"] for name in (
            "the kernel's calls alone", "no run, the policy alone", "a static program that ends"))
        yield "landlock by the kernel's calls alone against true alone", calls, None
        yield "the same, and the policy read and compiled, but nobody to look after it", calls + policy - nothing, None
    if "masks" in found:
        masks = found["masks"]
        yield "400 masks against none", row_of(masks["rows"], 400)["ratio"], 2
        yield ("400 masks by the kernel's calls alone, with a run without masks, against that",
               1 + 400 * masks["least_us"] / row_of(masks["rows"], 0)["median_us"], None)
        yield ("a mask beyond 400 against one before",
               masks["second_us"] / max(masks["first_us"], 0.5), 1.5)
    if "at_once" in found:
        rows = found["at_once"]
        for mine, theirs in (("cordon run", "bwrap, fewer mounts"),
                             ("cordon run -P :workspace", "bwrap, fewer mounts, :workspace")):
            if row_of(rows, theirs):
                yield (f"{AT_ONCE} at once: {mine} against {theirs}",
                       row_of(rows, mine)["median_us"] / row_of(rows, theirs)["median_us"], 1)
    if "alive" in found:
        alive = found["alive"]
        yield f"missing of {ALIVE:,} alive at once", ALIVE - min(alive["up"], alive["alive"]), 0
        yield "processes left of them", alive["left"], 0
    for row in found.get("net_start", []):
        if row["case"].startswith("managed"):
            yield f"{row['case']} against none", row["ratio"], 1.5
    if found.get("compile"):
        job = found["compile"]
        yield "a compile job inside against outside, by its files and its start", job["ratio"], 1.02, job["low"]
        yield "the same job as a whole, two files at a time", job["whole_ratio"], None


def print_judgement(results):
    """Prints a line for each promise; gives those that were missed."""
    missed = []
    for who, found in results.items():
        for what, value, limit, *low in judge(found):
            if limit is None:
                print(f"STATED as {who}: {what}: {value:.3g}")
                continue
            word = "PASS  " if value <= limit else "UNSURE" if low and low[0] <= limit else "MISSED"
            line = f"{word} as {who}: {what}: {value:.3g} (at most {limit})"
            print(line)
            if word == "MISSED":
                missed.append(line)
        if "failed" in found:
            missed.append(f"MISSED as {who}: {found['failed']}")
            print(missed[-1])
    return missed
