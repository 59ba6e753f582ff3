"""Mask secrets in text.

The values of environment variables with a name like `API_TOKEN` are masked, and everything that
has the format of a well-known credential, also where terminal escapes interrupt it.
"""

from __future__ import annotations

import binascii
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_ralph.text.inert import ESCAPES
from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Names whose values are secret whatever they look like.
_SECRET_NAME = regex(
    r"(?:^|_) (?: \w*TOKEN | \w*SECRETS? | \w*PASSWO?R?D | PASSPHRASE | PWD | CREDENTIALS? | CREDS?"
    r" | \w*(?<!COM)(?<!BY)(?<!SUR)(?<!TRES)PASS"
    r" | \w*(?:API|SECRET|PRIVATE|ACCESS|SIGNING|ENCRYPTION|MASTER|AUTH|ACCOUNT|SSH|DEPLOY)_?KEY"
    r" | DSN | BEARER | CONNECTION_STRING | DATABASE_URL ) (?:_|\d|$)",
    re.IGNORECASE | re.VERBOSE,
)
# Names that are used for other things as well, such as SORT_KEY=completed.
_VAGUE_NAME = regex(
    r"(?:^|_)(?:KEY|AUTH|PAT|PRIVATE|COOKIE|SALT)(?:_|\d|$)",
    re.IGNORECASE,
)
_ORDINARY_WORD = regex(r"[A-Z]?[a-z]+(?:_[a-z]+)*|[A-Z]+(?:_[A-Z]+)*")
# The values of these say where a secret is or how it is used, and are not secret.
_HARMLESS_NAME = regex(
    r"^(?:OLD)?PWD$|_(?:FILE|PATH|DIR|NAME|ID|SOCK|SOCKET|TYPE|METHOD|ALGORITHM|HOST|PORT|TTL"
    r"|EXPIRY"
    r"|TIMEOUT|LENGTH|HELPER)$",
    re.IGNORECASE,
)
SHORTEST = 6
_TRIVIAL = regex(
    r"(?i)true|false|none|null|yes|no|on|off|enabled|disabled|default|secret|password|passwd|token"
    r"|changeme|test\w*|example|localhost|postgres|root|admin|user|guest|dummy|\d{1,7}|(.)\1*"
)

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
    r"lin_api_[A-Za-z0-9]{30,}",
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
    r"://(?P<secret>[^\s/:@'\"<>]{0,100}:[^\s/@'\"<>]{1,200})@",
)
# Patterns that begin with a word in any letter case are slow to search for, so that each is tried
# only if one of its words occurs at all.
_LABEL = r"""['"]?\s{0,3}[:=]\s{0,3}['"]?"""
_VALUE = r"""(?P<secret>[^\s'",;]{6,})"""
_SCHEME = r"(?:bearer|basic|token|digest|apikey)"
LABELLED = {
    rf"(?i)authorization{_LABEL}{_SCHEME}\s{{1,3}}{_VALUE}": ("authorization",),
    r"(?i)bearer\s{1,3}(?P<secret>[a-z0-9._~+/-]{16,}=*)": ("bearer",),
    rf"(?i)x-(?:api-key|auth-token|access-token){_LABEL}{_VALUE}": ("x-a",),
    rf"(?i)aws_?secret_?(?:access_?)?key{_LABEL}(?P<secret>[a-z0-9/+=]{{40}})": ("aws",),
    # A value of eight or more characters with a digit: neither `password: str` nor
    # `password=$PASSWORD`.
    r"(?i)(?:password|passwd|secret[_-]?key|client[_-]?secret|api[_-]?key|access[_-]?token"
    r"|auth[_-]?token)['\"]?\s{0,3}(?:=|:\s)\s{0,3}['\"]?"
    r"(?P<secret>(?=[^\s'\",;]{0,100}\d)[^\s'\",;$<({*]{8,})": ("passw", "api", "secret", "token"),
}


def _plain_start(pattern: str) -> str:
    plain = re.match(r"[\w:/-]+(?![?*+{])", pattern)
    return plain[0] if plain else ""


# A pattern is compiled and tried only where the plain characters it starts with occur.
_PATTERNS = tuple((_plain_start(pattern), regex(pattern)) for pattern in PATTERNS)
_LABELLED = tuple((word, regex(pattern)) for pattern, words in LABELLED.items() for word in words)
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
        self._spellings: list[str] = []
        self._extra = [_compiled(pattern) for pattern in extra]
        self.learn(environ)

    def learn(self, environ: Mapping[str, str]) -> None:
        """Mask the secrets of another environment, too."""
        spellings = set(self._spellings)
        for value in secret_values(environ):
            spellings |= spellings_of(value.strip())
        self._spellings = sorted(spellings, key=len, reverse=True)
        # Every prompt repeats the names of the tasks that are done.
        self._mask_short = lru_cache(1024)(self._mask_text)

    def mask(self, text: str) -> str:
        """Return `text` with each secret replaced by `***`.

        Text with escapes loses them if they stand in the middle of a secret.
        """
        return self._mask_short(text) if len(text) < _SHORT else self._mask_text(text)

    def _mask_text(self, text: str) -> str:
        """Mask a text, and look again without the escapes that may interrupt a secret."""
        masked = self._mask(text)
        if "\x1b" not in masked:
            return masked
        plain = ESCAPES.sub("", masked)
        masked_plain = self._mask(plain)
        return masked if masked_plain == plain else masked_plain

    def _mask(self, text: str) -> str:
        """Mask what is known of this environment, private keys, and all formats."""
        # Looking for each of them is faster than one pattern for all.
        present = [spelling for spelling in self._spellings if spelling in text]
        if present:
            text = re.sub("|".join(map(re.escape, present)), MASK, text)
        if KEY_BEGIN in text:
            text = mask_private_keys(text)

        lowered = text.lower()
        known = [pattern for start, pattern in _PATTERNS if start in text]
        labelled = dict.fromkeys(pattern for word, pattern in _LABELLED if word in lowered)
        for pattern in (*known, *self._extra, *labelled):
            text = pattern.sub(_masked, text)
        return text


# Variables


def secret_values(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables that are named like a secret and cannot be guessed."""
    for name, value in environ.items():
        if _HARMLESS_NAME.search(name):
            continue
        is_secret = _SECRET_NAME.search(name) is not None
        if not is_secret and not _VAGUE_NAME.search(name):
            continue
        for part in {value, *value.splitlines()}:
            stripped = part.strip()
            if not is_secret and _ORDINARY_WORD.fullmatch(stripped):
                continue
            if _is_worth_hiding(stripped):
                yield part


def _is_worth_hiding(value: str) -> bool:
    if len(value) < SHORTEST or _is_path(value):
        return False
    return _TRIVIAL.fullmatch(value) is None


def _is_path(value: str) -> bool:
    """Return whether a value is the path of a file. A secret of AWS may begin with a slash too."""
    if value.startswith(("./", "~")):
        return True
    if not value.startswith("/"):
        return False
    looks_random = any(map(_RANDOM.fullmatch, value.split("/")))
    return not looks_random or _exists(value)


# With lower case, upper case and a digit.
_RANDOM = regex(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w+=]{12,}")


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)  # noqa: PTH110 - also for what is no path
    except ValueError:
        return False


def spellings_of(value: str) -> set[str]:
    """Return a value as programs print it: as it is, quoted, and encoded.

    The encodings are those of JSON, XML, HTML, URLs and base64.
    """
    spellings = {value, *_in_base64(value.encode("utf-8", "surrogateescape"))}
    if value.isalnum():
        return spellings
    # Imported here: most values of variables need no other spelling.
    import html
    import json
    import shlex
    from urllib.parse import quote, quote_plus

    escaped = html.escape(value, quote=False)
    in_json = json.dumps(value)[1:-1]
    return spellings | {
        repr(value)[1:-1],
        value.encode("unicode_escape").decode("ascii"),
        value.replace("\\", "\\\\").replace("'", "\\'"),
        value.replace("\\", "\\\\").replace('"', '\\"'),
        in_json,
        in_json.replace("/", "\\/"),
        json.dumps(value, ensure_ascii=False)[1:-1],
        escaped,
        escaped.replace('"', "&quot;"),
        html.escape(value),
        html.escape(value).replace("&#x27;", "&#39;"),
        html.escape(value).replace("&#x27;", "&apos;"),
        html.escape(value).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        quote(value),
        quote(value, safe=""),
        quote(value, safe="!*'()"),
        quote_plus(value),
        re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), quote(value, safe="")),
        shlex.quote(value).removeprefix("'").removesuffix("'"),
    }


def _in_base64(value: bytes) -> Iterator[str]:
    """Yield a value in base64, as it is inside a longer text that is encoded as a whole.

    Three bytes are four characters, so that there are three ways. The characters at both ends that
    also depend on what surrounds the value are left out.
    """
    for shift, start in enumerate((0, 2, 3)):
        encoded = binascii.b2a_base64(b"\0" * shift + value, newline=False).decode()
        whole = encoded[start : (shift + len(value)) * 8 // 6]
        yield whole
        yield whole.replace("+", "-").replace("/", "_")


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise MaskError(f"not a regular expression: {pattern} ({error})") from None


def _masked(match: re.Match[str]) -> str:
    """Mask the group `secret` of a match if it has one, else all of it."""
    if "secret" not in match.re.groupindex or match["secret"] is None:
        return MASK
    before = match.string[match.start() : match.start("secret")]
    after = match.string[match.end("secret") : match.end()]
    return f"{before}{MASK}{after}"


# What stands in place of a secret.
MASK = "***"
KEY_BEGIN = "-----BEGIN "
_PRIVATE_KEY = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# From the first line of a key up to its last one, or to the next key or the end of the text.
_KEY = regex(
    rf"(?P<begin>-----BEGIN {_PRIVATE_KEY})"
    rf"(?P<secret>(?:[^-]+|-(?!----(?:BEGIN|END) {_PRIVATE_KEY}))*)"
    r"(?P<end>-----END )?"
)
# A line of a key, or one of its headers, perhaps in a diff, a quotation or a traceback.
_KEY_LINE = regex(
    r"[^\w/=]{0,20}"
    r"(?:[A-Za-z0-9+/=]{1,120}|(?:Proc-Type|DEK-Info|Comment|Version|Hash)\s*:.*)[^\w/=]{0,20}"
)
_LONGEST_KEY_LINE = 300
# A key in a string literal, with its line ends escaped.
_ESCAPED_KEY = regex(r"(?:[A-Za-z0-9+/=]|\\[nr])+")
# RSA keys of 16,384 bits have 270 lines.
_MOST_KEY_LINES = 400


def mask_private_keys(text: str) -> str:
    """Mask what stands between the first and the last line of a private key.

    The last line may be missing, because the output was cut off.
    """
    return _KEY.sub(_with_mask, text)


def _with_mask(key: re.Match[str]) -> str:
    """Mask a private key up to its last line, or as far as its lines look like those of one."""
    secret = key["secret"]
    if key["end"]:
        return f"{key['begin']}{_masked_key(secret)}{key['end']}"
    end = _end_of_key(secret)
    return f"{key['begin']}{_masked_key(secret[:end])}{secret[end:]}"


def _masked_key(secret: str) -> str:
    """Return the mask with the line ends around it, and what precedes the last line of the key."""
    if not secret.strip():
        return secret
    first = "\n" if secret.startswith(("\n", "\r\n")) else ""
    _, line_break, last_line = secret.rpartition("\n")
    if not line_break or re.search(r"\w", last_line):
        return f"{first}{MASK}"
    return f"{first}{MASK}\n{last_line}"


def _end_of_key(text: str) -> int:
    """Return where the lines end that look like those of a key."""
    on_one_line = _ESCAPED_KEY.match(text)
    position = on_one_line.end() if on_one_line else 0
    for line in text[position:].split("\n", _MOST_KEY_LINES)[:_MOST_KEY_LINES]:
        content = line[:_LONGEST_KEY_LINE].strip()
        if content and _KEY_LINE.fullmatch(content) is None:
            break
        position += len(line) + 1
    return min(position, len(text))


def open_key(text: str) -> int:
    """Return where the private key begins that does not end in `text`; -1 if there is none."""
    last = None
    for key in _KEY.finditer(text):
        last = key
    return -1 if last is None or last["end"] else last.start()
