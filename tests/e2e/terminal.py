# SPDX-License-Identifier: MIT
"""A command or a shell on a terminal of its own, typed at."""

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

from cli import SECONDS, Skip, wait_for

READY = "ready> "


class Terminal:
    """A command in a session of its own on a terminal; what it shows is collected."""

    def __init__(self, world, *argv, rows=24, columns=80, **env):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(world.repo)
            os.execvpe(argv[0], argv, {**world.env, **env})
        self.resize(rows, columns)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        """Takes what is shown within that time. False: nothing can be shown any more."""
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                return False
            self.seen += more.decode("utf-8", "replace")
            return bool(more)
        return True

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
            assert self.read(left), f"it ended; {self.seen!r}"

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait(self):
        """Its status, as waitpid() gives it."""
        def ended():
            self.read(0)  # what is left to read keeps the other side from ending
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return [status] if pid else None

        status = wait_for(ended)[0]
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        os.close(self.fd)
        return status


class Shell(Terminal):
    """bash -i, with READY as its prompt."""

    def __init__(self, world, rows, columns, **env):
        if not shutil.which("bash"):
            raise Skip("no bash")
        super().__init__(world, "bash", "--norc", "--noprofile", "--noediting", "-i", rows=rows, columns=columns,
                         PS1=READY, **env)
        self.expect(READY)

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
