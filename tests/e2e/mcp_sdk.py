#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`cordon mcp` under the official clients of MCP, of both eras (tests/mcp/sdk.mjs).

They are in build/mcp-clients, where `make check` puts them (tests/mcp/clients.py).
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cli import PROGRAM, SECONDS, Skip, World, case, run_cases

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "mcp"))
import clients  # noqa: E402  pylint: disable=wrong-import-position


def drive(w, which):
    node = shutil.which("node")
    if not node:
        raise Skip("there is no node")
    missing = [name for name in clients.SDKS if not clients.has(name)]
    if missing:
        raise Skip(f"{', '.join(missing)} is not in build/mcp-clients (tests/mcp/clients.py gets it)")
    version = subprocess.run([node, "--version"], env=w.env, capture_output=True, check=True).stdout.decode()
    if int(version.lstrip("v").split(".")[0]) < 20:
        raise Skip(f"node {version.strip()} is older than the clients allow")
    outside = tempfile.mkdtemp(prefix="cordon-mcp-sdk-", dir="/var/tmp")  # no mode makes it writable
    try:
        done = subprocess.run([node, TOP / "tests/mcp/sdk.mjs", which, clients.CLIENTS, PROGRAM, "mcp", "--mode",
                               "workspace-write", "--network", "off"], cwd=w.repo, env={**w.env, "OUTSIDE": outside},
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=3 * SECONDS, check=False)
    finally:
        shutil.rmtree(outside)
    out = done.stdout.decode("utf-8", "replace")
    passed = [line for line in out.splitlines() if line.startswith("ok ")]
    assert done.returncode == 0 and len(passed) >= 8 and "not ok" not in out, out + done.stderr.decode("utf-8", "replace")


@case
def the_client_of_the_session_era_drives_it(w: World):
    drive(w, "1")


@case
def the_client_of_the_stateless_era_drives_it(w: World):
    drive(w, "2-auto")


if __name__ == "__main__":
    run_cases()
