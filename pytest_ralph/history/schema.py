"""The database of the history: open it, migrate it, move it aside if it is corrupt; its views."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from typing import TYPE_CHECKING

from pytest_ralph.files import FileLock, unused_path
from pytest_ralph.history.record import HistoryError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_ralph.history.store import History

# The statements that migrate a database from version n to n + 1. Never change a released row.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE attempts (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            run TEXT NOT NULL, time REAL NOT NULL, spec TEXT NOT NULL, task TEXT NOT NULL,
            number INTEGER NOT NULL, what TEXT NOT NULL,
            kind TEXT NOT NULL, type TEXT NOT NULL, category TEXT,
            error TEXT NOT NULL, fingerprint TEXT NOT NULL,
            blocker TEXT, duration REAL NOT NULL, decision TEXT NOT NULL, fix TEXT NOT NULL,
            executor TEXT NOT NULL, outcome TEXT NOT NULL, "commit" TEXT NOT NULL,
            prediction REAL)""",
        "CREATE INDEX attempts_by_task ON attempts (spec, task, id, what)",
        "CREATE INDEX attempts_by_run ON attempts (run, spec, task)",
        "CREATE INDEX attempts_by_time ON attempts (time)",
    ),
    (
        "ALTER TABLE attempts ADD COLUMN approach TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN tree TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE attempts ADD COLUMN timeout REAL",
        "ALTER TABLE attempts ADD COLUMN session TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX remedies_by_kind ON attempts (kind) WHERE what IN ('fix', 'repair', 'retry')",
        """CREATE INDEX remedies_by_fingerprint ON attempts (fingerprint)
           WHERE what IN ('fix', 'repair', 'retry')""",
    ),
    (
        "ALTER TABLE attempts ADD COLUMN cost REAL",
        "ALTER TABLE attempts ADD COLUMN tokens INTEGER",
    ),
)
VERSION = len(MIGRATIONS)


def connect(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a database, only to read it where nothing may be written.

    It is brought to this version. Transactions have to be begun explicitly.
    """
    _check_version(_version_in_header(path), path)
    try:
        return _connect_to_write(path, timeout)
    except sqlite3.OperationalError as error:
        if not ("readonly" in str(error) or "unable to open" in str(error)):
            raise
        return _connect_to_read(path)


def _connect_to_write(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a database, and migrate it."""
    connection = sqlite3.connect(
        path, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    with _closed_on_error(connection):
        _check_version(_user_version(connection), path)
        _refuse_foreign(connection, path)
        _use_wal(connection)
        _migrate(connection, path)
        create_views(connection)
    return connection


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a database where nothing can be written, not even a lock."""
    uri = f"{path.resolve().as_uri()}?immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    with _closed_on_error(connection):
        version = _user_version(connection)
        if version != VERSION:
            raise HistoryError(
                f"{path} has version {version} and is read-only: cannot migrate to {VERSION}"
            ) from None
        create_views(connection)
    return connection


def is_corrupt(error: sqlite3.Error) -> bool:
    """Return whether the file itself is damaged."""
    return "malformed" in str(error) or "not a database" in str(error)


def set_aside(path: Path, timeout: float) -> Path | None:
    """Move a corrupt database aside; return None if another process has done so already."""
    with FileLock(path.with_name(f"{path.name}.lock"), timeout):
        if _is_sound(path, timeout):
            return None
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        target = unused_path(path.parent, f"{path.name}.corrupt-{stamp}")
        # The log first: SQLite would replay an old log into a new database.
        for suffix in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + suffix).rename(target.with_name(target.name + suffix))
        return target


def _is_sound(path: Path, timeout: float) -> bool:
    """Return whether SQLite finds no damage."""
    try:
        with contextlib.closing(
            sqlite3.connect(path, timeout=timeout, isolation_level=None)
        ) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            return bool(verdict == "ok")
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False


def _check_version(version: int, path: Path) -> None:
    if version > VERSION:
        raise HistoryError(
            f"{path} was written by a newer pytest-ralph (version {version}; this one reads"
            f" {VERSION} at most): upgrade pytest-ralph, or move the file aside"
        )


def _version_in_header(path: Path) -> int:
    """Read the version without SQLite, so that the file of a newer version stays untouched."""
    try:
        with path.open("rb") as file:
            header = file.read(64)
    except OSError:
        return 0
    if not header.startswith(b"SQLite format 3\0"):
        return 0
    return int.from_bytes(header[60:64], "big", signed=True)


def _user_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _refuse_foreign(connection: sqlite3.Connection, path: Path) -> None:
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if tables and _user_version(connection) <= 0:
        raise HistoryError(f"{path} is a database of another program")


def _use_wal(connection: sqlite3.Connection) -> None:
    # Some file systems cannot, and another process may be switching at this moment.
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode=WAL")
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
        connection.execute("PRAGMA synchronous=NORMAL")


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a database to this version."""
    if _user_version(connection) == VERSION:
        return
    with transaction(connection):
        # Check again under the lock: several processes may open a new database at once.
        version = _user_version(connection)
        _check_version(version, path)
        for statements in MIGRATIONS[version:]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={VERSION}")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end of the block, or roll back if it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some errors, such as a full disk, have rolled it back already.
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


# Temporary views that define what the rows mean, for statistics and learning. The ids of the rows
# of one task in one run are in the order of events, whatever the clock did.
#
# observation   a verification or an execution of a task; `bad` if it failed
# trouble       a task in a run in which it failed and was not merely flaky: its `first_bad` and its
#               `last` verification, `good` if that passed
# remedy        a fix, repair or retry; `worked` if the next verification of the task in that run
#               passed (NULL if the run ended before that)
# flip          a failed verification next to a passed one with nothing changed between them: no
#               fix, no repair, the same tree; without git, only within one run. `kind` is that of
#               the failure
# score         a task: how often it was tried and failed, and in how many runs it recovered or not
# prediction    the probability that was predicted, and whether the event came true
VIEWS = {
    "observation": """
        SELECT *, outcome IN ('failed', 'escalated') AS bad
        FROM attempts WHERE what IN ('verify', 'execute')""",
    "trouble": """
        SELECT ends.*, last.outcome IN ('passed', 'recovered', 'flaky') AS good, last.time AS ended
        FROM (SELECT run, spec, task, MAX(id) AS last, MAX(outcome = 'flaky') AS flaky,
                     MIN(CASE WHEN outcome IN ('failed', 'escalated') THEN id END) AS first_bad
              FROM attempts WHERE what = 'verify'
              GROUP BY run, spec, task HAVING first_bad IS NOT NULL) AS ends
        CROSS JOIN attempts AS last ON last.id = ends.last
        WHERE NOT flaky OR last.outcome NOT IN ('passed', 'flaky')""",
    "remedy": """
        SELECT *, CASE
            WHEN outcome IN ('failed', 'escalated') THEN 0
            WHEN outcome = 'recovered' THEN 1
            ELSE (SELECT next.outcome IN ('passed', 'recovered') FROM attempts AS next
                  WHERE next.spec = attempts.spec AND next.task = attempts.task
                    AND next.run = attempts.run AND next.what = 'verify' AND next.id > attempts.id
                  ORDER BY next.id LIMIT 1)
            END AS worked
        FROM attempts WHERE what IN ('fix', 'repair', 'retry')""",
    "flip": """
        SELECT bad.spec, bad.task, bad.kind, good.timeout IS NOT bad.timeout AS new_limit
        FROM (SELECT id, (SELECT id FROM attempts AS next WHERE next.spec = attempts.spec
                AND next.task = attempts.task AND next.id < attempts.id
                AND next.what IN ('verify', 'fix', 'repair')
              ORDER BY next.id DESC LIMIT 1) AS beside
              FROM attempts WHERE what = 'verify' AND outcome IN ('failed', 'escalated')
              UNION ALL
              SELECT id, (SELECT id FROM attempts AS next WHERE next.spec = attempts.spec
                AND next.task = attempts.task AND next.id > attempts.id
                AND next.what IN ('verify', 'fix', 'repair') ORDER BY next.id LIMIT 1)
              FROM attempts
              WHERE what = 'verify' AND outcome IN ('failed', 'escalated')) AS neighbour
        CROSS JOIN attempts AS bad ON bad.id = neighbour.id
        CROSS JOIN attempts AS good ON good.id = neighbour.beside
        WHERE good.what = 'verify' AND good.outcome IN ('passed', 'recovered', 'flaky')
          AND good.tree = bad.tree AND (good.tree <> '' OR good.run = bad.run)""",
    "score": """
        WITH ended AS (
            SELECT spec, task, SUM(good) AS recovered, SUM(NOT good) AS unrecovered
            FROM trouble GROUP BY spec, task
        ), counted AS (
            SELECT spec, task, COUNT(*) AS attempts, SUM(bad) AS failures, AVG(duration) AS mean
            FROM observation GROUP BY spec, task
        ), paid AS (
            SELECT spec, task, SUM(cost) AS cost FROM attempts
            WHERE cost IS NOT NULL GROUP BY spec, task
        )
        SELECT spec, task, attempts, failures, IFNULL(recovered, 0) AS recovered,
               IFNULL(unrecovered, 0) AS unrecovered, mean, cost
        FROM counted LEFT JOIN ended USING (spec, task) LEFT JOIN paid USING (spec, task)""",
    "prediction": """
        SELECT prediction, worked AS came_true
        FROM remedy WHERE prediction IS NOT NULL AND worked IS NOT NULL
        UNION ALL
        SELECT prediction, NOT bad FROM observation WHERE prediction IS NOT NULL""",
}


def create_views(connection: sqlite3.Connection) -> None:
    """Create the views for this connection only; the file needs no migration for them."""
    connection.execute("PRAGMA temp_store=MEMORY")
    for name, select in VIEWS.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {select}")


def materialize(history: History, name: str) -> None:
    """Replace a view that is used several times by a table, until the snapshot ends."""
    history.query(f"DROP VIEW temp.{name}")
    history.query(f"CREATE TEMP TABLE {name} AS {VIEWS[name]}")
