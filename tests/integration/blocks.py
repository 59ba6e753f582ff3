"""Tasks as text, for tests that need many of them."""

from __future__ import annotations


def task(heading: str, verify: str, **fields: str) -> str:
    """A task such as `1.2 [P] Title`; a keyword `depends_on` becomes the field `Depends on`."""
    more = "".join(
        f"  - **{name.replace('_', ' ').capitalize()}**: {text}\n" for name, text in fields.items()
    )
    return f"- [ ] {heading}\n  - **Do**: Make it so\n{more}  - **Verify**: `{verify}`\n\n"


def spec(*tasks: str) -> str:
    return "# Tasks\n\n" + "".join(tasks)


def numbered(count: int, verify: str, *, marks: str = "") -> str:
    """Tasks 1.1 to 1.`count`; `{n}` in the verification is the number."""
    return spec(
        *(
            task(f"1.{n} {marks} Task {n}", verify.replace("{n}", str(n)))
            for n in range(1, count + 1)
        )
    )


def done(block: str) -> str:
    return block.replace("- [ ]", "- [x]", 1)
