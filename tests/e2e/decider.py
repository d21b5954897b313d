# SPDX-License-Identifier: MIT
"""Somebody who is asked: what the tests of --ask share."""

import json
import socket
import threading

from cli import run


class Decider:
    """At the other end of --ask fd:N. `decide` makes the answer of a request; None: there is none."""

    def __init__(self, decide):
        self.decide = decide
        self.requests, self.withdrawn = [], []
        self.here, self.there = socket.socketpair()
        self.options = ("--ask", f"fd:{self.there.fileno()}")
        self.fds = (self.there.fileno(),)
        threading.Thread(target=self.listen, daemon=True).start()

    def answer(self, request, **members):
        line = json.dumps({"id": request["id"], **members}) + "\n"
        self.here.sendall(line.encode())

    def listen(self):
        with self.here.makefile("r", encoding="utf-8") as lines:
            for line in lines:
                message = json.loads(line)
                if message["type"] == "withdrawn":
                    self.withdrawn.append(message["id"])
                    continue
                self.requests.append(message)
                answer = self.decide(message) if callable(self.decide) else self.decide
                if answer:
                    self.answer(message, **answer)

    def close(self):
        self.there.close()


def ask(w, decide, *args, **kwargs):
    """A run and what was asked in it."""
    decider = Decider(decide)
    result = run(w, *decider.options, *args, fds=decider.fds, **kwargs)
    decider.close()
    return result, decider
