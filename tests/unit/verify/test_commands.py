"""A careful reader tells a command line from a name, a path or a piece of code."""

from __future__ import annotations

import pytest

from pytest_ralph.verify.commands import Likeness, likeness, runs_alone, without_prompt

SURE = """
npm test
taplo check
pytest -q
go test ./...
make build && make check
! grep -q TODO src
for f in *.sh; do bash -n "$f"; done
[ -f a.txt ] && echo yes
[[ -d src ]]
test -f a.txt
(cd api && make)
FOO=1 npm test
X=$(ls | wc -l) && test "$X" = 3
./run.sh
scripts/check.sh --all
check-all.cmd --quiet
.venv/bin/python -m pytest
bin/rails test
/usr/bin/env python3 x.py
mytool --version
$PYTHON -m pytest
echo "done"
find . -name '*.pyc'
env | grep PATH
Get-ChildItem -Recurse
.\\tools\\run.exe --all
"""
MAYBE = """
pytest
make
true
scripts/check.sh
mytool validate specs
tools.d/mytool validate specs
time flies like an arrow
task that passes there checks nothing
"""
WORD = """
model-selector
frobnicate
computeTotals
"""
NONE = """
where the last run stopped
render()
user.name
README.md
src/app.ts
src/app.ts and more
src/components/
config.ts:120
.env
/shop:start --fast
/api/health
GET /api/health
POST /login
SELECT 1
import json
const x = 1
status == 'done'
key: value
{ "a": 1 }
"quoted"
--verbose
https://example.org
[x]
count=3
ValueError: bad
state: "a" | "b"
wc -l
sed -n
sort -u
diff -r
"""


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        (expected, line)
        for expected, lines in (
            (Likeness.SURE, SURE),
            (Likeness.MAYBE, MAYBE),
            (Likeness.WORD, WORD),
            (Likeness.NONE, NONE),
        )
        for line in lines.strip().split("\n")
    ],
)
def test_how_much_a_text_is_a_command_line(expected: Likeness, text: str) -> None:
    assert likeness(text) is expected


def test_a_script_of_several_lines_is_a_command() -> None:
    assert likeness("set -e\nmake") is Likeness.SURE
    assert likeness("") is Likeness.NONE


@pytest.mark.parametrize("text", ["frobnicate", '"$BIN" --all', "R -e 'x()'", "~/x.ps1 | tee log"])
def test_alone_in_its_field_more_is_a_command(text: str) -> None:
    assert runs_alone(text)


@pytest.mark.parametrize(
    "text", ["notes.md", "render()", "/shop:start demo --fast", "GET /x?a=1 | 2", '{"a": 1}']
)
def test_alone_in_its_field_some_things_are_still_no_command(text: str) -> None:
    assert not runs_alone(text)


@pytest.mark.parametrize("text", ["$ make", "❯ make", "  $  make", "make"])
def test_a_prompt_is_not_typed(text: str) -> None:
    assert without_prompt(text) == "make"


def test_plain_fields_need_no_table_of_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Loading the table takes longer than reading a thousand such fields.
    monkeypatch.delattr("pytest_ralph.shell.programs.load_programs")
    for command in ("npm test", "pytest -q tests", "true", "frobnicate all"):
        assert runs_alone(command), command
    with pytest.raises(ImportError):
        likeness("npm test")
