"""Settings: what each kind of option takes, which layer wins, and how a bad value is told."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pytest_ralph.settings import SETTINGS, Layer, SettingError, Settings, read_settings


def settings(**values: object) -> Settings:
    return read_settings(Layer({name.replace("_", "-"): value for name, value in values.items()}))


def test_without_any_layer_the_defaults_of_the_contract_hold() -> None:
    found = read_settings()
    assert found.executor == ("repair",)
    assert (found.max_fixes, found.max_depth, found.budget) == (3, 3, 100)
    assert (found.max_cost, found.wait) == (None, 0.0)
    assert (found.timeout, found.executor_timeout, found.commit) == (300.0, 600.0, "none")
    assert found.repair == ("format", "lint", "chmod", "install")
    assert found.recovery is False
    assert found.shell is None
    assert found.report is None
    assert 1 <= found.jobs <= (os.cpu_count() or 1)
    flags = ("execute", "rollback", "pending", "fresh", "keep_going", "interactive")
    assert not any(getattr(found, name) for name in flags)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("timeout", "1.5", 1.5),
        ("timeout", 20, 20.0),
        ("timeout", "20s", 20.0),
        ("max_fixes", "0", 0),
        ("max_fixes", 7, 7),
        ("jobs", "2", 2),
        ("repair", "none", ()),
        ("repair", "format, chmod", ("format", "chmod")),
        ("repair", ["lint"], ("lint",)),
        ("commit", "message-only", "message-only"),
        ("pending", "yes", True),
        ("pending", True, True),
        ("pending", "Off", False),
        ("recovery", "false", False),
        ("recovery", True, True),
        ("recovery", "state", None),
        ("executor", "my-agent --fast", ("my-agent --fast",)),
        ("executor", ["claude", "codex"], ("claude", "codex")),
        ("executor", "claude\n  codex", ("claude", "codex")),
        ("wait", "0", 0.0),
        ("max_cost", "2.50", 2.5),
        ("shell", "/bin/dash", "/bin/dash"),
    ],
)
def test_a_value_is_read(name: str, given: object, value: Any) -> None:
    assert getattr(settings(**{name: given}), name) == value


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        (
            "executor_args",
            '--x "y',
            "--ralph-executor-args: expected words with matching quotation marks, got '--x \"y'",
        ),
        ("timeout", "soon", "--ralph-timeout: expected a number of seconds above 0, got 'soon'"),
        ("timeout", "0", "--ralph-timeout: expected a number of seconds above 0, got '0'"),
        ("timeout", "-3", "--ralph-timeout: expected a number of seconds above 0, got '-3'"),
        ("timeout", "inf", "--ralph-timeout: expected a number of seconds above 0, got 'inf'"),
        ("timeout", "nan", "--ralph-timeout: expected a number of seconds above 0, got 'nan'"),
        ("timeout", True, "--ralph-timeout: expected a number of seconds above 0, got 'True'"),
        ("timeout", "", "--ralph-timeout: expected a number of seconds above 0, got ''"),
        ("max_fixes", "2.5", "--ralph-max-fixes: expected a whole number, 0 or more, got '2.5'"),
        ("max_fixes", "-1", "--ralph-max-fixes: expected a whole number, 0 or more, got '-1'"),
        ("max_fixes", False, "--ralph-max-fixes: expected a whole number, 0 or more, got 'False'"),
        ("jobs", "0", "--ralph-jobs: expected a whole number, 1 or more, got '0'"),
        (
            "repair",
            "paint",
            (
                "--ralph-repair: expected none or some of format, lint, chmod, install, lock, "
                "playwright, got 'paint'"
            ),
        ),
        (
            "repair",
            [],
            (
                "--ralph-repair: expected none or some of format, lint, chmod, install, lock, "
                "playwright, got []"
            ),
        ),
        (
            "commit",
            "always",
            "--ralph-commit: expected one of none, message-only, auto, got 'always'",
        ),
        ("pending", "perhaps", "--ralph-pending: expected true or false, got 'perhaps'"),
        ("executor", ["a", 1 > 0], "--ralph-executor: expected a text, got ['a', True]"),
        ("wait", "-1", "--ralph-wait: expected a number, 0 or more, got '-1'"),
        ("max-cost", "inf", "--ralph-max-cost: expected a number, 0 or more, got 'inf'"),
        ("executor", " ", "--ralph-executor: expected a text, got ' '"),
        ("executor", [], "--ralph-executor: expected a text, got []"),
        ("executor", ["claude", None], "--ralph-executor: expected a text, got ['claude', None]"),
        ("secrets", [1], "--ralph-secrets: expected lines of text, got [1]"),
        (
            "verify",
            ["T001:make test"],
            "--ralph-verify: expected lines of the form `key: command`, got ['T001:make test']",
        ),
        ("shell", {"a": 1}, "--ralph-shell: expected a text, got {'a': 1}"),
        (
            "commit",
            "a\nb" * 99,
            "--ralph-commit: expected one of none, message-only, auto, got 'a\\nb",
        ),
    ],
)
def test_a_bad_value_is_told_in_one_line(name: str, given: object, told: str) -> None:
    with pytest.raises(SettingError) as caught:
        settings(**{name: given})
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_the_first_layer_that_sets_a_value_wins() -> None:
    first = Layer({"timeout": "1", "jobs": None})
    second = Layer({"timeout": "2", "jobs": "2"})
    third = Layer({"timeout": "3", "jobs": "3", "max-fixes": "9"})
    found = read_settings(first, second, third)
    assert (found.timeout, found.jobs, found.max_fixes) == (1.0, 2, 9)


def test_a_switch_set_to_false_is_set() -> None:
    assert read_settings(Layer({"recovery": False}), Layer({"recovery": True})).recovery is False


def test_a_bad_value_in_a_layer_without_weight_does_no_harm() -> None:
    assert read_settings(Layer({"timeout": "1"}), Layer({"timeout": "soon"})).timeout == 1.0


def test_a_layer_says_where_a_bad_value_stands() -> None:
    with pytest.raises(SettingError, match=r"^here: jobs: expected"):
        read_settings(Layer({"jobs": "x"}, lambda option: f"here: {option.name}"))


def test_the_settings_are_those_of_the_table() -> None:
    names = [option.name.replace("-", "_") for option in SETTINGS]
    assert list(Settings._fields) == names


def test_lines_of_the_ini_file_become_commands() -> None:
    found = settings(verify=["T001: make test", "[US1]: a: b"])
    assert found.verify == {"T001": "make test", "[US1]": "a: b"}


def test_blank_lines_of_an_array_are_left_out() -> None:
    assert settings(secrets=[" key-.*", "", " "]).secrets == ("key-.*",)
