"""How agents and the models behind them say that they cannot go on.

`context_limit` and `rate_limit` judge any line an agent prints, so their patterns are strict.
`meaning_of_error` judges text that the agent itself calls an error, where a word is enough.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Wordings of claude, codex, gemini, opencode, aider (litellm), goose, amp, cursor-agent and people.
CONTEXT_LIMIT = re.compile(
    r"\b(?:prompt|conversation|thread|input) (?:is )?too long\b|thread has reached (?:its|the) "
    r"|context (?:limit|window|length) (?:is |was |has been |of \S+ )?"
    r"(?:reached|exceed\w*|exhausted|full|overflow\w*)"
    r"|context low\b.*(?:compact|remaining)|autocompact is thrashing"
    r"|exceed\w* (?:the )?(?:available |remaining )?(?:model'?s? )?(?:maximum )?"
    r"context (?:limit|window|length|size)"
    r"|ran out of room in the model'?s context window|larger than the context window"
    r"|context_length_exceeded|context_window_exceeded|exceed_context_size|string_above_max_length"
    r"|input token count\b.{0,30}\bexceeds? the maximum number of tokens"
    r"|Context(?:Window|Length)Exceeded|ContextOverflowError"
    r"|session too large to compact|context exceeds model limit|failed to compact: context limit"
    r"|has hit a token limit|exhausted context window"
    r"|maximum context length\b.{0,80}\b(?:tokens|exceeded)|maximum length exceeded"
    r"|(?:out of|no more|exceeded (?:my|the)|reached (?:my|the)|hit (?:my|the)) (?:available )?"
    r"context(?: window| space| limit| budget)?\b"
    r"|(?:my|the) context (?:window )?(?:is (?:almost |nearly )?(?:full|exhausted|used up"
    r"|running out)|was exhausted|limit was (?:hit|reached))"
    r"|(?:reached|hit|at) (?:the )?(?:limits?|end) of (?:my|the|this) context\b"
    r"|\btoken limit (?:was |has been )?(?:reached|exceeded|hit)"
    r"|(?:reached|exceeded|hit) (?:the |my )?(?:maximum )?token limit"
    r"|too many tokens in (?:the )?(?:prompt|input)",
    re.IGNORECASE,
)
# A rate limit counts tokens too, but no context is full.
PER_TIME = re.compile(r"rate[ _-]?limit|per (?:minute|day|hour)|quota", re.IGNORECASE)
RATE_LIMIT = re.compile(
    r"rate[ _-]?limit(?:ed|s|ing|_error|_exceeded|Error)?\b"
    r"|\b429\b.{0,40}(?:too many requests|rate|quota|error)|too many requests"
    r"|usage limit|\b(?:5-hour|hourly|daily|weekly|monthly|request|free requests|session) limit "
    r"(?:was |has been )?(?:reached|exceeded|hit)|you'?ve (?:hit|reached) your (?:\w+ )?limit"
    r"|overloaded(?:_error)?\b|\b(?:status|code|error|http)\b\W{0,12}529\b"
    r"|quota (?:was |has been )?exceeded|exceeded your current quota"
    r"|exhausted your (?:daily |monthly )?(?:quota|capacity)|resource has been exhausted"
    r"|\bRESOURCE_EXHAUSTED\b|\[resource_exhausted\]|exceeded retry limit, last status"
    r'|\bAPI error:? 5\d\d\b|"type": ?"api_error"|stream disconnected before completion'
    r"|credit balance is too low|insufficient (?:credits?|quota|balance)|out of credits"
    r"|billing hard limit"
    r"|\b(?:service|model|server) (?:is )?(?:currently |temporarily )?"
    r"(?:unavailable|overloaded|at capacity)",
    re.IGNORECASE,
)


class ErrorMeaning(NamedTuple):
    """The kind of failure that an error of an agent means.

    `reason` says why the agent itself could not work: `rate_limit`, `quota`, `overload`,
    `service`, `network`, `login`, `billing` or `refused`. It is empty for limits of the task.
    """

    kind: str = ""
    reason: str = ""


NOT_UNDERSTOOD = ErrorMeaning()

# Pattern, kind and reason. The order matters: a rate limit counts tokens as a context limit does,
# and services answer a used-up quota with the status of a rate limit and words about billing.
PATTERNS = (
    (
        r"exceeded your current quota|insufficient_quota|usage.?limit",
        "service_unavailable",
        "quota",
    ),
    (r"rate.?limit|per.?minute", "service_unavailable", "rate_limit"),
    (
        r"context.{0,20}(?:length|window|limit|overflow|exceed|exhaust|full)|out of context"
        r"|request too large|max_tokens|(?:prompt|input|conversation|request) is too (?:long|large)"
        r"|token (?:limit|count)|too many tokens|maximum (?:number of tokens|length)"
        r"|exceeds? the (?:model|maximum)",
        "context_exhausted",
        "",
    ),
    (
        r"max(?:imum)?[ _](?:number of )?(?:session )?turns|turn limit|max_budget"
        r"|reflections allowed|gave up|did not conform to the edit format",
        "task_incomplete",
        "",
    ),
    (
        r"quota|(?:hit|reached) your .{0,20}limit|limit (?:has been )?(?:reached|hit)"
        r"|limit exceeded|resource.?exhausted|out of (?:extra )?usage",
        "service_unavailable",
        "quota",
    ),
    (r"too many requests|\b429\b", "service_unavailable", "rate_limit"),
    (
        r"credit|billing|payment required|\b402\b|insufficient (?:funds|balance)",
        "service_unavailable",
        "billing",
    ),
    (
        r"cannot be used with root|trusted director|not a terminal|interactive terminal"
        r"|model.?not.?found|not_?found_?error"
        r"|\bmodels?\b.{0,60}(?:(?:does not|may not) exist|is not found)",
        "permission_denied",
        "refused",
    ),
    (
        r"api.?key|unauthori[sz]ed|authenticat|\b40[13]\b|not logged in|log ?in\b|forbidden"
        r"|invalid.{0,10}token|token (?:has )?expired",
        "permission_denied",
        "login",
    ),
    (
        r"overloaded|\b5(?:03|29)\b|unavailable|capacity|high demand|try again later",
        "service_unavailable",
        "overload",
    ),
    (
        r"connect|offline|ECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|fetch failed|network|getaddrinfo"
        r"|stream (?:error|disconnected)|timed? ?out|error sending request",
        "service_unavailable",
        "network",
    ),
    (
        r"\b(?:408|5\d\d)\b|internal server error|bad gateway|insufficient",
        "service_unavailable",
        "service",
    ),
    (r"permission", "permission_denied", ""),
)
COMPILED = tuple(
    (re.compile(pattern, re.IGNORECASE), ErrorMeaning(kind, reason))
    for pattern, kind, reason in PATTERNS
)

STATUS = {
    401: ErrorMeaning("permission_denied", "login"),
    402: ErrorMeaning("service_unavailable", "billing"),
    403: ErrorMeaning("permission_denied", "login"),
    404: ErrorMeaning("permission_denied", "refused"),
    408: ErrorMeaning("service_unavailable", "network"),
    413: ErrorMeaning("context_exhausted"),
    429: ErrorMeaning("service_unavailable", "rate_limit"),
    503: ErrorMeaning("service_unavailable", "overload"),
    529: ErrorMeaning("service_unavailable", "overload"),
}
SERVER_ERROR = 500


def context_limit(line: str) -> bool:
    """Return whether a line says that the agent's context window is full."""
    return CONTEXT_LIMIT.search(line) is not None and not PER_TIME.search(line)


def rate_limit(line: str) -> bool:
    """Return whether a line says that the agent's service refuses to go on for now."""
    return RATE_LIMIT.search(line) is not None


def meaning_of_error(message: str, status: object = None) -> ErrorMeaning:
    """Return what an error means by the agent's words, otherwise by the HTTP status it names."""
    for pattern, meaning in COMPILED:
        if pattern.search(message):
            return meaning
    if not isinstance(status, int):
        return NOT_UNDERSTOOD
    if status in STATUS:
        return STATUS[status]
    if status >= SERVER_ERROR:
        return ErrorMeaning("service_unavailable", "service")
    return NOT_UNDERSTOOD
