#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""clients.py: gets the official clients of MCP from npm, once, into build/mcp-clients.

What can't be had is no failure: the tests that need it say that they are skipped.
"""

import shutil
import subprocess
import sys
from pathlib import Path

CLIENTS = Path(__file__).resolve().parents[2] / "build" / "mcp-clients"
SDKS = {"@modelcontextprotocol/sdk": "1.32.2", "@modelcontextprotocol/client": "2.4.0"}
SECONDS = 180


def has(name):
    return (CLIENTS / "node_modules" / name / "package.json").exists()


def install(packages):
    """Installs what is missing; why that was not possible, or None."""
    missing = [f"{name}@{version}" for name, version in packages.items() if not has(name)]
    if not missing:
        return None
    if not shutil.which("npm"):
        return "there is no npm"
    print(f"installing {' '.join(missing)} into build/mcp-clients", flush=True)
    CLIENTS.mkdir(parents=True, exist_ok=True)
    if not (CLIENTS / "package.json").exists():  # npm removes what is not in it
        (CLIENTS / "package.json").write_text('{"private": true}\n')
    try:
        done = subprocess.run(["npm", "install", "--prefix", CLIENTS, "--ignore-scripts", "--save-exact", "--no-audit",
                               "--no-fund", "--fetch-retries=1", "--loglevel=error", *missing], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"npm took longer than {SECONDS} s"
    return None if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip()[-500:]


if __name__ == "__main__":
    why = install(SDKS)
    if why:
        print(f"the clients of MCP can't be had, so tests with them are skipped: {why}", file=sys.stderr)
