#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the managed network costs, beside no proxy at all and beside other proxies.

Everything happens in a network namespace of its own, between net_load.c and net_origin.c
on `lo`, in turns: each round measures every candidate once, in another order, with
`direct` before and after all of them, and what counts is the median of the ratios to
`direct` of the same round. Proxies that can run alone do so; those of a sandbox are
measured from inside, which is how they are used.

A figure passes when the whole interval of its median (95 %) does, and is missed when none
of it does. As long as it is neither, rounds are added, up to MAX_ROUNDS; then it is UNSURE.
"""

import json
import os
import pathlib
import resource
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))
import own_network  # noqa: E402  pylint: disable=wrong-import-position
import run_time  # noqa: E402  pylint: disable=wrong-import-position

ROUNDS = int(os.environ.get("CORDON_BENCH_NET_ROUNDS", "9"))
MAX_ROUNDS = int(os.environ.get("CORDON_BENCH_NET_MAX_ROUNDS", str(max(33, ROUNDS))))
BYTES = int(os.environ.get("CORDON_BENCH_NET_BYTES", str(512 << 20)))
MILLISECONDS = int(os.environ.get("CORDON_BENCH_NET_MS", "500"))
IDLE, TUNNELS = 10_000, 9_000  # a tunnel is two in the proxy: within 20,000 descriptors
TARGET = f"{own_network.WEB}:18080"
TICKS = os.sysconf("SC_CLK_TCK")


class Absent(Exception):
    pass


# ---- The candidates --------------------------------------------------------------------


class Candidate:
    """How net_load is started, where it connects to, and by which ways; `shell` is put before
    it where a whole line is wanted."""

    def __init__(self, name, prefix=(), to="env", ways=("http", "connect"), process=None, shell=None):
        self.name, self.prefix, self.to, self.ways, self.process = name, [str(p) for p in prefix], to, ways, process
        self.shell = shell

    def command(self, words):
        words = [str(word) for word in words]
        return [*self.prefix, *words] if self.shell is None else [*self.prefix, self.shell + shlex.join(words)]

    def end(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def await_port(port, process, seconds=10):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise Absent("it does not listen")


def widen_ports():
    """In this network: a closed connection keeps its port for a minute, and there are 28,000. Who finds
    none at once looks for one for milliseconds, and that would be what is measured."""
    for name, value in (("ip_local_port_range", "1024 65535"), ("tcp_tw_reuse", "1")):
        try:
            pathlib.Path("/proc/sys/net/ipv4", name).write_text(value)
        except OSError as reason:
            print(f"  {name} can't be set: {reason}; many connections may lack ports")


class Bench:
    def __init__(self, cordon, programs):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="cordon-bench-", dir="/var/tmp"))
        self.top.chmod(0o755)
        for name in ("home", "work", "tmp", "codex-home"):
            (self.top / name).mkdir()
        self.cordon = shutil.copy2(cordon, self.top / "cordon")
        self.load = shutil.copy2(programs / "net_load", self.top / "net_load")
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C", "HOME": str(self.top / "home"),
                            "TMPDIR": str(self.top / "tmp"), "CODEX_HOME": str(self.top / "codex-home")}
        self.origin = self.start([programs / "net_origin", *TARGET.split(":")], stdin=subprocess.PIPE)
        self.origin.stdout.readline()
        self.candidates, self.absent = [Candidate("direct", to=TARGET, ways=("direct",))], {}

    def start(self, command, **keywords):
        return subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, cwd=self.top / "work",
                                env=self.environment, **{"stdin": subprocess.DEVNULL, **keywords})

    def write(self, name, text):
        path = self.top / name
        path.write_text(text)
        return path

    def run(self, candidate, what, way, connections, amount):
        """The figures of one run of net_load."""
        command = candidate.command([self.load, what, way, candidate.to, TARGET, connections, amount])
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, cwd=self.top / "work", env=self.environment,
                              timeout=120, check=False)
        for line in done.stdout.splitlines():
            if line.startswith("{"):
                return json.loads(line)
        words = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise Absent(words[-1][:300])

    def add(self, make):
        """One that does not work here is named, with the reason."""
        name = make.__name__.removeprefix("make_").replace("_", " ")
        try:
            for candidate in make(self):
                try:
                    for way in candidate.ways:
                        self.run(candidate, "connects", way, 1, 20)
                    self.candidates.append(candidate)
                except (Absent, subprocess.TimeoutExpired) as reason:
                    self.absent[candidate.name] = str(reason)
                    candidate.end()
        except (Absent, OSError) as reason:
            self.absent[name] = str(reason)

    def end(self):
        for candidate in self.candidates:
            candidate.end()
        self.origin.stdin.close()
        self.origin.wait()
        shutil.rmtree(self.top, ignore_errors=True)


def make_cordon(bench):
    host = own_network.WEB
    config = bench.write("proxy.toml", '[permissions.bench.network]\nenabled = true\n'
                         f'domains = {{ "{host}" = "allow" }}\n')
    process = bench.start([bench.cordon, "proxy", "--config-file", config, "-P", "bench", "--listen", "127.0.0.1:0"])
    line = process.stdout.readline()
    if not line.startswith(b"{"):
        process.kill()
        raise Absent(f"cordon proxy says {line!r}")
    yield Candidate("cordon proxy", to=json.loads(line)["http"], ways=("http", "connect", "socks"), process=process)
    inside = [bench.cordon, "run", "--quiet", "--network", "managed", "--allow-host", host, "--"]
    yield Candidate("in cordon run", inside)
    yield Candidate("in cordon run, no proxy set", inside, to=TARGET, ways=("direct",))


def make_tinyproxy(bench):
    program = shutil.which("tinyproxy")
    if not program:
        raise Absent("not installed, `scripts/bootstrap all` does it")
    port = free_port()
    config = bench.write("tinyproxy.conf", f"Port {port}\nListen 127.0.0.1\nTimeout 600\nMaxClients 30000\n"
                         "LogLevel Critical\nAllow 127.0.0.1\nDisableViaHeader Yes\n")
    process = bench.start([program, "-d", "-c", config])
    await_port(port, process)
    yield Candidate("tinyproxy", to=f"127.0.0.1:{port}", process=process)


def make_srt(bench):
    program = run_time.find_peer("srt")
    if not program:
        raise Absent("not installed")
    settings = bench.write("srt.json", json.dumps({
        "network": {"allowedDomains": [own_network.WEB], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}))
    # What it has inside listens only a moment after the command was started.
    yield Candidate("in srt", [program, "-s", settings, "-c"], shell="sleep 0.3; exec ")


def make_codex(bench):
    program = run_time.find_peer("codex")
    if not program:
        raise Absent("not installed")
    bench.write("codex-home/config.toml", 'default_permissions = "bench"\n[features.network_proxy]\nenabled = true\n'
                '[permissions.bench]\nextends = ":read-only"\n[permissions.bench.network]\nenabled = true\n'
                f'domains = {{ "{own_network.WEB}" = "allow" }}\n')
    yield Candidate("in codex sandbox", [run_time.native_codex(program), "sandbox", "--"])


# ---- The measurements ------------------------------------------------------------------


def ticks_of(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(int(f) for f in fields[11:15])


def seconds_of(process):
    """Processor time of it and all below it."""
    return sum(ticks_of(type("P", (), {"pid": pid})) for pid in run_time.family(process.pid)) / TICKS


class Turns:
    """Rounds of one measurement; what fails in one round is taken out of all."""

    def __init__(self, bench, what, connections, amount, value):
        self.bench, self.what, self.connections, self.amount, self.value = bench, what, connections, amount, value
        self.pairs = [(c, way) for c in bench.candidates[1:] for way in c.ways]
        self.found = {(c.name, way): [] for c, way in self.pairs}
        self.cpu = {key: [] for key in self.found}
        self.direct = []

    def measure(self, candidate, way):
        figures = self.bench.run(candidate, self.what, way, self.connections, self.amount)
        return self.value(figures)

    def measure_direct(self):
        try:
            return self.measure(self.bench.candidates[0], "direct")
        except subprocess.TimeoutExpired as reason:
            raise Absent("not even direct connections work") from reason

    def add_round(self):
        i = len(self.direct) % max(1, len(self.pairs))
        before = self.measure_direct()
        for candidate, way in self.pairs[i:] + self.pairs[:i]:
            key = candidate.name, way
            if self.found[key] is None:
                continue
            used = seconds_of(candidate.process) if candidate.process else 0
            try:
                self.found[key].append(self.measure(candidate, way))
            except (Absent, subprocess.TimeoutExpired) as reason:
                print(f"  {candidate.name}, {way}: FAILED, {reason}")
                self.found[key] = None
            self.cpu[key].append(seconds_of(candidate.process) - used if candidate.process else 0)
        self.direct.append((before + self.measure_direct()) / 2)

    def row(self, name, way):
        """The median, and ratio and difference to direct of the same round with their intervals."""
        values = self.direct if name == "direct" else self.found[name, way]
        row = {"case": name, "way": way, "connections": self.connections, "rounds": len(self.direct)}
        ratios = [v / d for v, d in zip(values or [], self.direct) if d]
        if not ratios:
            return {**row, "failed": True}
        row["median"] = statistics.median(values)
        row["ratio"], row["low"], row["high"] = run_time.interval(ratios)
        row["difference"], row["difference_low"], row["difference_high"] = run_time.interval(
            [v - d for v, d in zip(values, self.direct)])
        row["cpu_s"] = statistics.median(self.cpu.get((name, way), [0]))
        return row

    def rows(self):
        return [self.row("direct", "direct"), *(self.row(*key) for key in self.found)]


def compare(bench, part, connections, amount, value, unit, scale=1.0):
    """Rows of as many rounds as it takes to tell whether what is asked for was met."""
    turns = Turns(bench, {"net_download": "download", "net_connects": "connects"}.get(part, "requests"),
                  connections, amount, value)
    while len(turns.direct) < ROUNDS or (len(turns.direct) < MAX_ROUNDS and any(
            verdict(*case[1:]) == "UNSURE" for case in judge({part: turns.rows()}))):
        turns.add_round()
    rows = turns.rows()
    if "failed" in rows[0]:
        raise Absent("not even direct connections work")
    label = f"{connections} connection{'s' * (connections > 1)}, {len(turns.direct)} rounds"
    print(f"  {label:<40} {unit:>12} {'× direct':>9} {'95 %':>15}")
    for row in rows:
        if "failed" not in row:
            print(f"  {row['case'] + ', ' + row['way']:<40} {row['median'] / scale:>12,.2f} {row['ratio']:>9.3f}"
                  f" {row['low']:>7.3f}–{row['high']:.3f}")
    return rows


def measure_download(bench):
    rows = compare(bench, "net_download", 1, BYTES, lambda f: f["bytes_per_second"], "MB/s", 1e6)
    for row in rows:
        if row.get("cpu_s"):
            row["cpu_s_per_gb"] = row["cpu_s"] / (BYTES / 1e9)
            print(f"  {row['case']}, {row['way']}: {row['cpu_s_per_gb']:.2f} s of processor time for a GB")
    return rows


def measure_requests(bench):
    return [row for count in (1, 32)
            for row in compare(bench, "net_requests", count, MILLISECONDS, lambda f: f["per_second"], "requests/s")]


def measure_connects(bench):
    return [row for count in (1, 32)
            for row in compare(bench, "net_connects", count, MILLISECONDS, lambda f: f["per_second"], "per second")]


def measure_latency(bench):
    rows = compare(bench, "net_latency", 1, MILLISECONDS, lambda f: f["median_us"], "µs")
    for row in rows:
        if "failed" not in row and row["case"] != "direct":
            print(f"  {row['case']}, {row['way']}: {row['difference']:.1f} µs more"
                  f" ({row['difference_low']:.1f}–{row['difference_high']:.1f})")
    return rows


def measure_idle(bench):
    """Memory of the proxy with many connections that do nothing; as tunnels they hold two each."""
    rows = []
    for candidate in bench.candidates:
        if not candidate.process:
            continue
        for way, count in (("http", IDLE), ("connect", TUNNELS)):
            before = sum(run_time.pss_kib(pid) for pid in run_time.family(candidate.process.pid))
            holder = bench.start([bench.load, "idle", way, candidate.to, TARGET, count, 0], stdin=subprocess.PIPE)
            is_up = holder.stdout.readline().startswith(b"{")
            after = sum(run_time.pss_kib(pid) for pid in run_time.family(candidate.process.pid))
            holder.communicate(b"\n")
            row = {"case": candidate.name, "way": way, "connections": count, "is_up": is_up,
                   "kib_each": (after - before) / count, "total_kib": after}
            rows.append(row)
            print(f"  {candidate.name}, {count:,} by {way}: " + (f"{row['kib_each']:.2f} KiB each, {after:,} KiB in all"
                                                               if is_up else "FAILED"))
            time.sleep(0.5)
    return rows


PARTS = {
    "net_download": (measure_download, f"downloading {BYTES >> 20} MiB"),
    "net_requests": (measure_requests, "requests on connections that are kept"),
    "net_connects": (measure_connects, "a new connection for each request"),
    "net_latency": (measure_latency, "latency of a request"),
    "net_idle": (measure_idle, "idle connections"),
}


def row_of(rows, case, way, connections):
    return next((r for r in rows if (r["case"], r["way"], r["connections"]) == (case, way, connections)), None)


WANTED = [("net_download", "download, plain", "http", 1, 0.8), ("net_download", "download, tunnelled", "connect", 1, 0.8),
          ("net_requests", "requests/s on 1 connection", "http", 1, 0.5),
          ("net_requests", "requests/s on 32 connections", "http", 32, 0.25),
          ("net_connects", "new connections/s", "http", 1, 0.4),
          ("net_connects", "new connections/s, 32 at once", "http", 32, 0.4)]


def judge(found):
    """What, value, its interval, limit, and whether that is the least; of what was measured so far."""
    for case in ("cordon proxy", "in cordon run"):
        for part, what, way, connections, limit in WANTED:
            row = row_of(found.get(part, []), case, way, connections)
            # Inside, each connect() is the supervisor's too: what that costs is shown, and is no proxy's.
            if part == "net_connects" and case != "cordon proxy":
                continue
            if row and "failed" in row:
                yield f"{case}: {what} against direct", 0, 0, 0, limit, True
            elif row:
                yield f"{case}: {what} against direct", row["ratio"], row["low"], row["high"], limit, True
        row = row_of(found.get("net_latency", []), case, "http", 1)
        if row and "failed" in row:
            yield f"{case}: added median latency, µs", *[float("inf")] * 3, 80, False
        elif row:
            yield (f"{case}: added median latency, µs", row["difference"], row["difference_low"],
                   row["difference_high"], 80, False)
    for row in found.get("net_idle", []):
        if row["case"] == "cordon proxy":
            value = row["kib_each"] if row["is_up"] else float("inf")
            yield f"KiB for each of {row['connections']:,} idle connections by {row['way']}", value, value, value, 4, False


def verdict(_, low, high, limit, is_least):
    met = [x >= limit if is_least else x <= limit for x in (low, high)]
    return "PASS" if all(met) else "UNSURE" if any(met) else "MISSED"


def is_missing(found, part):
    """What was not even measured, since the candidate is not there."""
    return any(not row_of(found[part], case, way, connections) for case in ("cordon proxy", "in cordon run")
               for name, _, way, connections, _ in WANTED if name == part)


def print_judgement(found):
    missed = []
    for what, value, low, high, limit, is_least in judge(found):
        word = verdict(value, low, high, limit, is_least)
        line = (f"{word:<6} {what}: {value:.3g} (95 %: {low:.3g} to {high:.3g}; "
                f"at {'least' if is_least else 'most'} {limit})")
        print(line)
        missed += [line] if word == "MISSED" else []
    absent = [f"MISSED {part}: cordon itself did not work" for part in found if part in PARTS and is_missing(found, part)]
    if "failed" in found:
        absent.append(f"MISSED the managed network: {found['failed']}")
    for line in absent:
        print(line)
    return missed + absent


def end_once(*_):
    """What is told to end may be told twice, and removes what it made all the same."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(143)


def main():
    """network.py CORDON PROGRAMS OUT PART...: in a process of its own, for it changes its namespaces."""
    signal.signal(signal.SIGTERM, end_once)
    cordon, programs, out, *parts = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    found = {}
    reason = own_network.enter()
    if reason:
        found["failed"] = reason
    else:
        widen_ports()
        bench = Bench(cordon, pathlib.Path(programs))
        try:
            for make in (make_cordon, make_tinyproxy, make_srt, make_codex):
                bench.add(make)
            found["absent"] = bench.absent
            for name, why in bench.absent.items():
                print(f"  {name}: absent, {why}")
            for part in parts:
                print(f"== {PARTS[part][1]}, medians of rounds in turns", flush=True)
                found[part] = PARTS[part][0](bench)
        finally:
            bench.end()
    pathlib.Path(out).write_text(json.dumps(found))


def measure(cordon, programs, only=None):
    parts = [part for part in PARTS if not only or part in only]
    if not parts:
        return {}
    print("== the managed network, in a network namespace", flush=True)
    with tempfile.NamedTemporaryFile(prefix="cordon-bench-") as out:
        done = subprocess.run([sys.executable, __file__, cordon, programs, out.name, *parts], check=False)
        text = pathlib.Path(out.name).read_text()
    return json.loads(text) if text else {"failed": f"status {done.returncode}"}


if __name__ == "__main__":
    main()
