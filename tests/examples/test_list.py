"""The folder holds what its page lists, every file is short, and every file is run by a test."""

import ast
import re
from pathlib import Path

import pytest

from .program import EXAMPLES

FILES = sorted(EXAMPLES.glob("*.py"))


def test_the_page_lists_every_example() -> None:
    listed = re.findall(r"^\| \[`(\w+\.py)`\]\((\w+\.py)\) \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    assert len(FILES) > 5
    assert sorted(listed) == [(path.name, path.name) for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_example_is_one_short_file_that_says_how_to_run_it(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 90
    assert f"python {path.name}" in (ast.get_docstring(ast.parse(text)) or "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_is_run(path: Path) -> None:
    tests = "".join(test.read_text() for test in Path(__file__).parent.glob("test_*.py"))
    assert f'"{path.name}"' in tests


def test_the_worker_in_shell_has_thirty_lines_and_the_page_shows_it() -> None:
    text = (EXAMPLES / "http" / "worker.sh").read_text()
    assert len(text.splitlines()) <= 30
    page = (EXAMPLES.parent / "docs" / "how-to" / "call-from-any-language.md").read_text()
    assert f"cat > worker.sh <<'END'\n{text}END\n" in page


def test_the_page_lists_every_example_in_a_folder() -> None:
    listed = re.findall(r"\]\((http/[\w.]+)\)", (EXAMPLES / "README.md").read_text())
    assert sorted({*listed}) == sorted(f"http/{path.name}" for path in (EXAMPLES / "http").iterdir())


def test_the_page_lists_the_project() -> None:
    assert "](django_project/README.md)" in (EXAMPLES / "README.md").read_text()
