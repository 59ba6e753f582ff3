"""Fixing: what an agent's own error means for us. Only for text that the agent itself reported as an error."""

from __future__ import annotations

import re

CONTEXT = re.compile(
    r"context.{0,20}(?:length|window|limit|overflow|exceed|exhaust|full)|out of context|request too large|max_tokens"
    r"|(?:prompt|input|conversation|request) is too (?:long|large)|token (?:limit|count)|too many tokens"
    r"|maximum (?:number of tokens|length)|exceeds? the (?:model|maximum)",
    re.IGNORECASE,
)
SERVICE = re.compile(
    r"rate.?limit|overloaded|quota|\b(?:408|429|5\d\d)\b|unavailable|internal server error|bad gateway|credit|billing"
    r"|insufficient|resource.?exhausted|capacity|try again later|(?:usage limit|limit (?:reached|exceeded))|connect"
    r"|offline|ECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|fetch failed|network|stream (?:error|disconnected)|timed? ?out",
    re.IGNORECASE,
)
ACCESS = re.compile(
    r"api.?key|unauthori[sz]ed|authenticat|\b40[13]\b|not logged in|log ?in\b|forbidden|permission|invalid.{0,10}token"
    r"|trusted director",
    re.IGNORECASE,
)
UNFINISHED = re.compile(
    r"max(?:imum)?[ _](?:number of )?(?:session )?turns|turn limit|max_budget|reflections allowed|gave up"
    r"|did not conform to the edit format",
    re.IGNORECASE,
)
RATE = re.compile(r"rate.?limit|per.?minute|too many requests|\b429\b", re.IGNORECASE)

# A limit on tokens a minute is a rate limit though it speaks of tokens: what names a rate comes first.
READINGS = (
    (RATE, "service_unavailable"),
    (CONTEXT, "context_exhausted"),
    (UNFINISHED, "task_incomplete"),
    (ACCESS, "permission_denied"),
    (SERVICE, "service_unavailable"),
)


def kind_of_trouble(message: str, status: object = None) -> str:
    """The kind of failure: from the agent's words, else from the HTTP status it gives; empty if neither says."""
    for reading, kind in READINGS:
        if reading.search(message):
            return kind
    return _kind_of_status(status)


def _kind_of_status(status: object) -> str:
    if not isinstance(status, int):
        return ""
    if status in (401, 403):
        return "permission_denied"
    if status == 413:
        return "context_exhausted"
    return "service_unavailable" if status in (402, 408, 429) or status >= 500 else ""
