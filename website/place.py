"""The site while it is built: what is where, which other files its pages link to, and what goes into the folder.

`Site` answers a page's questions (`render.Links`) through `Place`, which knows the page that asks.
"""

import posixpath
from dataclasses import dataclass, field
from pathlib import Path

from website.pictures import inlined, photograph, png_size
from website.tree import Tree, address_of

#: A file that is longer is copied as it is: with its words marked it would be a page of megabytes.
LONGEST = 100_000
STATES = "docs/pictures/states.svg"


@dataclass
class Site:
    """What is on it."""

    root: Path
    tree: Tree
    #: Files and folders of the project that pages link to, by the address of their page.
    linked: dict[str, Path] = field(default_factory=dict)
    #: Files that are copied, by their address.
    copied: dict[str, Path] = field(default_factory=dict)

    def at(self, source: str, address: str) -> "Place":
        """Where a page stands."""
        return Place(self, source, address)


@dataclass(frozen=True)
class Place:
    """A page, and its view of the others."""

    site: Site
    source: str
    address: str

    def to(self, address: str) -> str:
        """Another address, from this page."""
        return posixpath.relpath(address, posixpath.dirname(self.address) or ".")

    def resolve(self, link: str) -> str:
        """The address of what a link leads to. Raises LookupError: nothing is there."""
        if "://" in link or link.startswith("mailto:"):
            return link
        path, hash_, anchor = link.partition("#")
        if not path:
            return link
        name = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), path))
        file = self.site.root / name
        if name.startswith("..") or not file.exists():
            raise LookupError(f"{self.source}: {link} leads nowhere")
        if any(page.source == name for page in self.site.tree.pages):
            return f"{self.to(address_of(name))}{hash_}{anchor}"
        if file.suffix == ".md":
            raise LookupError(f"{self.source}: {link} is a page that docs/README.md does not list")
        return self.to(self.address_of_file(name, file)) + hash_ + anchor

    def address_of_file(self, name: str, file: Path) -> str:
        """Where a file or a folder of the project goes, which is not one of the pages."""
        if file.is_dir():
            address = f"files/{name}/index.html"
            self.site.linked[address] = file
        elif file.stat().st_size > LONGEST or file.suffix in {".png", ".svg"}:
            address = f"files/{name}"
            self.site.copied[address] = file
        else:
            address = f"files/{name}.html"
            self.site.linked[address] = file
        return address

    def picture(self, link: str, words: str) -> str:
        """A drawing as it is, a photograph as a file beside the page."""
        name = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), link))
        file = self.site.root / name
        if "://" in link or not file.is_file():
            raise LookupError(f"{self.source}: the picture {link} is not here")
        if file.suffix == ".svg":
            return inlined(file.read_text(encoding="utf-8"), file.stem, words)
        dark = file.with_name(f"{file.stem}-dark{file.suffix}")
        addresses = [f"pictures/{one.name}" for one in (file, dark) if one.is_file()]
        self.site.copied.update(zip(addresses, (file, dark), strict=False))
        shown = [self.to(address) for address in addresses]
        return photograph(shown[0], words, dark="".join(shown[1:]), size=png_size(file.read_bytes()))

    def diagram(self, _text: str) -> str:
        """The drawing of the states, which a test holds to the diagram that the page has as text."""
        return inlined(
            (self.site.root / STATES).read_text(encoding="utf-8"),
            "states",
            "The states of a message, and what moves it",
        )
