#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A model on loopback that plays a script: an agent that asks it gets the next shell command to run.

It speaks as much of the Messages API (streamed) as Claude Code and opencode need. How far the script is, it tells from
the conversation itself: each command that was run is one tool result in it.
"""

import http.server
import json
import threading


def count_results(messages):
    return sum(block.get("type") == "tool_result" for message in messages
               if isinstance(message.get("content"), list) for block in message["content"])


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def event(self, kind, **members):
        text = f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def stream(self, block, delta, why_it_stops):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        usage = {"input_tokens": 1, "output_tokens": 1}
        self.event("message_start", message={
            "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage})
        self.event("content_block_start", index=0, content_block=block)
        self.event("content_block_delta", index=0, delta=delta)
        self.event("content_block_stop", index=0)
        self.event("message_delta", delta={"stop_reason": why_it_stops, "stop_sequence": None}, usage=usage)
        self.event("message_stop")
        self.wfile.write(b"0\r\n\r\n")

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        shell = next((tool["name"] for tool in asked.get("tools", []) if tool.get("name", "").lower() == "bash"), None)
        done = count_results(asked.get("messages", []))
        if "/messages" not in self.path or not asked.get("stream"):
            text = json.dumps({"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
                               "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn",
                               "input_tokens": 1, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        elif shell and done < len(self.server.commands):
            step = self.server.commands[done]
            # A step is a command line, or (tool, input).
            name, wanted = step if isinstance(step, tuple) else (shell, {"command": step, "description": "a step"})
            wanted = json.dumps(wanted)
            self.stream({"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": {}},
                        {"type": "input_json_delta", "partial_json": wanted}, "tool_use")
        else:
            self.server.transcript = asked.get("messages", [])
            self.stream({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn")


def start(commands):
    """Serves until the process ends; returns the server, whose port is server_address[1]."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.commands, server.transcript = commands, []
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
