"""Compares what readers see with what the feeds say.

Reads the feeds and the published site, and nothing of the pipeline.
"""

import html
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from ..article import Article
from ..work.feed import BrokenFeed, parse_feed
from ..work.near_copies import SAME_STORY, resemblance, signature_of

_LINE = re.compile(r'<li data-guid="([^"]+)" data-version="([^"]+)">.*?href="\.\./articles/([^"/]+)/"', re.DOTALL)


@dataclass(frozen=True)
class Told:
    """A story, or its correction: what a reader should be told once."""

    story: str
    is_correction: bool


@dataclass(frozen=True)
class Count:
    """What readers got."""

    pages: int
    #: Publications and pages beyond the first of the same.
    duplicates: int
    #: Stories and corrections that the feeds have and the site has not.
    lost: int

    def __str__(self) -> str:
        """One line."""
        return f"pages {self.pages} · duplicates {self.duplicates} · lost {self.lost}"


class Expected:
    """What the feeds say, read one after the other."""

    def __init__(self, feeds: Iterable[Path]) -> None:
        """Read them all; feeds that are broken say nothing."""
        articles: dict[str, Article] = {}
        self.broken: list[Path] = []
        for feed in feeds:
            try:
                articles |= {article.key: article for article in parse_feed(feed.read_bytes())}
            except BrokenFeed:
                self.broken.append(feed)
        self.articles = list(articles.values())
        self.story_of = _stories(self.articles)
        self.told = {self._told(article) for article in self.articles}
        self._corrections = {
            (self.story_of[one.guid], one.updated.isoformat()) for one in self.articles if one.is_corrected
        }

    def _told(self, article: Article) -> Told:
        return Told(self.story_of[article.guid], article.is_corrected)

    def told_by(self, guid: str, version: str) -> Told:
        """What a line of the site's log tells."""
        story = self.story_of.get(guid, guid)
        return Told(story, (story, version) in self._corrections)

    def compare(self, site: Path) -> Count:
        """Count what a published site says against it."""
        folders = {path.name for path in (site / "articles").glob("*") if (path / "index.html").is_file()}
        log = site / "log" / "index.html"
        lines = _LINE.findall(log.read_text(encoding="utf-8")) if log.is_file() else []
        told: Counter[Told] = Counter()
        pages: dict[str, set[str]] = {}
        for guid, version, page in lines:
            one = self.told_by(html.unescape(guid), version)
            pages.setdefault(one.story, set()).add(page)
            if page in folders and (not one.is_correction or _shows_correction(site, page)):
                told[one] += 1
        repeated = sum(told.values()) - len(told)
        second_pages = sum(len(names) - 1 for names in pages.values())
        return Count(len(folders), repeated + second_pages, len(self.told - told.keys()))


def _stories(articles: list[Article]) -> dict[str, str]:
    """The guid of the first article that tells the same story, for each guid."""
    ordered = sorted(articles, key=lambda article: (article.published, article.guid))
    signatures = {article.key: signature_of(" ".join(article.paragraphs)) for article in ordered}
    story_of = {article.guid: article.guid for article in ordered}
    for first, second in combinations(ordered, 2):
        if resemblance(signatures[first.key], signatures[second.key]) >= SAME_STORY:
            story_of[second.guid] = story_of[first.guid]
    return story_of


def _shows_correction(site: Path, page: str) -> bool:
    return 'class="revised"' in (site / "articles" / page / "index.html").read_text(encoding="utf-8")
