"""Turns pages into HTML and an Atom feed, by the templates beside this file."""

import html
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from string import Template

from .catalogue import Publication
from .markdown import as_html
from .page import Page

TEMPLATES = Path(__file__).parent / "templates"
_NAME = "The Estuary"
_LATEST, _IN_A_SECTION, _IN_FEED, _MORE = 8, 4, 30, 3


class Renderer:
    """Renders one build. Links are relative, so that the site works in any folder and from a disk."""

    def __init__(self, site_url: str, sections: list[str]) -> None:
        """Read the templates once."""
        self._url = site_url
        self._sections = sections
        self._templates = {path.name: Template(path.read_text("utf-8")) for path in TEMPLATES.iterdir()}

    def index(self, pages: list[Page]) -> str:
        """The front page: the newest article, those after it, and the newest of each section."""
        lead, latest = pages[0], pages[1 : 1 + _LATEST]
        newest = {section: [page for page in pages if page.section == section] for section in self._sections}
        columns = [
            f'<section><h3><a href="sections/{self.slug(name)}/">{_text(name)}</a></h3>'
            f"{self._list(members[:_IN_A_SECTION], '')}</section>"
            for name, members in newest.items()
        ]
        body = self._fill(
            "index.html",
            lead=self._card(lead, "", "lead"),
            latest="\n".join(self._card(page, "") for page in latest),
            columns="\n".join(columns),
            count=len(pages),
            sections=len(self._sections),
        )
        return self._document(f"{_NAME}: local news, read for you", body, "")

    def section(self, name: str, pages: list[Page]) -> str:
        """All of one section."""
        cards = "\n".join(self._card(page, "../../") for page in pages)
        body = f'<h1>{_text(name)}</h1>\n<p class="meta">{len(pages)} articles</p>\n<div class="cards">{cards}</div>'
        return self._document(f"{name} · {_NAME}", body, "../../", name)

    def article(self, page: Page, section: list[Page]) -> str:
        """One article, with others of its section."""
        at = section.index(page)
        others = [*section[at + 1 :], *section[:at]][:_MORE]
        more = f"<aside><h2>More in {_text(page.section)}</h2>{self._list(others, '../../')}</aside>" if others else ""
        day = _day(page.updated)
        revised = f'<p class="meta"><span class="revised">Corrected {day}</span></p>' if page.is_revised else ""
        slug = self.slug(page.section)
        values = _shown(page) | {"section_slug": slug, "revised": revised, "text": as_html(page.text), "more": more}
        body = self._fill("article.html", **values)
        return self._document(f"{page.title} · {_NAME}", body, "../../", page.section)

    def log(self, publications: list[Publication], names: Mapping[str, str]) -> str:
        """Every publication, the newest first: what readers were told, and when."""
        lines = "\n".join(
            f'<li data-guid="{html.escape(one.guid)}" data-version="{one.updated}">'
            f'<time datetime="{one.updated}">{_day(datetime.fromisoformat(one.updated))}</time> '
            f'<a href="../articles/{names[one.guid]}/">{_text(one.title)}</a></li>'
            for one in publications
        )
        head = '<h1>The log</h1>\n<p class="meta">Everything published, the newest first.</p>'
        body = f'{head}\n<ol class="log">{lines}</ol>'
        return self._document(f"The log · {_NAME}", body, "../")

    def feed(self, pages: list[Page]) -> str:
        """The newest articles, as Atom."""
        entries = "\n".join(
            self._fill("entry.xml", **_shown(page), site=self._url, content=_text(as_html(page.text)))
            for page in pages[:_IN_FEED]
        )
        updated = max(page.updated for page in pages).isoformat()
        return self._fill("feed.xml", name=_NAME, url=self._url, updated=updated, entries=entries)

    def style(self) -> str:
        """The style sheet."""
        return self._templates["style.css"].template

    @staticmethod
    def slug(section: str) -> str:
        """A section's folder."""
        return re.sub(r"[^a-z0-9]+", "-", section.lower()).strip("-")

    def _document(self, title: str, body: str, root: str, section: str = "") -> str:
        current = {section: " aria-current=page"}
        links = "\n".join(
            f'<a href="{root}sections/{self.slug(name)}/"{current.get(name, "")}>{_text(name)}</a>'
            for name in self._sections
        )
        values = {"title": _text(title), "body": body, "root": root, "home": root or "./", "nav": links, "name": _NAME}
        return self._fill("page.html", **values)

    def _card(self, page: Page, root: str, kind: str = "card") -> str:
        level = "h1" if kind == "lead" else "h2"
        return self._fill("card.html", **_shown(page), kind=kind, level=level, root=root)

    @staticmethod
    def _list(pages: Iterable[Page], root: str) -> str:
        lines = (f'<li><a href="{root}articles/{page.name}/">{_text(page.title)}</a></li>' for page in pages)
        return f"<ul>{''.join(lines)}</ul>"

    def _fill(self, template: str, **values: object) -> str:
        return self._templates[template].substitute({name: str(value) for name, value in values.items()})


def _shown(page: Page) -> dict[str, str]:
    """A page's fields as HTML."""
    times = {"published": page.published.isoformat(), "updated": page.updated.isoformat(), "day": _day(page.published)}
    texts = {name: _text(getattr(page, name)) for name in ("guid", "title", "summary", "section", "source", "author")}
    return texts | times | {"name": page.name, "url": html.escape(page.url), "minutes": str(page.minutes)}


def _text(text: str) -> str:
    return html.escape(text, quote=False)


def _day(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y}"
