"""The page about logs names every logger of the source, and none that is not there."""

import re
from pathlib import Path

import tenure

PAGE = Path(__file__).parents[2] / "docs/how-to/log.md"
LOGGER = re.compile(r'getLogger\("(tenure\.[a-z_]+)"\)')


def test_the_page_names_every_logger_and_no_other() -> None:
    source = Path(tenure.__file__).parent
    made = {name for path in source.rglob("*.py") for name in LOGGER.findall(path.read_text())}
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `tenure.")]
    named = [name for row in rows for name in re.findall(r"`(tenure\.[a-z_]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(made)
