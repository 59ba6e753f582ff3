"""File names, and writing files so that a killed run leaves each of them whole.

`fault_point` names every point at which a run may be cut off. It does nothing by itself: the fault
tests put a function into `on_fault_point`, which lets them enumerate and hit every point.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import FileIO

# The files of a spec.
TASKS_NAME = "tasks.md"
SPECS_NAME = "specs"
STATE_NAME = ".ralph-state.json"
PROGRESS_NAME = ".progress.md"
SPEC_FILES = frozenset({TASKS_NAME, STATE_NAME, PROGRESS_NAME})

# The directory in the project root that everything else is written to, and what is in it.
RALPH_DIRECTORY = ".ralph"
HISTORY_NAME = "history.db"
LOGS_NAME = "logs"
BACKUPS_NAME = "backups"
LOCKS_NAME = "locks"
RUNS_NAME = "runs"
WORKTREES_NAME = "worktrees"
GITIGNORE_NAME = ".gitignore"

# In the git directory: what must outlive the removal of everything that git ignores.
OUR_GIT_DIRECTORY = "ralph"

# Identifies one version of a file; None if there is no file.
Seen = tuple[int, ...] | None

# Flags that only some systems have: specs are only read on Windows, never run. Without O_BINARY,
# Windows would change line ends. Without O_NONBLOCK, opening a pipe waits for another process.
_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
# Seconds between two attempts to take a lock.
_LOCK_PAUSE = 0.01

# What the system answers for a lock where the file system has none, such as NFS without a daemon.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)

# Bytes of a name or path that become part of another file name as they are.
LONGEST_NAME = 100

on_fault_point: Callable[[str], None] | None = None
_DIRECTORY_PREFIX = "ralph-"
_TEMPORARY = regex(r"\.(?P<name>.+)\.(?P<pid>\d+)-[0-9a-f]+\.tmp")


def read_or_empty(path: Path) -> str:
    """Return the text of a file, or an empty text if it cannot be read."""
    try:
        return read_regular(path).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def unused_path(directory: Path, name: str, suffix: str = "") -> Path:
    """Return the path of `name`, or of `name-2`, `name-3` and so on if that is taken."""
    path = directory / f"{name}{suffix}"
    number = 1
    while os.path.lexists(path):
        number += 1
        path = directory / f"{name}-{number}{suffix}"
    return path


def spec_key(path: Path) -> str:
    """Return a file name for data about a spec, the same by whatever path it is reached."""
    return hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]


def lasting_directory(root: Path, name: str) -> Path:
    """Return the directory `name` for files on which a run depends.

    In a repository it is in the git directory: an executor that runs `git clean -fdx` removes
    `.ralph`, and would remove copies together with the files of which they are the copies, and
    locks that keep another run or worker out.
    """
    root = root.resolve()
    for directory in (root, *root.parents):
        git_dir = git_directory_of(directory)
        if git_dir is None:
            continue
        if not os.access(git_dir, os.W_OK):
            break
        if root != directory:
            # Several projects may share a repository.
            name = f"{name}-{_as_name(root.relative_to(directory))}"
        return git_dir / OUR_GIT_DIRECTORY / name
    return root / RALPH_DIRECTORY / name


def _as_name(path: Path) -> str:
    """Return a file name that stands for a path; for one that is too long, a hash of it."""
    name = str(path).replace("%", "%25").replace("/", "%2F")
    data = os.fsencode(name)
    return name if len(data) <= LONGEST_NAME else hashlib.sha256(data).hexdigest()


def our_directories(root: Path) -> tuple[Path, ...]:
    """Return the directories that everything but the files of specs is written to."""
    directories = (root / RALPH_DIRECTORY, lasting_directory(root, BACKUPS_NAME).parent)
    # Without a repository they are one.
    return tuple(dict.fromkeys(directories))


def backups_directory(root: Path) -> Path:
    """Return the directory for copies of changed files, with one directory per run."""
    return lasting_directory(root, BACKUPS_NAME)


def git_directory_of(worktree: Path) -> Path | None:
    """Return the git directory of the worktree whose top is `worktree`; None if it is no such."""
    place = worktree / ".git"
    if place.is_file():
        # The worktree of a submodule, or one that `git worktree` made.
        place = worktree / read_or_empty(place).removeprefix("gitdir:").strip()
    return place if (place / "HEAD").is_file() else None


def outside_target(path: Path, root: Path) -> Path | None:
    """Return where `path` really is if it lies in `root` by name and a link leads out of it."""
    if ".." in path.parts or not path.absolute().is_relative_to(root):
        return None
    target = Path(os.path.realpath(path))
    if target.is_relative_to(os.path.realpath(root)):
        return None
    return target


def fault_point(name: str) -> None:
    """Mark a point at which the fault tests may cut the run off."""
    if on_fault_point is not None:
        on_fault_point(name)


@contextlib.contextmanager
def open_directory(path: Path, *, create: bool = False) -> Iterator[int]:
    """Open a directory by its real path, and yield the descriptor.

    No link is followed, not even one that another process creates meanwhile: OSError is raised.
    With `create`, directories that are missing are created.
    """
    # Linux can open a directory that may be passed through but not listed.
    flags = os.O_DIRECTORY | os.O_NOFOLLOW | getattr(os, "O_PATH", os.O_RDONLY)
    descriptor = os.open(path.anchor, flags)

    try:
        for part in path.parts[1:]:
            try:
                inner = os.open(part, flags, dir_fd=descriptor)
            except FileNotFoundError:
                if not create:
                    raise
                # Another process may create it at the same time.
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=descriptor)
                inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def replacing(place: Path, directory: int) -> Iterator[str]:
    """Yield the name of a file to create in the open `directory`; at the end it replaces `place`.

    If the `with` statement ends with an exception, `place` stays as it is.
    """
    unique = f"{os.getpid()}-{os.urandom(6).hex()}"
    temporary = f".{_shortened(place.name)}.{unique}.tmp"
    try:
        yield temporary
        os.replace(temporary, place.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        if isinstance(error, OSError) and error.filename == temporary:
            error.filename = str(place)
        raise


def take_over_owner(descriptor: int, name: str, directory: int) -> None:
    """Give a new file the owner and group of the file that it is going to replace, if there is one.

    Each as far as that is permitted: root can work on files of others, as in many containers.
    """
    with contextlib.suppress(FileNotFoundError):
        old = os.stat(name, dir_fd=directory, follow_symlinks=False)
        for owner, group in ((-1, old.st_gid), (old.st_uid, -1)):
            with contextlib.suppress(OSError):
                os.fchown(descriptor, owner, group)


def _shortened(name: str) -> str:
    """Return the beginning of a file name: with more in it, it would be too long for a name."""
    return os.fsencode(name)[:LONGEST_NAME].decode("utf-8", "ignore")


def is_temporary(name: str) -> bool:
    """Return whether this is the name of a file that is about to replace another one."""
    return _TEMPORARY.fullmatch(name) is not None


def sweep(path: Path) -> None:
    """Remove the temporary files of runs that were killed while they wrote `path`."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(path.parent):
            match = _TEMPORARY.fullmatch(entry.name)
            if match is not None and match["name"] == _shortened(path.name):
                remove_abandoned(Path(entry.path))


def remove_abandoned(temporary: Path) -> None:
    """Remove a file that was about to replace another one if the process that wrote it is gone."""
    match = _TEMPORARY.fullmatch(temporary.name)
    if match is not None and not is_process_running(int(match["pid"])):
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def temporary_directory(purpose: str) -> Iterator[Path]:
    """Create a directory outside the project that is removed at the end of the `with` statement.

    After a kill, `remove_temporary_directories` removes it.
    """
    # Imported here: few runs need one.
    import tempfile

    prefix = f"{_DIRECTORY_PREFIX}{purpose}-{os.getpid()}-"
    with tempfile.TemporaryDirectory(prefix=prefix) as directory:
        yield Path(directory)


def remove_temporary_directories(pid: int) -> None:
    """Remove the temporary directories of a process that was killed."""
    import shutil
    import tempfile

    for directory in Path(tempfile.gettempdir()).glob(f"{_DIRECTORY_PREFIX}*-{pid}-*"):
        shutil.rmtree(directory, ignore_errors=True)


def is_process_running(pid: int) -> bool:
    """Return whether a process with this id is at work; True if that cannot be found out."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    # In a container, nobody may wait for a process that has ended.
    status = read_or_empty(Path(f"/proc/{pid}/stat"))
    return not status.rpartition(")")[2].startswith(" Z")


class FileLock:
    """A lock between processes on a file or directory, which ends with the process that has it.

    It can be taken again by the object that holds it, and has to be released as often. Unless it
    is `required`, work goes on without it on a file system that has no locks. Several processes can
    have it at once if it is `shared` for all of them.
    """

    def __init__(
        self,
        path: Path,
        timeout: float | None = None,
        *,
        required: bool = False,
        shared: bool = False,
    ) -> None:
        self.path = path
        self._timeout = timeout
        self._required = required
        self._shared = shared
        self._descriptor = -1
        self._taken = 0

    def acquire(self) -> None:
        """Wait for the lock. Raise TimeoutError if another process keeps it for too long."""
        if self._taken:
            self._taken += 1
            return
        started = time.monotonic()
        while not self._try():
            waited = time.monotonic() - started
            if self._timeout is not None and waited >= self._timeout:
                raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), str(self.path))
            time.sleep(_LOCK_PAUSE)
        self._taken = 1

    def _try(self) -> bool:
        """Try to take the lock; return whether that succeeded."""
        try:
            import fcntl
        except ImportError:
            # On Windows nothing runs that two processes could do at once.
            return True

        flags = os.O_RDWR | os.O_CREAT
        if self.path.is_dir():
            flags = os.O_RDONLY
        descriptor = os.open(self.path, flags | os.O_NOFOLLOW, 0o644)
        try:
            kind = fcntl.LOCK_SH if self._shared else fcntl.LOCK_EX
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        except OSError as error:
            if self._required or error.errno not in _NO_LOCKS:
                os.close(descriptor)
                raise

        if os.fstat(descriptor).st_nlink == 0:
            # Whoever had the lock before removed the file.
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Let go of the lock. The file stays."""
        self._taken -= 1
        if self._taken == 0 and self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


def read_regular(path: Path) -> bytes:
    """Return the content of a file. Raise OSError at once for a device or a pipe."""
    descriptor = os.open(path, os.O_RDONLY | _NO_WAIT | _BINARY)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with open(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        # Here in any case: what opens a descriptor leaves it open if it is that of a directory.
        os.close(descriptor)


def file_signature(path: Path) -> Seen:
    """Return what tells this version of the file from any other."""
    try:
        return _signature(path.stat())
    except FileNotFoundError:
        return None


def _signature(status: os.stat_result) -> tuple[int, ...]:
    return status.st_mtime_ns, status.st_size, status.st_ino


def open_log(path: Path) -> FileIO:
    """Open a file in our directory to write it anew; create the directory if it is missing.

    Raise OSError if a link that another program has put there leads out of the project.
    """
    make_log_directory(path.parent)
    return open(path, "wb", buffering=0, opener=_open_no_link)


def make_log_directory(directory: Path) -> None:
    """Create a directory in ours unless it is there. Raise OSError as `open_log` does."""
    for place in (directory, *directory.parents):
        if place.name == RALPH_DIRECTORY and outside_target(directory, place.parent):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(directory))
    directory.mkdir(parents=True, exist_ok=True)


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace `path` so that a reader, a crash or a full disk sees either the old file or the new.

    A link stays, and what it leads to is replaced.
    """
    place = Path(os.path.realpath(path))
    sweep(place)
    _replace(place, data, durable=True, may_replace=lambda: True)


def replace_if_unchanged(
    place: Path,
    data: bytes | str,
    seen: Seen,
    *,
    old: bytes | None = None,
    durable: bool = True,
) -> Seen:
    """Replace `place` as `write_atomically` does, unless it changed since its signature was `seen`.

    If `old` is given, the file must have this content, too: a signature is not exact if another
    process writes within the same tick of the clock. `place` is a real path, and no link on the way
    to it is followed. If not `durable`, a power failure may undo the write. Return the new
    signature, or None if the file had changed and was left alone.
    """

    def is_unchanged() -> bool:
        if file_signature(place) != seen:
            return False
        return old is None or read_regular(place) == old

    try:
        return _replace(place, data, durable=durable, may_replace=is_unchanged)
    except _ChangedError:
        return None


class _ChangedError(Exception):
    """Another process wrote the file that was to be replaced."""


def _replace(
    place: Path, data: bytes | str, *, durable: bool, may_replace: Callable[[], bool]
) -> Seen:
    """Write a temporary file, and rename it to `place` if `may_replace` allows that."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")

    fault_point(f"before write {place.name}")
    try:
        with open_directory(place.parent) as directory, replacing(place, directory) as temporary:
            # Unlike those of mkstemp, the permissions of a new file are those of the umask.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            descriptor = os.open(temporary, flags, 0o666, dir_fd=directory)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                take_over_owner(descriptor, place.name, directory)
                with contextlib.suppress(FileNotFoundError):
                    old = os.stat(place.name, dir_fd=directory, follow_symlinks=False)
                    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
                if durable:
                    os.fsync(descriptor)
                # rename() keeps mtime, size and inode.
                written = _signature(os.fstat(descriptor))
            fault_point(f"before replace {place.name}")
            if not may_replace():
                raise _ChangedError
    except OSError as error:
        # Instead of the temporary file, or of none for a full disk.
        error.filename = str(place)
        raise

    fault_point(f"after write {place.name}")
    return written


def append_json(path: Path, value: object) -> None:
    """Append a value as a line of JSON, in one write: several processes may add to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o644)
    try:
        # A newline at both ends: the line before may be incomplete.
        os.write(descriptor, f"\n{json.dumps(value)}\n".encode())
    finally:
        os.close(descriptor)


def read_json_lines(path: Path) -> Iterator[Any]:
    """Yield the values that `append_json` has appended to a file; none if there is no file."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        # Empty, or incomplete because its writer was killed.
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def write_at(place: Path, offset: int, old: bytes, new: bytes) -> Seen:
    """Write `new`, which differs from `old` in one byte, over `old` at `offset`.

    `place` is a real path, and no link on the way to it is followed. Return the signature of the
    file as written, or None if `old` is not there or the file was replaced meanwhile: then another
    process changed it, and the caller has to read it again.
    """
    assert len(old) == len(new)
    changed = next(index for index in range(len(old)) if old[index] != new[index])
    assert old[changed + 1 :] == new[changed + 1 :]

    fault_point(f"before write {place.name}")
    with open_directory(place.parent) as directory:
        descriptor = os.open(place.name, os.O_RDWR | os.O_NOFOLLOW, dir_fd=directory)
    try:
        if os.pread(descriptor, len(old), offset) != old:
            return None
        os.pwrite(descriptor, new[changed : changed + 1], offset + changed)
        # Of the open file, before anybody else can write: a later look at the path would take an
        # edit saved in between for our own.
        written = _signature(os.fstat(descriptor))
    finally:
        os.close(descriptor)
    fault_point(f"after write {place.name}")
    replaced = file_signature(place) != written
    return None if replaced else written
