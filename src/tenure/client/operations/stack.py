"""Stack: where the handler of a message is now, asked of the worker that holds it.

The question is a post on the board, which every worker reads once a second; the answer is a key-value
(`handler_stack.py`). Several people may ask about one message at once: they share the first question, and those who
still wait when it was withdrawn ask again. A question that is not withdrawn lapses by itself.
"""

import asyncio

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.ids import find_record
from tenure.client.operations.operations import Operations
from tenure.errors import BadArgument, NotRunning, StackUnanswered
from tenure.handler_stack import ANSWER_KIND, QUESTION_SECONDS, HandlerStack, decoded, question_name
from tenure.message import MessageState
from tenure.notice import Post, PostKind
from tenure.owner import Member
from tenure.record import Progress, Record

#: A worker answers within two seconds; the rest is for a slow store.
WAIT_SECONDS = 5.0
#: No caller waits for longer than a question stays on the board.
MOST_WAIT_SECONDS = QUESTION_SECONDS
#: How often the answer is looked for; in the cloud each look is a request that is paid for.
_LOOK_SECONDS, _CLOUD_LOOK_SECONDS = 0.1, 0.5
#: An answer that is no older than this when it is asked for is new enough: another caller asked a moment before.
_FRESH_SECONDS = 1.0
#: How often a question is asked again, and it is looked whether the message still runs.
_AGAIN_SECONDS = 1.0
#: Looks of one person at one message, as by `--watch`, are one act for this long.
_SAME_ACT_SECONDS = 60.0
#: A worker that the store has not heard for so long does not move, or is cut off.
_SILENT_SECONDS = 3.0


class StackOperations(Operations):
    """Operations on a handler's stack."""

    def __init__(self, access: Access) -> None:
        """Ask for the identity of `access`."""
        super().__init__(access)
        self._recorded: dict[str, float] = {}

    async def stack(self, id: str, *, wait: float = WAIT_SECONDS) -> HandlerStack:
        """Return where the handler of a message is now: file, line and function of each frame; no variables.

        - `id`: May be the beginning of an id.
        - `wait`: Seconds to wait for the worker's answer; it comes within two, as a rule.

        Raises `NotRunning` where no worker holds the message, `StackUnanswered` where its worker does not answer.
        """
        if not 0 < wait <= MOST_WAIT_SECONDS:
            msg = f"wait is more than 0 and at most {MOST_WAIT_SECONDS:g} seconds, not {wait:g}; nothing was changed"
            raise BadArgument(msg)
        access = await self._opened()
        record = await find_record(access, id)
        _must_run(record, "nothing was asked")
        answer = await _Question(access, record).answer(wait)
        await self._record(access, record)
        return answer if access.sees_payload else _redacted(answer)

    async def _record(self, access: Access, record: Record) -> None:
        now = access.clock.monotonic()
        self._recorded = {id: at for id, at in self._recorded.items() if now - at < _SAME_ACT_SECONDS}
        if record.id not in self._recorded:
            self._recorded[record.id] = now
            await access.operator().note_stack_read(record.id, record.queue)


class _Question:
    """One question that waits for its answer."""

    def __init__(self, access: Access, record: Record) -> None:
        self._access = access
        self._state = access.state
        self._record = record
        self._name = question_name(record.id)
        self._is_ours = False

    async def answer(self, seconds: float) -> HandlerStack:
        """Wait for the answer; raises where there is none in time."""
        clock, in_cloud = self._access.clock, self._access.broker.traits.snapshot_seconds > 1.0
        pause = _CLOUD_LOOK_SECONDS if in_cloud else _LOOK_SECONDS
        began = asked = clock.monotonic()
        try:
            await self._ask()
            since = self._state.wall() - _FRESH_SECONDS
            while clock.monotonic() - began < seconds:
                await asyncio.sleep(pause)
                kept = await self._state.key_values.get(ANSWER_KIND, self._name)
                answer = None if kept is None else decoded(kept.data)
                # An older worker may have lost the lease since, and answered before it knew.
                if answer is not None and answer.taken_at >= since and answer.id == self._record.id:
                    return answer
                if clock.monotonic() - asked >= _AGAIN_SECONDS:
                    asked = clock.monotonic()
                    await self._look_again()
                    await self._ask()
        finally:
            if self._is_ours:
                await self._state.board.withdraw(PostKind.STACK, self._name)
        raise StackUnanswered(await self._why_unanswered(seconds))

    async def _ask(self) -> None:
        now = self._state.wall()
        by = self._access.identity.by
        post = Post(kind=PostKind.STACK, name=self._name, at=now, by=by, until=now + QUESTION_SECONDS)
        self._is_ours = await self._state.board.post(post) or self._is_ours

    async def _look_again(self) -> None:
        record = await self._access.record(self._record.id, self._record.queue)
        if record is not None:
            self._record = record
            _must_run(record, "its run ended before its worker answered")

    async def _why_unanswered(self, seconds: float) -> str:
        owner = self._record.owner or ""
        member = next((one for one in await self._state.roster.members() if one.owner.id == owner), None)
        said = f"{owner or 'its holder'} did not report the stack of {self._record.id} within {seconds:g} s"
        return f"{said}: {_why(member, self._record)}. The message is untouched"


def _why(member: Member | None, record: Record) -> str:
    if member is None:
        ends = "" if record.deadline_in is None else f" (its lease ends in {max(0.0, record.deadline_in):.0f} s)"
        return f"it is not on the roster of workers. It died, or it takes messages without Tenure's worker{ends}"
    where = f"process {member.owner.pid} on {member.owner.host}"
    if member.silent_seconds >= _SILENT_SECONDS:
        return (
            f"its last sign of life was {member.silent_seconds:.0f} s ago. A handler holds the GIL of {where}, or that "
            "is stopped, dead, or cut off from the store"
        )
    return f"{where} is alive as far as the store knows. A handler holds its GIL, or it runs an older Tenure"


def _must_run(record: Record, consequence: str) -> None:
    if record.state is not MessageState.LEASED:
        raise NotRunning(f"{record.id} is {record.state}: no worker holds it; {consequence}")


def _redacted(answer: HandlerStack) -> HandlerStack:
    progress = None if answer.progress is None else Progress(answer.progress.fraction)
    return msgspec.structs.replace(answer, progress=progress, redacted=True)
