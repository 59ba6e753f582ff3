"""Front matter gives data and settings, or one line that says what is wrong and where."""

from __future__ import annotations

import pytest

from pytest_ralph.spec.frontmatter import (
    MAX_CHARACTERS,
    MAX_VALUES,
    SETTING_KEYS,
    FrontMatterError,
    read_front_matter,
)


def error_in(source: str) -> FrontMatterError:
    front = read_front_matter(source)
    assert front.error is not None
    assert front.lines
    assert not front.data
    return front.error


def test_data_settings_and_length_are_read() -> None:
    front = read_front_matter(
        "---\nspec: a\ntotal_tasks: 3\nralph:\n  timeout: 5\n  max_fixes: 2\n---\n# T\n"
    )
    assert front.lines == 7
    assert front.data["spec"] == "a"
    assert front.settings == {"timeout": 5, "max-fixes": 2}
    assert front.total_line == 3


def test_ids_in_a_verify_mapping_are_no_numbers() -> None:
    front = read_front_matter(
        "---\nralph:\n  verify:\n    1.1: a\n    1.10: [b, c]\n    '[P]': d\n---\n"
    )
    assert front.settings["verify"] == {"1.1": "a", "1.10": ["b", "c"], "[P]": "d"}


@pytest.mark.parametrize("key", SETTING_KEYS)
def test_every_setting_is_taken(key: str) -> None:
    value = "{}" if key == "verify" else "1"
    assert key in read_front_matter(f"---\nralph:\n  {key}: {value}\n---\n").settings


@pytest.mark.parametrize(
    "source",
    [
        "# no front matter\n",
        "",
        "---\nprose between rules\n---\n",
        "---\nnever closed\n",
        "--- x\na: b\n---\n",
        "\n---\na: b\n---\n",
    ],
)
def test_a_text_without_front_matter_has_none(source: str) -> None:
    assert not read_front_matter(source).lines


def test_an_empty_block_is_skipped_and_plain_types_come_out() -> None:
    assert read_front_matter("---\n---\n# T").lines == 2
    data = read_front_matter(
        "\ufeff---\r\na: [1, 2.5, yes, x]\r\nb: {c: null}\r\nd: 2026-01-02\r\n---\r\n"
    ).data
    assert data == {"a": [1, 2.5, "yes", "x"], "b": {"c": None}, "d": "2026-01-02"}
    assert all(type(item) in (int, float, str) for item in data["a"])


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("---\na: 1\nb: [2\n---\n", 3, "malformed front matter"),
        ("---\na: b: c\n---\n", 2, "malformed front matter"),
        ("---\na: 1\n\tb: 2\n---\n", 3, "malformed front matter"),
        ("---\nralph: 3\n---\n", 2, "must be a mapping"),
        (
            "---\nspec: x\nralph:\n  timeout: 3\n  timeuot: 4\n---\n",
            5,
            "unknown key `timeuot` under `ralph:`; did you mean `timeout`",
        ),
        (
            "---\nralph:\n  max_fixs: 4\n---\n",
            3,
            "unknown key `max_fixs` under `ralph:`; did you mean `max-fixes`",
        ),
        ("---\nralph:\n  zzz: 4\n---\n", 3, "unknown key `zzz` under `ralph:`; known keys: "),
        ("---\nralph:\n  verify: make\n---\n", 3, "must map"),
        ("---\nralph:\n  verify:\n    a: make\n    b: {c: d}\n---\n", 5, "must map"),
        ("---\nralph:\n  verify: !!omap [a: make]\n---\n", 3, "must map"),
        ("---\nx: &x\n  verify: {a: make}\nralph:\n  <<: *x\n---\n", 2, "written out"),
        ("---\nflag: !!bool perhaps\n---\n", 2, "malformed front matter: 'perhaps'"),
        ("---\nnumber: !!int\n---\n", 2, "malformed front matter"),
        ("---\nnumber: !!omap 5\n---\n", 2, "malformed front matter"),
    ],
)
def test_unusable_front_matter_is_reported_with_its_line(
    source: str, line: int, message: str
) -> None:
    error = error_in(source)
    assert error.line == line
    assert message in error.message
    assert "\n" not in error.message


def test_front_matter_may_not_be_too_long() -> None:
    error = error_in(f"---\nspec: a\nnote: {'x' * MAX_CHARACTERS}\n---\n")
    assert "characters is too long" in error.message
    assert read_front_matter(f"---\n{'Some prose. ' * MAX_CHARACTERS}\n---\n").lines == 0
    assert read_front_matter(f"---\nnote: {'x' * (MAX_CHARACTERS - 6)}\n---\n").lines == 3


def test_aliases_may_not_stand_for_too_many_values() -> None:
    ten = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    error = error_in(f"---\na0: &a0 [1]\n{ten}---\n")
    assert f"more than {MAX_VALUES:,} values" in error.message


def test_values_may_not_be_nested_too_deeply() -> None:
    error = error_in(f"---\na: {'[' * 5_000}{']' * 5_000}\n---\n")
    assert "malformed front matter" in error.message
