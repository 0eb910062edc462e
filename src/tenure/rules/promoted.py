"""The answer of a promotion for each id. A repeated id is ready by then."""

from collections.abc import Mapping, Sequence

from tenure.message import MessageState


def met_in_turn(ids: Sequence[str], met: Mapping[str, MessageState]) -> list[MessageState | None]:
    """The state in which each was met, one after the other. `met`: before the first of them was changed."""
    answers, ready = [], set[str]()
    for id in ids:
        state = met.get(id)
        answers.append(MessageState.READY if id in ready else state)
        if state is MessageState.DELAYED:
            ready.add(id)
    return answers
