"""How many of something, in words."""

import re
from pathlib import Path

import pytest

import tenure
from tenure.text.plural import plural

#: `"%d messages` in a log call; `plural` writes that. `process 7 was …` counts nothing.
BARE = re.compile(r"(?<!process )%d (?!s\b)[a-z]+s\b")


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 messages"), (1, "1 message"), (2, "2 messages"), (1200, "1,200 messages")]
)
def test_one_is_no_plural(number: int, words: str) -> None:
    assert plural(number, "message") == words


def test_a_plural_of_its_own() -> None:
    assert [plural(number, "body", "bodies") for number in (1, 3)] == ["1 body", "3 bodies"]


def test_no_log_line_counts_without_it() -> None:
    folder = Path(tenure.__file__).parent
    found = [
        f"{path.relative_to(folder)}:{number}: {line.strip()}"
        for path in sorted(folder.rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if BARE.search(line)
    ]
    assert not found, "\n".join(found)
