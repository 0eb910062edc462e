"""How many streams may be open."""

import contextlib

import pytest

from tenure.server.errors import TooManyStreams
from tenure.server.stream_slots import StreamSlots


def test_one_principal_has_half_of_all_streams_and_gives_them_back() -> None:
    slots = StreamSlots(4)
    with contextlib.ExitStack() as open_ones:
        for _ in range(2):
            open_ones.enter_context(slots.slot("alice"))
        with pytest.raises(TooManyStreams, match="alice has 2"):
            open_ones.enter_context(slots.slot("alice"))
        open_ones.enter_context(slots.slot("bob"))
        assert slots.in_use == 3
    assert slots.in_use == 0
    with slots.slot("alice"):
        assert slots.in_use == 1


def test_all_of_them_together_have_no_more_than_there_are() -> None:
    slots = StreamSlots(2)
    with slots.slot("alice"), slots.slot("bob"), pytest.raises(TooManyStreams, match="the server has 2"):
        slots.slot("carol").__enter__()
