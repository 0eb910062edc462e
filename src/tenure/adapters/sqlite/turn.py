"""Turns: who does something that one process is enough for, and until when. A row each in the table `turn`."""

import sqlite3

_TAKE = """
INSERT INTO turn (name, token, until) VALUES (?1, ?2, ?3 + ?4)
ON CONFLICT (name) DO UPDATE SET token = excluded.token, until = excluded.until
WHERE token = excluded.token OR until NOT BETWEEN ?3 + 1 AND ?3 + ?4
"""


def take(db: sqlite3.Connection, name: str, token: str, now: int, length: int) -> bool:
    """Take or renew the turn for `length` microseconds. False: another process has it. Call inside a transaction."""
    return db.execute(_TAKE, (name, token, now, length)).rowcount > 0
