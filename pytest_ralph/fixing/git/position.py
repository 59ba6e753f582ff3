"""Where a repository is: HEAD, branches and stash. What an executor moved, and moving it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_ralph.fixing.git.command import GitCommand

BRANCHES = "refs/heads/"
STASH = "refs/stash"
SHORT = 12


class GitPosition(NamedTuple):
    """Where a repository is.

    branch: The current branch; empty if HEAD is detached.
    commit: The commit of HEAD; empty on a branch without commits.
    refs: The commit of each branch and of the stash, by full name.
    """

    branch: str
    commit: str
    refs: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.branch or self.commit[:SHORT]


def read_position(git: GitCommand) -> GitPosition:
    """Return where the repository is now."""
    # A star follows the current branch.
    listed = git("for-each-ref", "--format=%(objectname) %(refname) %(HEAD)", BRANCHES, STASH)
    refs = {}
    head = ""
    # A name may have any space in it but the ordinary one.
    for line in listed.split("\n")[:-1]:
        commit, name, star = line.split(" ", 2)
        refs[name] = commit
        if star == "*":
            head = name
    if head:
        return GitPosition(head.removeprefix(BRANCHES), refs[head], refs)

    # HEAD is detached, or its branch has no commit.
    head = git.run("symbolic-ref", "-q", "HEAD").stdout.strip()
    commit = "" if head else git("rev-parse", "HEAD").strip()
    return GitPosition(head.removeprefix(BRANCHES), commit, refs)


def movements(before: GitPosition, now: GitPosition) -> list[str]:
    """Return one line about each thing that differs between two positions."""
    lines = []
    if now.branch != before.branch:
        lines.append(f"switched from {before.name} to {now.name}")
    elif not now.branch and now.commit != before.commit:
        lines.append(_moved("HEAD", before.commit, now.commit))

    created = []
    for name, old, new in _changed_refs(before, now):
        if name == STASH:
            lines.append("changed the stash")
        elif old or name == before.branch:
            lines.append(_moved(name, old, new))
        elif new != before.commit:
            created.append(f"{name} at commit {new[:SHORT]}")
        elif name != now.branch:
            created.append(name)
    if created:
        lines.append(f"created branches: {', '.join(created)}")
    return lines


def _changed_refs(before: GitPosition, now: GitPosition) -> Iterator[tuple[str, str, str]]:
    """Yield the name of each branch, or the stash, that has another commit, and both commits."""
    for ref in sorted(before.refs.keys() | now.refs.keys()):
        old = before.refs.get(ref, "")
        new = now.refs.get(ref, "")
        if old != new:
            yield ref.removeprefix(BRANCHES), old, new


def _moved(name: str, old: str, new: str) -> str:
    if not new:
        return f"deleted branch {name}, which was at {old[:SHORT]}"
    return f"moved {name} from {old[:SHORT] or 'no commit'} to {new[:SHORT]}"


def move_back(git: GitCommand, before: GitPosition, keep_as: str) -> bool:
    """Make HEAD and the branch that was current what they were.

    If the branch has another commit now, it is kept under the ref `keep_as`; return whether it has.
    """
    now = read_position(git)
    ref = BRANCHES + before.branch if before.branch else "HEAD"
    replaced = now.refs.get(ref, "") if before.branch else now.commit
    is_moved = replaced not in ("", before.commit)
    if is_moved:
        git("update-ref", "-m", "pytest-ralph: refused", keep_as, replaced, "")
    if before.branch:
        git("symbolic-ref", "-m", "pytest-ralph: move back", "HEAD", ref)
    if replaced != before.commit:
        arguments = (ref, before.commit) if before.commit else ("-d", ref)
        git("update-ref", "--no-deref", "-m", "pytest-ralph: move back", *arguments)
    return is_moved
