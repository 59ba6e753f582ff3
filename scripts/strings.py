"""Write scripts/strings.txt: every text of the program that a person may read, for review.

python scripts/strings.py           write the list
python scripts/strings.py --check   say whether it is up to date

A text is a string of at least two words that is not a docstring, a pattern or a query. `…` stands
for what the program puts into it.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "pytest_ralph"
LIST = Path(__file__).with_name("strings.txt")
TEMPLATES = PACKAGE / "report" / "templates"

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
    }
)
# Packages that read texts of other programs rather than writing any.
READERS = ("failure/causes", "failure/test_runs", "verify/vocabulary", "text")
PATTERN = re.compile(r"\\[bdswSWnr.(\[|$^]|\(\?|\[\^|\.\*|\.\+|^[A-Z]+ (?:TABLE|INTO|FROM)\b")
QUERY = re.compile(r"\s*(?:SELECT|WITH|CREATE|INSERT|UPDATE|DELETE|DROP|PRAGMA|ALTER)\b")
WORDS = re.compile(r"[A-Za-z]{2,}[^A-Za-z]*\s[^A-Za-z]*[A-Za-z`…]")
HTML_TEXT = re.compile(r">([^<>{}]*[A-Za-z]{2}[^<>{}]*)<")
JS_TEXT = re.compile(r"\"([^\"\\\n]*[A-Za-z]{2} [^\"\\\n]*)\"|`([^`]*[A-Za-z]{2} [^`]*)`")


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
            skipped.update(inner for inner in ast.walk(node) if inner is not node)
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


def in_html(source: str) -> Iterator[str]:
    """Yield the texts between the tags of a template."""
    yield from (text for text in HTML_TEXT.findall(source) if text.strip())


def in_javascript(source: str) -> Iterator[str]:
    """Yield the texts of a script, without its comments."""
    code = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
    for double, back in JS_TEXT.findall(code):
        text = re.sub(r"\$\{[^}]*\}", "…", double or back)
        if "http" not in text and "=" not in text and "(" not in text:
            yield text


def sources() -> Iterator[tuple[Path, Iterator[str]]]:
    """Yield each file that has texts, with a function that finds them."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(READERS):
            yield path, in_python(path.read_text("utf-8"))
    for path in sorted(TEMPLATES.glob("*.j2")):
        yield path, in_html(path.read_text("utf-8"))
    for path in sorted(TEMPLATES.glob("*.js")):
        yield path, in_javascript(path.read_text("utf-8"))


def listing() -> str:
    """Return the whole list, by file."""
    parts = []
    for path, texts in sources():
        lines = [" ".join(text.split()) for text in texts]
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
