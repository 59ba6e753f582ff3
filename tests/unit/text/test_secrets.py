"""Secrets are masked by the name of their variable and by their form; other text is kept."""

from __future__ import annotations

import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_ralph.text.private_keys import MASK
from pytest_ralph.text.secret_variables import secret_values
from pytest_ralph.text.secrets import Masker, MaskError

LETTERS = (string.ascii_letters + string.digits) * 4
HEX = "0123456789abcdef" * 8

# Made here and now, so that no scanner takes this file for a leak.
TOKENS = {
    "github": "ghp_" + LETTERS[:36],
    "github app": "ghs_" + LETTERS[:36],
    "github fine-grained": "github_pat_" + LETTERS[:22] + "_" + LETTERS[:59],
    "gitlab": "glpat-" + LETTERS[:20],
    "aws id": "AKIA" + "ABCDEFGH23456789",
    "google": "AIza" + LETTERS[:35],
    "google oauth": "ya29." + LETTERS[:40],
    "openai": "sk-" + LETTERS[:48],
    "openai project": "sk-proj-" + LETTERS[:20] + "_-" + LETTERS[:20],
    "anthropic": "sk-ant-api03-" + LETTERS[:60] + "-AA",
    "hugging face": "hf_" + LETTERS[:34],
    "slack bot": "xoxb-" + "123456789012-" + LETTERS[:24],
    "stripe": "sk_live_" + LETTERS[:24],
    "npm": "npm_" + LETTERS[:36],
    "pypi": "pypi-" + LETTERS[:80],
    "docker": "dckr_pat_" + LETTERS[:27],
    "sendgrid": "SG." + LETTERS[:22] + "." + LETTERS[:43],
    "vault": "hvs." + LETTERS[:24],
    "databricks": "dapi" + HEX[:32],
    "shopify": "shpat_" + HEX[:32],
    "jwt": "eyJ" + LETTERS[:20] + ".eyJ" + LETTERS[:30] + "." + LETTERS[:43],
    "telegram": "123456789" + ":AA" + LETTERS[:33],
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7LQPZRY9X8",
}
AROUND = [
    "{}",
    "token={}",
    "  '{}',",
    '"{}"',
    "x {} y",
    "https://host/?t={}&u=1",
    "({})",
    "\x1b[31m{}\x1b[0m",
    "{}\n{}",
]

LABELLED = [
    ("postgres://admin:hunter2@db/x", "hunter2"),
    ("https://user:p%40ss@host:8080/x", "p%40ss"),
    ("redis://:only-a-password@host", "only-a-password"),
    ("Authorization: Bearer abc.def-123", "abc.def-123"),
    ("authorization: basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("-H 'Authorization: token deadbeef'", "deadbeef"),
    ('{"Authorization": "Bearer 0123456789abcdef"}', "0123456789abcdef"),
    ("bearer abcdefghijklmnop1234", "abcdefghijklmnop1234"),
    ("X-Api-Key: k-123456", "k-123456"),
    ("password=hunter22x", "hunter22x"),
    ("DB_PASSWORD: hunter22x", "hunter22x"),
    ("--password=hunter22x", "hunter22x"),
    ("client_secret = 'abc12345'", "abc12345"),
    ('"api_key": "abcd1234efgh"', "abcd1234efgh"),
    ("AWS_SECRET_ACCESS_KEY=" + LETTERS[:40], LETTERS[:40]),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7\n-----END RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA7",
    ),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n(cut off)", "b3BlbnNzaC1rZXk"),
    ("https://hooks.slack.com/services/T00000000/B00000000/" + LETTERS[:24], LETTERS[:24]),
]

HARMLESS = [
    "def login(password: str) -> Token: ...",
    "password=$PASSWORD",
    "password: ${{ secrets.PASSWORD }}",
    "E  AssertionError: expected token 'x', got 'y'",
    "http://localhost:8080/path@2x.png",
    "git@github.com:owner/repository.git",
    "task-abcdefghijklmnopqrstuvwxyz",
    "disk-0123456789012345678901234567890",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "sha256:" + HEX[:64],
    "FAILED tests/test_api_key.py::test_secret_key_rotation - KeyError",
    "ModuleNotFoundError: No module named 'secrets_manager'",
    "2024-01-01T12:00:00Z ERROR a.b.c: at x.py:12",
    "src/bearer/token.py:12:4: error: Incompatible types",
    "-----BEGIN CERTIFICATE-----",
    "password:",
    "sk-learn and sk-image",
]


@pytest.mark.parametrize("token", TOKENS.values(), ids=list(TOKENS))
def test_a_token_is_masked_wherever_it_stands(token: str) -> None:
    for around in AROUND:
        masked = Masker({}).mask(around.format(token, token))
        assert token[-16:] not in masked, around
        assert MASK in masked, around


@pytest.mark.parametrize(("text", "secret"), LABELLED)
def test_the_value_of_a_label_is_masked(text: str, secret: str) -> None:
    masked = Masker({}).mask(text)
    assert secret not in masked
    assert MASK in masked
    assert masked[:6] == text[:6]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert Masker({}).mask(text) == text


@pytest.mark.parametrize(
    "name",
    [
        *(
            "GITHUB_TOKEN",
            "TOKEN",
            "NPM_TOKEN",
            "token",
            "API_KEY",
            "OPENAI_API_KEY",
            "OPENAI_APIKEY",
            "MY_SECRET",
        ),
        *(
            "SECRET_KEY",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MYSQL_PWD",
            "PASSWD",
            "REDIS_PASS",
            "GPG_PASSPHRASE",
        ),
        *(
            "AWS_SECRET_ACCESS_KEY",
            "GOOGLE_CREDENTIALS",
            "NETRC_CREDS",
            "SENTRY_DSN",
            "BASIC_AUTH",
            "GH_PAT",
            "KEY2",
        ),
        *(
            "DATABASE_URL",
            "AZURE_CONNECTION_STRING",
            "SESSION_COOKIE",
            "SIGNING_PRIVATE_KEY",
            "CLIENTSECRET",
        ),
    ],
)
def test_the_value_of_a_secret_variable_is_masked(name: str) -> None:
    assert Masker({name: "xyzzy-plugh"}).mask("it is xyzzy-plugh!") == f"it is {MASK}!"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME", "/home/someone"),
        ("PWD", "/home/someone"),
        ("OLDPWD", "/home/someone"),
        ("SSH_AUTH_SOCK", "/tmp/agent.1"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/key.json"),
        ("API_KEY_FILE", "secrets-file"),
        ("AWS_ACCESS_KEY_ID_NAME", "somebody"),
        ("KEYBOARD", "qwertz-layout"),
        ("MONKEY", "gorilla-king"),
        ("TOKENIZERS_PARALLELISM", "enabled-now"),
        ("AUTHOR", "Some Body"),
        ("USE_TOKEN", "true"),
        ("DB_PASSWORD", "postgres"),
        ("PASS", "12345"),
        ("MY_KEY", ""),
        ("MY_KEY", "aaaaaaaaaa"),
    ],
)
def test_values_that_are_no_secret_are_left_alone(name: str, value: str) -> None:
    assert list(secret_values({name: value})) == []


def test_a_password_with_an_at_sign_is_masked_whole() -> None:
    masked = Masker({}).mask("cloning https://me:p4ss@w0rd@host.example/x")
    assert masked == f"cloning https://{MASK}@host.example/x"


def test_a_secret_in_yaml_is_masked() -> None:
    assert Masker({}).mask("  DEPLOY_TOKEN: xyzzy-plugh7") == f"  DEPLOY_TOKEN: {MASK}"


def test_secrets_in_lists_of_json_are_masked() -> None:
    environ = {"ACCOUNTS": '{"all": [{"token": "xyzzy-plugh"}], "api_key": ["plugh-xyzzy"]}'}
    assert sorted(secret_values(environ)) == ["plugh-xyzzy", "xyzzy-plugh"]


def test_endless_json_in_a_variable_is_no_error() -> None:
    assert list(secret_values({"X": '{"a":' * 100_000})) == []


def test_a_value_containing_another_is_masked_whole() -> None:
    assert (
        Masker({"A_TOKEN": "abcdef-1", "B_TOKEN": "abcdef-1-longer"}).mask("abcdef-1-longer")
        == MASK
    )


def test_each_line_of_a_secret_is_masked() -> None:
    masker = Masker({"SSH_PRIVATE_KEY": "first-line-abc\nsecond-line-def"})
    assert masker.mask("got:\nfirst-line-abc\n  second-line-def") == f"got:\n{MASK}\n  {MASK}"


def test_a_project_can_add_its_own_forms() -> None:
    masker = Masker({}, extra=[r"ACME-\d{4}", r"pin (?P<secret>\d+)"])
    assert masker.mask("ACME-1234, pin 99") == f"{MASK}, pin {MASK}"


def test_an_invalid_pattern_is_named() -> None:
    with pytest.raises(MaskError, match=r"^not a regular expression: a\(b \(missing \), .*\)$"):
        Masker({}, extra=["a(b"])


@given(st.text(max_size=300))
@settings(deadline=None)
def test_masking_twice_changes_nothing_more(text: str) -> None:
    masker = Masker({"A_TOKEN": "abcdef-1"})
    once = masker.mask(text)
    assert masker.mask(once) == once


LOG_LINE = (
    "2024-01-01 12:00:00 ERROR foo: failed at /usr/lib/x.py:12 key=value http://example.org/a?b=c\n"
)
KEY = "-----BEGIN PRIVATE KEY-----"


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        " ",
        "_",
        ":",
        "eyJ",
        "a://",
        "http://a:b",
        "password",
        "password: ",
        "bearer ",
        KEY,
        LOG_LINE,
    ],
)
def test_a_megabyte_takes_no_time(piece: str) -> None:
    text = piece * (1024 * 1024 // len(piece))
    started = time.process_time()
    Masker({"A_TOKEN": "abcdef-1"}).mask(text)
    assert time.process_time() - started < 1


def test_a_secret_learned_later_is_masked_in_known_text() -> None:
    masker = Masker({})
    assert masker.mask("sent abcdef-1") == "sent abcdef-1"
    masker.learn({"A_TOKEN": "abcdef-1"})
    assert masker.mask("sent abcdef-1") == "sent ***"
