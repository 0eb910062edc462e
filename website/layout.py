"""The page around a body: head, bar, navigation, contents, what comes before and after. Next: `check`."""

from dataclasses import dataclass
from html import escape

from website.place import Place
from website.render import Heading, Rendered
from website.tree import Page, Section, Tree

_RING = (
    '<svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true"><circle cx="16" cy="16" r="11" fill="none" '
    'stroke="currentColor" stroke-width="4.5" stroke-linecap="round" stroke-dasharray="52 18" '
    'transform="rotate(-60 16 16)"/><circle class="held" cx="24.2" cy="7.8" r="2.8"/></svg>'
)
_GLASS = (
    '<svg viewBox="0 0 16 16" width="15" height="15" aria-hidden="true" fill="none" stroke="currentColor" '
    'stroke-width="1.6" stroke-linecap="round"><circle cx="7" cy="7" r="4.6"/><path d="m10.6 10.6 3.2 3.2"/></svg>'
)
_HALF = (
    '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="6" fill="none" '
    'stroke="currentColor" stroke-width="1.5"/><path d="M8 2a6 6 0 0 1 0 12z" fill="currentColor"/></svg>'
)
_BARS = (
    '<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" stroke="currentColor" stroke-width="1.6" '
    'stroke-linecap="round"><path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11"/></svg>'
)
#: What each section is for, on the home page.
_FOR = {
    "Start": "Learn it, in order.",
    "How-to guides": "Do one thing.",
    "Runbooks": "An alert, or something that looks wrong.",
    "Reference": "Look something up.",
    "Explanation": "Understand why.",
    "The project": "See how it is built, and change it.",
}


@dataclass(frozen=True)
class Welcome:
    """What the home page begins with."""

    lead: str
    promise: str
    what: str
    #: HTML of two pictures.
    screen: str
    drawing: str


@dataclass(frozen=True)
class Frame:
    """What is the same on every page."""

    tree: Tree
    version: str
    #: The path that a web server has the site under: only 404.html needs it, which is shown at any address.
    base: str

    def page(self, place: Place, page: Page, body: Rendered) -> str:
        """A page of the documents."""
        crumbs = " / ".join(escape(one) for one in (page.section, page.group) if one)
        wide = ' class="wide"' if body.columns > 3 else ""  # noqa: PLR2004 - three fit into a column of text
        main = f'<article{wide}><p class="crumbs">{crumbs}</p>{body.html}{self._neighbours(place, page)}</article>'
        return self._whole(place, f"{page.title} · Tenure", main, page=page, aside=_contents(body.headings))

    def home(self, place: Place, body: Rendered, welcome: Welcome) -> str:
        """The first page."""
        cards = "".join(self._card(place, section) for section in self.tree.sections)
        listed = body.html[body.html.index("<h2") :]
        main = (
            f'<article class="home"><header class="welcome"><div><h1>{escape(welcome.lead)}</h1>'
            f'<p class="promise">{escape(welcome.promise)}</p><p>{escape(welcome.what)}</p>'
            f'<p class="ways"><a class="button main" href="{place.to("tutorial.html")}">Start the tutorial</a>'
            f'<a class="button" href="{place.to("explanation/promises.html")}">What is promised</a>'
            f'<a class="button" href="{place.to("explanation/comparison.html")}">Compare</a></p></div></header>'
            f'<div class="cards">{cards}</div><figure class="shown">{welcome.screen}'
            f"<figcaption>The dashboard: is work flowing, what is stuck, and since when.</figcaption></figure>"
            f'<h2 class="travel">How a message travels</h2>{welcome.drawing}{listed}</article>'
        )
        return self._whole(place, "Tenure", main, page=self.tree.home)

    def file(self, place: Place, name: str, content: str) -> str:
        """A file of the project, which a page links to."""
        main = f'<article class="source"><p class="crumbs">Files</p><h1>{escape(name)}</h1>{content}</article>'
        return self._whole(place, f"{name} · Tenure", main)

    def missing(self, style: str) -> str:
        """What a web server shows for an address that is not there: at any depth, so it carries its own style."""
        ways = "".join(
            f'<li><a href="{self.base}{section.pages[0].address}">{escape(section.title)}</a></li>'
            for section in self.tree.sections
        )
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>Not here · Tenure</title>'
            f'<link rel="icon" href="{self.base}assets/icon.svg"><style>{style}</style></head>'
            f'<body class="missing"><main id="main"><article><p class="brand">{_RING}Tenure</p>'
            f"<h1>This page is not here</h1>"
            f"<p>It may have moved, or the address has a mistake in it. Nothing was lost.</p>"
            f'<p><a class="button main" href="{self.base}index.html">To the first page</a></p><ul>{ways}</ul>'
            f"</article></main></body></html>\n"
        )

    def _whole(self, place: Place, title: str, main: str, *, page: Page | None = None, aside: str = "") -> str:
        to = place.to
        return (
            f'<!doctype html>\n<html lang="en" data-root="{to(".")}/"><head><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
            f'<link rel="icon" href="{to("assets/icon.svg")}"><link rel="stylesheet" href="{to("assets/site.css")}">'
            f'<script src="{to("assets/theme.js")}"></script>'
            f'<script defer src="{to("assets/site.js")}"></script>'
            f'<script defer src="{to("assets/search.js")}"></script>'
            f'</head><body><a class="skip" href="#main">To the text</a><header class="bar">'
            f'<button type="button" class="icon menu" aria-label="Pages" aria-expanded="false" hidden>{_BARS}</button>'
            f'<a class="brand" href="{to("index.html")}">{_RING}Tenure</a>'
            f'<span class="version">{escape(self.version)}</span>'
            f'<button type="button" class="find" hidden>{_GLASS}<span>Search</span><kbd>/</kbd></button>'
            f'<button type="button" class="icon theme" aria-label="Dark or light" hidden>{_HALF}</button></header>'
            f'<div class="columns{"" if aside else " two"}">'
            f'<nav class="rail" aria-label="Pages">{self._navigation(place, page)}</nav>'
            f'<main id="main" tabindex="-1">{main}</main>{aside}</div></body></html>\n'
        )

    def _navigation(self, place: Place, here: Page | None) -> str:
        return "".join(self._section(place, section, here) for section in self.tree.sections)

    def _section(self, place: Place, section: Section, here: Page | None) -> str:
        is_here = here is not None and here.section == section.title
        parts = []
        for group in section.groups:
            links = "".join(_entry(place, page, here) for page in group.pages)
            if group.title and len(section.groups) > 1:
                opened = " open" if here is not None and here in group.pages else ""
                parts.append(f"<details{opened}><summary>{escape(group.title)}</summary><ul>{links}</ul></details>")
            else:
                parts.append(f"<ul>{links}</ul>")
        opened = " open" if is_here or (here is self.tree.home and section is self.tree.sections[0]) else ""
        return f'<details class="section"{opened}><summary>{escape(section.title)}</summary>{"".join(parts)}</details>'

    def _card(self, place: Place, section: Section) -> str:
        first = section.pages[0].address if section.title == "Start" else ""
        anchor = section.title.lower().replace(" ", "-")
        count = len(section.pages)
        href = place.to(first) if first else f"#{anchor}"
        return (
            f'<a class="card" href="{href}"><b>{escape(section.title)}</b><span>{_FOR.get(section.title, "")}</span>'
            f"<small>{count} pages</small></a>"
        )

    def _neighbours(self, place: Place, page: Page) -> str:
        pages = self.tree.pages
        at = next(number for number, one in enumerate(pages) if one is page)
        before, after = pages[at - 1] if at > 1 else None, pages[at + 1] if at + 1 < len(pages) else None
        links = [
            f'<a class="{way}" rel="{way}" href="{place.to(one.address)}"><small>{word}</small>{escape(one.title)}</a>'
            for way, word, one in (("prev", "Before", before), ("next", "Next", after))
            if one is not None
        ]
        return f'<nav class="neighbours" aria-label="Before and next">{"".join(links)}</nav>'


def _entry(place: Place, page: Page, here: Page | None) -> str:
    current = ' aria-current="page"' if page is here else ""
    return f'<li><a href="{place.to(page.address)}"{current}>{escape(page.title)}</a></li>'


def _contents(headings: list[Heading]) -> str:
    """The headings of a page; those of the third level only while they are few."""
    levels = {2, 3} if sum(heading.level in {2, 3} for heading in headings) <= 30 else {2}  # noqa: PLR2004
    listed = [heading for heading in headings if heading.level in levels]
    if len(listed) < 2:  # noqa: PLR2004 - one heading is no list
        return ""
    links = "".join(
        f'<li class="level-{heading.level}"><a href="#{heading.anchor}">{escape(heading.title)}</a></li>'
        for heading in listed
    )
    return f'<aside class="contents"><nav aria-label="On this page"><p>On this page</p><ul>{links}</ul></nav></aside>'
