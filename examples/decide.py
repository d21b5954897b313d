#!/usr/bin/python3 -I
# SPDX-License-Identifier: MIT
"""A decider by rules, for `cordon run --ask cmd:/usr/local/bin/decide.py -- ...`.

Cordon starts it for each request (docs/approvals.md, "The messages"): one line of JSON in, one line out,
status 0. It allows what the rules below name, for as long as the command runs, and denies the rest.
What the command can choose (program, argv, cwd, reason) must not decide: it is only shown.

Put it where neither the command nor another user can write. -I keeps Python from loading
anything from the home directory.
"""

import json
import sys

# Of each kind: the grants that are fine. A directory stands for everything below it.
WRITE = ["/opt/staging", "/srv/build/out"]
CONNECT = ["example.com:443", "pypi.org:443"]


def is_fine(grant):
    if grant["kind"] == "write":
        path = grant.get("path") or ""
        return any(path == top or path.startswith(top + "/") for top in WRITE)
    if grant["kind"] == "connect":
        return grant["host"] in CONNECT
    return False


def decide(request):
    """The narrowest offer that the rules cover as a whole."""
    for offer in request["offers"]:
        if is_fine(offer["grant"]) and "run" in offer["scopes"]:
            return {"decision": "allow", "scope": "run", "grant": offer["grant"]}
    return {"decision": "deny", "message": "no rule of decide.py allows it"}


request = json.loads(sys.stdin.readline())
answer = {"id": request["id"], **decide(request)}
print(f"decide.py: {request['kind']} {request['subject']!r}: {answer['decision']}", file=sys.stderr)
print(json.dumps(answer))
