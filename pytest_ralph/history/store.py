"""The History of a project: a Record of every attempt, in SQLite.

Nothing is created before the first record. Plain passes are written in batches, everything else at
once, so that a run killed at any moment loses no failure and no fix. Safe for several threads and
several processes.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_ralph.files import fault_point
from pytest_ralph.history import schema
from pytest_ralph.history.directory import make_private
from pytest_ralph.history.record import COLUMNS, HistoryError, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    Parameters = Sequence[object] | Mapping[str, object]

__all__ = ["History", "HistoryError", "Record"]

T = TypeVar("T")
NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
INSERT = f"INSERT INTO attempts ({NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608

BUSY_TIMEOUT = 10.0
FLUSH_EVERY = 5.0
# After a failed write the next try waits this long: a full disk must not slow down the run.
TRY_AGAIN_AFTER = 30.0
MOST_WAITING = 10_000
KEEP_ATTEMPTS = 500_000


class History:
    """Stores and reads records.

    `warn` is called with a line when attempts cannot be written, once until they can be again, and
    when so many wait that the oldest are dropped. Without it, HistoryError is raised for the
    former. `mask` is applied to all free text.
    """

    def __init__(
        self,
        path: Path,
        *,
        warn: Callable[[str], None] | None = None,
        mask: Callable[[str], str] | None = None,
        flush_every: float = FLUSH_EVERY,
        busy_timeout: float = BUSY_TIMEOUT,
    ) -> None:
        self.path = path
        self._warn = warn
        self._mask = mask
        self._flush_every = flush_every
        self._busy_timeout = busy_timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inode: int | None = None
        self._waiting: deque[Record] = deque()
        self._has_dropped = False
        self._flushed = time.monotonic()
        self._not_before = 0.0
        self._warned = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def record(self, record: Record) -> None:
        """Keep `record`, and write it at once unless it is a plain pass."""
        with self._lock:
            self._waiting.append(record)
            if len(self._waiting) > MOST_WAITING:
                self._drop_oldest()
            now = time.monotonic()
            due = now - self._flushed >= self._flush_every
            if (due or not record.routine) and now >= self._not_before:
                self.flush()

    def flush(self) -> None:
        """Write the waiting records. After an error they wait for the next try."""
        with self._lock:
            if not self._waiting:
                return
            rows = [record.row(self._mask) for record in self._waiting]

            try:
                if self._connection is None:
                    make_private(self.path.parent)
                self._do(lambda connection: _insert(connection, rows))
            except HistoryError as error:
                self._not_before = time.monotonic() + TRY_AGAIN_AFTER
                self._warn_once(error)
            else:
                self._waiting.clear()
                self._flushed = time.monotonic()
                self._warned = False

    def close(self) -> None:
        with self._lock:
            try:
                self.flush()
            finally:
                self._disconnect()

    def records(self, spec: str = "", task: str = "", limit: int = -1) -> list[Record]:
        """The records of a spec or of one of its tasks, or all of them, oldest first.

        With `limit`, only the latest of them.
        """
        conditions = []
        if spec:
            conditions.append("spec = :spec")
        if task:
            conditions.append("task = :task")
        where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
        rows = self.query(
            f"SELECT {NAMES} FROM attempts {where} ORDER BY id DESC LIMIT :limit",  # noqa: S608
            {"spec": spec, "task": task, "limit": limit},
        )
        return [Record.from_row(row) for row in reversed(rows)]

    def query(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """The rows of a SELECT; none if nothing was ever recorded."""
        with self._lock:
            if not self._has_records():
                return []
            return self._do(lambda connection: connection.execute(sql, parameters).fetchall())

    def _has_records(self) -> bool:
        """Write what waits, unless that failed a moment ago, and look for a database."""
        if time.monotonic() >= self._not_before:
            self.flush()
        return self._connection is not None or self.path.exists()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All queries inside see the same state; what they create is discarded afterwards."""
        with self._lock:
            self.query("BEGIN")
            try:
                yield
            finally:
                # There is nothing to roll back if nothing was recorded or the database broke.
                if self._connection is not None and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def prune(self, keep: int = KEEP_ATTEMPTS) -> int:
        """Delete all but the latest `keep` attempts, and return how many were deleted."""
        with self._lock:
            if not self._has_records():
                return 0
            return self._do(lambda connection: _delete_oldest(connection, keep))

    def _do(self, action: Callable[[sqlite3.Connection], T]) -> T:
        """Call `action`, on a new database if the present one turns out to be corrupt."""
        with self._one_line_errors():
            try:
                return action(self._connected())
            except sqlite3.DatabaseError as error:
                if not schema.is_corrupt(error):
                    raise
            self._set_aside()
            return action(self._connected())

    def _connected(self) -> sqlite3.Connection:
        """Return the connection; open it first, and again if the file was replaced."""
        if self._connection is not None and _inode(self.path) != self._inode:
            self._restore(self._connection)
        if self._connection is None:
            self._connection = schema.connect(self.path, self._busy_timeout)
            self._inode = _inode(self.path)
        return self._connection

    def _restore(self, connection: sqlite3.Connection) -> None:
        """Write the file again if an executor removed it; the open one still has everything."""
        if not self.path.exists():
            make_private(self.path.parent)
            with contextlib.closing(sqlite3.connect(self.path)) as new:
                connection.backup(new)
        self._disconnect()

    def _disconnect(self) -> None:
        connection = self._connection
        self._connection = None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _set_aside(self) -> None:
        self._disconnect()
        moved = schema.set_aside(self.path, self._busy_timeout)
        if moved is not None and self._warn is not None:
            self._warn(f"history was corrupt: moved to {moved}, started a new one")

    @contextlib.contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._disconnect()
            raise HistoryError(f"{self.path}: {' '.join(str(error).split())}") from error

    def _drop_oldest(self) -> None:
        """Give up the record that has waited longest, and say so the first time."""
        self._waiting.popleft()
        if not self._has_dropped and self._warn is not None:
            self._warn(f"history: only the latest {MOST_WAITING} attempts wait to be recorded")
        self._has_dropped = True

    def _warn_once(self, error: HistoryError) -> None:
        if self._warned:
            return
        self._warned = True
        problem = f"history is not recorded: {error}"
        if self._warn is None:
            raise HistoryError(problem) from error
        self._warn(problem)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _insert(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    fault_point("before history write")
    with schema.transaction(connection):
        connection.executemany(INSERT, rows)
        fault_point("before history commit")
    fault_point("after history write")


def _delete_oldest(connection: sqlite3.Connection, keep: int) -> int:
    with schema.transaction(connection):
        deleted = connection.execute(
            """DELETE FROM attempts
               WHERE id <= (SELECT id FROM attempts ORDER BY id DESC LIMIT 1 OFFSET ?)""",
            (keep,),
        )
        return deleted.rowcount
