"""Fields are found however they are written, and keep their text."""

from __future__ import annotations

import pytest

from pytest_ralph.spec.fields import as_mapping, read_fields
from pytest_ralph.spec.files_field import read_files
from pytest_ralph.spec.verify_text import inline_verify, verify_sentence, verify_text
from pytest_ralph.text.markdown import dedent
from pytest_ralph.verify.read import read_verify


def fields_of(text: str) -> dict[str, str]:
    lines = text.split("\n")
    return as_mapping(read_fields(lines, 0, len(lines), ()))


@pytest.mark.parametrize(
    "line",
    [
        "  - **Verify**: `x`",
        "  - **Verify:** `x`",
        "  - **Verify**:`x`",
        "  **Verify**: `x`",
        "  * __Verify__: `x`",
        "  - Verify: `x`",
        "  - verify: `x`",
        "  - **VERIFY**: `x`",
        "  - **Verify** `x`",
        "  - **Verify** — `x`",
        "  - **Verify** (after 1.5): `x`",
        "  - **Verification**: `x`",
        "  - **Verify command**: `x`",
        "  - **Verify after each step**: `x`",
        "  - **RALPH-VERIFY**: `x`",
        "  - **Verify (automated)**: `x`",
        "  - **Verify 2**: `x`",
        "  - *Verify*: `x`",
        "  - *Verify:* `x`",
        "  *Verify: `x`*",
        "  _Verify: `x`_",
        "  - **How to verify**: `x`",
        "  - ✅ **Verify**: `x`",
        "  - **✅ Verify:** `x`",
        "  - 🔍 Verify: `x`",
        "  → **verify:** `x`",
        "  - [ ] **Verify**: `x`",
        "  - **Prüfung**: `x`",
        "  - **Verificación**: `x`",
        "  - **Vérification** : `x`",
        "  - **验证**：`x`",
        "  - 验证方式：`x`",
        "\t- **Verify**: `x`",
    ],
)
def test_a_verify_field_is_known_by_many_spellings(line: str) -> None:
    assert fields_of(line) == {"Verify": "`x`"}


@pytest.mark.parametrize(
    "line", ["  - VerifyResult by hand", "  - **Verification Summary**: x", "  - we verify: it"]
)
def test_other_words_with_verify_in_them_are_no_verify_field(line: str) -> None:
    assert "Verify" not in fields_of(line)


@pytest.mark.parametrize(
    "text", ["`python -m __main__`", "`ls src/**/*.py`", "`x` prints **done**", "`a__b`"]
)
def test_a_plain_label_may_precede_markup(text: str) -> None:
    assert fields_of(f"  - Verify: {text}") == {"Verify": text}


def test_a_field_ends_where_the_next_begins_and_keeps_its_list() -> None:
    text = (
        "  - **Do**:\n    1. **Create**: a\n    2. b\n"
        "  - **Verify**: all:\n    - **Unit**: `u`\n    - `v`\n  - _Requirements: FR-1_\n"
        "  - a note\n"
    )
    assert fields_of(text) == {
        "Do": "1. **Create**: a\n2. b",
        "Verify": "all:\n- **Unit**: `u`\n- `v`",
        "Requirements": "FR-1",
    }


def test_fields_without_bullets_keep_the_bullets_below_them() -> None:
    text = "  **Verify**:\n  - **Unit**: `u`\n  - `v`\n\n  **Commit**: `c`\n---\nnot part of it"
    assert fields_of(text) == {"Verify": "- **Unit**: `u`\n- `v`", "Commit": "`c`"}


def test_a_note_says_where_a_verify_field_applies() -> None:
    (field,) = read_fields(["**Verify** (in `web`): `make`"], 0, 1, frozenset())
    assert field.text == "(in `web`): `make`"


def test_a_heading_may_be_a_field() -> None:
    assert fields_of("#### Verify\n`x`\n#### Commit\n`c`") == {"Verify": "`x`", "Commit": "`c`"}


def test_a_fence_is_content_whatever_is_in_it() -> None:
    lines = ["  - **Verify**:", "    ```bash", "- **Commit**: no", "    ```", "  - **Commit**: yes"]
    fields = read_fields(lines, 0, 5, {1, 2, 3})
    assert verify_text(fields) == "\n    ```bash\n- **Commit**: no\n    ```"
    assert as_mapping(fields)["Commit"] == "yes"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  - **Verify RED**: `r`\n  - **Verify GREEN**: `g`", "`g`"),
        ("  - **Verify GREEN**: `g`\n  - **Verify RED**: `r`", "`g`"),
        ("  - **Verify RED**: `r`\n  - **Verify**: `v`", "`v`"),
        ("  - **Verify RED**: `r`", "`r`"),
        ("  - **Verify**: `a`\n  - **Verify**: `b`", "`a`\n\n`b`"),
        ("  - **Verify (RED)**: `r`\n  - **Verify (GREEN)**: `g`", "`g`"),
        ("  - **Verify (manual)**: `npm start`", "(manual): `npm start`"),
        ("  - **Verify manually**: `npm start`", "(manual): `npm start`"),
        ("  - **Verify** (manual): `npm start`", "(manual): `npm start`"),
        ("  - **Verify**: `v`\n  - **Verify** (manual): `npm start`", "`v`"),
        ("  - **Verify**: `v`\n  - **Verify** (by CI): `w`", "`v`\n\n`w`"),
    ],
)
def test_of_red_and_green_the_green_counts(text: str, expected: str) -> None:
    lines = text.split("\n")
    assert verify_text(read_fields(lines, 0, len(lines), ())) == expected


def test_a_verify_at_the_end_of_the_title_line_is_found() -> None:
    assert inline_verify("- [ ] T001 Do it. **Verify**: `x` passes") == "`x` passes"
    assert inline_verify("- [ ] T001 Do it — Verify: `x` passes") == "`x` passes"
    assert inline_verify("- [ ] T001 Do it | verify: `x`") == "`x`"
    assert inline_verify("- [ ] T001 Verify the thing") == ""
    assert inline_verify("- [ ] T001 Verify: `x` is there") == ""
    assert inline_verify("- [ ] T001 Do it. Verify: the page loads") == ""
    assert inline_verify("- [ ] T001 添加。验证:`x` 通过") == "`x` 通过"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Do it. Verify: the page loads (`x`).", "the page loads (`x`)."),
        ("Do it → verify: the page loads", "the page loads"),
        ("Do it; verification: run `x`", "run `x`"),
        ("Haz esto. Verificar: la página carga", "la página carga"),
        ("添加指南。验证:扩展测试,并 `x` 通过", "扩展测试,并 `x` 通过"),
        ("Do it. Verify (by hand): it is red", "(manual): it is red"),
        ("Verify: it is red", ""),
        ("Explain how to verify: see the notes", ""),
        ("Set config.verify: true", ""),
        ("Add the header x-verify: on", ""),
        ('Print "Done. Verify: all" at the end', ""),
        ("Print `Done. Verify: all` at the end", ""),
        ("Do it. Verify the page", ""),
    ],
)
def test_the_last_sentence_of_a_title_may_be_a_verify(title: str, expected: str) -> None:
    assert verify_sentence(title) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`a/b.py` (new), `c.md`", ("a/b.py", "c.md")),
        ("a/b.py, c.md (modify)", ("a/b.py", "c.md")),
        ("- Modify `src/x.ts`: add `doIt()`\n- NEW `y.json`", ("src/x.ts", "y.json")),
        ("`src/app/[id]/page.tsx:12-40`", ("src/app/[id]/page.tsx",)),
        ("Makefile, `docs/`", ("Makefile", "docs/")),
        ("src/a.py (new), `src/b.py`", ("src/a.py", "src/b.py")),
        ("Use a.b here, `src/b.py`", ("src/b.py",)),
        ("`src/{a,b}.py`", ("src/{a,b}.py",)),
        ("a.py (was b.py, c.py), d.py", ("a.py", "d.py")),
        ("Makefile, Dockerfile", ("Makefile", "Dockerfile")),
        ("None", ()),
        ("N/A (runtime only)", ()),
        ("`a.py`, `a.py`", ("a.py",)),
    ],
)
def test_files_are_paths_without_their_remarks(text: str, expected: tuple[str, ...]) -> None:
    assert read_files(text) == expected


def test_dedent_goes_by_the_first_line_below() -> None:
    assert dedent("a\n    b\n      c\n  d\n\te") == "a\nb\n  c\nd\ne"


@pytest.mark.parametrize(
    "name",
    [
        "검증",
        "검증 방법",
        "Kiểm tra",
        "Weryfikacja",
        "Doğrulama",
        "Verificatie",
        "Перевірка",
        "Verifikasi",
        "Ověření",
    ],
)
def test_a_verify_field_is_known_in_many_languages(name: str) -> None:
    assert fields_of(f"  - **{name}**: `x`") == {"Verify": "`x`"}


@pytest.mark.parametrize(
    "line",
    [
        "**Depends on**: 7.5 · **Effort**: M · **Verify**: `x` < 7",
        "- **Effort**: M | **Verify**: `x` < 7",
        "- **Do**: write it. **Verify**: `x` < 7",
    ],
)
def test_a_verify_behind_another_field_on_its_line_is_found(line: str) -> None:
    assert verify_text(read_fields([line], 0, 1, ())) == "`x` < 7"


def test_a_verify_that_is_only_quoted_or_has_a_line_of_its_own_elsewhere_is_not_looked_for() -> (
    None
):
    assert verify_text(read_fields(["- **Do**: write `a · **Verify**: b`"], 0, 1, ())) == ""
    lines = ["- **Do**: this · **Verify**: `x`", "- **Verify**: `y`"]
    assert verify_text(read_fields(lines, 0, 2, ())) == "`y`"


@pytest.mark.parametrize(
    "text",
    [
        "`a` passes. **Commit (protected):** `x` → `git commit`",
        "`a` passes. **Commit** (one): `x`",
        "`a` passes · **Files**: `b.sh`",
        "`a` passes | **Depends on**: 1.1",
        "`a` passes. Commit: `x`",
        "`a` passes. Commit (one): `x`",
        "`a` passes. **Do**:\n    1. `x`",
    ],
)
def test_a_field_ends_where_another_begins_on_its_line(text: str) -> None:
    fields = read_fields([f"  - **Verify**: {text}"], 0, 1, ())
    assert verify_text(fields) == "`a` passes" + "." * ("passes." in text)


def test_a_label_within_a_line_follows_a_number_too() -> None:
    text = fields_of("- **Verify**: `a` exits 0. **Commit**: `x`")["Verify"]
    assert text == "`a` exits 0."


@pytest.mark.parametrize(
    "text",
    [
        "`a` prints `Done. **Files**: 3`",
        '`a` prints "Done. **Files**: 3"',
        "`ls` is short. Files: 3 of them",
        "all:\n    1. **Files**: `a`\n    - **Do**: `b`",
        "the page has **Files:** and `a`",
        "`a` passes. **Unit**: `b`",
        "`a` passes. **Expected**: 3",
        "`a` lists all. files: 3 of them",
    ],
)
def test_other_words_do_not_end_a_verify_field(text: str) -> None:
    assert fields_of(f"- **Verify**: {text}")["Verify"].replace("  ", "") == text.replace("  ", "")


@pytest.mark.parametrize(
    "label",
    [
        "Verify (by hand)",
        "Verify (if there is a phone)",
        "Verify (end to end, if there is a phone)",
        "Verify (optional)",
    ],
)
def test_a_remark_in_a_label_leaves_it_to_a_person(label: str) -> None:
    for line in (f"- **{label}**: `a`", f"- {label}: `a`", f"- {label}:\n  - `a`"):
        text = fields_of(line)["Verify"]
        assert read_verify(text).manual


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] 1 A. **Verify (unit):** `x`",
        "- [ ] 1 A. **Verify** (unit): `x`",
        "- [ ] 1 A. Verify (unit): `x`",
        "- [ ] 1 A. **Verify**: `x`. **Commit (one)**: `y`",
    ],
)
def test_a_label_within_a_title_may_have_a_remark(line: str) -> None:
    assert inline_verify(line).strip(" .") == "`x`"
