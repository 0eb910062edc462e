"""What a promotion answers."""

from tenure.message import MessageState
from tenure.rules.promoted import met_in_turn


def test_an_id_that_is_said_again_is_ready_by_then() -> None:
    met = {"a": MessageState.DELAYED, "b": MessageState.LEASED, "c": MessageState.READY}
    assert met_in_turn(["a", "b", "a", "d", "c", "b"], met) == [
        MessageState.DELAYED, MessageState.LEASED, MessageState.READY, None, MessageState.READY, MessageState.LEASED,
    ]  # fmt: skip
    assert met_in_turn([], met) == []
