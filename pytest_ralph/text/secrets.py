"""Text: secrets masked, by their value where the environment names it secret, by their form where tools have one."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK = "***"

_SECRET_NAME = regex(
    r"(?:^|_) (?: \w*TOKEN | \w*SECRETS? | \w*PASSWO?R?D | PASS | PASSPHRASE | PWD | \w*APIKEY | KEY | CREDENTIALS?"
    r" | CREDS? | AUTH | PAT | DSN | PRIVATE | COOKIE | SALT | BEARER | CONNECTION_STRING | DATABASE_URL ) (?:_|\d|$)",
    re.IGNORECASE | re.VERBOSE,
)
# Their values are where to find a secret, or how to, and not the secret.
_HARMLESS_NAME = regex(
    r"^(?:OLD)?PWD$|_(?:FILE|PATH|DIR|NAME|ID|SOCK|SOCKET|TYPE|METHOD|ALGORITHM|HOST|PORT|TTL|EXPIRY|TIMEOUT|LENGTH|HELPER)$",
    re.IGNORECASE,
)
SHORTEST = 6
_TRIVIAL = regex(
    r"(?i)true|false|none|null|yes|no|on|off|enabled|disabled|default|secret|password|passwd|token|changeme|test\w*"
    r"|example|localhost|postgres|root|admin|user|guest|dummy|\d{1,7}|(.)\1*"
)

# A form names its secret part `secret`; without such a group all of it is secret. Each begins with plain characters,
# which are found a hundred times faster than a word boundary or any letter case; what must not stand before
# them is said after them: a letter or digit, but for the `m` that ends a colour sequence.
FORMS = (
    # GitHub, GitLab
    r"gh[opsur]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{16,}",
    # Clouds
    r"A(?:KIA|SIA|BIA|CCA|ROA|IDA)(?<![A-Za-ln-z0-9]A...)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"AIza[A-Za-z0-9_-]{35}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,})",
    r"do[op]_v1_[a-f0-9]{40,}",
    # Models
    r"sk-(?<![A-Za-ln-z0-9_]sk-)(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{16,}",
    r"sk-(?<![A-Za-ln-z0-9_-]sk-)[A-Za-z0-9]{20,}",
    r"hf_(?<![A-Za-ln-z0-9]hf_)[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{30,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"r8_(?<![A-Za-ln-z0-9]r8_)[A-Za-z0-9]{30,}",
    # Chat, mail, payments
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"xapp-\d-[A-Za-z0-9-]{10,}",
    r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    r"/api/webhooks/(?P<secret>\d+/[A-Za-z0-9_-]{20,})",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"_(?:live|test)_(?<=[srp]k......)[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"SK(?<![A-Za-ln-z0-9]SK)[a-f0-9]{32}(?![A-Za-z0-9])",
    r":AA[A-Za-z0-9_-]{32,}",
    # Registries and services
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"dckr_[po]at_[A-Za-z0-9_-]{20,}",
    r"rubygems_[a-f0-9]{40,}",
    r"cio(?<![A-Za-ln-z0-9]cio)[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"lin_api_[A-Za-z0-9]{30,}",
    r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
    r"dapi[a-f0-9]{32}",
    r"glsa_[A-Za-z0-9_]{32,}",
    r"nfp_[A-Za-z0-9]{30,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9._-]{30,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    # Forms of no one in particular
    r"eyJ(?<![A-Za-ln-z0-9_-]eyJ)[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]*",
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?P<secret>[^-]{1,16384})",
    r"://(?P<secret>[^\s/:@'\"<>]{0,100}:[^\s/@'\"<>]{1,200})@",
)
# Forms that begin with a word in any letter case, which is slow to look for: only where the word is there at all.
_LABEL = r"""['"]?\s{0,3}[:=]\s{0,3}['"]?"""
_VALUE = r"""(?P<secret>[^\s'",;]{6,})"""
LABELLED = {
    "authorization": rf"(?i)authorization{_LABEL}(?:bearer|basic|token|digest|apikey)\s{{1,3}}{_VALUE}",
    "bearer": r"(?i)bearer\s{1,3}(?P<secret>[a-z0-9._~+/-]{16,}=*)",
    "x-a": rf"(?i)x-(?:api-key|auth-token|access-token){_LABEL}{_VALUE}",
    "aws": rf"(?i)aws_?secret_?(?:access_?)?key{_LABEL}(?P<secret>[a-z0-9/+=]{{40}})",
} | dict.fromkeys(
    ("passw", "api", "secret", "token"),
    # A value of eight characters and more with a digit: neither `password: str` nor `password=$PASSWORD`.
    r"(?i)(?:password|passwd|secret[_-]?key|client[_-]?secret|api[_-]?key|access[_-]?token|auth[_-]?token)['\"]?"
    r"\s{0,3}(?:=|:\s)\s{0,3}['\"]?(?P<secret>(?=[^\s'\",;]{0,100}\d)[^\s'\",;$<({*]{8,})",
)


def _start_of(form: str) -> str:
    plain = re.match(r"[\w:/-]+(?![?*+{])", form)
    return plain[0] if plain else ""


# With what stands at the start of each, so that a form is looked for, and compiled, only where that is to be seen.
_FORMS = tuple((_start_of(form), regex(form)) for form in FORMS)
_WORDED = {form: regex(form) for form in LABELLED.values()}
_LABELLED = tuple((word, _WORDED[form]) for word, form in LABELLED.items())


class MaskError(ValueError):
    """A form that is no regular expression, in one line."""


class Masker:
    """Masks the secrets of one environment and all known forms. `extra`: regular expressions of the project's own."""

    def __init__(self, environ: Mapping[str, str] = os.environ, extra: Iterable[str] = ()) -> None:
        self._values = _alternatives(secret_values(environ))
        self._extra = [_compiled(form) for form in extra]

    def mask(self, text: str) -> str:
        if not text:
            return text
        if self._values is not None:
            text = self._values.sub(MASK, text)
        lowered = text.lower()
        known = [form for start, form in _FORMS if start in text]
        labelled = {form: None for word, form in _LABELLED if word in lowered}
        for form in (*known, *self._extra, *labelled):
            text = form.sub(_masked, text)
        return text


def secret_values(environ: Mapping[str, str]) -> Iterator[str]:
    """The values that must not be shown: of variables with a telling name, unless anyone could guess them."""
    for name, value in environ.items():
        if _SECRET_NAME.search(name) and not _HARMLESS_NAME.search(name):
            yield from (part for part in {value, *value.splitlines()} if _worth_hiding(part))


def _worth_hiding(value: str) -> bool:
    value = value.strip()
    return (
        len(value) >= SHORTEST
        and not _TRIVIAL.fullmatch(value)
        and not value.startswith(("/", "./", "~"))
    )


def _alternatives(values: Iterable[str]) -> re.Pattern[str] | None:
    # The longest first, so that a value that begins with another one is masked whole.
    longest_first = sorted({value.strip() for value in values}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if longest_first else None


def _compiled(form: str) -> re.Pattern[str]:
    try:
        return re.compile(form)
    except re.error as error:
        raise MaskError(f"not a regular expression: {form} ({error})") from None


def _masked(match: re.Match[str]) -> str:
    if "secret" not in match.re.groupindex or match["secret"] is None:
        return MASK
    start, end = (match.start("secret") - match.start(), match.end("secret") - match.start())
    return f"{match[0][:start]}{MASK}{match[0][end:]}"
