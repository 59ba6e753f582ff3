"""The event stream of Claude Code, which Amp and Cursor print as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.events import Event
    from pytest_ralph.fixing.agents.transcript import Transcript

# Why a run ended early. The subtype of a result is not reliable otherwise: an error may be called
# "success", which is why `is_error` is read as well.
EARLY_ENDS = {
    "error_max_turns": "task_incomplete",
    "error_max_budget_usd": "task_incomplete",
    "prompt_too_long": "context_exhausted",
    "model_context_window_exceeded": "context_exhausted",
}


def read_stream_json(event: Event, transcript: Transcript) -> None:
    """Add one event to `transcript`."""
    kind = event.get("type")
    if event.get("session_id"):
        transcript.session_id = event["session_id"]

    if kind == "assistant":
        _read_message(event, transcript)
    elif kind == "user":
        _read_tool_results(event, transcript)
    elif kind == "result":
        _read_result(event, transcript)
    elif kind == "error":
        transcript.set_error(event.get("error") or event.get("message"))


def _read_message(event: Event, transcript: Transcript) -> None:
    texts = []
    for block in _content(event):
        if block.get("type") == "text":
            texts.append(block.get("text", ""))
        elif block.get("type") == "tool_use":
            transcript.start_tool(block.get("id"), block.get("name"), block.get("input"))
    transcript.set_text("\n".join(texts))


def _read_tool_results(event: Event, transcript: Transcript) -> None:
    for block in _content(event):
        if block.get("type") == "tool_result":
            transcript.end_tool(block.get("tool_use_id"), succeeded=not block.get("is_error"))


def _read_result(event: Event, transcript: Transcript) -> None:
    result = event.get("result") or ""
    transcript.set_text(result)

    kind = ""
    for reason in (event.get("subtype"), event.get("terminal_reason")):
        kind = EARLY_ENDS.get(reason or "", kind)
    if not event.get("is_error") and not kind:
        transcript.clear_error()
        return

    errors = "\n".join(event.get("errors") or ())
    message = event.get("error") or result or errors or event.get("subtype")
    transcript.set_error(message, status=event.get("api_error_status"), kind=kind)


def _content(event: Event) -> list[Event]:
    content = (event.get("message") or {}).get("content") or []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content
