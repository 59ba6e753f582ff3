"""A model server with a script instead of a model, on loopback, for driving real agents.

It speaks the four dialects the agents speak (Anthropic messages, OpenAI chat completions, OpenAI
responses, Gemini generateContent), streaming or not, and answers each request of an agent with the
next turn of the script.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

Json = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """The model ends its turn with this text."""

    text: str


@dataclass(frozen=True)
class Call:
    """The model asks for one tool."""

    tool: str
    arguments: Json = field(default_factory=dict)


@dataclass(frozen=True)
class Refuse:
    """The service answers with an HTTP error, in the dialect of the request."""

    status: int
    type: str
    message: str


Turn = Say | Call | Refuse


class ModelServer:
    """Turns are handed out in order; when they run out the last one is repeated."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = turns
        self.requests: list[Json] = []
        self._handed_out = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._http.daemon_threads = True
        self._http.model = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def turn_for(self, body: Json, *, main: bool) -> Turn:
        """Requests without tools (titles, summaries) do not use up the script."""
        with self._lock:
            self.requests.append(body)
            turn = self.turns[min(self._handed_out, len(self.turns) - 1)]
            if main or isinstance(turn, Refuse):
                self._handed_out += 1
                return turn
            return Say("ok")

    def prompts(self) -> str:
        return json.dumps(self.requests)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silence: the name and the parameters are the base class's."""

    def do_HEAD(self) -> None:
        self._send(200, b"", "text/plain")

    def do_GET(self) -> None:
        self._send(200, json.dumps({"data": [], "models": []}).encode(), "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        dialect = _dialect(self.path)
        if dialect is None:
            self._send(200, b"{}", "application/json")
            return
        model = cast("ModelServer", self.server.model)  # type: ignore[attr-defined]
        turn = model.turn_for(body, main=dialect.is_main(body))
        if isinstance(turn, Refuse):
            self._send(turn.status, json.dumps(dialect.error(turn)).encode(), "application/json")
        elif dialect.wants_stream(self.path, body):
            self._send(200, "".join(dialect.stream(turn)).encode(), "text/event-stream")
        else:
            self._send(200, json.dumps(dialect.whole(turn)).encode(), "application/json")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _event(data: Json, name: str | None = None) -> str:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n"


class _Dialect:
    def is_main(self, body: Json) -> bool:
        return bool(body.get("tools"))

    def wants_stream(self, path: str, body: Json) -> bool:
        return bool(body.get("stream")) or ":streamGenerateContent" in path

    def error(self, turn: Refuse) -> Json:
        return {"error": {"type": turn.type, "code": turn.type, "message": turn.message}}

    def whole(self, turn: Say | Call) -> Json:
        raise NotImplementedError

    def stream(self, turn: Say | Call) -> Iterator[str]:
        raise NotImplementedError


class _Anthropic(_Dialect):
    def error(self, turn: Refuse) -> Json:
        return {"type": "error", "error": {"type": turn.type, "message": turn.message}}

    def _block(self, turn: Say | Call) -> Json:
        if isinstance(turn, Say):
            return {"type": "text", "text": turn.text}
        return {
            "type": "tool_use",
            "id": f"toolu_{id(turn):x}",
            "name": turn.tool,
            "input": turn.arguments,
        }

    def whole(self, turn: Say | Call) -> Json:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [self._block(turn)],
            "stop_reason": "end_turn" if isinstance(turn, Say) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }

    def stream(self, turn: Say | Call) -> Iterator[str]:
        whole = self.whole(turn)
        yield self._named(
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
        )
        if isinstance(turn, Say):
            start: Json = {"type": "text", "text": ""}
            delta: Json = {"type": "text_delta", "text": turn.text}
        else:
            start = {**self._block(turn), "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(turn.arguments)}
        yield self._named({"type": "content_block_start", "index": 0, "content_block": start})
        yield self._named({"type": "content_block_delta", "index": 0, "delta": delta})
        yield self._named({"type": "content_block_stop", "index": 0})
        ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield self._named(
            {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 10}}
        )
        yield self._named({"type": "message_stop"})

    @staticmethod
    def _named(data: Json) -> str:
        return _event(data, data["type"])


class _Chat(_Dialect):
    def is_main(self, body: Json) -> bool:
        # aider asks for plain text and offers no tools; its edits are in the text.
        return bool(body.get("tools")) or "SEARCH" in json.dumps(body.get("messages", ""))

    def _message(self, turn: Say | Call) -> Json:
        if isinstance(turn, Say):
            return {"role": "assistant", "content": turn.text}
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        call = {"index": 0, "id": f"call_{id(turn):x}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _envelope(self, **choice: object) -> Json:
        kind = "chat.completion.chunk" if "delta" in choice else "chat.completion"
        return {
            "id": "chatcmpl-1",
            "object": kind,
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, **choice}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20},
        }

    def _finish(self, turn: Say | Call) -> str:
        return "stop" if isinstance(turn, Say) else "tool_calls"

    def whole(self, turn: Say | Call) -> Json:
        return self._envelope(message=self._message(turn), finish_reason=self._finish(turn))

    def stream(self, turn: Say | Call) -> Iterator[str]:
        yield _event(self._envelope(delta=self._message(turn), finish_reason=None))
        yield _event(self._envelope(delta={}, finish_reason=self._finish(turn)))
        yield "data: [DONE]\n\n"


class _Responses(_Dialect):
    def _item(self, turn: Say | Call) -> Json:
        if isinstance(turn, Say):
            text = {"type": "output_text", "text": turn.text, "annotations": []}
            return {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        arguments = json.dumps(turn.arguments)
        name = {"call_id": f"call_{id(turn):x}", "name": turn.tool}
        return {
            "type": "function_call",
            "id": "fc_1",
            "status": "completed",
            "arguments": arguments,
            **name,
        }

    def whole(self, turn: Say | Call) -> Json:
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        output = [self._item(turn)]
        return {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "output": output,
            "usage": usage,
        }

    def stream(self, turn: Say | Call) -> Iterator[str]:
        yield self._named({"type": "response.created", "response": {"id": "resp_1"}})
        yield self._named(
            {"type": "response.output_item.done", "output_index": 0, "item": self._item(turn)}
        )
        yield self._named({"type": "response.completed", "response": self.whole(turn)})

    @staticmethod
    def _named(data: Json) -> str:
        return _event(data, data["type"])


class _Gemini(_Dialect):
    def error(self, turn: Refuse) -> Json:
        return {"error": {"code": turn.status, "status": turn.type, "message": turn.message}}

    def whole(self, turn: Say | Call) -> Json:
        part: Json = (
            {"text": turn.text}
            if isinstance(turn, Say)
            else {"functionCall": {"name": turn.tool, "args": turn.arguments}}
        )
        candidate = {
            "content": {"role": "model", "parts": [part]},
            "finishReason": "STOP",
            "index": 0,
        }
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        return {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "scripted"}

    def stream(self, turn: Say | Call) -> Iterator[str]:
        yield _event(self.whole(turn))


def _dialect(path: str) -> _Dialect | None:
    plain = path.split("?", 1)[0]
    if plain.endswith("/messages"):
        return _Anthropic()
    if plain.endswith("/chat/completions"):
        return _Chat()
    if plain.endswith("/responses"):
        return _Responses()
    if plain.endswith((":generateContent", ":streamGenerateContent")):
        return _Gemini()
    return None
