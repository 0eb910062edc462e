"""A page: Markdown with front matter, one file an article."""

import hashlib
import json
import re
import sqlite3
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from .markdown import as_markdown

_WORDS_A_MINUTE = 220
_LONGEST_SLUG = 60


@dataclass(frozen=True)
class Page:
    """What a page says, and where it lies."""

    name: str
    guid: str
    title: str
    source: str
    url: str
    author: str
    section: str
    published: datetime
    updated: datetime
    summary: str
    minutes: int
    text: str

    @property
    def is_revised(self) -> bool:
        """Whether the article was corrected after it was published."""
        return self.updated > self.published


def page_of(db: sqlite3.Connection, guid: str) -> Page:
    """The page of an article, from its newest publication. Its name is that of the first, so that links stay."""
    (first,) = db.execute("SELECT title FROM publication WHERE guid = ? ORDER BY number", (guid,)).fetchone()
    newest = db.execute(
        "SELECT summary, article FROM publication WHERE guid = ? ORDER BY updated DESC, number DESC", (guid,)
    ).fetchone()
    article = json.loads(newest[1])
    words = sum(len(paragraph.split()) for paragraph in article["paragraphs"])
    return Page(
        name=f"{_slug(first)}-{hashlib.sha256(guid.encode()).hexdigest()[:6]}",
        published=datetime.fromisoformat(article["published"]),
        updated=datetime.fromisoformat(article["updated"]),
        summary=newest[0],
        minutes=max(1, round(words / _WORDS_A_MINUTE)),
        text=as_markdown(article["paragraphs"]),
        **{name: article[name] for name in ("guid", "title", "source", "url", "author", "section")},
    )


def write_page(folder: Path, page: Page) -> None:
    """Write `content/NAME.md` in one step: a reader sees the old page or the new one."""
    front = {name: value for name, value in vars(page).items() if name not in {"name", "text"}}
    lines = [
        f"{name}: {json.dumps(value, default=datetime.isoformat, ensure_ascii=False)}" for name, value in front.items()
    ]
    content = folder / "content"
    content.mkdir(exist_ok=True)
    draft = content / f".{page.name}"
    draft.write_text("\n".join(["---", *lines, "---", "", page.text, ""]), encoding="utf-8")
    draft.replace(content / f"{page.name}.md")


def read_page(path: Path) -> Page:
    """Read one back."""
    _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
    fields = {name: json.loads(value) for name, _, value in (line.partition(": ") for line in front.splitlines())}
    fields |= {name: datetime.fromisoformat(fields[name]) for name in ("published", "updated")}
    return Page(name=path.stem, text=text.strip(), **fields)


def read_pages(folder: Path) -> list[Page]:
    """All pages, the newest first."""
    pages = [read_page(path) for path in (folder / "content").glob("*.md")]
    return sorted(pages, key=lambda page: (page.published, page.name), reverse=True)


def digest_of_pages(folder: Path) -> str:
    """Names what all pages say together."""
    digest = hashlib.sha256()
    for path in sorted((folder / "content").glob("*.md")):
        digest.update(path.name.encode() + b"\n" + path.read_bytes())
    return digest.hexdigest()[:16]


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = re.sub(r"[^a-z0-9]+", "-", plain.replace("'", "")).strip("-")
    return slug[:_LONGEST_SLUG].rstrip("-") or "page"
