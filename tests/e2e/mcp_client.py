# SPDX-License-Identifier: MIT
"""A client of MCP that checks each line it gets: one JSON object, no nulls, no keys that don't belong."""

import json
import queue
import subprocess
import threading
import time

from cli import PROGRAM, SECONDS

MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
MEMBERS = {"jsonrpc", "id", "method", "params", "result", "error"}


def find_null(value, where="message"):
    if value is None:
        return where
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return next((found for key, each in items if (found := find_null(each, f"{where}/{key}"))), None)


def check(message):
    """Of what a tool gives, only the envelope is checked."""
    assert isinstance(message, dict) and message.get("jsonrpc") == "2.0", message
    assert set(message) <= MEMBERS, message
    result = message.get("result", {})
    outer = {key: value for key, value in result.items() if key != "structuredContent"}
    assert find_null({**message, "result": outer} if "result" in message else message) is None, message
    assert ("method" in message) + ("result" in message) + ("error" in message) == 1, message


def meta(capabilities=None, **more):
    return {META + "protocolVersion": MODERN, META + "clientInfo": {"name": "modern", "version": "1"},
            META + "clientCapabilities": capabilities or {}, **more}


def error_of(result):
    assert result.get("isError") is True, result
    return result["structuredContent"]["error"]


def content_of(result):
    assert not result.get("isError"), result
    return result["structuredContent"]


class Client:
    """Starts the server; `answer(method, params)` answers what the server asks."""

    def __init__(self, w, *options, answer=None, env=None, cwd=None, stdin=None, before=(), **keywords):
        self.process = subprocess.Popen([*before, PROGRAM, "mcp", *options], cwd=cwd or w.repo, env={**w.env, **(env or {})},
                                        stdin=subprocess.PIPE if stdin is None else stdin, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, **keywords)
        self.answer = answer
        self.answers, self.others, self.asked = {}, queue.Queue(), []
        self.arrived = threading.Condition()
        self.ended = False
        self.last = 0
        self.sending = threading.Lock()
        self.errors = []
        self.threads = [threading.Thread(target=self.read, daemon=True), threading.Thread(target=self.drain, daemon=True)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def drain(self):
        for line in self.process.stderr:
            self.errors.append(line.decode("utf-8", "replace"))

    def read(self):
        try:
            for line in self.process.stdout:
                assert line.endswith(b"\n") and len(line) <= 10 << 20, len(line)
                message = json.loads(line)
                for each in message if isinstance(message, list) else [message]:
                    check(each)
                self.take(message)
        except Exception as error:  # pylint: disable=broad-except
            self.others.put(error)
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()

    def take(self, message):
        if isinstance(message, dict) and "method" in message and "id" in message:
            self.asked.append(message)
            result = self.answer(message["method"], message.get("params")) if self.answer else None
            if isinstance(result, dict):
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            elif result is None:
                self.send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}})
        elif isinstance(message, dict) and "id" in message:
            with self.arrived:
                assert message["id"] not in self.answers, f"answered twice: {message}"
                self.answers[message["id"]] = message
                self.arrived.notify_all()
        else:
            self.others.put(message)

    def send_bytes(self, data):
        with self.sending:
            self.process.stdin.write(data)
            self.process.stdin.flush()

    def send(self, message):
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def begin(self, method, params=None, number=None):
        """Sends a request; its id."""
        self.last += 1
        number = self.last if number is None else number
        self.send({"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params is not None else {})})
        return number

    def wait(self, number, seconds=SECONDS):
        end = time.monotonic() + seconds
        with self.arrived:
            while number not in self.answers:
                left = end - time.monotonic()
                assert left > 0 and not self.ended, f"no answer to {number}: {''.join(self.errors)} {self.look()}"
                self.arrived.wait(left)
            return self.answers.pop(number)

    def look(self):
        return list(self.others.queue)

    def request(self, method, params=None, **keywords):
        return self.wait(self.begin(method, params), **keywords)

    def result(self, method, params=None):
        answer = self.request(method, params)
        assert "result" in answer, answer
        return answer["result"]

    def code(self, method, params=None):
        answer = self.request(method, params)
        assert "error" in answer, answer
        return answer["error"]["code"]

    def initialize(self, capabilities=None, version="2025-11-25"):
        result = self.result("initialize", {"protocolVersion": version, "capabilities": capabilities or {},
                                            "clientInfo": {"name": "tester", "version": "1"}})
        self.notify("notifications/initialized")
        return result

    def call(self, tool, **arguments):
        return self.result("tools/call", {"name": tool, "arguments": arguments})

    def told(self, method, seconds=SECONDS):
        """The params of the next notification of that kind."""
        while True:
            message = self.others.get(timeout=seconds)
            if isinstance(message, Exception):
                raise message
            if isinstance(message, dict) and message.get("method") == method:
                return message["params"]

    def next_error(self):
        """The next error that belongs to no request."""
        message = self.others.get(timeout=SECONDS)
        if isinstance(message, Exception):
            raise message
        assert "error" in message and "id" not in message, message
        return message["error"]["code"]

    def close(self, by=None):
        """Ends it, by the end of its input or by a signal; how long that took."""
        begun = time.monotonic()
        if by is not None:
            self.process.send_signal(by)
        elif self.process.stdin:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        took = time.monotonic() - begun
        for thread in self.threads:
            thread.join(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        text = "".join(self.errors)
        assert "Sanitizer" not in text and "runtime error" not in text, text
        left = [m for m in self.look() if isinstance(m, Exception)]
        assert not left, left
        return took
