"""The tables of the index in SQLite. Used by `sqlite.py`."""

import sqlite3
from collections.abc import Iterator

#: Raised when a file of an older layout cannot be used any more.
LAYOUT = "1"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS document (
    document_set TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, title TEXT NOT NULL,
    chunks INTEGER NOT NULL, pages INTEGER, size INTEGER NOT NULL, PRIMARY KEY (document_set, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunk (
    id INTEGER PRIMARY KEY, document_set TEXT NOT NULL, name TEXT NOT NULL, number INTEGER NOT NULL,
    page INTEGER, title TEXT NOT NULL, about TEXT AS (title || ' ' || name), heading TEXT NOT NULL,
    text TEXT NOT NULL, vector BLOB,
    UNIQUE (document_set, name, number)
);
CREATE TABLE IF NOT EXISTS summary (
    document_set TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL, summary TEXT NOT NULL,
    PRIMARY KEY (document_set, name)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS chunk_text USING fts5(
    about, heading, text, content='chunk', content_rowid='id', tokenize='porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER IF NOT EXISTS chunk_added AFTER INSERT ON chunk BEGIN
    INSERT INTO chunk_text (rowid, about, heading, text) VALUES (new.id, new.about, new.heading, new.text);
END;
CREATE TRIGGER IF NOT EXISTS chunk_removed AFTER DELETE ON chunk BEGIN
    INSERT INTO chunk_text (chunk_text, rowid, about, heading, text)
    VALUES ('delete', old.id, old.about, old.heading, old.text);
END;
"""


def statements() -> Iterator[str]:
    """The statements, one by one: `executescript` would commit."""
    statement = ""
    for line in _SCHEMA.splitlines():
        statement += f"{line}\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
