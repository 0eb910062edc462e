"""The rule for announcements: which ending is announced, and with what.

    completed    by ack; or by the seal of its claim, whichever is first
    dead         by the holder, by a sweep, by a retirement, or as a refused hand-off
    cancelled    cancelled, deleted or purged while it waited, was delayed or was run
    nothing      a dead letter that is deleted, a duplicate of work that is done, a message that did not ask

One ending in each generation is announced, the first. Pure; the scripts of Redis keep the same fields.
"""

from tenure.announcement import RESULT_LIMIT, Announcement, AnnounceRequest
from tenure.message import MessageState
from tenure.verdict import Reason

#: For a delete: the states in which it ends a message. A dead letter has ended before.
ENDS_BY_DELETE = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


def announcement(  # noqa: PLR0913 - what a store knows of an ending
    request: AnnounceRequest,
    *,
    id: str,
    queue: str,
    task: str,
    generation: int,
    ending: MessageState,
    ended_at: float,
    reason: Reason | None = None,
    result: bytes | None = None,
    place: str = "",
) -> Announcement:
    """The announcement of one ending. A large result is left where the message's record has it."""
    is_large = result is not None and len(result) > RESULT_LIMIT
    return Announcement(
        id=id,
        generation=generation,
        queue=queue,
        task=task,
        targets=request.targets,
        ending=ending,
        ended_at=ended_at,
        reason=reason,
        client=request.client,
        correlation_id=request.correlation_id,
        result=None if is_large else result or None,
        large_result=len(result) if is_large and result is not None else None,
        place=place,
    )
