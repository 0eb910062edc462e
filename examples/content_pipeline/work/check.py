"""Checks a built site: HTML whose tags match, ids that are unique, links that lead somewhere, a feed that parses."""

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

_VOID = frozenset({"meta", "link", "img", "br", "hr", "input"})
_LINKS = {"a": "href", "link": "href", "img": "src"}


class _Document(HTMLParser):
    """One page: what it links to, and what is wrong with it."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        named = dict(attrs)
        if len(named) != len(attrs):
            self.problems.append(f"<{tag}> has an attribute twice")
        if named.get("id"):
            self.ids[str(named["id"])] += 1
        if tag in _LINKS:
            self.links.append(named.get(_LINKS[tag]) or "")
        if tag == "img" and "alt" not in named:
            self.problems.append("<img> without alt")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in _VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> in line {self.getpos()[0]} closes nothing")
        else:
            self.open.pop()

    def end(self) -> None:
        self.close()
        self.problems += [f"<{tag}> is not closed" for tag in self.open]
        self.problems += [f"the id {id} is there {count} times" for id, count in self.ids.items() if count > 1]
        for tag in ("html", "title", "h1", "main"):
            if self.tags[tag] != 1:
                self.problems.append(f"{self.tags[tag]} times <{tag}>")


def check_site(site: Path) -> list[str]:
    """What is wrong, a sentence each; nothing if the site may be published."""
    documents = {path: _read(path) for path in sorted(site.rglob("*.html"))}
    problems = [f"{path.relative_to(site)}: {said}" for path, one in documents.items() for said in one.problems]
    for path, document in documents.items():
        dead = [link for link in document.links if not _leads_somewhere(link, path, site, documents)]
        problems += [f"{path.relative_to(site)}: the link {link!r} leads nowhere" for link in dead]
    return problems + _problems_of_feed(site / "feed.xml")


def _read(path: Path) -> _Document:
    document = _Document()
    document.feed(path.read_text(encoding="utf-8"))
    document.end()
    return document


def _leads_somewhere(link: str, page: Path, site: Path, documents: dict[Path, _Document]) -> bool:
    parts = urlsplit(link)
    if parts.scheme:  # elsewhere: only its form can be checked
        return parts.scheme in {"http", "https", "mailto", "data"} and bool(parts.netloc or parts.path)
    if not link:
        return False
    target = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(site.resolve()):
        return page == target
    return not parts.fragment or (target in documents and parts.fragment in documents[target].ids)


def _problems_of_feed(path: Path) -> list[str]:
    atom = "{http://www.w3.org/2005/Atom}"
    try:
        feed = ET.parse(path).getroot()  # noqa: S314 - our own
    except (OSError, ET.ParseError) as error:
        return [f"feed.xml: {error}"]
    ids = Counter(entry.findtext(f"{atom}id") for entry in feed.iter(f"{atom}entry"))
    return [f"feed.xml: {id} is there {count} times" for id, count in ids.items() if count > 1 or not id]
