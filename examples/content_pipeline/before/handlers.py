"""What each service of the old pipeline did with a message, by the same functions as the services on Tenure."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..article import Article
from ..settings import Settings
from ..work.catalogue import catalogue, enter_publication, story_of
from ..work.feed import parse_feed
from ..work.fetch import fetch
from ..work.page import page_of, write_page
from ..work.site import build_site, publish_release
from ..work.summary import summarise
from .storage_queue import StorageQueue

settings = Settings.from_environment()


def queue_of(service: str) -> StorageQueue:
    """The queue of a service."""
    return StorageQueue(Path(os.environ["OLD_QUEUES"]), service)


def collect(body: dict[str, Any]) -> None:
    """Send on each article that was not sent before. A crash between the two lines sends it again."""
    for article in parse_feed(fetch(body["feed"]), body["feed"]):
        if not _was_sent(article.key):
            _send("content-processor", article=_plain(article))
            _remember(article.key)


def process(body: dict[str, Any]) -> None:
    """Summarise it, and send it on."""
    article = _article(body["article"])
    with catalogue(settings.folder) as db:
        story = story_of(db, article)
    if story == article.guid or article.is_corrected:
        summary = summarise(article, settings)
        _send("markdown-generator", article=_plain(replace(article, guid=story)), summary=summary)


def generate(body: dict[str, Any]) -> None:
    """Publish the page, and ask for a build."""
    article = _article(body["article"])
    with catalogue(settings.folder) as db:
        enter_publication(db, article, body["summary"])
        write_page(settings.folder, page_of(db, article.guid))
    _send("site-publisher", page=article.guid)


def build(body: dict[str, Any]) -> None:  # noqa: ARG001 - it builds all pages
    """Build the whole site."""
    publish_release(settings.folder, build_site(settings.folder, settings.site_url))


HANDLERS: dict[str, Callable[[dict[str, Any]], None]] = {
    "collect": collect,
    "process": process,
    "generate": generate,
    "build": build,
}


def _send(service: str, **body: Any) -> None:
    queue_of(service).send_message(json.dumps(body))


def _was_sent(key: str) -> bool:
    with catalogue(settings.folder) as db:
        db.execute("CREATE TABLE IF NOT EXISTS sent (key TEXT PRIMARY KEY)")
        return db.execute("SELECT 1 FROM sent WHERE key = ?", (key,)).fetchone() is not None


def _remember(key: str) -> None:
    with catalogue(settings.folder) as db:
        db.execute("INSERT OR IGNORE INTO sent VALUES (?)", (key,))


def _plain(article: Article) -> dict[str, Any]:
    times = {name: getattr(article, name).isoformat() for name in ("published", "updated")}
    return vars(article) | times


def _article(plain: dict[str, Any]) -> Article:
    times = {name: datetime.fromisoformat(plain[name]) for name in ("published", "updated")}
    return Article(**(plain | times | {"paragraphs": tuple(plain["paragraphs"])}))
