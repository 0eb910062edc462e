"""A fresh store for each test."""

from pathlib import Path

import pytest

from tenure.clock import SYSTEM_CLOCK

from .place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """In virtual time."""
    return Place(tmp_path / "q.db")


@pytest.fixture
def real_place(tmp_path: Path) -> Place:
    """On the machine's own clock."""
    return Place(tmp_path / "q.db", SYSTEM_CLOCK)
