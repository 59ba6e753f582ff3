"""Write scripts/strings.txt: every text of the program that a person may read, for review.

python scripts/strings.py           write the list
python scripts/strings.py --check   say whether it is up to date

In Python, a text is a string of at least two words that is no docstring, pattern, query or program;
the docstrings of the hooks count, since they are the documentation of the hooks. In the templates a
text is what stands between tags, in attributes and in strings of the scripts; in the table of kinds
it is any value. `…` stands for what the program puts into a text.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pytest_ralph"
LIST = Path(__file__).with_name("strings.txt")
HOOKS = PACKAGE / "hookspecs.py"
KINDS = PACKAGE / "failure" / "kinds.yaml"

# Calls whose arguments are patterns, queries, code, or names of steps for the fault tests.
NOT_TEXT = frozenset(
    {
        "compile",
        "regex",
        "query",
        "execute",
        "executescript",
        "search",
        "sub",
        "TypeVar",
        "cast",
        "fault_point",
        "Rule",
        "pattern",
    }
)
# Modules that read texts of other programs and of plans rather than writing any.
READERS = (
    "failure/agent_limits",
    "failure/build_evidence",
    "failure/cause.py",
    "failure/causes",
    "failure/commands",
    "failure/context",
    "failure/diagnostics",
    "failure/distributions",
    "failure/echoed",
    "failure/readers/messages",
    "failure/readers/places",
    "failure/readers/symptoms",
    "failure/readers/tests",
    "failure/finding",
    "failure/full_error",
    "failure/noise",
    "failure/ownership",
    "failure/point",
    "failure/quote",
    "failure/sampling",
    "failure/test_runs",
    "fixing/repairs/names",
    "spec/fields",
    "spec/files_field",
    "spec/formats",
    "spec/labels",
    "spec/task_extent",
    "spec/task_finder",
    "text",
    "verify/bare_lines",
    "verify/commands",
    "verify/expect.py",
    "verify/reading",
    "verify/scripts",
    "verify/spans",
    "verify/statements",
    "verify/translate",
    "verify/vocabulary",
)
PATTERN = re.compile(r"\\[bdswSWnr.(\[|$^]|\(\?|\[\^|\.\*|\.\+|^[A-Z]+ (?:TABLE|INTO|FROM)\b")
QUERY = re.compile(
    r"\s*(?:SELECT|WITH|CREATE|INSERT|UPDATE|DELETE|DROP|PRAGMA|ALTER|WHERE)\b"
    r"|import |from \w+ import"
)
WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]*\s[^A-Za-z]*[A-Za-z`…]")
HTML_TEXT = re.compile(
    r">([^<>{}]*[A-Za-z]{2}[^<>{}]*)<|\b(?:title|aria-label|placeholder|content)=\"([^\"{}]*[A-Za-z]{2}"
    r"[^\"]*)\""
)
JINJA = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
JINJA_VALUE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
JS_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.DOTALL | re.MULTILINE)
JS_CODE = re.compile(r"[=;(){}\[\]<>]|^\W*$|https?:|is-|^use strict$")


def in_python(source: str) -> Iterator[str]:
    """Yield the texts of a module in the order in which they appear."""
    tree = ast.parse(source)
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            if name in NOT_TEXT:
                skipped.update(inner for child in node.args for inner in ast.walk(child))
            if name == "split" and isinstance(node.func, ast.Attribute):
                # A list of words.
                skipped.add(node.func.value)
        if isinstance(node, ast.JoinedStr):
            # They are parts of its text; strings inside its expressions are texts of their own.
            skipped.update(part for part in node.values if isinstance(part, ast.Constant))
    found = [
        (node.lineno, node.col_offset, text_of(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant | ast.JoinedStr) and node not in skipped
    ]
    for _, _, text in sorted(found):
        if is_text(text):
            yield text


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
    )


def is_text(text: str) -> bool:
    if QUERY.match(text) or PATTERN.search(text):
        return False
    return bool(WORDS.search(text))


def in_hooks(source: str) -> Iterator[str]:
    """Yield the documentation of each hook."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            yield f"{node.name}: {ast.get_docstring(node)}"


def in_html(source: str) -> Iterator[str]:
    """Yield the texts between the tags and in the attributes of a template."""
    code = JINJA.sub("", source)
    for between, attribute in HTML_TEXT.findall(JINJA_VALUE.sub("…", code)):
        if (between or attribute).strip():
            yield between or attribute


def in_prompt(source: str) -> Iterator[str]:
    """Yield the lines of a template for prompts."""
    for line in JINJA.sub("", JINJA_VALUE.sub(value_of, source)).splitlines():
        if re.search("[A-Za-z]{2}", line):
            yield line


def value_of(match: re.Match[str]) -> str:
    """Return the texts inside an expression of a template, `…` for the others."""
    texts = [text for text in re.findall(r"\"([^\"]*)\"", match[0]) if " " in text.strip()]
    return "…" + "".join(f"[{text}]" for text in texts)


def in_javascript(source: str) -> Iterator[str]:
    """Yield the texts of a script: strings with a blank, and labels, which begin with a capital."""
    for text in js_strings(JS_COMMENT.sub("", source)):
        is_label = re.match("[A-Z][a-z]", text) and text != "Enter" and "Arrow" not in text
        if (is_label or WORDS.search(text)) and not JS_CODE.search(text):
            yield text


def js_strings(code: str) -> Iterator[str]:
    """Yield the strings of a script, with `…` for `${…}`, whose own strings follow."""
    at = 0
    while at < len(code):
        quote = code[at]
        at += 1
        if quote not in '"`':
            continue
        text = ""
        inner = []
        while at < len(code) and code[at] != quote:
            if quote == "`" and code.startswith("${", at):
                end = closing_brace(code, at + 2)
                inner.append(code[at + 2 : end])
                text += "…"
                at = end
            else:
                text += code[at]
            at += 1
        at += 1
        yield text
        for part in inner:
            yield from js_strings(part)


def closing_brace(code: str, at: int) -> int:
    depth = 1
    while depth and at < len(code):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        at += 1
    return at - 1


def in_kinds(source: str) -> Iterator[str]:
    """Yield the words of each kind of failure."""
    for kind, columns in YAML(typ="safe").load(source).items():
        for column in ("summary", "symptoms", "capture", "guidance", "advice"):
            values = columns[column]
            for value in [values] if isinstance(values, str) else values:
                yield f"{kind}: {value}"


def sources() -> Iterator[tuple[Path, Callable[[str], Iterator[str]]]]:
    """Yield each file that has texts, with the function that finds them."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if path == HOOKS:
            yield path, in_hooks
        elif not name.startswith(READERS):
            yield path, in_python
    yield KINDS, in_kinds
    for path in sorted(PACKAGE.rglob("*.md.j2")):
        yield path, in_prompt
    for suffix, find in (("html.j2", in_html), ("svg.j2", in_html), ("js", in_javascript)):
        for path in sorted(PACKAGE.rglob(f"*.{suffix}")):
            yield path, find


def listing() -> str:
    """Return the whole list, by file."""
    parts = []
    for path, find in sources():
        texts = [" ".join(text.split()) for text in find(path.read_text("utf-8"))]
        lines = dict.fromkeys(texts)
        if lines:
            parts.append("\n".join([f"# {path.relative_to(ROOT).as_posix()}", *lines]))
    return "\n\n".join(parts) + "\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        if LIST.read_text("utf-8") == listing():
            return 0
        print(f"{LIST.name} is not up to date: run python scripts/strings.py")
        return 1
    LIST.write_text(listing(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
