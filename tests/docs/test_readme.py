"""The README: short, and its commands exist. Its blocks are run by `test_pages.py`."""

import re

from .markdown import ROOT, blocks_of

README = ROOT / "README.md"


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    first, *_ = (block for block in blocks_of(README) if block.language == "sh")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in ("run", "test"):
        assert f"make {command} " in first.code
        assert re.search(rf"^{command}:", makefile, re.MULTILINE)


def test_everything_else_in_it_is_run() -> None:
    assert [bool(block.why_not) for block in blocks_of(README)] == [True, False, False]


def test_it_stays_one_page() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_the_promises_are_those_of_the_explanation() -> None:
    def promises(text: str) -> list[str]:
        table = text.split("| promise | precisely |")[1].split("\n\n", maxsplit=1)[0]
        return re.findall(r"^\| ([a-z ]+) \|", table, re.MULTILINE)

    ours = promises(README.read_text(encoding="utf-8"))
    assert len(ours) == 7
    assert ours == promises((ROOT / "docs" / "explanation" / "promises.md").read_text(encoding="utf-8"))
