"""The machinery under `test_pages.py`: it sees every block, and a wrong one fails."""

from pathlib import Path

import pytest

from .markdown import blocks_of, matches
from .test_pages import Reader

PAGE = """\
Text.

```python
# jobs.py
NUMBER = 7
```

<!-- run: raises ValueError -->
```python
raise ValueError("no")
```

```sh
echo 1; echo 2
```

```text
1
…
```

<!-- not run: it needs a printer -->
```sh
lpr
```

```text
a picture
```
"""


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("docs.markdown.ROOT", tmp_path)
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_blocks_come_with_their_marks_and_what_they_show(page: Path) -> None:
    file, error, shell, left_out = blocks_of(page)
    assert (file.file, file.line, file.shows) == ("jobs.py", 3, None)
    assert error.how == "raises ValueError"
    assert shell.shows == "1\n…\n"
    assert (left_out.why_not, left_out.shows) == ("it needs a printer", "a picture\n")


@pytest.mark.parametrize(
    ("shown", "said", "fits"),
    [
        ("a … c\n", "a b c\n", True),
        ("a … c\n", "a c\n", True),
        ("a … c\n", "a b d\n", False),
        ("a\n…\nz\n", "a\nb\nc\nz\n", True),
        ("a\n…\nz\n", "a\nz\n", True),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
        ("a\n", "a   \n\n", True),
    ],
)
def test_output_is_compared(shown: str, said: str, fits: bool) -> None:
    assert matches(shown, said) is fits


@pytest.mark.scenario
@pytest.mark.parametrize(
    "bad",
    [
        "```python\n1 / 0\n```\n",
        "```sh\nfalse\ntrue\n```\n",
        "```sh\necho 1\n```\n\n```text\n2\n```\n",
        "```python\nprint(1)\n```\n\n```text\n2\n```\n",
        "<!-- run: raises KeyError -->\n```python\n1 / 0\n```\n",
        "<!-- run: raises KeyError -->\n```python\n1\n```\n",
        "<!-- run: exits 3 -->\n```sh\nfalse\n```\n",
    ],
)
def test_a_block_that_does_otherwise_fails(page: Path, tmp_path: Path, bad: str) -> None:
    page.write_text(bad, encoding="utf-8")
    (block,) = blocks_of(page)
    reader = Reader(tmp_path)
    try:
        with pytest.raises(AssertionError, match=r"page\.md:1"):
            reader.paste(block)
    finally:
        reader.close()


@pytest.mark.scenario
def test_names_stay_until_a_file_is_written_and_blocks_may_await(page: Path, tmp_path: Path) -> None:
    page.write_text(
        "```python\n# one.py\nX = 1\n```\n\n```python\nimport asyncio, one\nawait asyncio.sleep(0)\n```\n\n"
        "```python\nprint(one.X)\n```\n\n```text\n1\n```\n\n```python\n# one.py\nX = 2\n```\n\n"
        "```python\nimport one\nprint(one.X)\n```\n\n```text\n2\n```\n",
        encoding="utf-8",
    )
    reader = Reader(tmp_path)
    try:
        for block in blocks_of(page):
            reader.paste(block)
    finally:
        reader.close()
