"""The event stream of Claude Code, which Amp and Cursor print as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.fixing.agents.events import plain_message, read_error, rows, table

if TYPE_CHECKING:
    from pytest_ralph.fixing.agents.events import Event, EventReader
    from pytest_ralph.fixing.agents.transcript import Transcript

# Why a run ended early. The subtype of a result is not reliable otherwise: an error may be called
# "success", which is why `is_error` is read as well.
EARLY_ENDS = {
    "error_max_turns": "task_incomplete",
    "error_max_budget_usd": "task_incomplete",
    "prompt_too_long": "context_exhausted",
    "model_context_window_exceeded": "context_exhausted",
}


def _read_message(event: Event, transcript: Transcript) -> None:
    texts = []
    for block in _content(event):
        kind = block.get("type")
        if kind == "text":
            texts.append(block.get("text", ""))
        elif kind == "tool_use":
            transcript.start_tool(block.get("id"), block.get("name"), block.get("input"))

    text = "\n".join(texts)
    if event.get("error"):
        # An error of the service in place of the model's answer.
        transcript.set_error(text or event["error"])
    else:
        transcript.clear_error()
        transcript.set_text(text)


def _read_tool_results(event: Event, transcript: Transcript) -> None:
    for block in _content(event):
        if block.get("type") == "tool_result":
            transcript.end_tool(block.get("tool_use_id"), succeeded=not block.get("is_error"))


def _read_result(event: Event, transcript: Transcript) -> None:
    transcript.add_usage(event.get("usage"))
    # There may be several results, each with the cost of all so far.
    transcript.set_total_cost(event.get("total_cost_usd"))
    for denial in rows(event, "permission_denials"):
        transcript.denied.append(_denied_action(denial))

    kind = _early_end(event)
    if event.get("is_error") or kind:
        errors = "\n".join(map(plain_message, rows(event, "errors")))
        message = event.get("error") or event.get("result") or errors or event.get("subtype")
        transcript.set_error(message, status=event.get("api_error_status"), kind=kind)
        return

    transcript.clear_error()
    result = event.get("result") or ""
    if result != transcript.text:
        transcript.set_text(result)


def _denied_action(denial: Event) -> str:
    """Return `Bash npm test` for a tool call that was not permitted."""
    command = table(denial, "tool_input").get("command", "")
    return f"{denial.get('tool_name')} {command}".strip()


def _early_end(event: Event) -> str:
    """Return the kind of failure if the run ended before its task was done, or an empty string."""
    for name in ("terminal_reason", "subtype"):
        reason = event.get(name)
        if reason in EARLY_ENDS:
            return EARLY_ENDS[reason]
    return ""


def _read_system(event: Event, transcript: Transcript) -> None:
    if event.get("subtype") != "api_retry":
        return
    retry = f"API retry {event.get('attempt')} of {event.get('max_retries')}"
    message = f"{retry}: {event.get('error')}"
    transcript.set_error(message, status=event.get("error_status"))


def _read_rate_limit(event: Event, transcript: Transcript) -> None:
    limit = event["rate_limit_info"]
    resets_at = limit.get("resetsAt")
    if limit.get("status") == "rejected" and isinstance(resets_at, int | float):
        transcript.resets_at = float(resets_at)


def _content(event: Event) -> list[Event]:
    content = table(event, "message").get("content") or []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content


STREAM_JSON: dict[str, EventReader] = {
    "assistant": _read_message,
    "user": _read_tool_results,
    "result": _read_result,
    "system": _read_system,
    "rate_limit_event": _read_rate_limit,
    "error": read_error,
}
