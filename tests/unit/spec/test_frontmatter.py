"""Front matter gives data and settings, or one line that says what is wrong and where."""

from __future__ import annotations

import re

import pytest

from pytest_ralph.spec.frontmatter import (
    LONGEST,
    MOST_VALUES,
    SETTING_KEYS,
    FrontMatterError,
    read_front_matter,
)


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
        ("---\nralph:\n  zzz: 4\n---\n", 3, "unknown key `zzz` under `ralph:`; known are executor"),
        ("---\nralph:\n  verify: make\n---\n", 3, "must map"),
        ("---\nralph:\n  verify:\n    a: make\n    b: {c: d}\n---\n", 5, "must map"),
    ],
)
def test_what_cannot_be_used_is_told_with_its_line(source: str, line: int, message: str) -> None:
    with pytest.raises(FrontMatterError, match=re.escape(message)) as caught:
        read_front_matter(source)
    assert caught.value.line == line
    assert "\n" not in caught.value.message


def test_front_matter_of_any_length_is_refused_and_prose_of_any_length_is_prose() -> None:
    with pytest.raises(FrontMatterError, match="characters is too long"):
        read_front_matter(f"---\nspec: a\nnote: {'x' * LONGEST}\n---\n")
    assert read_front_matter(f"---\n{'Some prose. ' * LONGEST}\n---\n").lines == 0
    assert read_front_matter(f"---\nnote: {'x' * (LONGEST - 6)}\n---\n").lines == 3


def test_values_that_stand_for_too_many_others_are_refused() -> None:
    ten = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    with pytest.raises(FrontMatterError, match=f"more than {MOST_VALUES:,} values"):
        read_front_matter(f"---\na0: &a0 [1]\n{ten}---\n")


def test_values_nested_deeper_than_can_be_followed_are_refused() -> None:
    with pytest.raises(FrontMatterError, match="malformed front matter"):
        read_front_matter(f"---\na: {'[' * 5_000}{']' * 5_000}\n---\n")
