#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mcp.py [CALLS]: a round trip of read_file through `cordon mcp`, in turns with the reference file server from
npm, and what the server's memory does over many calls.

The reference server is taken from build/mcp-clients (npm install --prefix build/mcp-clients
@modelcontextprotocol/server-filesystem); without it only Cordon is measured.
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
PROGRAM = os.path.abspath(os.environ.get("CORDON", TOP / "build" / "cordon"))
REFERENCE = TOP / "build/mcp-clients/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
ROUNDS, PER_ROUND = 20, 100
MEMORY_CALLS = int(sys.argv[1]) if sys.argv[1:] else 100_000


class Server:
    def __init__(self, words, tool, directory):
        self.process = subprocess.Popen(words, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.tool, self.number = tool, 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "bench", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

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
        """Microseconds for a call, the median of a round."""
        times = []
        for _ in range(PER_ROUND):
            begun = time.perf_counter_ns()
            self.read(path)
            times.append((time.perf_counter_ns() - begun) / 1000)
        return statistics.median(times)

    def memory_kib(self):
        """Of the server and all that it has started."""
        todo, total = [self.process.pid], 0
        while todo:
            pid = todo.pop()
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
                todo += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
            except OSError:
                continue
            total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
        return total

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def main():
    with tempfile.TemporaryDirectory(prefix="cordon-bench-", dir="/var/tmp") as top:
        path = str(Path(top, "file.txt"))
        Path(path).write_text("a line of text\n" * 100)
        servers = {"cordon": Server([PROGRAM, "mcp", "--mode", "workspace-write", "--network", "off"], "read_file", top)}
        if REFERENCE.exists():
            servers["server-filesystem"] = Server(["node", str(REFERENCE), top], "read_text_file", top)
        found = {name: [] for name in servers}
        for server in servers.values():
            server.measure(path)
        for _ in range(ROUNDS):
            for name, server in servers.items():
                found[name].append(server.measure(path))
        medians = {name: statistics.median(times) for name, times in found.items()}
        for name, median in medians.items():
            print(f"{name}: {median:.0f} us a call, {median / medians['cordon']:.1f}x")
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
