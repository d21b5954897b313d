#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""agents.py [ROUNDS]: a command through each agent's shell path, as `cordon setup` makes it, beside the plain shell.

In turns, so that a busy machine slows all alike; medians, as milliseconds and as a ratio, and the processors' work, which a
busy machine disturbs less: a command in a sandbox takes several processes, and each waits for its turn. The agents themselves are not
started: a command goes the way in which each of them starts its shell (docs/agents.md), with the policy that setup writes, in a
git repository. `codex` is a call of execute_command.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
PROGRAM = os.path.abspath(os.environ.get("CORDON", TOP / "build" / "cordon"))
ROUNDS = 200
COMMAND = "true"
PARTIAL = ("gemini", "copilot", "pi")
# What setup asks these for, answered as the agents do when only the launcher's words count.
STAND_INS = {"codex": 'case "$*" in *shell_tool=false*features\\ list) echo "shell_tool stable false" ;; esac',
             "opencode": '[ "$*" = "debug config" ] && echo "$OPENCODE_CONFIG_CONTENT" && echo "  \\"cordon_hooks\\": \\"called\\""',
             "gemini": 'sh -c "$(sed -n "s/.*\\"command\\": \\"\\(.*\\)\\".*/\\1/p" '
                       '"$HOME/.gemini/extensions/cordon/hooks/hooks.json" | head -n 1)"', "copilot": "", "pi": ""}


class Place:
    """A home in which the agents were set up, and a project."""

    def __init__(self, top):
        self.top = Path(top)
        self.home, self.project, self.bin = (self.top / name for name in ("home", "home/project", "bin"))
        for directory in (self.project, self.bin):
            directory.mkdir(parents=True)
        shutil.copy2(PROGRAM, self.bin / "cordon")
        (self.bin / "cordon-sh").symlink_to("cordon")
        self.env = {"HOME": str(self.home), "PATH": f"{self.bin}:{os.environ['PATH']}", "SHELL": "/bin/bash",
                    "CORDON_WORKSPACE": str(self.project)}
        subprocess.run(["git", "init", "-q", self.project], check=True)
        for name, answer in STAND_INS.items():
            (self.bin / name).write_text(f"#!/bin/sh\n{answer}\n")
            (self.bin / name).chmod(0o755)
            self.setup(name)

    def setup(self, name):
        done = subprocess.run([self.bin / "cordon", "setup", name, "--yes", *(["--partial"] if name in PARTIAL else [])],
                              cwd=self.project, env=self.env, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"agents: setup {name}: {done.stderr}")

    def find(self, name):
        """Of the scripts that setup wrote."""
        return next(path for path in self.home.rglob(name) if path.is_file())

    def paths(self):
        """{who: (the words that the agent runs, the variables that it adds)}"""
        shell = str(self.bin / "cordon-sh")
        shims = str(self.find("bash").parent)
        return {
            "plain bash": (["/bin/bash", "-c", COMMAND], {}),
            "claude": ([shell, COMMAND], {}),
            "opencode": ([shell, "-c", COMMAND], {}),
            "gemini, qwen": (["bash", "-c", COMMAND], {"PATH": f"{shims}:{self.env['PATH']}"}),
            "copilot": (["/bin/bash", "-c", COMMAND], {"BASH_ENV": str(self.find("bash_env"))}),
            "pi": ([str(self.find("bash")), "-c", COMMAND], {}),
        }


def run_once(place, words, env):
    """Milliseconds: by the clock, and of the processors, with all that was waited for."""
    begun = time.perf_counter_ns()
    process = subprocess.Popen(words, cwd=place.project, env={**place.env, **env}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    took = (time.perf_counter_ns() - begun) / 1e6
    if process.returncode:
        sys.exit(f"agents: {words}: status {process.returncode}")
    return took, (usage.ru_utime + usage.ru_stime) * 1e3


class Server:
    """What cordon-codex starts."""

    def __init__(self, place):
        self.process = subprocess.Popen([place.bin / "cordon", "mcp"], cwd=place.project, env=place.env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.number = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        # As codex sends it for its mode workspace-write.
        entries = [{"path": {"type": "special", "value": {"kind": "root"}}, "access": "read"}] + [
            {"path": {"type": "path", "path": str(place.project)}, "access": "write"}]
        profile = {"type": "managed", "file_system": {"type": "restricted", "entries": entries}, "network": "restricted"}
        self.meta = {"codex/sandbox-state": {"permissionProfile": profile, "sandboxCwd": place.project.as_uri()}}

    def request(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def run_once(self):
        begun, before = time.perf_counter_ns(), self.work_ms()
        result = self.request("tools/call", {"name": "execute_command", "arguments": {"command": COMMAND}, "_meta": self.meta})
        if result.get("isError") or result["structuredContent"]["status"] != 0:
            sys.exit(f"agents: execute_command: {result}")
        return (time.perf_counter_ns() - begun) / 1e6, self.work_ms() - before

    def work_ms(self):
        """In ticks, so that only the mean says something."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) * 1000 / os.sysconf("SC_CLK_TCK")

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def measure(rounds=ROUNDS):
    """[{"path", "ms", "ratio", "work_ms"}], the plain shell first."""
    with tempfile.TemporaryDirectory(prefix="cordon-bench-", dir="/var/tmp") as top:
        place = Place(top)
        server = Server(place)
        ways = {name: (lambda words=words, env=env: run_once(place, words, env)) for name, (words, env) in place.paths().items()}
        ways["codex"] = server.run_once
        found = {name: [] for name in ways}
        for name in ways:
            ways[name]()
        for _ in range(rounds):
            for name, run in ways.items():
                found[name].append(run())
        server.close()
    plain = found["plain bash"]
    # Each round by itself: what else the machine does slows both.
    return [{"path": name, "ms": statistics.median(each[0] for each in times),
             "ratio": statistics.median(ours[0] / theirs[0] for ours, theirs in zip(times, plain)),
             "work_ms": statistics.mean(each[1] for each in times)} for name, times in found.items()]


def report(rows):
    print("== a command through each agent's shell path (agents.py)", flush=True)
    print(f"  {'path':>14} {'ms':>7} {'ratio':>6} {'work ms':>8}")
    for row in rows:
        print(f"  {row['path']:>14} {row['ms']:>7.2f} {row['ratio']:>6.2f} {row['work_ms']:>8.2f}")


if __name__ == "__main__":
    report(measure(int(sys.argv[1]) if sys.argv[1:] else ROUNDS))
