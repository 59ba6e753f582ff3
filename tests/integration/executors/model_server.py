"""A model server with a script instead of a model, on loopback, for driving real agents.

It speaks the four protocols of the agents (Anthropic messages, OpenAI chat completions, OpenAI
responses, Gemini generateContent), streaming or not, and answers each request of an agent with the
next turn of its script.
"""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
class Decline:
    """The model refuses in the way of its protocol: a stop reason, with these words if any fit."""

    text: str


@dataclass(frozen=True)
class Refuse:
    """The service answers with an HTTP error in the format of the protocol."""

    status: int
    type: str
    message: str


@dataclass(frozen=True)
class Hang:
    """The service accepts the request and never answers it."""


Answer = Say | Call | Decline
Turn = Answer | Refuse | Hang


class ModelServer:
    """Answers with the turns of one script for each run of an agent.

    `current_run` returns the number of the run, from 1. The last script is used for all further
    runs, and the last turn of a script is repeated. Requests without tools are side tasks of an
    agent (titles, summaries): they get a short answer and use up no turn. `adapt` changes a turn
    when it is asked for, such as paths that are not known before.
    """

    def __init__(
        self,
        *scripts: Sequence[Turn],
        current_run: Callable[[], int] = lambda: 1,
        adapt: Callable[[Turn], Turn] = lambda turn: turn,
    ) -> None:
        self.requests: list[Json] = []
        self.asked = threading.Event()
        self.closing = threading.Event()
        self._scripts = scripts
        self._current_run = current_run
        self._adapt = adapt
        self._used: dict[int, int] = {}
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
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(5)

    def turn_for(self, body: Json, *, main: bool) -> Turn:
        with self._lock:
            self.requests.append(body)
            run = max(1, self._current_run())
            script = self._scripts[min(run, len(self._scripts)) - 1]
            used = self._used.get(run, 0)
            turn = script[min(used, len(script) - 1)]
            if not main and not isinstance(turn, Refuse):
                return Say("ok")
            self._used[run] = used + 1
            return self._adapt(turn)

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
        model.asked.set()
        if isinstance(turn, Hang):
            model.closing.wait()
            self.close_connection = True
        elif isinstance(turn, Refuse):
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
        with suppress(ConnectionError):
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

    def whole(self, turn: Answer) -> Json:
        raise NotImplementedError

    def stream(self, turn: Answer) -> Iterator[str]:
        raise NotImplementedError


STOP_REASONS = {Say: "end_turn", Call: "tool_use", Decline: "refusal"}


class _Anthropic(_Dialect):
    def error(self, turn: Refuse) -> Json:
        return {"type": "error", "error": {"type": turn.type, "message": turn.message}}

    def _block(self, turn: Answer) -> Json:
        if not isinstance(turn, Call):
            return {"type": "text", "text": turn.text}
        return {
            "type": "tool_use",
            "id": f"toolu_{uuid.uuid4().hex}",
            "name": turn.tool,
            "input": turn.arguments,
        }

    def whole(self, turn: Answer) -> Json:
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "scripted",
            "content": [self._block(turn)],
            "stop_reason": STOP_REASONS[type(turn)],
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }

    def stream(self, turn: Answer) -> Iterator[str]:
        whole = self.whole(turn)
        yield self._named(
            {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
        )
        if not isinstance(turn, Call):
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


FINISH_REASONS = {Say: "stop", Call: "tool_calls", Decline: "content_filter"}


class _Chat(_Dialect):
    def is_main(self, body: Json) -> bool:
        # aider asks for plain text and offers no tools; its edits are in the text.
        return bool(body.get("tools")) or "SEARCH" in json.dumps(body.get("messages", ""))

    def _message(self, turn: Answer) -> Json:
        if isinstance(turn, Say):
            return {"role": "assistant", "content": turn.text}
        if isinstance(turn, Decline):
            return {"role": "assistant", "content": None, "refusal": turn.text}
        function = {"name": turn.tool, "arguments": json.dumps(turn.arguments)}
        call = {
            "index": 0,
            "id": f"call_{uuid.uuid4().hex}",
            "type": "function",
            "function": function,
        }
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

    def _finish(self, turn: Answer) -> str:
        return FINISH_REASONS[type(turn)]

    def whole(self, turn: Answer) -> Json:
        return self._envelope(message=self._message(turn), finish_reason=self._finish(turn))

    def stream(self, turn: Answer) -> Iterator[str]:
        yield _event(self._envelope(delta=self._message(turn), finish_reason=None))
        yield _event(self._envelope(delta={}, finish_reason=self._finish(turn)))
        yield "data: [DONE]\n\n"


class _Responses(_Dialect):
    def _item(self, turn: Answer) -> Json:
        if not isinstance(turn, Call):
            text: Json = {"type": "output_text", "text": turn.text, "annotations": []}
            if isinstance(turn, Decline):
                text = {"type": "refusal", "refusal": turn.text}
            return {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        arguments = json.dumps(turn.arguments)
        name = {"call_id": f"call_{uuid.uuid4().hex}", "name": turn.tool}
        return {
            "type": "function_call",
            "id": "fc_1",
            "status": "completed",
            "arguments": arguments,
            **name,
        }

    def whole(self, turn: Answer) -> Json:
        usage = {"input_tokens": 10, "output_tokens": 10, "total_tokens": 20}
        output = [self._item(turn)]
        return {
            "id": "resp_1",
            "object": "response",
            "status": "completed",
            "output": output,
            "usage": usage,
        }

    def stream(self, turn: Answer) -> Iterator[str]:
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

    def whole(self, turn: Answer) -> Json:
        if isinstance(turn, Call):
            part: Json = {"functionCall": {"name": turn.tool, "args": turn.arguments}}
        else:
            part = {"text": turn.text}
        candidate = {
            "content": {"role": "model", "parts": [part]},
            "finishReason": "SAFETY" if isinstance(turn, Decline) else "STOP",
            "index": 0,
        }
        counts = {"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20}
        return {"candidates": [candidate], "usageMetadata": counts, "modelVersion": "scripted"}

    def stream(self, turn: Answer) -> Iterator[str]:
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
