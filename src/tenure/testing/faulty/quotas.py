"""Brokers that refuse too much, or too little, when a queue is full."""

from collections.abc import Sequence

import msgspec

from tenure.broker import Sent
from tenure.message import MessageState, Outgoing
from tenure.rules.rejections import queue_full
from tenure.settlement import Ack, Settlement
from tenure.testing.faulty.honest import HonestBroker


class QuotasAreIgnored(HonestBroker):
    """Stores however many wait."""

    caught_by = ("Quotas",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send without limits."""
        return await self.inner.send([_unlimited(one) for one in batch])


class OneTooManyMayWait(HonestBroker):
    """Takes one more than may wait."""

    caught_by = ("Quotas",)

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send with limits that are one higher."""
        return await self.inner.send(
            [
                one if one.most_waiting is None else msgspec.structs.replace(one, most_waiting=one.most_waiting + 1)
                for one in batch
            ]
        )


class _CountsBeforehand(HonestBroker):
    """Counts what waits, and then sends."""

    #: States that are counted.
    states: frozenset[MessageState] = frozenset({MessageState.READY, MessageState.DELAYED})
    #: A batch is counted against the queue as it was before.
    counts_the_batch = True

    async def count(self, queue: str) -> int:
        """How many wait, by this broker."""
        (depth,) = await self.inner.depth([queue])
        named = {
            MessageState.READY: depth.ready,
            MessageState.DELAYED: depth.delayed,
            MessageState.LEASED: depth.leased,
            MessageState.DEAD: depth.dead,
        }
        return sum(named[state] or 0 for state in self.states)

    async def passes(self, one: Outgoing) -> bool:
        """Whether it is sent however many wait."""
        return await self._is_known(one)

    async def _is_known(self, one: Outgoing) -> bool:
        probe = await self.inner.send([_closed(one)])
        return probe[0].refusal is None or probe[0].refusal.code != "quota_exceeded"

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Refuse by a count made before."""
        waiting = {one.message.queue: await self.count(one.message.queue) for one in batch}
        answers: list[Sent] = []
        for one in batch:
            queue, most = one.message.queue, one.most_waiting
            if most is not None and waiting[queue] >= most and not await self.passes(one):
                answers.append(Sent(one.message.id, refusal=queue_full(one.message, most)))
                continue
            (sent,) = await self.inner.send([_unlimited(one)])
            waiting[queue] += self.counts_the_batch and not sent.duplicate
            answers.append(sent)
        return answers


class QuotasAreCountedBeforehand(_CountsBeforehand):
    """Counts in a step before the one that stores: two senders at once both find room."""

    caught_by = ("Quotas",)


class QuotasAreForEachBatch(_CountsBeforehand):
    """Stores the whole batch if there was room for one."""

    caught_by = ("Quotas",)
    counts_the_batch = False


class DelayedMessagesDoNotWait(_CountsBeforehand):
    """Counts only what is ready."""

    caught_by = ("Quotas",)
    states = frozenset({MessageState.READY})


class DeadLettersWaitToo(_CountsBeforehand):
    """Counts dead letters, so a client with old failures can send nothing."""

    caught_by = ("Quotas",)
    states = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.DEAD})


class WhatRunsWaitsToo(_CountsBeforehand):
    """Counts what is leased."""

    caught_by = ("Quotas",)
    states = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED})


class FullQueuesRefuseRepeats(_CountsBeforehand):
    """Refuses a repeated send of what it stored, so the sender believes that it failed."""

    caught_by = ("Quotas",)

    async def passes(self, one: Outgoing) -> bool:  # noqa: ARG002 - of the class
        """Nothing passes."""
        return False


class FullQueuesDropHandOffs(HonestBroker):
    """Drops a hand-off to a queue in which something waits."""

    caught_by = ("Quotas",)

    async def ack(self, batch: Sequence[Ack]) -> list[Settlement]:
        """Ack without the hand-offs to such queues."""
        kept = []
        for one in batch:
            rest = [out for out in one.handoffs if not await self._waits(out.message.queue)]
            kept.append(msgspec.structs.replace(one, handoffs=tuple(rest)))
        return await self.inner.ack(kept)

    async def _waits(self, queue: str) -> bool:
        (depth,) = await self.inner.depth([queue])
        return bool(depth.ready)


def _unlimited(one: Outgoing) -> Outgoing:
    return msgspec.structs.replace(one, most_waiting=None)


def _closed(one: Outgoing) -> Outgoing:
    return msgspec.structs.replace(one, most_waiting=0)
