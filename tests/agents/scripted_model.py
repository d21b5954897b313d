# SPDX-License-Identifier: MIT
"""A model on loopback that plays a script: an agent that asks it gets the next shell command to run.

It speaks as much as agents need, streamed, of the Messages API (Claude Code, opencode, Copilot, pi), of Responses (Codex),
of chat completions (Qwen Code) and of Gemini's. How far the script is, it tells from the conversation itself: each command that
was run is one tool result in it. A step of the script is a command, or the arguments of the shell tool, or (tool, arguments).
"""

import http.server
import json
import threading

SHELLS = ("bash", "run_shell_command", "execute_command", "shell", "exec_command", "shell_command")


def texts(content):
    """What a result says, however it is wrapped."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(texts(each) for each in content)
    if isinstance(content, dict):
        return "".join(texts(content[key]) for key in ("text", "content", "output", "error", "result") if key in content)
    return ""


def blocks(messages, kind):
    return [block for message in messages if isinstance(message.get("content"), list)
            for block in message["content"] if block.get("type") == kind]


def count_results(messages):
    return len(blocks(messages, "tool_result"))


class Messages:
    """Anthropic's Messages API."""

    def __init__(self, asked):
        self.asked = asked
        self.wants_stream = asked.get("stream", False)
        self.tools = [tool.get("name", "") for tool in asked.get("tools") or []]
        self.told = [texts(block.get("content")) for block in blocks(asked.get("messages", []), "tool_result")]

    def plain(self):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
                "content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn",
                "input_tokens": 1, "usage": {"input_tokens": 1, "output_tokens": 1}}

    def stream(self, tool, arguments):
        number = len(self.told)
        block, delta, why = ({"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {}},
                             {"type": "input_json_delta", "partial_json": json.dumps(arguments)}, "tool_use") if tool else (
            {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn")
        usage = {"input_tokens": 1, "output_tokens": 1}
        for kind, members in (
                ("message_start", {"message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted",
                                               "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}}),
                ("content_block_start", {"index": 0, "content_block": block}),
                ("content_block_delta", {"index": 0, "delta": delta}), ("content_block_stop", {"index": 0}),
                ("message_delta", {"delta": {"stop_reason": why, "stop_sequence": None}, "usage": usage}),
                ("message_stop", {})):
            yield f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n"


class Responses:
    """OpenAI's Responses; a server of MCP is a namespace."""

    def __init__(self, asked):
        self.wants_stream = True
        self.spaces = {tool["name"]: space.get("name") for space in asked.get("tools") or [] if space.get("type") == "namespace"
                       for tool in space.get("tools", [])}
        self.tools = [tool.get("name") or "" for tool in asked.get("tools") or []] + list(self.spaces)
        self.told = [texts(item.get("output")) for item in asked.get("input", [])
                     if isinstance(item, dict) and item.get("type") == "function_call_output"]

    def stream(self, tool, arguments):
        item = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "done"}]}
        if tool:
            item = {"type": "function_call", "id": "fc1", "call_id": f"call_{len(self.told)}", "name": tool,
                    "arguments": json.dumps(arguments)}
            if tool in self.spaces:
                item["namespace"] = self.spaces[tool]
        usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None,
                 "total_tokens": 2}
        for event in ({"type": "response.created", "response": {"id": "r1"}}, {"type": "response.output_item.done", "item": item},
                      {"type": "response.completed", "response": {"id": "r1", "usage": usage}}):
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"


class Chat:
    """OpenAI's chat completions."""

    def __init__(self, asked):
        self.wants_stream = asked.get("stream", False)
        self.tools = [tool.get("function", {}).get("name", "") for tool in asked.get("tools") or []]
        self.told = [texts(message.get("content")) for message in asked.get("messages", []) if message.get("role") == "tool"]

    def plain(self):
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "scripted", "usage": {},
                "choices": [{"index": 0, "message": {"role": "assistant", "content": "done"}, "finish_reason": "stop"}]}

    def stream(self, tool, arguments):
        delta = {"role": "assistant", "content": "done"}
        if tool:
            call = {"index": 0, "id": f"call_{len(self.told)}", "type": "function",
                    "function": {"name": tool, "arguments": json.dumps(arguments)}}
            delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        for choice in ({"index": 0, "delta": delta, "finish_reason": None},
                       {"index": 0, "delta": {}, "finish_reason": "tool_calls" if tool else "stop"}):
            chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice]}
            yield f"data: {json.dumps(chunk)}\n\n"
        yield "data: [DONE]\n\n"


class Gemini:
    """Gemini's generateContent."""

    def __init__(self, asked):
        self.wants_stream = asked["is_stream"]
        self.tools = [each["name"] for tool in asked.get("tools") or [] for each in tool.get("functionDeclarations", [])]
        self.told = [texts(part["functionResponse"].get("response")) for content in asked.get("contents", [])
                     for part in content.get("parts", []) if "functionResponse" in part]

    def answer(self, part):
        return {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}

    def plain(self):
        return self.answer({"text": "{}"})

    def stream(self, tool, arguments):
        part = {"functionCall": {"name": tool, "args": arguments}} if tool else {"text": "done"}
        yield f"data: {json.dumps(self.answer(part))}\r\n\r\n"


def speak(path, asked):
    if "/messages" in path and "count_tokens" not in path:
        return Messages(asked)
    if "/responses" in path:
        return Responses(asked)
    if "/chat/completions" in path:
        return Chat(asked)
    if "enerateContent" in path:
        return Gemini({**asked, "is_stream": "streamGenerateContent" in path})
    return None


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send_text(self, text, kind="application/json", status=200):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        self.send_text(b'{"object": "list", "data": [], "models": []}')

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        spoken = speak(self.path, asked)
        if not spoken:
            self.send_text(b'{"input_tokens": 1, "totalTokens": 1}')
            return
        shell = next((tool for tool in spoken.tools if tool.lower() in SHELLS), None)
        if not spoken.wants_stream:
            self.send_text(json.dumps(spoken.plain()).encode())
            return
        self.server.tools = spoken.tools or self.server.tools
        tool = arguments = None
        if shell and len(spoken.told) < len(self.server.commands):
            tool, arguments = self.step(shell, self.server.commands[len(spoken.told)])
        elif len(spoken.told) >= len(self.server.told):
            self.server.told = spoken.told
            self.server.transcript = asked.get("messages", [])
            self.server.whole = json.dumps(asked, ensure_ascii=False)
        self.send_text("".join(spoken.stream(tool, arguments)).encode(), "text/event-stream")

    @staticmethod
    def step(shell, step):
        if isinstance(step, tuple):
            return step
        arguments = step if isinstance(step, dict) else {"cmd" if shell == "exec_command" else "command": step}
        return shell, arguments if shell == "execute_command" else {"description": "a step", **arguments}


def start(commands):
    """Serves until the process ends; returns the server, whose port is server_address[1]. `told`: what each step gave;
    `whole`: the last request, as text."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.commands, server.transcript, server.told, server.tools, server.whole = commands, [], [], [], ""
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
