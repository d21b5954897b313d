#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mcp.py [CALLS]: a round trip of read_file through `cordon mcp`, in turns with the reference file server from
npm and with the floor (relay.c), and what the server's memory does over many calls.

Time and the processors' work, which a busy machine disturbs less. The reference server comes from npm, once, into
build/mcp-clients; without it only Cordon is measured.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "tests" / "mcp"))
import clients  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(os.environ.get("CORDON", TOP / "build" / "cordon"))
NAME, VERSION = "@modelcontextprotocol/server-filesystem", "2026.8.31"
RELAY = TOP / "build/lib/bench/relay"
REFERENCE = clients.CLIENTS / "node_modules" / NAME / "dist" / "index.js"
ROUNDS, PER_ROUND = 20, 100
MEMORY_CALLS = int(sys.argv[1]) if sys.argv[1:] else 100_000


class Server:
    def __init__(self, words, tool, directory):
        self.start(words, tool, directory)
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def start(self, words, tool, directory):
        self.process = subprocess.Popen(words, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.tool, self.number = tool, 0

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def read(self, path):
        result = self.request("tools/call", {"name": self.tool, "arguments": {"path": path}})
        assert not result.get("isError"), result

    def measure(self, path):
        """Microseconds for a call, the median of a round; and of the processors, the mean."""
        times, work = [], self.work_us()
        for _ in range(PER_ROUND):
            begun = time.perf_counter_ns()
            self.read(path)
            times.append((time.perf_counter_ns() - begun) / 1000)
        return statistics.median(times), (self.work_us() - work) / PER_ROUND

    def processes(self):
        """The server and all that it has started."""
        found = [self.process.pid]
        for pid in found:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                found += map(int, (thread / "children").read_text().split())
        return found

    def work_us(self):
        return sum(int((thread / "schedstat").read_text().split()[0]) for pid in self.processes()
                   for thread in Path(f"/proc/{pid}/task").iterdir()) / 1000

    def memory_kib(self):
        total = 0
        for pid in self.processes():
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        return total

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


class Floor(Server):
    """The same lines back and forth through as many processes, which do nothing else, or open and read the file."""

    def __init__(self, server, path, directory, *options):  # pylint: disable=super-init-not-called
        server.send({"jsonrpc": "2.0", "id": "floor", "method": "tools/call",
                     "params": {"name": server.tool, "arguments": {"path": path}}})
        answer = Path(directory, "answer")
        answer.write_bytes(server.process.stdout.readline())
        self.start([RELAY, answer, *options], server.tool, directory)
        self.number = "floor"

    def request(self, method, params):
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]


def main():
    why = clients.install({NAME: VERSION})
    if why:
        print(f"without the reference server: {why}")
    with tempfile.TemporaryDirectory(prefix="cordon-bench-", dir="/var/tmp") as top:
        path = str(Path(top, "file.txt"))
        Path(path).write_text("a line of text\n" * 100)
        servers = {"cordon": Server([PROGRAM, "mcp", "--mode", "workspace-write", "--network", "off"], "read_file", top)}
        if REFERENCE.exists():
            servers["server-filesystem"] = Server(["node", str(REFERENCE), top], "read_text_file", top)
        servers["as many processes"] = Floor(servers["cordon"], path, top)
        servers["as many processes, and open and read"] = Floor(servers["cordon"], path, top, "read")
        found = {name: [] for name in servers}
        for server in servers.values():
            server.measure(path)
        for _ in range(ROUNDS):
            for name, server in servers.items():
                found[name].append(server.measure(path))
        time_us, work_us = ({name: statistics.median(each[i] for each in rounds) for name, rounds in found.items()}
                            for i in (0, 1))
        for name in found:
            print(f"{name}: {time_us[name]:.0f} us a call ({time_us[name] / time_us['cordon']:.2f}x), "
                  f"{work_us[name]:.0f} us of work ({work_us[name] / work_us['cordon']:.2f}x)")
        server = servers["cordon"]
        before = server.memory_kib()
        for done in range(1, MEMORY_CALLS + 1):
            server.read(path)
            if done % (MEMORY_CALLS // 5) == 0:
                print(f"memory after {done} calls: {server.memory_kib()} KiB (before: {before})")
        for each in servers.values():
            each.close()


if __name__ == "__main__":
    main()
