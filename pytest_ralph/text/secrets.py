"""Mask secrets in text.

The values of environment variables with a name like `API_TOKEN` are masked, and everything that
has the format of a well-known credential, also where terminal escapes interrupt it.
"""

from __future__ import annotations

import itertools
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ralph.text.inert import ESCAPES
from pytest_ralph.text.private_keys import KEY_BEGIN, MASK, mask_private_keys
from pytest_ralph.text.regex import regex
from pytest_ralph.text.secret_variables import is_secret_name, is_worth_hiding, secret_values
from pytest_ralph.text.spellings import Spelling, spellings_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The secret part of a pattern is its group `secret`, or all of it without such a group. Each begins
# with plain characters, which are found a hundred times faster than a word boundary or any letter
# case. What must not precede them is therefore checked behind them.
PATTERNS = (
    # GitHub, GitLab
    r"gh[opsur]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|oas|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-[A-Za-z0-9_.-]{16,}",
    # Cloud providers
    r"A(?:KIA|SIA|BIA|CCA|ROA|IDA)(?<![A-Za-z0-9]A...)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"AIza[A-Za-z0-9_-]{35}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"GOCSPX-[A-Za-z0-9_-]{20,}",
    r"AccountKey=(?P<secret>[A-Za-z0-9+/=]{40,})",
    r"do[op]_v1_[a-f0-9]{40,}",
    # Model providers
    r"sk-(?<![A-Za-z0-9_]sk-)(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_-]{16,}",
    r"sk-(?<![A-Za-z0-9_-]sk-)[A-Za-z0-9]{20,}",
    r"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{30,}",
    r"gsk_[A-Za-z0-9]{30,}",
    r"xai-[A-Za-z0-9]{40,}",
    r"pplx-[A-Za-z0-9]{40,}",
    r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{32,}",
    r"r8_(?<![A-Za-z0-9]r8_)[A-Za-z0-9]{30,}",
    # Chat, mail, payments
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"xapp-\d-[A-Za-z0-9-]{10,}",
    r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/_-]{20,})",
    r"/api/webhooks/(?P<secret>\d+/[A-Za-z0-9_-]{20,})",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"_(?:live|test)_(?<=[srp]k......)[A-Za-z0-9]{10,}",
    r"whsec_[A-Za-z0-9+/=]{20,}",
    r"SK(?<![A-Za-z0-9]SK)[a-f0-9]{32}(?![A-Za-z0-9])",
    r":AA[A-Za-z0-9_-]{32,}",
    # Registries and services
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{40,}",
    r"dckr_[po]at_[A-Za-z0-9_-]{20,}",
    r"rubygems_[a-f0-9]{40,}",
    r"cio(?<![A-Za-z0-9]cio)[A-Za-z0-9]{32}(?![A-Za-z0-9])",
    r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}",
    r"ATATT3[A-Za-z0-9_=-]{40,}",
    r"GR1348941[A-Za-z0-9_-]{20}",
    r"pul-[a-f0-9]{40}",
    r"sbp_[a-f0-9]{40}",
    r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}",
    r"fm[12]_[A-Za-z0-9+/=]{40,}",
    r"key-(?<![A-Za-z0-9-]key-)[a-f0-9]{32}(?![A-Za-z0-9])",
    r"sntry[su]_[A-Za-z0-9+/=_-]{30,}",
    r"hv[sbr]\.[A-Za-z0-9_-]{24,}",
    r"dapi[a-f0-9]{32}",
    r"glsa_[A-Za-z0-9_]{32,}",
    r"nfp_[A-Za-z0-9]{30,}",
    r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}",
    r"dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9._-]{30,}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,}",
    # Formats without a vendor
    r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]*",
    # A password may hold an unescaped `@`.
    r"://(?P<secret>[^\s/:@'\"<>]{0,100}:[^\s/'\"<>]{1,200})@",
    r"://(?P<secret>(?=[A-Za-z_]{0,100}\d)[A-Za-z0-9_]{20,100})@",
)
# Patterns that begin with a word in any letter case are slow to search for, so that each is tried
# only if one of its words occurs at all.
_LABEL = r"""['"]?\s{0,3}[:=]\s{0,3}['"]?"""
# `$TOKEN`, `<token>` and the like stand for a value.
_VALUE = r"""(?P<secret>[^\s'",;$<{][^\s'",;]{5,})"""
_SCHEME = r"(?:bearer|basic|token|digest|apikey)"
# Eight or more characters with a digit: neither `password: str` nor `password=$PASSWORD`.
_WITH_DIGIT = r"""(?P<secret>(?=[^\s'",;]{0,100}\d)[^\s'",;$<({*]{8,})"""
_LONG_WITH_DIGIT = r"""(?P<secret>(?=[^\s'",;&?]{0,100}\d)[^\s'",;&?$<>({*]{16,})"""
LABELLED = {
    rf"(?i)authorization{_LABEL}{_SCHEME}\s{{1,3}}{_VALUE}": ("authorization",),
    r"(?i)bearer\s{1,3}(?P<secret>[a-z0-9._~+/-]{16,}=*)": ("bearer",),
    rf"(?i)x-(?:api-key|auth-token|access-token){_LABEL}{_VALUE}": ("x-a",),
    rf"(?i)(?:[\w-]-token|(?:api|app|access|auth)-key){_LABEL}{_LONG_WITH_DIGIT}": (
        "-token",
        "-key",
    ),
    rf"(?i)cookie\s{{0,3}}:\s{{1,3}}[^\s=;]{{1,60}}={_LONG_WITH_DIGIT}": ("cookie",),
    rf"(?i)aws_?secret_?(?:access_?)?key{_LABEL}(?P<secret>[a-z0-9/+=]{{40}})": ("aws",),
    # On a command line.
    r"(?i)--(?:[a-z]+-){0,3}(?:password|passwd|passphrase|token|secret|(?:api|access|secret)-?key)"
    rf"\s{{1,3}}['\"]?{_WITH_DIGIT}": ("--",),
    r"(?i)(?<=\s)(?:-u|--user|--proxy-user)[\s=]{0,3}['\"]?[a-z][^\s:'\"$]{0,100}:"
    r"(?P<secret>[^\s'\"$]{6,})": ("curl",),
    r"(?i)\blogin\s{1,3}\S{1,100}\s{1,3}password\s{1,3}(?P<secret>\S{4,})": ("login",),
    # In the query of a URL.
    r"(?i)[?&](?:sig|key|auth|code|x-amz-(?:signature|security-token)|signature|(?:\w{1,30}_)?token"
    rf"|(?:\w{{1,30}}_)?secret|api_?key)={_LONG_WITH_DIGIT}": ("?", "&"),
}
# Fields that hold a secret: `client_secret: …`, also as `clientSecret` and `client-secret`.
FIELDS = (
    *("password", "passwd", "passphrase", "secret key", "secret access key", "client secret"),
    *("api key", "access token", "auth token", "session token", "refresh token", "id token"),
)
# `DB_PASSWORD=…` or `DB_PASSWORD: …`, as in a script, in YAML or a listing of the environment.
_ASSIGNMENT = regex(
    r"""(?<![\w$-])(?P<name>[A-Z][A-Z0-9_]{2,60})(?:=|:[ ])['"]?(?P<secret>[^\s'";$<({*]{8,})"""
)
# One of them is in the name of each variable that holds a secret.
_WORDS_OF_NAMES = ("token", "secret", "pass", "pw", "cred", "key", "dsn", "bearer", "jwt", "conn")
# A short word, as of the vendor, in front of many random letters and digits. A hash is none.
_RANDOM_TOKEN = regex(
    r"[_-](?=[A-Za-z0-9]{32})(?<=[a-z0-9].)(?<!sha1.)(?<!sha256.)(?<!sha384.)(?<!sha512.)"
    r"(?P<secret>[A-Za-z0-9]{32,200})(?![A-Za-z0-9])"
)


def _plain_start(pattern: str) -> str:
    plain = re.match(r"[\w:/-]+(?![?*+{])", pattern)
    return plain[0] if plain else ""


def _field_names(field: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(field.replace(" ", between) for between in ("", "_", "-")))


def _field_pattern(field: str) -> str:
    name = field.replace(" ", "[_-]?")
    return rf"""(?i){name}['"]?\s{{0,3}}(?:=|:\s)\s{{0,3}}['"]?{_WITH_DIGIT}"""


# A pattern is compiled and tried only where the plain characters it starts with occur.
_PATTERNS = tuple((_plain_start(pattern), regex(pattern)) for pattern in PATTERNS)
_LABELLED = (
    *((words, regex(pattern)) for pattern, words in LABELLED.items()),
    *((_field_names(field), regex(_field_pattern(field))) for field in FIELDS),
)
# Longer texts are rarely masked twice.
_SHORT = 500


class MaskError(ValueError):
    """A pattern of the project is not a regular expression; the message is one line."""


class Masker:
    """Masks the secrets of one environment and all known formats.

    `extra` holds regular expressions of the project's own.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, extra: Iterable[str] = ()) -> None:
        # The longest first, so that a value that begins with another one is masked as a whole.
        self._spellings: list[Spelling] = []
        self._extra = [_compiled(pattern) for pattern in extra]
        self.learn(environ)

    def learn(self, environ: Mapping[str, str]) -> None:
        """Mask the secrets of another environment, too."""
        spellings = set(self._spellings)
        for value in secret_values(environ):
            spellings.update(spellings_of(value.strip()))
        self._spellings = sorted(spellings, key=lambda one: len(one.pattern), reverse=True)
        # Every prompt repeats the names of the tasks that are done.
        self._mask_short = lru_cache(1024)(self._mask_text)

    def mask(self, text: str) -> str:
        """Return `text` with each secret replaced by `***`.

        Text with escapes loses them if they stand in the middle of a secret.
        """
        if len(text) < _SHORT:
            return self._mask_short(text)
        return self._mask_text(text)

    def _mask_text(self, text: str) -> str:
        """Mask a text, and look again without the escapes that may interrupt a secret."""
        masked = self._mask(text)
        if "\x1b" not in masked:
            return masked
        plain = ESCAPES.sub("", masked)
        masked_plain = self._mask(plain)
        if masked_plain == plain:
            return masked
        return masked_plain

    def _mask(self, text: str) -> str:
        """Mask private keys, what is known of this environment, and all formats."""
        if KEY_BEGIN in text:
            text = mask_private_keys(text)
        # Looking for each of them is faster than one pattern for all.
        present = [spelling.pattern for spelling in self._spellings if spelling.anchor in text]
        if present:
            text = re.sub("|".join(present), MASK, text)

        lowered = text.lower()
        patterns = [pattern for start, pattern in _PATTERNS if start in text]
        patterns += self._extra
        for words, pattern in _LABELLED:
            if any(word in lowered for word in words):
                patterns.append(pattern)
        for pattern in patterns:
            text = pattern.sub(_masked, text)
        if any(word in lowered for word in _WORDS_OF_NAMES):
            text = _ASSIGNMENT.sub(_masked_assignment, text)
        return _RANDOM_TOKEN.sub(_masked_token, text)


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise MaskError(f"not a regular expression: {pattern} ({error})") from None


def _masked(match: re.Match[str]) -> str:
    """Mask the group `secret` of a match if it has one, else all of it."""
    if match.groupdict().get("secret") is None:
        return MASK
    before = match.string[match.start() : match.start("secret")]
    after = match.string[match.end("secret") : match.end()]
    return f"{before}{MASK}{after}"


def _masked_assignment(match: re.Match[str]) -> str:
    value = match["secret"]
    has_digit = any(map(str.isdigit, value))
    if has_digit and is_secret_name(match["name"]) and is_worth_hiding(value):
        return _masked(match)
    return match[0]


def _masked_token(match: re.Match[str]) -> str:
    if _is_random(match["secret"]):
        return _masked(match)
    return match[0]


def _is_random(text: str) -> bool:
    """Return whether letters and digits are mixed as chance does, and no writer of names."""
    kinds = list(map(_kind, text))
    if len(set(kinds)) < 3:
        return False
    changes = sum(one != other for one, other in itertools.pairwise(kinds))
    return changes >= 0.45 * len(text)


def _kind(character: str) -> str:
    if character.isdigit():
        return "digit"
    if character.isupper():
        return "upper"
    return "lower"
