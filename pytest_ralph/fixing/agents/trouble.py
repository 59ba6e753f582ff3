"""What an error that an agent reports means. Only for text that the agent itself calls an error."""

from __future__ import annotations

import re

RATE_LIMIT = re.compile(r"rate.?limit|per.?minute|too many requests|\b429\b", re.IGNORECASE)
CONTEXT_LIMIT = re.compile(
    r"context.{0,20}(?:length|window|limit|overflow|exceed|exhaust|full)|out of context"
    r"|request too large|max_tokens|(?:prompt|input|conversation|request) is too (?:long|large)"
    r"|token (?:limit|count)|too many tokens|maximum (?:number of tokens|length)"
    r"|exceeds? the (?:model|maximum)",
    re.IGNORECASE,
)
TURN_LIMIT = re.compile(
    r"max(?:imum)?[ _](?:number of )?(?:session )?turns|turn limit|max_budget|reflections allowed"
    r"|gave up|did not conform to the edit format",
    re.IGNORECASE,
)
NO_ACCESS = re.compile(
    r"api.?key|unauthori[sz]ed|authenticat|\b40[13]\b|not logged in|log ?in\b|forbidden|permission"
    r"|invalid.{0,10}token|trusted director",
    re.IGNORECASE,
)
SERVICE = re.compile(
    r"overloaded|quota|\b(?:408|5\d\d)\b|unavailable|internal server error|bad gateway|credit"
    r"|billing|insufficient|resource.?exhausted|capacity|try again later"
    r"|(?:usage limit|limit (?:reached|exceeded))|connect|offline|ECONN|ENOTFOUND|ETIMEDOUT"
    r"|EAI_AGAIN|fetch failed|network|stream (?:error|disconnected)|timed? ?out",
    re.IGNORECASE,
)

# Tried in order. A rate limit counts tokens as a context limit does, so it comes first.
PATTERNS = (
    (RATE_LIMIT, "service_unavailable"),
    (CONTEXT_LIMIT, "context_exhausted"),
    (TURN_LIMIT, "task_incomplete"),
    (NO_ACCESS, "permission_denied"),
    (SERVICE, "service_unavailable"),
)


def kind_of_error(message: str, status: object = None) -> str:
    """Return the kind of failure from the agent's words, otherwise from the HTTP status, or ""."""
    for pattern, kind in PATTERNS:
        if pattern.search(message):
            return kind
    return _kind_of_status(status)


def _kind_of_status(status: object) -> str:
    if not isinstance(status, int):
        return ""
    if status in (401, 403):
        return "permission_denied"
    if status == 413:
        return "context_exhausted"
    if status in (402, 408, 429) or status >= 500:
        return "service_unavailable"
    return ""
