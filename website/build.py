"""Build the whole site in a folder of its own; it takes the place of the last one only if nothing is wrong with it."""

import shutil
import tomllib
from html import escape
from pathlib import Path

from website import layout
from website.check import problems_of
from website.place import Site
from website.render import Rendered, code_block, rendered
from website.search import rows_of, script_of
from website.tree import Tree, grow

ASSETS = Path(__file__).parent / "assets"


class Broken(Exception):
    """The pages have mistakes; the last site was left as it was."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


def build(root: Path, into: Path, *, base: str = "/") -> int:
    """Build the documents of the project in `root`; the number of pages. Raises Broken."""
    tree = grow(root)
    site = Site(root, tree)
    problems = _unlisted(root, tree)
    frame = layout.Frame(tree, _version(root), base)
    html: dict[str, str] = {}
    rows: list[list[str]] = []
    for page in tree.pages:
        place = site.at(page.source, page.address)
        body = rendered(page.text, place)
        problems += [problem if page.source in problem else f"{page.source}: {problem}" for problem in body.problems]
        # The first page repeats the names of all others.
        rows += rows_of(page, body.headings) if page is not tree.home else []
        html[page.address] = _home(frame, site, body) if page is tree.home else frame.page(place, page, body)
    _add_files(site, frame, html)
    html["404.html"] = frame.missing((ASSETS / "site.css").read_text(encoding="utf-8"))
    assets = {f"assets/{file.name}": file for file in ASSETS.iterdir()}
    files = {*assets, *site.copied, "assets/search-index.js"}
    problems += problems_of(html, files, base)
    if problems:
        raise Broken(sorted(set(problems)))
    _write(into, html, {**assets, **site.copied}, script_of(rows))
    return len(html)


def _unlisted(root: Path, tree: Tree) -> list[str]:
    there = {page.source for page in tree.pages}
    sources = [str(file.relative_to(root)) for file in (root / "docs").rglob("*.md")]
    return [f"{source}: no page lists it; add it to docs/README.md" for source in sources if source not in there]


def _home(frame: layout.Frame, site: Site, body: Rendered) -> str:
    """The home page: the README's first words and pictures, then docs/README.md."""
    place = site.at("README.md", "index.html")
    first = (site.root / "README.md").read_text(encoding="utf-8").split("\n\n")[1]
    lead, _, rest = " ".join(first.split()).partition(": ")
    promise, _, what = rest.partition(". ")
    shown = place.picture("docs/pictures/overview.png", "The dashboard: is work flowing, what is stuck, since when")
    drawn = place.picture("docs/pictures/message-path.svg", "How a message travels: lease, claim, handle, seal, settle")
    return frame.home(place, body, layout.Welcome(lead, f"{promise[0].upper()}{promise[1:]}.", what, shown, drawn))


def _add_files(site: Site, frame: layout.Frame, html: dict[str, str]) -> None:
    """The files and folders that pages link to, and what those folders hold."""
    done: set[str] = set()
    while todo := [address for address in site.linked if address not in done]:
        for address in todo:
            done.add(address)
            file = site.linked[address]
            name = file.relative_to(site.root).as_posix()
            place = site.at(name, address)
            if file.is_dir():
                content = _folder(site, file, address)
            else:
                content = code_block(file.read_text(encoding="utf-8"), "", name=file.name)
            html[address] = frame.file(place, name, content)


def _folder(site: Site, folder: Path, address: str) -> str:
    inside = [one for one in sorted(folder.iterdir()) if not one.name.startswith((".", "__"))]
    links = [f'<li><a href="{_link(site, one, address)}">{escape(one.name)}</a></li>' for one in inside]
    return f'<ul class="folder">{"".join(links)}</ul>'


def _link(site: Site, file: Path, address: str) -> str:
    name = file.relative_to(site.root).as_posix()
    place = site.at(name, address)
    is_page = any(page.source == name for page in site.tree.pages)
    return place.resolve(file.name) if is_page else place.to(place.address_of_file(name, file))


def _version(root: Path) -> str:
    return str(tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def _write(into: Path, html: dict[str, str], copied: dict[str, Path], index: str) -> None:
    fresh = into.with_name(f"{into.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for address, text in {**html, "assets/search-index.js": index}.items():
        target = fresh / address
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for address, file in copied.items():
        target = fresh / address
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    shutil.rmtree(into, ignore_errors=True)
    fresh.rename(into)
