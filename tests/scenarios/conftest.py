"""Every test here is a scenario: real processes, which are ended with the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from .stage import Stage

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them all, so that none can run beside others by mistake."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.scenario)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage of its own for each test; nothing that was started on it outlives the test."""
    stage = Stage(tmp_path)
    try:
        yield stage
    finally:
        stage.close()
