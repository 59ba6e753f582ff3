"""Limits: how the agents (claude, codex, gemini, opencode, aider, cursor-agent, goose, amp) and the models behind them
say that the context window is full, or that they may not go on for now."""

from __future__ import annotations

import re

_CONTEXT = (
    # claude
    r"\bprompt (?:is )?too long\b",
    r"context (?:limit|window|length) (?:is |was |has been |of \S+ )?(?:reached|exceed\w*|exhausted|full|overflow\w*)",
    r"context low\b.*(?:compact|remaining)",
    r"conversation (?:is )?too long",
    r"exceeds? (?:the )?(?:model'?s? )?(?:maximum )?context (?:limit|window|length|size)",
    r"autocompact is thrashing",
    # codex
    r"ran out of room in the model'?s context window",
    r"(?:input|request|message|prompt)\b.{0,60}\bexceeds? the (?:available )?context (?:window|size|length|limit)",
    r"context_length_exceeded|model_context_window_exceeded|exceed_context_size|string_above_max_length",
    # gemini
    r"input token count\b.{0,30}\bexceeds? the maximum number of tokens",
    r"exceed the remaining context window",
    # opencode, aider (litellm)
    r"ContextWindowExceeded|ContextOverflowError|ContextLengthExceeded",
    r"session too large to compact|context exceeds model limit",
    r"has hit a token limit",
    r"(?:possibly )?exhausted context window",
    r"chat session is larger than the context window",
    # goose, amp, cursor-agent
    r"context length exceed\w*|exceed\w* (?:the )?context length",
    r"failed to compact: context limit",
    r"thread (?:is too long|has reached (?:its|the) (?:context|maximum))",
    # models and people
    r"maximum context length\b.{0,80}\b(?:tokens|exceeded)|maximum length exceeded",
    r"(?:out of|run out of|ran out of|running out of|no more|exceeded (?:my|the)|reached (?:my|the)|hit (?:my|the)) (?:available )?context(?: window| space| limit| budget)?\b",
    r"(?:my|the) context (?:window )?(?:is (?:almost |nearly )?(?:full|exhausted|used up|running out)|was exhausted|limit was (?:hit|reached))",
    r"\btoken limit (?:was |has been )?(?:reached|exceeded|hit)|(?:reached|exceeded|hit) (?:the |my )?(?:maximum )?token limit",
    r"input is too long for requested model|too many tokens in (?:the )?(?:prompt|input)",
)
_RATE = (
    r"rate[ _-]?limit(?:ed|s|ing|_error|_exceeded)?\b",
    r"\b429\b.{0,40}(?:too many requests|rate|quota|error)|too many requests",
    r"usage limit|\b(?:5-hour|hourly|daily|weekly|monthly|request|free requests|session) limit (?:was |has been )?(?:reached|exceeded|hit)",
    r"you'?ve (?:hit|reached) your (?:\w+ )?limit",
    r"overloaded(?:_error)?\b|\b529\b",
    r"quota (?:was |has been )?exceeded|exceeded your current quota|exhausted your (?:daily |monthly )?(?:quota|capacity)|resource has been exhausted",
    r"\bRESOURCE_EXHAUSTED\b|\[resource_exhausted\]",
    r"exceeded retry limit, last status",
    r"credit balance is too low|insufficient (?:credits?|quota|balance)|out of credits|billing hard limit",
    r"\b(?:service|model|server) (?:is )?(?:currently |temporarily )?(?:unavailable|overloaded|at capacity)",
)
CONTEXT = re.compile("|".join(_CONTEXT), re.IGNORECASE)
RATE = re.compile("|".join(_RATE), re.IGNORECASE)


def context_limit(line: str) -> bool:
    """Is the context window full? A rate limit also counts tokens, and is none."""
    return bool(CONTEXT.search(line)) and not re.search(
        r"rate[ _-]?limit|per minute|per day|quota", line, re.IGNORECASE
    )


def rate_limit(line: str) -> bool:
    return bool(RATE.search(line))
