"""What must hold after every run, whatever the user, the executor and a kill did."""

from __future__ import annotations

import hashlib
import re
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_ralph.files import backups_directory
from tests.faults.model.agent import MOVES_GIT
from tests.faults.model.world import ALSO_NAMED, FILES, SPEC_PATHS, IndexEntry, git
from tests.faults.remains import demand
from tests.worktrees import worktrees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.faults.model.world import Ended, RunPlan, World

MOST_SECONDS = 30.0
# In every line that a user writes.
USER = " by the user, "
# What an executor makes of the Verify fields.
EDITED_VERIFY = "true ; true"
TICK = re.compile(r"\[[ xX]\]")
# The message that a fix task has if its Verify is its own, as after an edit of its original's.
FIX_MESSAGE = re.compile(r"fix\((\w+)\): .* from task (\d+\.\d+)")
KNOWN_REFS = ("refs/heads/", "refs/stash", "refs/ralph/", "HEAD")


@dataclass(frozen=True)
class Before:
    """The world before a run."""

    files: Mapping[str, bytes]
    ignored: set[str]
    index: Mapping[str, IndexEntry]
    head_index: Mapping[str, str]
    refs: Mapping[str, str]
    specs: Mapping[str, str]


def look(world: World) -> Before:
    return Before(
        files=world.files(),
        ignored=world.ignored(),
        index=world.index(),
        head_index=_tree(world.project, "HEAD"),
        refs=world.refs(),
        specs={path: _text(world.project / path) for path in SPEC_PATHS},
    )


def check(world: World, before: Before, plan: RunPlan, ended: Ended) -> None:
    """Raise BrokenError with the output of the run if one of the promises is not kept."""
    check_bytes_kept(world, before)
    check_specs_kept(world, before)
    check_plan_is_not_edited(world, before, plan, ended)
    check_passed_tasks_pass(world, ended)
    check_commits(world, before, plan, ended)
    check_commits_are_complete(world, before, ended)
    check_index_kept(world, before, plan, ended)
    check_nothing_left(world, plan, ended)


def check_bytes_kept(world: World, before: Before) -> None:
    """Every file of the user is in the tree, in a ref, or among the copies of changed files."""
    contents = set(world.files().values())
    missing = {path: content for path, content in before.files.items() if content not in contents}
    if missing:
        kept = _kept_contents(world, set(missing.values()))
        patched = _patched_lines(world)
        missing = {
            path: content
            for path, content in missing.items()
            if content not in kept and not _is_unmerged(world.project / path, content, patched)
        }
    demand(not missing, f"in no file, ref or backup any more: {missing}")


def _kept_contents(world: World, wanted: set[bytes]) -> set[bytes]:
    """Return those of the contents that a ref, a copy or a patch holds."""
    found = {content for _, content in _our_files(world) if content in wanted}
    patched = _patched_lines(world)
    found.update(content for content in wanted if patched.issuperset(content.splitlines()))
    reachable = git(world.project, "rev-list", "--objects", "--all")
    for content in wanted - found:
        name = subprocess.run(
            ["git", "hash-object", "--no-filters", "--stdin"],
            cwd=world.project,
            input=content,
            capture_output=True,
            check=True,
        )
        if name.stdout.decode().strip() in reachable:
            found.add(content)
    return found


def _our_files(world: World) -> Iterator[tuple[Path, bytes]]:
    """Yield the files of `.ralph` and the copies, logs of gigabytes aside."""
    for directory in (world.project / ".ralph", backups_directory(world.project)):
        for path in directory.rglob("*"):
            if path.is_file() and path.stat().st_size < 1_000_000:
                yield path, path.read_bytes()


def _patched_lines(world: World) -> set[bytes]:
    """Return the lines that a kept patch adds, and the unchanged ones around them."""
    return {
        line[1:]
        for path, content in _our_files(world)
        if path.suffix == ".patch"
        for line in content.splitlines()
        if line[:1] in b"+ "
    }


def _is_unmerged(path: Path, content: bytes, patched: set[bytes]) -> bool:
    """Return whether a file lost lines that a patch holds, and kept all others.

    The work of an executor that a killed run has merged is taken out again; its patch is kept.
    """
    if not path.is_file():
        return False
    kept = {*path.read_bytes().splitlines(), *patched}
    return kept.issuperset(content.splitlines())


def check_specs_kept(world: World, before: Before) -> None:
    """Every line of tasks.md stays, in its order; only ticks change."""
    for path, text in before.specs.items():
        after = _text(world.project / path)
        rest = iter([TICK.sub("[ ]", line) for line in after.split("\n")])
        lines = [TICK.sub("[ ]", line) for line in text.split("\n")]
        gone = [line for line in lines if line.strip() and line not in rest]
        demand(not gone or _is_in_backup(world, gone), f"lines of {path} are gone: {gone}\n{after}")


def _is_in_backup(world: World, lines: list[str]) -> bool:
    """Return whether one file below `.ralph` holds all the lines, ticked or not."""
    for path in backups_directory(world.project).rglob("*.saved"):
        kept = {TICK.sub("[ ]", line) for line in _text(path).split("\n")}
        if kept.issuperset(lines):
            return True
    return False


def check_plan_is_not_edited(world: World, before: Before, plan: RunPlan, ended: Ended) -> None:
    """No executor has written a Verify of its own, unless the guard is off or could not act."""
    was_edited = any(EDITED_VERIFY in text for text in before.specs.values())
    if was_edited or ended.killed or "--ralph-guard=off" in plan.options:
        return
    for path in SPEC_PATHS:
        edited = EDITED_VERIFY in _text(world.project / path)
        demand(not edited, f"{path} has a Verify of an executor")


def check_passed_tasks_pass(world: World, ended: Ended) -> None:
    """Every task that is shown as passed passes in the tree as it is now.

    pytest cannot take a report back: a later task that broke it names it, and fails.
    """
    # A fix with the old Verify is then an item, too.
    edited = EDITED_VERIFY in _text(world.project / SPEC_PATHS[0])
    for key, outcome in ended.outcomes.items():
        if edited and key.startswith("a:"):
            continue
        if outcome != "passed" or VERIFY[key](world.project):
            continue
        is_named = f"{key.partition(':')[2]} no longer passes" in ended.output
        demand(is_named and ended.status, f"{key} is shown as passed and does not pass")


def _is_fixed(path: str) -> Callable[[Path], bool]:
    return lambda project: "fixed" in _text(project / path)


def _builds(project: Path) -> bool:
    text = _text(project / "build.sh")
    is_broken = "if then" in text or not (project / "build.sh").exists()
    return not is_broken and "fixed" in _text(project / FILES["a:1.4"])


def _nothing_broken(project: Path) -> bool:
    return not any("BROKEN" in _text(path) for path in (project / "src").rglob("*"))


VERIFY: dict[str, Callable[[Path], bool]] = {
    "a:1.1": _is_fixed(FILES["a:1.1"]),
    "a:1.2": _is_fixed(FILES["a:1.2"]),
    "a:1.3": _is_fixed(FILES["a:1.3"]),
    "a:1.4": _builds,
    "a:1.5": _nothing_broken,
    "b:1.1": _is_fixed(FILES["b:1.1"]),
}


def check_commits(world: World, before: Before, plan: RunPlan, ended: Ended) -> None:
    """Every new commit of ours holds what was done for its task, and nothing else."""
    for commit, key in _new_commits(world, before):
        demand("auto" in plan.options, f"a commit of {key} in mode {plan.options}")
        demand(key in FILES, f"a commit of an unknown task: {key}")
        touched = _touched_for(key, ended.touched_ever)
        spec_directory = f"specs/{key.partition(':')[0]}/"
        named = {FILES[key]} | ALSO_NAMED.get(key, set())
        allowed = touched
        if not _touched_for(key, ended.touched):
            # A person may have written what the task names, and made it pass in this run.
            allowed = touched | named
        changed = git(
            world.project,
            "diff-tree",
            "-r",
            "-z",
            "--root",
            "--name-only",
            "--no-commit-id",
            commit,
        )
        foreign = [
            path
            for path in changed.split("\0")
            if path and path not in allowed and not path.startswith(spec_directory)
        ]
        if "*" in touched:
            # The executor may have changed anything, but it does not write like the user.
            foreign = [path for path in foreign if _adds_lines_of_user(world, commit, path)]
        demand(not foreign, f"the commit of {key} also holds {foreign}")
        if not ended.after_kill and _is_edited_by_executor(FILES[key], key, before, ended):
            mixed = _adds_lines_of_user(world, commit, FILES[key])
            demand(not mixed, f"the commit of {key} also holds edits of the user in {FILES[key]}")


def _is_edited_by_executor(path: str, key: str, before: Before, ended: Ended) -> bool:
    """Return whether HEAD has a file and an executor, not a git that it ran, wrote it."""
    touched = _touched_for(key, ended.touched)
    return path in before.head_index and path in touched and "*" not in touched


def _touched_for(key: str, touched: Mapping[str, set[str]]) -> set[str]:
    """Return what was touched for a task and its fixes."""
    owners = [owner for owner in touched if owner == key or owner.startswith(f"{key}.")]
    return set().union(*(touched[owner] for owner in owners))


def _adds_lines_of_user(world: World, commit: str, path: str) -> bool:
    diff = git(world.project, "diff", "-U0", f"{commit}~1", commit, "--", path, check=False)
    return any(line.startswith("+") and USER in line for line in diff.splitlines())


def check_commits_are_complete(world: World, before: Before, ended: Ended) -> None:
    """What was done for a task that was committed is in HEAD: all of it.

    What several tasks or the user touched cannot be told apart here.
    """
    if ended.killed or ended.after_kill or any("*" in paths for paths in ended.touched.values()):
        return
    in_head = _tree(world.project, "HEAD")
    index = world.index()
    files = world.files()
    skipped = world.ignored() | {path for path, entry in index.items() if entry.tag != "H"}
    for _, key in _new_commits(world, before):
        if f"{key.partition(':')[2]} no longer passes" in ended.output:
            # It was broken and worked on again after its commit.
            continue
        others = set().union(*(ended.touched[other] for other in ended.touched if other != key))
        for path in ended.touched.get(key, set()) - others - skipped:
            was_clean = before.head_index.get(path) == _blob(before.files.get(path))
            was_staged = path in before.index and before.index[path].blob != in_head.get(path)
            if was_clean and not was_staged and in_head.get(path) != _blob(files.get(path)):
                demand(False, f"the commit of {key} lacks {path}")


def _new_commits(world: World, before: Before) -> list[tuple[str, str]]:
    """Return the commits of ours since then, each with the task that it is for."""
    since = set(before.refs.values())
    listed = git(world.project, "log", "--format=%H %s", "HEAD", "--not", *since, check=False)
    found = []
    for line in listed.splitlines():
        commit, _, subject = line.partition(" ")
        if subject == "agent":
            continue
        fix = FIX_MESSAGE.match(subject)
        if fix is not None:
            found.append((commit, f"{fix[1]}:{fix[2]}"))
        else:
            found.append((commit, subject.removeprefix("feat: ").removeprefix("wip: ")))
    return found


def _blob(content: bytes | None) -> str | None:
    """Return the name that git gives to a content."""
    if content is None:
        return None
    return hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest()


def check_index_kept(world: World, before: Before, plan: RunPlan, ended: Ended) -> None:
    """What the user staged is still staged, unless the executor used git; flags stay too."""
    done = {action for key in ended.touched for action in plan.actions.get(key, ())}
    if done.intersection(MOVES_GIT):
        return
    now = world.index()
    for path, entry in before.index.items():
        was_staged = before.head_index.get(path) != entry.blob
        if was_staged and (path not in now or now[path].blob != entry.blob):
            kept = _is_in_kept_index(world, before, path, entry.blob)
            # Once it is committed as it was staged, it is part of HEAD and follows it.
            kept = kept or _is_committed(world, before, path, entry.blob)
            demand(kept, f"{path} is no longer staged as it was")
        if path in now and entry.tag != now[path].tag:
            demand(entry.tag == "H", f"{path} lost its flag {entry.tag}")
    removed = [path for path in before.head_index if path not in before.index and path in now]
    for path in removed:
        kept = _is_in_kept_index(world, before, path, "") or _is_committed(world, before, path)
        demand(kept, f"the staged removal of {path} is gone")


def _is_committed(world: World, before: Before, path: str, blob: str | None = None) -> bool:
    """Return whether a new commit of ours holds the version of a file, or has removed it."""
    commits = [commit for commit, _ in _new_commits(world, before)]
    return any(_tree(world.project, commit).get(path) == blob for commit in commits)


def _is_in_kept_index(world: World, before: Before, path: str, blob: str) -> bool:
    """Return whether a rollback of this run has kept an index with this entry; "" for none."""
    for ref in world.refs().keys() - before.refs.keys():
        if ref.startswith("refs/ralph/") and not ref.endswith("/good"):
            found = git(
                world.project, "rev-parse", "-q", "--verify", f"{ref}^2:{path}", check=False
            )
            if found.strip() == blob:
                return True
    return False


def check_nothing_left(world: World, plan: RunPlan, ended: Ended) -> None:
    """No process, worktree, lock or temporary file is left."""
    deadline = time.monotonic() + MOST_SECONDS
    left = world.processes()
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = world.processes()
    demand(not left, f"still running: {[_command(pid) for pid in left]}")
    unknown = [ref for ref in world.refs() if not ref.startswith(KNOWN_REFS)]
    demand(not unknown, f"unknown refs: {unknown}")
    # What a killed run left of a spec is removed by the next run of that spec.
    if ended.killed or plan.target != "specs":
        return
    demand(not worktrees_of(world.project), "worktrees are left")
    patterns = ["**/.*.tmp", ".git/*.lock", ".git/ralph/worktrees/*"]
    if plan.commits or ended.touched:
        # A run that does not need git does not look there.
        patterns.append(".git/ralph-*")
    stray = [
        str(path.relative_to(world.project))
        for pattern in patterns
        for path in world.project.glob(pattern)
    ]
    demand(not stray, f"left behind: {stray}")


def _command(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123 - may vanish
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return str(pid)


def _tree(project: Path, commit: str) -> dict[str, str]:
    entries = {}
    for line in git(project, "ls-tree", "-r", "-z", commit, check=False).split("\0"):
        about, _, path = line.partition("\t")
        if path:
            entries[path] = about.split(" ")[2]
    return entries


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
