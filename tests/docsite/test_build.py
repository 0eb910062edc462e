"""The site has every page, in order; and a mistake in a page ends the build and leaves the last site as it was."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import pytest
from website.build import Broken, build
from website.check import problems_of
from website.diagrams import DRAWINGS
from website.diagrams.states import ARROWS
from website.render import anchor_of, code_block
from website.tree import address_of, grow

from .conftest import ROOT


def test_every_document_is_a_page(site: Path) -> None:
    sources = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "examples" / "README.md"]
    missing = [
        str(source) for source in sources if not (site / address_of(source.relative_to(ROOT).as_posix())).is_file()
    ]
    assert len(sources) > 120
    assert not missing


def test_reading_on_leads_through_every_page_and_back(site: Path) -> None:
    pages = grow(ROOT).pages[1:]
    at, seen = "tutorial.html", [pages[0].address]
    while following := re.search(r'rel="next" href="([^"]+)"', (site / at).read_text("utf-8")):
        at = (site / at).parent.joinpath(following[1]).resolve().relative_to(site.resolve()).as_posix()
        seen.append(at)
    assert seen == [page.address for page in pages]
    assert len(set(seen)) == len(seen)
    assert 'rel="prev"' in (site / at).read_text("utf-8")


def test_every_page_is_in_the_navigation_of_every_page_once_and_marks_itself(site: Path) -> None:
    pages = grow(ROOT).pages[1:]
    rail = (site / "how-to" / "schedule-work.html").read_text("utf-8").split("<nav")[1].split("</nav>")[0]
    assert len(re.findall("<a ", rail)) == len(pages)
    assert re.findall(r'aria-current="page">([^<]+)<', rail) == ["Schedule work"]


def test_every_heading_is_in_the_index_of_the_search(site: Path) -> None:
    rows = json.loads((site / "assets" / "search-index.js").read_text("utf-8")[len("window.tenureSearch(") : -3])
    addresses = {row[0] for row in rows}
    for page in grow(ROOT).pages[1:]:
        html = (site / page.address).read_text("utf-8").split("<article")[1]
        anchors = re.findall(r'<h[2-6] id="([^"]+)"', html)
        assert {page.address, *(f"{page.address}#{anchor}" for anchor in anchors)} <= addresses


def test_code_is_marked_when_the_site_is_built(site: Path) -> None:
    tutorial = (site / "tutorial.html").read_text("utf-8")
    assert '<span class="k">async</span>' in tutorial
    assert '<span class="file">jobs.py</span>' in tutorial
    assert 'class="code output"' in tutorial
    assert "<!-- run" not in tutorial


def test_what_is_code_stays_as_it_is() -> None:
    shown = code_block('print(f"<b> & {x}")\n', "python").split("<code>")[1].split("</code>")[0]
    assert unescape(re.sub(r"<[^>]+>", "", shown)) == 'print(f"<b> & {x}")\n'
    assert "\n\n  a\n" in code_block("\n\n  a\n", "text")


def test_anchors_are_as_on_github() -> None:
    assert anchor_of("How soon a message is back?") == "how-soon-a-message-is-back"
    assert anchor_of("`tenure dead redrive`, and more") == "tenure-dead-redrive-and-more"


# --- mistakes -------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project of few pages."""
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copytree(ROOT / "docs" / "pictures", docs / "pictures")
    (tmp_path / "README.md").write_text("# It\n\nQueues, kept: no loss. A library.\n\nMore.\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1"\n', "utf-8")
    (docs / "tutorial.md").write_text("# Learn\n\n## One step\n\nText.\n", "utf-8")
    for name in ("promises", "comparison"):
        (docs / "explanation").mkdir(exist_ok=True)
        (docs / "explanation" / f"{name}.md").write_text(f"# {name}\n", "utf-8")
    links = "[p](explanation/promises.md), [c](explanation/comparison.md), [it](../README.md)"
    (docs / "README.md").write_text(f"# Docs\n\n## Start\n\n[Learn](tutorial.md), {links}.\n", "utf-8")
    return tmp_path


def _problems(project: Path) -> list[str]:
    with pytest.raises(Broken) as broken:
        build(project, project / "built")
    return broken.value.problems


def test_a_project_without_mistakes_builds(small: Path) -> None:
    assert build(small, small / "built") == 6  # five pages, and 404.html


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[x](gone.md)", "docs/tutorial.md: gone.md leads nowhere"),
        ("[x](../../outside.md)", "docs/tutorial.md: ../../outside.md leads nowhere"),
        ("[x](#no-such-step)", "tutorial.html: #no-such-step has no such anchor"),
        ("[x](README.md#nothing)", "tutorial.html: index.html#nothing has no such anchor"),
        ("![x](pictures/gone.png)", "docs/tutorial.md: the picture pictures/gone.png is not here"),
        ("![x](https://elsewhere.example/x.png)", "the picture https://elsewhere.example/x.png is not here"),
        ("a <b>bold</b> word", "docs/tutorial.md: HTML in Markdown: <b>"),
    ],
)
def test_a_mistake_ends_the_build_and_leaves_the_last_site(small: Path, line: str, problem: str) -> None:
    build(small, small / "built")
    before = (small / "built" / "tutorial.html").read_text("utf-8")
    with (small / "docs" / "tutorial.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{line}\n")
    assert any(problem in one for one in _problems(small))
    assert (small / "built" / "tutorial.html").read_text("utf-8") == before


def test_a_page_that_no_page_lists_is_a_mistake(small: Path) -> None:
    (small / "docs" / "forgotten.md").write_text("# Forgotten\n", "utf-8")
    assert _problems(small) == ["docs/forgotten.md: no page lists it; add it to docs/README.md"]


@pytest.mark.parametrize(
    "html",
    [
        '<script src="https://elsewhere.example/x.js"></script>',
        '<link rel="stylesheet" href="//elsewhere.example/x.css">',
        '<img src="https://elsewhere.example/x.png">',
    ],
)
def test_a_page_that_fetches_from_elsewhere_is_a_mistake(html: str) -> None:
    (problem,) = problems_of({"index.html": html}, set(), "/")
    assert "index.html: fetches" in problem


# --- drawings -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_drawing_is_what_its_script_draws(name: str) -> None:
    drawn = (ROOT / "docs" / "pictures" / f"{name}.svg").read_text("utf-8")
    assert drawn == DRAWINGS[name](), "draw it again: make reference"


def test_the_drawing_of_the_states_has_the_arrows_of_the_architecture() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    (diagram,) = re.findall(r"```mermaid\n(.*?)```", page, re.DOTALL)
    written = set(re.findall(r"^\s+(\S+) --> (\S+): (.+)$", diagram, re.MULTILINE))
    assert {(start, end, label) for start, end, label, *_ in ARROWS} == written
