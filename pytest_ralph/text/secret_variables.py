"""Which values of environment variables are secret."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Names whose values are secret whatever they look like.
_SECRET_NAME = regex(
    r"(?:^|_) (?: \w*TOKEN | \w*SECRETS? | \w*PASSWO?R?D | PASSPHRASE | PASSCODE"
    r" | \w*PWD | \w*PW | PSK | CREDENTIALS? | CREDS?"
    r" | \w*(?<!COM)(?<!BY)(?<!SUR)(?<!TRES)(?<!MULTI)PASS"
    r" | \w*(?:API|SECRET|PRIVATE|ACCESS|SIGNING|ENCRYPTION|MASTER|AUTH|ACCOUNT|SSH|DEPLOY"
    r"|ENC|DECRYPTION|AES|HMAC|UNSEAL|WALLET)_?KEY"
    r" | DSN | BEARER | JWT | CONN(?:ECTION)?_?STR(?:ING)? | DATABASE_URL ) (?:_|\d|$)",
    re.IGNORECASE | re.VERBOSE,
)
# Names that are used for other things as well, such as SORT_KEY=completed.
_VAGUE_NAME = regex(
    r"(?:^|_)(?:\w*(?<!MON)(?<!TUR)(?<!HOT)(?<!WHIS)KEY|(?:BASIC|HTTP|NPM|PROXY)?AUTH|AUTHORIZATION"
    r"|PAT|PRIVATE|COOKIE|SALT|SIGNING|SK|OTP|PIN|MNEMONIC)(?:_|\d|$)",
    re.IGNORECASE,
)
_ORDINARY_WORD = regex(r"[A-Z]?[a-z]+(?:_[a-z]+)*|[A-Z]+(?:_[A-Z]+)*")
# A variable is what its last word says: TOKEN_LIMIT is a limit, and API_KEY_FILE a file. These are
# where a secret is or how it is used.
_HARMLESS_NAME = regex(
    r"^(?:OLD)?PWD$|(?:^|_)(?:PUBLIC|SORT|PRIMARY|FOREIGN|PARTITION|CACHE|ROUTING|HOT)_?KEYS?(?:_|$)"
    r"|_(?:FILE|PATH|DIR|NAME|ID|SOCK|SOCKET|TYPE|METHOD|ALGORITHM|HOST|PORT|TTL|EXPIRY|EXPIRES"
    r"|EXPIRES_(?:IN|AT)|TIMEOUT|LENGTH|SIZE|LIMIT|COUNT|RATE|AGE|LIFETIME|SECONDS|BITS|HELPER"
    r"|SERVER|SERVICE|NETWORK|SUBNETS?|CIDR|IP|ADDRESS|REGISTRY|VERSIONS"
    r"|CLASS|BACKEND|PROVIDER|STORE|HASHERS?|DOMAIN|REGION|MODE|SAMESITE|PREFIX|SUFFIX|FORMAT"
    r"|POLICY|HEADER|VERSION|ENDPOINT|ISSUER|AUDIENCE|SCOPES?|FIELD|COLUMN|LEVEL"
    r"|(?<!DATABASE_)UR[IL])$",
    re.IGNORECASE,
)
SHORTEST = 6
_TRIVIAL = regex(
    r"(?i)true|false|none|null|yes|no|on|off|enabled|disabled|default|secret|password|passwd|token"
    r"|changeme|test\w*|example|localhost|postgres|root|admin|user|guest|dummy|\d{1,7}|(.)\1*"
    # All private keys begin and end with the same lines, by which they are found.
    r"|-----(?:BEGIN|END) [\s\S]*-----"
)
# The name of a file in a path with lower case, upper case and a digit.
_RANDOM = regex(r"(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[\w+=]{12,}")
_URL_PASSWORD = regex(r"://[^\s/:@]*:(?P<password>[^\s/@]+)@")


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name holds a secret, whatever its value looks like."""
    return _HARMLESS_NAME.search(name) is None and _SECRET_NAME.search(name) is not None


def secret_values(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables that are named like a secret and cannot be guessed.

    Also the passwords of URLs, and secrets in JSON such as the credentials of a service.
    """
    for name, value in environ.items():
        yield from _passwords_of_urls(value)
        if value.startswith("{"):
            yield from _secrets_in_json(value)
        yield from _parts(name, value)


def is_worth_hiding(value: str) -> bool:
    """Return whether a value cannot be guessed: neither short, nor a path, nor a common word."""
    if len(value) < SHORTEST or _is_path(value):
        return False
    return _TRIVIAL.fullmatch(value) is None


def _parts(name: str, value: str) -> Iterator[str]:
    """Yield the value of a variable and each of its lines, as far as they are secret."""
    if _HARMLESS_NAME.search(name):
        return
    is_secret = _SECRET_NAME.search(name) is not None
    if not is_secret and not _VAGUE_NAME.search(name):
        return
    for part in {value, *value.splitlines()}:
        stripped = part.strip()
        if not is_secret and _ORDINARY_WORD.fullmatch(stripped):
            # The value of a name that is used for other things as well.
            continue
        if is_worth_hiding(stripped):
            yield part


def _passwords_of_urls(value: str) -> Iterator[str]:
    """Yield the passwords in URLs, also as they are outside of URLs."""
    for url in _URL_PASSWORD.finditer(value):
        # Imported here: few variables hold such URLs.
        from urllib.parse import unquote

        for password in {url["password"], unquote(url["password"])}:
            if is_worth_hiding(password):
                yield password


def _secrets_in_json(value: str) -> Iterator[str]:
    """Yield the secrets of a JSON object, by the names of its members."""
    import json

    try:
        members = json.loads(value)
    except (ValueError, RecursionError):
        return
    waiting = [("", members)]
    while waiting:
        name, member = waiting.pop()
        if isinstance(member, dict):
            waiting += member.items()
        elif isinstance(member, list):
            waiting += [(name, element) for element in member]
        elif isinstance(member, str):
            yield from _parts(name, member)


def _is_path(value: str) -> bool:
    """Return whether a value is the path of a file. A secret of AWS may begin with a slash too."""
    if value.startswith(("./", "~")):
        return True
    if not value.startswith("/"):
        return False
    looks_random = any(map(_RANDOM.fullmatch, value.split("/")))
    return not looks_random or os.path.exists(value)  # noqa: PTH110 - False for what is no path
