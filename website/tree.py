"""Which pages there are, where each goes, and how they stand beside each other.

The headings of docs/README.md are the sections and their groups; the links under a heading are its pages, in order. A
page that only another README.md lists (a runbook, an example) belongs to the section of that one. Next: `render`.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt

HOME = "docs/README.md"
_LINK = re.compile(r"\]\(([^)\s#]+\.md)(?:#[^)]*)?\)")


@dataclass
class Page:
    """One page of the site, made of one Markdown file."""

    #: The file, from the root of the project: `docs/how-to/serve.md`.
    source: str
    #: Where it goes, from the root of the site: `how-to/serve.html`.
    address: str
    #: Its first heading, without markup.
    title: str
    text: str
    section: str = ""
    group: str = ""


@dataclass
class Group:
    """Pages under one heading; the title is empty for those right below the section."""

    title: str
    pages: list[Page] = field(default_factory=list)


@dataclass
class Section:
    """What one heading of docs/README.md lists."""

    title: str
    groups: list[Group] = field(default_factory=list)

    @property
    def pages(self) -> list[Page]:
        """All of them, in order."""
        return [page for group in self.groups for page in group.pages]


@dataclass
class Tree:
    """The site."""

    home: Page
    sections: list[Section]

    @property
    def pages(self) -> list[Page]:
        """Every page in reading order, the home page first."""
        return [self.home, *(page for section in self.sections for page in section.pages)]


def address_of(source: str) -> str:
    """Where the page of a Markdown file goes."""
    path = PurePosixPath(source)
    inside = path.relative_to("docs") if path.parts[0] == "docs" else path
    if inside.name == "README.md" and source != "README.md":
        return str(inside.with_name("index.html"))
    return str(inside.with_name(f"{inside.stem.lower()}.html"))


def grow(root: Path) -> Tree:
    """Read docs/README.md, and every page that it or one of its pages lists."""
    found: dict[str, Page] = {}
    home = _page(root, HOME)
    found[HOME] = home
    sections: list[Section] = []
    for level, text in _headed(home.text):
        if level == "h2":
            sections.append(Section(text, [Group("")]))
        elif level == "h3":
            sections[-1].groups.append(Group(text))
        elif sections:
            _list(root, home, text, sections[-1], found)
    for section in sections:
        for page in section.pages:
            if page.source.endswith("/README.md"):
                _list(root, page, page.text, section, found)
        section.groups = [group for group in section.groups if group.pages]
    return Tree(home, [section for section in sections if section.groups])


def _list(root: Path, page: Page, text: str, section: Section, found: dict[str, Page]) -> None:
    """Add the pages that `text` links to: the home page lists any, another README.md those below its folder."""
    folder = PurePosixPath(page.source).parent
    for link in _LINK.findall(text):
        if "://" in link:
            continue
        target = _joined(folder, link)
        is_listed = page.source == HOME or target.startswith(f"{folder}/")
        if target in found or not is_listed or not (root / target).is_file():
            continue
        new = _page(root, target)
        new.section, new.group = section.title, section.groups[-1].title if page.source == HOME else page.title
        found[target] = new
        if page.source == HOME:
            section.groups[-1].pages.append(new)
        else:
            beside = next(group.pages for group in section.groups if page in group.pages)
            last = max(number for number, one in enumerate(beside) if one is page or one.group == page.title)
            beside.insert(last + 1, new)


def _joined(folder: PurePosixPath, link: str) -> str:
    parts: list[str] = []
    for part in (folder / link).parts:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _headed(text: str) -> list[tuple[str, str]]:
    """The headings (`h2`, `h3`) with their words, and between them the text (``) in order."""
    lines, found, at = text.splitlines(), list[tuple[str, str]](), 0
    tokens = MarkdownIt("commonmark").parse(text)
    for number, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag in {"h2", "h3"} and token.map:
            found.append(("", "\n".join(lines[at : token.map[0]])))
            found.append((token.tag, plain(tokens[number + 1].content)))
            at = token.map[1]
    return [*found, ("", "\n".join(lines[at:]))]


def _page(root: Path, source: str) -> Page:
    text = (root / source).read_text(encoding="utf-8")
    first = re.search(r"^# (.+)$", text, re.MULTILINE)
    title = "Tenure on one page" if source == "README.md" else plain(first[1]) if first else source
    return Page(source, address_of(source), title, text)


def plain(markup: str) -> str:
    """Words of a line of Markdown without its marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markup).replace("`", "").replace("*", "")
