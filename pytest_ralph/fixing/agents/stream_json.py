"""Fixing: the event stream that Claude Code prints, and others after its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.conversation import Conversation, Event

# A result may call itself a success and be an error, or the other way round: only `is_error` and these tell.
ENDED_EARLY = {
    "error_max_turns": "task_incomplete",
    "error_max_budget_usd": "task_incomplete",
    "prompt_too_long": "context_exhausted",
    "model_context_window_exceeded": "context_exhausted",
}


def hear_stream_json(event: Event, talk: Conversation) -> None:
    talk.session_id = event.get("session_id") or talk.session_id
    kind = event.get("type")
    if kind == "assistant":
        _hear_message(event, talk)
    elif kind == "user":
        for block in _blocks(event):
            if block.get("type") == "tool_result":
                talk.end(block.get("tool_use_id"), well=not block.get("is_error"))
    elif kind == "result":
        _hear_result(event, talk)
    elif kind == "error":
        talk.fail(event.get("error") or event.get("message"))


def _hear_message(event: Event, talk: Conversation) -> None:
    texts = []
    for block in _blocks(event):
        if block.get("type") == "text":
            texts.append(block.get("text", ""))
        elif block.get("type") == "tool_use":
            talk.begin(block.get("id"), block.get("name"), block.get("input"))
    talk.say("\n".join(texts))


def _hear_result(event: Event, talk: Conversation) -> None:
    talk.say(event.get("result") or "")
    ended = next(
        (
            word
            for word in (event.get("terminal_reason"), event.get("subtype"))
            if word in ENDED_EARLY
        ),
        "",
    )
    if event.get("is_error") or ended:
        words = (
            event.get("error")
            or event.get("result")
            or "\n".join(event.get("errors") or ())
            or event.get("subtype")
        )
        talk.fail(words, status=event.get("api_error_status"), kind=ENDED_EARLY.get(ended, ""))
    else:
        talk.recover()


def _blocks(event: Event) -> list[Event]:
    content = (event.get("message") or {}).get("content") or []
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
