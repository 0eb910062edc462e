"""What a test does to logging ends with it.

A command sets up logging for its whole process. Later tests of that process would then format every log line, and
pytest would keep each of them: memory grows, and what a test logs depends on the tests before it.
"""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def unchanged_logging() -> Iterator[None]:
    root, tenure = logging.getLogger(), logging.getLogger("tenure")
    handlers, levels = root.handlers[:], (root.level, tenure.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    tenure.setLevel(levels[1])
