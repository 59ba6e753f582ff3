"""How agents and the models behind them say that they cannot go on.

`context_limit` and `rate_limit` judge any line an agent prints, so their patterns are strict.
`kind_of_agent_error` judges text that the agent itself calls an error, where a word is enough.
"""

from __future__ import annotations

import re

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

RATE_WORDS = re.compile(r"rate.?limit|per.?minute|too many requests|\b429\b", re.IGNORECASE)
CONTEXT_WORDS = re.compile(
    r"context.{0,20}(?:length|window|limit|overflow|exceed|exhaust|full)|out of context"
    r"|request too large|max_tokens|(?:prompt|input|conversation|request) is too (?:long|large)"
    r"|token (?:limit|count)|too many tokens|maximum (?:number of tokens|length)"
    r"|exceeds? the (?:model|maximum)",
    re.IGNORECASE,
)
TURN_WORDS = re.compile(
    r"max(?:imum)?[ _](?:number of )?(?:session )?turns|turn limit|max_budget|reflections allowed"
    r"|gave up|did not conform to the edit format",
    re.IGNORECASE,
)
ACCESS_WORDS = re.compile(
    r"api.?key|unauthori[sz]ed|authenticat|\b40[13]\b|not logged in|log ?in\b|forbidden|permission"
    r"|invalid.{0,10}token|trusted director",
    re.IGNORECASE,
)
SERVICE_WORDS = re.compile(
    r"overloaded|quota|\b(?:408|5\d\d)\b|unavailable|internal server error|bad gateway|credit"
    r"|billing|insufficient|resource.?exhausted|capacity|try again later"
    r"|(?:usage limit|limit (?:reached|exceeded))|connect|offline|ECONN|ENOTFOUND|ETIMEDOUT"
    r"|EAI_AGAIN|fetch failed|network|stream (?:error|disconnected)|timed? ?out",
    re.IGNORECASE,
)
# Tried in order: a rate limit counts tokens as a context limit does, so it comes first.
KINDS_BY_WORDS = (
    (RATE_WORDS, "service_unavailable"),
    (CONTEXT_WORDS, "context_exhausted"),
    (TURN_WORDS, "task_incomplete"),
    (ACCESS_WORDS, "permission_denied"),
    (SERVICE_WORDS, "service_unavailable"),
)


def context_limit(line: str) -> bool:
    """Return whether a line says that the agent's context window is full."""
    return CONTEXT_LIMIT.search(line) is not None and not PER_TIME.search(line)


def rate_limit(line: str) -> bool:
    """Return whether a line says that the agent's service refuses to go on for now."""
    return RATE_LIMIT.search(line) is not None


def kind_of_agent_error(message: str, status: object = None) -> str:
    """Return the kind of an error that an agent reports, from its words or its HTTP status.

    The result is empty if neither tells.
    """
    for words, kind in KINDS_BY_WORDS:
        if words.search(message):
            return kind
    if not isinstance(status, int):
        return ""
    if status in (401, 403):
        return "permission_denied"
    if status == 413:
        return "context_exhausted"
    if status in (402, 408, 429) or status >= 500:
        return "service_unavailable"
    return ""
