"""Every link, anchor and file of the finished pages is there, and nothing is fetched from elsewhere."""

import posixpath
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from urllib.parse import unquote


class _Reader(HTMLParser):
    """The anchors of a page, what it links to, and what it fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.twice: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if anchor := values.get("id"):
            if anchor in self.anchors:
                self.twice.append(anchor)
            self.anchors.add(anchor)
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif "src" in values or "srcset" in values:
            self.fetched.append(values.get("src") or values["srcset"])
        elif tag == "link":
            self.fetched.append(values.get("href", ""))


def problems_of(pages: Mapping[str, str], files: set[str], base: str) -> Iterator[str]:
    """What is wrong with the pages (HTML by address), given the other files there are."""
    read: dict[str, _Reader] = {}
    for address, html in pages.items():
        read[address] = _Reader()
        read[address].feed(html)
    for address, reader in read.items():
        for anchor in reader.twice:
            yield f"{address}: the id {anchor} is there twice"
        for link in reader.fetched:
            if "://" in link or link.startswith("//"):
                yield f"{address}: fetches {link}"
            elif _target(address, link, base)[0] not in files | pages.keys():
                yield f"{address}: {link} is not there"
        yield from _broken_links(address, read, files, base)


def _broken_links(address: str, read: Mapping[str, _Reader], files: set[str], base: str) -> Iterator[str]:
    for link in read[address].links:
        if "://" in link or link.startswith("mailto:"):
            continue
        target, anchor = _target(address, link, base)
        if target not in read and target not in files:
            yield f"{address}: {link} leads nowhere"
        elif anchor and target in read and anchor not in read[target].anchors:
            yield f"{address}: {link} has no such anchor"


def _target(address: str, link: str, base: str) -> tuple[str, str]:
    path, _, anchor = link.partition("#")
    if path.startswith(base) and base != "/":
        path = "/" + path.removeprefix(base)
    if not path:
        return address, unquote(anchor)
    if path.startswith("/"):
        return path.lstrip("/") or "index.html", unquote(anchor)
    return posixpath.normpath(posixpath.join(posixpath.dirname(address), unquote(path))), unquote(anchor)
