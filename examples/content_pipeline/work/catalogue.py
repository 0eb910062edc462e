"""The site's own database: which stories there are, and what was published when.

This is the place of the effect that must not happen twice: a row of `publication` is what readers see.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from ..article import Article
from .near_copies import SAME_STORY, resemblance, signature_of

_SCHEMA = """
CREATE TABLE IF NOT EXISTS story (guid TEXT PRIMARY KEY, story TEXT NOT NULL, signature TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS publication (
    number INTEGER PRIMARY KEY, guid TEXT NOT NULL, updated TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL,
    article TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS publication_guid ON publication (guid, updated);
"""


@dataclass(frozen=True)
class Publication:
    """One line of the site's log."""

    guid: str
    updated: str
    title: str


@contextmanager
def catalogue(folder: Path) -> Iterator[sqlite3.Connection]:
    """One transaction: committed at the end of the block, or rolled back."""
    folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(folder / "catalogue.db", timeout=60)) as db:
        db.executescript(_SCHEMA)
        db.execute("BEGIN IMMEDIATE")
        with db:
            yield db


def story_of(db: sqlite3.Connection, article: Article) -> str:
    """The guid of the story that the article tells: its own, or that of the first article which told the same."""
    known = db.execute("SELECT story FROM story WHERE guid = ?", (article.guid,)).fetchone()
    if known is not None:
        return str(known[0])
    signature = signature_of(" ".join(article.paragraphs))
    story = article.guid
    for other, text in db.execute("SELECT story, signature FROM story WHERE story = guid ORDER BY rowid"):
        if resemblance(signature, json.loads(text)) >= SAME_STORY:
            story = other
            break
    db.execute("INSERT INTO story VALUES (?, ?, ?)", (article.guid, story, json.dumps(signature)))
    return story


def enter_publication(db: sqlite3.Connection, article: Article, summary: str) -> None:
    """Enter that a version of an article is published. Twice entered is twice published."""
    db.execute(
        "INSERT INTO publication (guid, updated, title, summary, article) VALUES (?, ?, ?, ?, ?)",
        (article.guid, article.updated.isoformat(), article.title, summary, _as_json(article)),
    )


def publications(folder: Path) -> list[Publication]:
    """Everything that was published, the newest first."""
    with catalogue(folder) as db:
        rows = db.execute("SELECT guid, updated, title FROM publication ORDER BY updated DESC, number DESC")
        return [Publication(*row) for row in rows]


def _as_json(article: Article) -> str:
    return json.dumps(vars(article), default=lambda moment: moment.isoformat(), ensure_ascii=False)
