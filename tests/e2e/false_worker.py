#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""For tools.py: a worker of the file tools (src/tools/worker.h) that a hostile file has taken over. To each call it
gives the answers that the file $FALSE_ANSWERS holds: (kind, body, number of the call or None, file or files to pass, or None)."""

import ast
import os
import socket
import struct

CALL = 2
line = socket.socket(fileno=0)


def take(n):
    data = b""
    while len(data) < n:
        part = line.recv(n - len(data))
        if not part:
            os._exit(0)
        data += part
    return data


def give(number, answer):
    kind, body, other, passed = answer
    data = struct.pack("<IBI", len(body), kind, number if other is None else other) + body
    if passed:
        fds = [os.open(path, os.O_RDONLY | os.O_NONBLOCK) for path in ([passed] if isinstance(passed, str) else passed)]
        socket.send_fds(line, [data[:1]], fds)
        for fd in fds:
            os.close(fd)
        data = data[1:]
    line.sendall(data)


while True:
    length, asked, call = struct.unpack("<IBI", take(9))
    take(length)
    if asked == CALL:
        with open(os.environ["FALSE_ANSWERS"], encoding="utf-8") as given:
            for each in ast.literal_eval(given.read()):
                give(call, each)
