"""A reader can paste a Python block that is no file line by line into `python -m asyncio`, and is told so."""

import ast
import codeop
from pathlib import Path

import pytest

from .markdown import PAGES, ROOT, Block, blocks_of

_PLACE = "`python -m asyncio`"
_BLOCKS = [block for page in PAGES for block in blocks_of(page) if block.language == "python" and not block.file]


def _refused(code: str) -> str | None:
    """What a prompt says of the first line that it does not take. An empty line ends what is indented."""
    compiler = codeop.CommandCompiler()
    compiler.compiler.flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    held: list[str] = []
    for line in [*code.splitlines(), ""]:
        held.append(line)
        try:
            done = compiler("\n".join(held), "<page>", "single")
        except SyntaxError as error:
            return f"{error.msg}: {line}"
        if done is not None:
            held = []
    return None


def _awaits(block: Block) -> bool:
    """Whether a plain prompt refuses it."""
    try:
        compile(block.code, block.place, "exec")
    except SyntaxError:
        return True
    return False


@pytest.mark.parametrize("block", [pytest.param(block, id=block.place) for block in _BLOCKS])
def test_a_prompt_takes_the_block_line_by_line(block: Block) -> None:
    assert _refused(block.code) is None


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES])
def test_a_page_says_where_a_block_with_await_goes(page: Path) -> None:
    first = next((block.line for block in blocks_of(page) if block in _BLOCKS and _awaits(block)), None)
    above = page.read_text(encoding="utf-8").splitlines()[:first]
    assert first is None or _PLACE in "\n".join(above)


def test_what_a_prompt_refuses_is_found() -> None:
    assert _refused("async with a:\n    await b\n\n    await c\n") == "unexpected indent:     await c"
    assert _refused("for a in b:\n    print(a)\nprint(b)\n") == "invalid syntax: print(b)"
    assert _refused("for a in b:\n    print(a)\n\nprint(await b)\n") is None
