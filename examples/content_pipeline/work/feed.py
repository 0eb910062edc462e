"""Reads RSS 2.0 and Atom."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

from ..article import Article

logger = logging.getLogger(__name__)
_ATOM = "{http://www.w3.org/2005/Atom}"
_BODY = "{http://purl.org/rss/1.0/modules/content/}encoded"
_CREATOR = "{http://purl.org/dc/elements/1.1/}creator"
_UPDATED = f"{_ATOM}updated"


class BrokenFeed(ValueError):
    """It is no feed that can be read; fetching it again does not help."""


def parse_feed(raw: bytes, name: str = "the feed") -> list[Article]:
    """The articles of a feed, each in its newest version. Raises `BrokenFeed`."""
    if b"<!DOCTYPE" in raw[:2000].upper():
        raise BrokenFeed(f"{name} has a document type, as HTML pages have")
    try:
        root = ET.fromstring(raw)  # noqa: S314 - no document type, so no entities that grow
    except ET.ParseError as error:
        raise BrokenFeed(f"{name} is not well-formed: {error}") from error
    if root.tag == "rss" and (channel := root.find("channel")) is not None:
        found = _entries(channel, name, "item", _from_rss)
    elif root.tag == f"{_ATOM}feed":
        found = _entries(root, name, f"{_ATOM}entry", _from_atom)
    else:
        raise BrokenFeed(f"{name} is <{root.tag}>, neither RSS 2.0 nor Atom")
    newest: dict[str, Article] = {}
    for article in found:
        if article.guid not in newest or newest[article.guid].updated < article.updated:
            newest[article.guid] = article
    return list(newest.values())


def _entries(feed: ET.Element, name: str, tag: str, read: Callable[[ET.Element, str], Article]) -> list[Article]:
    source = _text(feed, "title") or _text(feed, f"{_ATOM}title")
    entries = feed.findall(tag)
    if not entries:
        raise BrokenFeed(f"{name} has no entries")
    found, problems = [], []
    for entry in entries:
        try:
            found.append(_checked(read(entry, source)))
        except ValueError as error:
            problems.append(error)
    if not found:
        raise BrokenFeed(f"{name}: {problems[0]}") from problems[0]
    if problems:  # the others are good
        logger.warning("%s: %d of %d entries cannot be read: %s", name, len(problems), len(entries), problems[0])
    return found


def _checked(article: Article) -> Article:
    if not (article.guid and article.title and article.paragraphs):
        raise ValueError(f"{article.title or article.guid or 'an entry'} has no id, no title or no text")
    return article


def _from_rss(item: ET.Element, source: str) -> Article:
    published = _moment(_text(item, "pubDate"), parsedate_to_datetime)
    updated = _text(item, _UPDATED)
    return Article(
        guid=_text(item, "guid") or _text(item, "link"),
        source=source,
        url=_text(item, "link"),
        title=_text(item, "title"),
        author=_text(item, _CREATOR) or source,
        section=_text(item, "category") or "News",
        published=published,
        updated=_moment(updated, datetime.fromisoformat) if updated else published,
        paragraphs=_paragraphs(_text(item, _BODY) or _text(item, "description")),
    )


def _from_atom(entry: ET.Element, source: str) -> Article:
    updated = _text(entry, _UPDATED)
    link, category = entry.find(f"{_ATOM}link"), entry.find(f"{_ATOM}category")
    return Article(
        guid=_text(entry, f"{_ATOM}id"),
        source=source,
        url=link.get("href", "") if link is not None else "",
        title=_text(entry, f"{_ATOM}title"),
        author=_text(entry, f"{_ATOM}author/{_ATOM}name") or source,
        section=category.get("term", "News") if category is not None else "News",
        published=_moment(_text(entry, f"{_ATOM}published") or updated, datetime.fromisoformat),
        updated=_moment(updated, datetime.fromisoformat),
        paragraphs=_paragraphs(_text(entry, f"{_ATOM}content") or _text(entry, f"{_ATOM}summary")),
    )


def _text(element: ET.Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _moment(text: str, read: Callable[[str], datetime]) -> datetime:
    moment = read(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


class _Paragraphs(HTMLParser):
    """Takes the text out of HTML, a block at a time."""

    _BLOCKS = frozenset({"p", "div", "li", "h1", "h2", "h3", "h4", "blockquote", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - as inherited
        if tag in self._BLOCKS:
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._BLOCKS:
            self.found.append("")

    def handle_data(self, data: str) -> None:
        self.found[-1] += data


def _paragraphs(html: str) -> tuple[str, ...]:
    parser = _Paragraphs()
    parser.feed(html)
    parser.close()
    return tuple(text for text in (" ".join(one.split()) for one in parser.found) if text)
