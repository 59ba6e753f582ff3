"""Temporary SQL views that define what the rows of a history mean, for statistics and learning.

The ids of the rows of one task in one run are in the order of events, whatever the clock did.

observation   a verification or an execution of a task; `bad` if it failed
trouble       a task in a run in which it failed: its `first_bad` and its `last` verification,
              `good` if that passed
remedy        a fix, repair or retry; `worked` if the next verification of the task in that run
              passed (NULL if the run ended before that)
flip          a failed verification next to a passed one with nothing changed between them: no
              fix, no repair, the same tree; without git, only within one run. `kind` is that of
              the failure
prediction    the probability that was predicted, and whether the event came true
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

    from pytest_ralph.history.store import History

VIEWS = {
    "observation": """
        SELECT *, outcome IN ('failed', 'escalated') AS bad
        FROM attempts WHERE what IN ('verify', 'execute')""",
    "trouble": """
        SELECT ends.*, last.outcome IN ('passed', 'recovered', 'flaky') AS good, last.time AS ended
        FROM (SELECT run, spec, task, MAX(id) AS last,
                     MIN(CASE WHEN outcome IN ('failed', 'escalated') THEN id END) AS first_bad
              FROM attempts WHERE what = 'verify'
              GROUP BY run, spec, task HAVING first_bad IS NOT NULL) AS ends
        CROSS JOIN attempts AS last ON last.id = ends.last""",
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
