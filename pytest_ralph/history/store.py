"""The History of a project: every AttemptRecord, in SQLite.

Nothing is created before the first record. Plain passes are written in batches, everything else at once, so that
a run killed at any moment has lost no failure and no fix. Safe for several threads and several processes.
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
from pytest_ralph.history.record import COLUMNS, AttemptRecord, HistoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from typing_extensions import Self

    Parameters = Sequence[object] | Mapping[str, object]

__all__ = ["AttemptRecord", "History", "HistoryError"]

T = TypeVar("T")
NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
INSERT = f"INSERT INTO attempts ({NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - names of our own

BUSY_TIMEOUT = 10.0
FLUSH_EVERY = 5.0
# After a failed write the next try waits this long: a full disk must not cost a run its pace.
TRY_AGAIN_AFTER = 30.0
MOST_WAITING = 10_000
KEEP_ATTEMPTS = 500_000


class History:
    """`warn` is told of whatever keeps attempts from being written; without it, the first time raises HistoryError."""

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
        self.notices: list[str] = []
        self._warn = warn
        self._mask = mask
        self._flush_every = flush_every
        self._busy_timeout = busy_timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._writable = False
        self._waiting: deque[AttemptRecord] = deque(maxlen=MOST_WAITING)
        self._flushed = time.monotonic()
        self._not_before = 0.0
        self._told = False

    @classmethod
    def open(cls, path: Path, **options: Any) -> Self:
        return cls(path, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def record(self, attempt: AttemptRecord) -> None:
        with self._lock:
            self._waiting.append(attempt)
            due = time.monotonic() - self._flushed >= self._flush_every
            if (due or not attempt.routine) and time.monotonic() >= self._not_before:
                self.flush()

    def flush(self) -> None:
        """Write what waits. On an error it goes on waiting, and is tried again later."""
        with self._lock:
            if not self._waiting:
                return
            rows = [attempt.row(self._mask) for attempt in self._waiting]
            try:
                self._do(lambda connection: _insert(connection, rows), write=True)
            except HistoryError as error:
                self._not_before = time.monotonic() + TRY_AGAIN_AFTER
                self._tell_once(error)
            else:
                self._waiting.clear()
                self._flushed = time.monotonic()

    def close(self) -> None:
        with self._lock:
            try:
                self.flush()
            finally:
                self._disconnect()

    def attempts(
        self,
        *,
        run: str | None = None,
        spec: str | None = None,
        task: str | None = None,
        what: str | None = None,
        kind: str | None = None,
        fingerprint: str | None = None,
        outcome: str | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> list[AttemptRecord]:
        """What was recorded, oldest first; with `limit`, only the latest so many."""
        equal = {
            "run": run,
            "spec": spec,
            "task": task,
            "what": what,
            "kind": kind,
            "fingerprint": fingerprint,
            "outcome": outcome,
        }
        wanted = {name: value for name, value in equal.items() if value is not None}
        where = " AND ".join(["time >= :since", *(f"{name} = :{name}" for name in wanted)])
        rows = self.query(
            f"SELECT {NAMES} FROM attempts WHERE {where} ORDER BY id DESC LIMIT :limit",  # noqa: S608 - names of our own
            {
                **wanted,
                "since": float("-inf") if since is None else since,
                "limit": -1 if limit is None else limit,
            },
        )
        return [AttemptRecord(*row) for row in reversed(rows)]

    def query(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Rows of a SELECT; none where nothing was ever recorded."""
        with self._lock:
            if time.monotonic() >= self._not_before:
                self.flush()
            if self._connection is None and not self.path.exists():
                return []
            return self._do(
                lambda connection: connection.execute(sql, parameters).fetchall(), write=False
            )

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """All queries in here see the same moment, and what they create is gone afterwards."""
        with self._lock:
            self.query("BEGIN")
            try:
                yield
            finally:
                # Nothing to roll back where nothing was recorded, or where the database broke meanwhile.
                if self._connection is not None and self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")

    def prune(self, keep: int = KEEP_ATTEMPTS) -> int:
        """Forget the oldest attempts past `keep`; how many were forgotten."""
        with self._lock:
            if self._connection is None and not self.path.exists():
                return 0
            return self._do(lambda connection: _delete_oldest(connection, keep), write=True)

    def _do(self, action: Callable[[sqlite3.Connection], T], *, write: bool) -> T:
        """Carry out `action`, on a fresh database if the present one turns out to be broken."""
        with self._one_line_errors():
            try:
                return action(self._connected(write))
            except sqlite3.DatabaseError as error:
                if not schema.is_corrupt(error):
                    raise
            self._set_aside()
            return action(self._connected(write))

    def _connected(self, write: bool) -> sqlite3.Connection:
        if write and not self._writable:
            self._disconnect()
        if self._connection is None:
            make_private(self.path.parent) if write else None
            connect = schema.connect if write else schema.connect_to_read
            self._connection = connect(self.path, self._busy_timeout)
            self._writable = write
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection, self._writable = self._connection, None, False
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _set_aside(self) -> None:
        self._disconnect()
        moved = schema.set_aside(self.path, self._busy_timeout)
        if moved is not None:
            self.notices.append(f"history was corrupt: moved to {moved}, a new one is begun")
            if self._warn is not None:
                self._warn(self.notices[-1])

    @contextlib.contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            self._disconnect()
            raise HistoryError(f"{self.path}: {' '.join(str(error).split())}") from error

    def _tell_once(self, error: HistoryError) -> None:
        if self._told:
            return
        self._told = True
        problem = f"history is not kept: {error}"
        if self._warn is None:
            raise HistoryError(problem) from error
        self._warn(problem)


def _insert(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    fault_point("before history write")
    with schema.transaction(connection):
        connection.executemany(INSERT, rows)
        fault_point("before history commit")
    fault_point("after history write")


def _delete_oldest(connection: sqlite3.Connection, keep: int) -> int:
    with schema.transaction(connection):
        oldest = "SELECT id FROM attempts ORDER BY id DESC LIMIT 1 OFFSET ?"
        return connection.execute(f"DELETE FROM attempts WHERE id <= ({oldest})", (keep,)).rowcount  # noqa: S608
