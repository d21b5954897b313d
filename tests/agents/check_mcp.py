#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_mcp.py: real clients of MCP drive `cordon mcp`: the official SDKs of both eras, the inspector, and
coding agents that list their servers.

They come from npm, once, into build/ (tests/mcp/clients.py). Afterwards everything happens in a network namespace that has
loopback alone. The program under test is $CORDON.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests" / name) for name in ("support", "agents", "mcp")]
import check_agents  # noqa: E402  pylint: disable=wrong-import-position
import clients  # noqa: E402  pylint: disable=wrong-import-position
import own_network  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(os.environ.get("CORDON", TOP / "build" / "cordon"))
CLIENTS = clients.CLIENTS
PACKAGES = {**clients.SDKS, "@modelcontextprotocol/inspector": "0.15.0"}
SERVER = ["mcp", "--mode", "workspace-write", "--network", "off"]
SECONDS = 180


class Place:
    """A home with a project, and a directory that the policy does not let be written."""

    def __init__(self):
        self.top = Path(tempfile.mkdtemp(prefix="cordon-mcp-", dir="/var/tmp"))
        self.home, self.project, self.outside = (self.top / name for name in ("home", "project", "outside"))
        for path in (self.home, self.project, self.outside):
            path.mkdir()
        self.env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "TERM": "dumb", "OUTSIDE": str(self.outside),
                    "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def call(self, *words):
        done = subprocess.run([str(word) for word in words], cwd=self.project, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")


def sdk(which):
    def drive(place):
        status, out = place.call("node", TOP / "tests" / "mcp" / "sdk.mjs", which, CLIENTS, PROGRAM, *SERVER)
        passed = len(re.findall(r"^ok ", out, re.M))
        assert status == 0 and passed >= 8 and "not ok" not in out, out
    drive.__name__ = f"the_sdk_{which.replace('-', '_')}_drives_it"
    return drive


def the_inspector_lists_and_calls(place):
    (place.project / "a.txt").write_text("one\n")
    inspector = ["node", CLIENTS / "node_modules" / "@modelcontextprotocol" / "inspector" / "cli" / "build" / "cli.js",
                 "--cli", PROGRAM, *SERVER]
    status, out = place.call(*inspector, "--method", "tools/list")
    assert status == 0 and len(json.loads(out)["tools"]) == 9, out
    status, out = place.call(*inspector, "--method", "resources/read", "--uri", "cordon://policy")
    assert status == 0 and json.loads(json.loads(out)["contents"][0]["text"]), out
    status, out = place.call(*inspector, "--method", "tools/call", "--tool-name", "read_file", "--tool-arg", "path=a.txt")
    assert status == 0 and json.loads(out)["structuredContent"]["content"] == "one\n", out


def claude_connects(place):
    (place.home / ".claude.json").write_text(json.dumps({"mcpServers": {"cordon": {"command": PROGRAM, "args": SERVER},
                                                                       "broken": {"command": "/bin/false", "args": []}}}))
    status, out = place.call(check_agents.find_agent("claude"), "mcp", "list")
    lines = {line.split(":")[0]: line for line in out.splitlines() if ":" in line}
    assert status == 0 and "Connected" in lines["cordon"] and "Connected" not in lines["broken"], out


def opencode_connects(place):
    (place.project / "opencode.json").write_text(json.dumps({"mcp": {
        "cordon": {"type": "local", "command": [PROGRAM, *SERVER]}, "broken": {"type": "local", "command": ["/bin/false"]}}}))
    _, out = place.call(check_agents.find_agent("opencode"), "mcp", "list")
    lines = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", out).splitlines() if "cordon" in line or "broken" in line]
    said = {name: " ".join(line for line in lines if name in line) for name in ("cordon", "broken")}
    assert re.search(r"\bconnected\b", said["cordon"]) and not re.search(r"\bconnected\b", said["broken"]), out


CASES = [sdk("1"), sdk("2"), sdk("2-auto"), the_inspector_lists_and_calls, claude_connects, opencode_connects]


def main():
    why = clients.install(PACKAGES)
    assert not why, why
    check_agents.install()
    refusal = own_network.enter()
    if refusal:
        print(f"1..0 # SKIP {refusal}")
        return
    failed = 0
    print(f"1..{len(CASES)}")
    for number, function in enumerate(CASES, 1):
        place = Place()
        try:
            function(place)
            print(f"ok {number} - {function.__name__}", flush=True)
        except Exception:  # pylint: disable=broad-except
            failed += 1
            print(f"not ok {number} - {function.__name__}", flush=True)
            for line in traceback.format_exc().splitlines():
                print(f"# {line}", flush=True)
        finally:
            shutil.rmtree(place.top, ignore_errors=True)
    print(f"{len(CASES) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
