# SPDX-License-Identifier: MIT
"""A shell on a terminal of its own, typed at; for run_terminal.py and ask_terminal.py."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import termios
import time

from cli import SECONDS, Skip

READY = "ready> "


class Shell:
    """bash -i on a terminal; what it shows is collected."""

    def __init__(self, world, rows, columns, **env):
        if not shutil.which("bash"):
            raise Skip("no bash")
        self.seen = ""
        env = {**world.env, "PS1": READY, **env}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(world.repo)
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        self.resize(rows, columns)
        self.expect(READY)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                raise AssertionError(f"the shell ended; {self.seen!r}") from None

    def expect(self, text, seconds=SECONDS):
        """Everything up to and with `text`, a regular expression."""
        end = time.monotonic() + seconds
        while True:
            found = re.search(text, self.seen)
            if found:
                before, self.seen = self.seen[:found.end()], self.seen[found.end():]
                return before
            left = end - time.monotonic()
            assert left > 0, f"no {text!r} in {self.seen!r}"
            self.read(left)

    def type(self, text):
        os.write(self.fd, text.encode())

    def enter(self, text):
        """A command; what it shows begins where its echo ends."""
        self.type(text + "\n")
        self.expect(re.escape(text[-20:]) + r"\r?\n")

    def line(self, text):
        """A command, and what it shows until the next prompt."""
        self.enter(text)
        return self.expect(READY)

    def close(self):
        os.close(self.fd)
        for _ in range(600):
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.05)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("the shell did not end with its terminal")
