"""An article as a feed tells it, and as one service hands it to the next."""

import hashlib
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Article:
    """One entry of a feed. A message carries it whole, so no service asks another for it."""

    #: The feed's own name for the article; it stays when the article is corrected.
    guid: str
    source: str
    url: str
    title: str
    author: str
    section: str
    published: datetime
    updated: datetime
    paragraphs: tuple[str, ...]

    @property
    def is_corrected(self) -> bool:
        """Whether it was changed after it was published."""
        return self.updated > self.published

    @property
    def key(self) -> str:
        """Names this version of the article: the same words have the same key, a correction has another."""
        words = "\n".join((self.guid, self.source, self.url, self.title, self.author, self.section, *self.paragraphs))
        times = f"{self.published.isoformat()}\n{self.updated.isoformat()}"
        return hashlib.sha256(f"{words}\n{times}".encode()).hexdigest()[:32]
