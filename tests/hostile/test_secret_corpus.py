"""Each secret of the corpus is masked wherever text is stored or shown; ordinary words are not.

All secrets are made here and now, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import html
import json
import random
import re
import string
from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, quote_plus
from xml.sax.saxutils import escape, quoteattr

import pytest

from pytest_ralph.results import FREE_TEXT, Attempt, FixResult, Note, TaskResult
from pytest_ralph.running.spool import SpoolWriter, mask_file
from pytest_ralph.text.secrets import Masker
from tests.records import record_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LETTERS = (string.ascii_letters + string.digits) * 4
UPPER = "ABCDEFGH23456789" * 4
HEX = "0123456789abcdef" * 8
# Letters and digits as chance mixes them, the same each time.
RANDOM = "".join(random.Random(7).choices(string.ascii_letters + string.digits, k=60))


class Secret(NamedTuple):
    """A text that a program printed, and the part of it that must not be seen."""

    text: str
    part: str
    environ: dict[str, str] = {}  # noqa: RUF012 - never changed


# What a token begins with, and the characters it goes on with.
TOKENS = [
    *[(f"gh{letter}_", LETTERS[:36]) for letter in "opsur"],
    ("github_pat_", LETTERS[:60]),
    *[(f"gl{kind}-", LETTERS[:20]) for kind in ("pat", "oas", "dt", "rt", "cbt", "ptt", "ft")],
    *[(f"A{kind}", UPPER[:16]) for kind in ("KIA", "SIA", "BIA", "CCA", "ROA", "IDA")],
    ("AIza", LETTERS[:35]),
    ("ya29.", LETTERS[:40]),
    ("GOCSPX-", LETTERS[:28]),
    ("AccountKey=", LETTERS[:60]),
    *[(f"do{letter}_v1_", HEX[:64]) for letter in "op"],
    *[(f"sk-{kind}-", LETTERS[:40]) for kind in ("ant", "proj", "svcacct", "admin", "or")],
    ("sk-", LETTERS[:48]),
    ("hf_", LETTERS[:34]),
    ("gsk_", LETTERS[:50]),
    ("xai-", LETTERS[:60]),
    ("r8_", LETTERS[:37]),
    *[(f"xox{letter}-", "123456789012-" + LETTERS[:24]) for letter in "abeprs"],
    ("xapp-1-", LETTERS[:40]),
    ("SG." + LETTERS[:22] + ".", LETTERS[:43]),
    *[
        (f"{kind}_{mode}_", LETTERS[:24])
        for kind in ("sk", "rk", "pk")
        for mode in ("live", "test")
    ],
    ("whsec_", LETTERS[:32]),
    ("SK", HEX[:32]),
    ("123456789:AA", LETTERS[:33]),
    ("npm_", LETTERS[:36]),
    ("pypi-", LETTERS[:80]),
    *[(f"dckr_{letter}at_", LETTERS[:27]) for letter in "po"],
    ("rubygems_", HEX[:48]),
    ("cio", LETTERS[:32]),
    *[(f"shp{kind}_", HEX[:32]) for kind in ("at", "ca", "pa", "ss")],
    ("lin_api_", LETTERS[:40]),
    ("sntrys_", LETTERS[:60]),
    *[(f"hv{letter}.", LETTERS[:24]) for letter in "sbr"],
    ("dapi", HEX[:32]),
    ("glsa_", LETTERS[:40]),
    ("nfp_", LETTERS[:40]),
    ("PMAK-", HEX[:24] + "-" + HEX[:34]),
    ("dp.pt.", LETTERS[:40]),
    ("AGE-SECRET-KEY-1", UPPER[:58]),
    ("eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:30] + ".", LETTERS[:43]),
    ("https://hooks.slack.com/services/", "T0000000/B0000000/" + LETTERS[:24]),
    ("https://discord.com/api/webhooks/123456/", LETTERS[:60]),
    ("postgres://admin:", "hunter2-x9@db.example.org/x"),
    ("Authorization: Bearer ", LETTERS[:24]),
    ("X-Api-Key: ", LETTERS[:24]),
    ("password=", "hunter22x" + LETTERS[:10]),
    ("client_secret: ", "abc12345" + LETTERS[:10]),
    ("aws_secret_access_key = ", "/" + LETTERS[:39]),
    ('"SecretAccessKey": "', RANDOM[:40]),
    ('"SessionToken": "', RANDOM[:60]),
    ("pplx-", LETTERS[:48]),
    ("lsv2_pt_", HEX[:32] + "_" + HEX[:10]),
    ("lin_oauth_", LETTERS[:40]),
    ("ATATT3xFfGF0", LETTERS[:60]),
    ("GR1348941", LETTERS[:20]),
    ("pul-", HEX[:40]),
    ("sbp_", HEX[:40]),
    ("sq0csp-", LETTERS[:43]),
    ("FlyV1 fm2_", LETTERS[:60]),
    ("key-", HEX[:32]),
    # Of a vendor that nobody knows yet
    ("figd_", RANDOM[:40]),
    ("newcorp-", RANDOM[:40]),
    ("DB_PASSWORD=", "Zq7xLmN2pR8"),
    ("DBPWD=", "Zq7xLmN2pR8"),
    ("AES_KEY=", "Zq7xLmN2pR8"),
    ("export GITHUB_TOKEN='", "Zq7xLmN2pR8abcd"),
    ("tool --password ", "Zq7xLmN2pR8"),
    ("tool --access-token ", "Zq7xLmN2pR8"),
    ("curl -sS -u admin:", "Zq7xLmN2pR8"),
    ("machine example.org login me password ", "Zq7xLmN2pR8"),
    ("Cookie: sessionid=", RANDOM[:32]),
    ("PRIVATE-TOKEN: ", RANDOM[:20]),
    ("DD-API-KEY: ", HEX[:32]),
    ("https://s3.example.org/b/k?X-Amz-Expires=3600&X-Amz-Signature=", HEX[:64]),
    ("https://x.example.org/c?sv=2020-08-04&sig=", RANDOM[:40]),
    ("GET /?key=", RANDOM[:39]),
    ("https://", RANDOM[:40] + "@github.com/a/b"),
]
NAMES = [
    *("LDAP_BIND_PW", "SMTP_PASSCODE", "SESSIONKEY", "CRYPTKEY", "CI_JOB_JWT", "STRIPE_SK"),
    *("WEBHOOK_SIGNING", "dbPassword", "clientSecret", "TF_VAR_db_password", "SECRET_KEY_BASE"),
    *("SECRETKEY", "DBPASS", "PRIVATEKEY", "MYSQLPASS", "ACCESSKEY", "APIKEY", "AUTHKEY"),
    *("GITHUB_TOKEN", "NPM_TOKEN", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "REDIS_PASS"),
    *("GPG_PASSPHRASE", "AWS_SECRET_ACCESS_KEY", "GOOGLE_CREDENTIALS", "SENTRY_DSN", "GH_PAT"),
    *("BASIC_AUTH", "SESSION_COOKIE", "CLIENTSECRET", "SIGNING_KEY", "ENCRYPTION_KEY", "KEY2"),
    *("DBPWD", "MYSQLPWD", "ROOTPW", "ADMINPW", "CONNSTR", "CONNECTIONSTRING", "WIFI_PSK"),
    *("BASICAUTH", "NPMAUTH", "HTTP_AUTHORIZATION", "AES_KEY", "ENCKEY", "VAULT_UNSEAL_KEY"),
    *("password", "api_key", "SMTP_PASS", "SSH_PRIVATE_KEY", "DEPLOY_KEY", "DATABASE_URL"),
]
# Values with characters that programs print in other ways.
AWKWARD = [
    "it's-a-s3cret",
    'say-"s3cret"-now',
    "back\\slash\\s3cret",
    "a&b&s3cret&c",
    "<s3cret>/tag",
    "s3cret with space+plus",
    "s3cr€t-ünïcode-x",
    "mixed'\"\\&<>s3cret",
    "/aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7+",
]
GO_ESCAPES = re.compile("[<>&]")


def _go_escape(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "repr": repr,
    "json": json.dumps,
    "json with all letters": lambda value: json.dumps(value, ensure_ascii=False),
    "xml": escape,
    "xml attribute": quoteattr,
    "html": html.escape,
    "url": lambda value: quote(value, safe=""),
    "path of a url": quote,
    "form": quote_plus,
    "json of go": lambda value: GO_ESCAPES.sub(_go_escape, json.dumps(value)),
    "json in json": lambda value: json.dumps(json.dumps({"x": value})),
    "json in html": lambda value: html.escape(json.dumps(value)),
    "bytes": lambda value: repr(value.encode()),
    "yaml": lambda value: "'" + value.replace("'", "''") + "'",
    "shell trace": lambda value: "'" + value.replace("'", "'\\''") + "'",
    "shell declaration": lambda value: re.sub(r'(["\\$`])', r"\\\1", value),
    "url twice": lambda value: quote(quote(value, safe=""), safe=""),
    "hex": lambda value: value.encode().hex(),
    "base64": lambda value: b64encode(value.encode()).decode(),
    "base64 of a line": lambda value: b64encode(f"{value}\n".encode()).decode(),
    "base64 with a user": lambda value: urlsafe_b64encode(f"user:{value}".encode()).decode(),
    "coloured": lambda value: f"{value[:4]}\x1b[0m{value[4:]}",
}
# A part of the spelling, where the rest says nothing about the value or is shown in another way.
PARTS: dict[str, Callable[[str], str]] = {
    "repr": lambda printed: printed[1:-1],
    "json": lambda printed: printed[1:-1],
    "json of go": lambda printed: printed[1:-1],
    "json in json": lambda printed: printed[11:-4],
    "json in html": lambda printed: printed[6:-6],
    "bytes": lambda printed: printed[2:-1],
    "yaml": lambda printed: printed[1:-1],
    "shell trace": lambda printed: printed[1:-1],
    "xml attribute": lambda printed: printed[1:-1],
    "base64": lambda printed: printed[:-4],
    "base64 of a line": lambda printed: printed[:-4],
    "base64 with a user": lambda printed: printed[8:-4],
    "coloured": lambda printed: printed.partition("m")[2],
}
BODY = [LETTERS[number : number + 64] for number in range(40)]
KEY = [f"-----BEGIN {'RSA'} PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"]
WITH_HEADERS = [KEY[0], "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0A1B2C", "", *KEY[1:]]
KEYS = {
    "key": "\n".join(KEY),
    "headers": "\n".join(WITH_HEADERS),
    "diff": "\n".join(f"+{line}" for line in WITH_HEADERS),
    "removed in a diff": "\n".join(f"-{line}" for line in KEY),
    "quoted": "\n".join(f"E   > {line}" for line in KEY),
    "cut off": "\n".join(WITH_HEADERS[:-1]),
    "cut off with numbers": "\n".join(
        f"{number:4} | {line}" for number, line in enumerate(KEY[:-1])
    ),
    "cut off of a search": "\n".join(f"a/key.pem:{line}" for line in KEY[:-1]),
    "cut off with times": "\n".join(f"2026-01-01T00:00:00Z {line}" for line in KEY[:-1]),
    "Windows": "\r\n".join(KEY),
    "string": repr("\n".join(KEY)),
    "json": json.dumps("\n".join(KEY)),
}


def corpus() -> Iterator[tuple[str, Secret]]:
    for start, rest in TOKENS:
        yield start, Secret(f"got {start}{rest} here", rest.partition("@")[0][-10:])
    for start, rest in TOKENS[:5]:
        # As `grep --color=always` prints it.
        text = f"got \x1b[01;31m\x1b[K{start}\x1b[m\x1b[K{rest} here"
        yield f"{start} that grep found", Secret(text, rest[-10:])
    for name in NAMES:
        yield name, Secret("it is xyzzy-plugh-7 !", "xyzzy-plugh-7", {name: "xyzzy-plugh-7"})
    for value in AWKWARD:
        for spelling, spell in SPELLINGS.items():
            printed = spell(value)
            part = PARTS.get(spelling, str)(printed)
            secret = Secret(f"x={printed};", part, {"SERVICE_TOKEN": value})
            yield f"{spelling} of {value}", secret
    for name, text in KEYS.items():
        for number in (0, 20, 39):
            yield f"line {number} of {name}", Secret(f"before\n{text}\nafter", BODY[number][10:50])


CORPUS = dict(corpus())


def _log(masker: Masker, text: str, path: Path, size: int) -> str:
    """Return the log, and all live rows, of a program that prints `text` in small pieces."""
    writer = SpoolWriter(path, mask=masker.mask)
    rows = []
    data = text.encode() + b"\n"
    lines = data.splitlines(keepends=True) if size == 0 else []
    chunks = lines or [data[start : start + size] for start in range(0, len(data), size)]
    for chunk in chunks:
        writer.write(chunk)
        writer.flush()
        if chunk.endswith(b"\n"):
            rows.append(writer.last_line())
    writer.close()
    return path.read_text(encoding="utf-8") + "\n".join(rows)


def _junit(masker: Masker, text: str, path: Path) -> str:
    path.write_text(text, encoding="utf-8")
    mask_file(path, masker.mask)
    return path.read_text(encoding="utf-8")


def _result(masker: Masker, text: str) -> str:
    free_text: dict[str, Any] = dict.fromkeys(FREE_TEXT, text)
    attempt = Attempt(**free_text)
    inner = FixResult("1.1.1.1", title=text, executor=text)
    fix = FixResult("1.1.1", title=text, executor=text, children=(inner,))
    texts: dict[str, Any] = dict.fromkeys(("title", "phase", "reason", "report"), text)
    result = TaskResult("1.1", attempts=(attempt,), fixes=(fix,), notes=(Note(text),), **texts)
    return str(result.masked(masker.mask))


def _history(masker: Masker, text: str) -> str:
    facts = dict.fromkeys(("error", "approach", "command", "executor"), text)
    record = record_of("run", 1.0, "demo", "1.1", **facts)
    return str(record.row(masker.mask))


SINKS: dict[str, Callable[[Masker, str, Path], str]] = {
    "text": lambda masker, text, _: masker.mask(text),
    "log by lines": lambda masker, text, path: _log(masker, text, path, 0),
    "log at once": lambda masker, text, path: _log(masker, text, path, 1 << 20),
    "JUnit file": _junit,
    "result": lambda masker, text, _: _result(masker, text),
    "history": lambda masker, text, _: _history(masker, text),
}


def test_the_corpus_is_large() -> None:
    assert len(CORPUS) >= 150


@pytest.mark.parametrize("sink", SINKS)
def test_no_secret_gets_through(tmp_path: Path, sink: str) -> None:
    seen = []
    for name, secret in CORPUS.items():
        shown = SINKS[sink](Masker(secret.environ), secret.text, tmp_path / "file")
        # A result or record is shown as Python text, in which characters may be escaped.
        if secret.part in shown or repr(secret.part)[1:-1] in shown:
            seen.append(name)
    assert seen == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SORT_KEY", "completed"),
        ("PRIMARY_KEY", "user_id"),
        ("PARTITION_KEY", "created_at"),
        ("CACHE_KEY", "Makefile"),
        ("COMPASS", "northwest-1"),
        ("BYPASS", "everything-2"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/keys/service.json"),
        ("TOKEN_LIMIT", "100000000"),
        ("MAX_TOKEN_COUNT", "32000000"),
        ("PASS_RATE", "95.5percent"),
        ("PASSWORD_HASHERS", "argon2-default"),
        ("COOKIE_DOMAIN", "example.org"),
        ("CREDENTIALS_STORE", "osxkeychain"),
        ("ACCESS_KEY_REGION", "eu-central-1"),
        ("AUTH_URL", "https://login.example.org/oauth"),
        ("CACHE_KEY", "linux-py311-requirements"),
        ("PUBLIC_KEY", "ssh-ed25519-abc"),
        ("KEY_PREFIX", "myapp:cache"),
        ("API_KEY_HEADER", "X-Api-Key"),
        ("TOKEN_CLASS", "NumberToken2"),
        ("MONKEY", "business-as-usual"),
        ("CLOUDSDK_AUTH_MODE", "service-account"),
        ("PRIVATE_NETWORK", "10.0.0.0/8"),
        ("PRIVATE_REGISTRY", "registry.example.org:5000"),
        ("AUTH_SERVER", "login.example.org"),
        ("PIN_VERSIONS", "strict-1"),
        ("MULTIPASS", "two-instances-2"),
        ("AUTHOR", "Jane Doe-1"),
    ],
)
def test_ordinary_words_stay(name: str, value: str) -> None:
    text = f"all tasks are {value} now"
    assert Masker({name: value}).mask(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "unexpected token: identifier1",
        "password=$DB_PASSWORD1",
        "TOKEN_COUNT=100000000",
        "--password option 12 is required",
        "pytest --token-file /run/secrets/token1",
        "ssh://git@github.com/org/repo1",
        "https://my-org-name@dev.example.org/x",
        "sha512-Zq7xLmN2pR8abcdefghijKLMNOP0123456789qrstuvwxyz==",
        "test_thatSomethingVeryLongHappensWhen2ThingsCollideInTheRun",
        "foo_bar_baz_qux_quux_corge_grault_garply_waldo_fred1",
        "docker run -u 1000:1000 image",
        "curl -u $USER:$PASS https://example.org",
        "Authorization: Bearer $TOKEN",
        "GET /items?sort_key=created_at&page=12",
        "Cookie: theme=dark; lang=en",
        "Cache-Key: linux-py311-deadbeef1",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "tests/test_password1.py::test_token2 FAILED",
        "src/components/authTokenProvider/AuthTokenProvider2.tsx:12:5",
        "token = next(tokens1)",
        "api_key = config.get('api_key1')",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Masker({}).mask(text) == text


def test_a_password_in_a_variable_is_masked_alone() -> None:
    masker = Masker({"BROKER": "amqp://app:p%40ss-w0rd@db/x"})
    assert masker.mask("refused p@ss-w0rd, p%40ss-w0rd") == "refused ***, ***"


def test_secrets_in_json_are_masked_alone() -> None:
    service = {"client_secret": "abc-def-1", "token_uri": "https://example.org/token"}
    masker = Masker({"SERVICE": json.dumps({"web": service})})
    assert masker.mask("abc-def-1 https://example.org/token") == "*** https://example.org/token"


def test_a_key_in_a_variable_hides_no_other() -> None:
    """All keys begin with the same line, which is how they are found."""
    other = "\n".join([KEY[0], *BODY[20:], KEY[-1]])
    masked = Masker({"SSH_PRIVATE_KEY": "\n".join([KEY[0], *BODY[:20], KEY[-1]])}).mask(other)
    assert masked == f"{KEY[0]}\n***\n{KEY[-1]}"


def test_text_behind_a_cut_off_key_stays() -> None:
    text = "\n".join([*KEY[:5], "3 tests failed, see the log above", "bye"])
    masked = Masker({}).mask(text)
    assert masked.endswith("\n3 tests failed, see the log above\nbye")
