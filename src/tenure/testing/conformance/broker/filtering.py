"""Filtering: a query shows the messages that match all of its filters, and only those."""

from typing import Any

from tenure.message import MessageState
from tenure.settlement import DeadLetter, Nack
from tenure.testing.harness import BROKEN, TASK, Harness
from tenure.verdict import Reason

#: Filters by a field, with a value that nothing has.
FIELDS = ("task", "client", "key", "text")
FINISHED = (MessageState.COMPLETED, MessageState.CANCELLED)


class Filtering:
    """The promises of the filters of `browse`."""

    async def test_by_task(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        await harness.put(task="other")
        wanted = await harness.put(task="rare")
        assert await _found(harness, task="rare") == [wanted.id]
        assert await _found(harness, task="rar") == []

    async def test_by_client(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        await harness.put()
        await harness.put(client="shop2")
        wanted = await harness.put(client="shop")
        assert await _found(harness, client="shop") == [wanted.id]

    async def test_by_key(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        await harness.put()
        await harness.put(key="order-12")
        wanted = await harness.put(key="order-1")
        assert await _found(harness, key="order-1") == [wanted.id]

    async def test_by_text_in_the_payload_in_any_case(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        await harness.put(body={"to": "grace"})
        wanted = await harness.put(body={"to": "Ada Lovelace", "deep": ["Gr\N{LATIN SMALL LETTER O WITH DIAERESIS}ße"]})
        for text in ("ada love", "ADA", "lovelace", "GR\N{LATIN CAPITAL LETTER O WITH DIAERESIS}SSE"):
            assert await _found(harness, text=text) == [wanted.id], text
        assert await _found(harness, text="ada  love") == []

    async def test_by_text_in_the_id(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        await harness.put()
        wanted = await harness.put(id=f"{'ab' * 8}{'0' * 8}feedbeef")
        assert await _found(harness, text="FEEDBEEF") == [wanted.id]

    async def test_by_text_in_the_reason(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        other, wanted = [await harness.leased(harness.stranger()) for _ in range(2)]
        await harness.broker.dead_letter([DeadLetter(other, BROKEN)])
        await harness.broker.dead_letter([DeadLetter(wanted, Reason("handler_error", "No such Printer"))])
        assert await _found(harness, MessageState.DEAD, text="such printer") == [wanted.id]
        assert len(await _found(harness, MessageState.DEAD, text="HANDLER_ERROR")) == 2

    async def test_what_is_beside_the_payload_is_not_its_text(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        await harness.put(key="zanzibar", client="zanzibar", headers={"x": "zanzibar"})
        assert await _found(harness, text="zanzibar") == []

    async def test_by_the_time_of_sending(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        ids, times = [], []
        for _ in range(3):
            await harness.advance(10.0)
            message = await harness.put()
            ids.append(message.id)
            times.append(message.sent_at)
        first, second, third = times
        for since, until, expected in (
            (None, None, ids),
            (second, None, ids[1:]),
            (None, second, ids[:1]),
            (second, third, ids[1:2]),
            (first, third + 1.0, ids),
            (third + 1.0, None, []),
        ):
            assert sorted(await _found(harness, since=since, until=until)) == expected, (since, until)

    async def test_by_the_time_of_the_end_of_what_has_ended(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        leases = [await harness.leased(harness.stranger(), seconds=90.0) for _ in range(3)]
        ends = []
        for lease in reversed(leases):
            await harness.advance(10.0)
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
            ends.append((await harness.record(lease.id)).finished_at)
        ids = [lease.id for lease in reversed(leases)]
        assert sorted(await _found(harness, MessageState.DEAD, since=ends[1])) == sorted(ids[1:])
        assert await _found(harness, MessageState.DEAD, until=ends[1]) == ids[:1]
        assert await _found(harness, MessageState.DEAD, since=ends[1], until=ends[2]) == ids[1:2]

    async def test_filters_are_combined(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        usual: dict[str, Any] = {"task": "rare", "client": "shop", "body": {"to": "ada"}}
        for change in ({"task": "other"}, {"client": "other"}, {"body": {"to": "grace"}}):
            await harness.put(**(usual | change))
        await harness.advance(10.0)
        wanted = await harness.put(key="k", **usual)
        await harness.put(key="l", **usual)
        filters: dict[str, Any] = {"task": "rare", "client": "shop", "text": "ada"}
        assert await _found(harness, **filters, key="k") == [wanted.id]
        assert len(await _found(harness, **filters)) == 2
        assert await _found(harness, **filters, key="k", since=wanted.sent_at) == [wanted.id]
        assert await _found(harness, **filters, key="k", until=wanted.sent_at) == []

    async def test_what_is_held_delayed_or_dead_is_filtered_too(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.LEASED, MessageState.DELAYED)
        harness.need_shown(MessageState.LEASED, MessageState.DELAYED, MessageState.DEAD)
        usual: dict[str, Any] = {"task": "rare", "client": "shop", "body": {"to": "Ada"}}
        await _one_of_each(harness)
        ids = await _one_of_each(harness, **usual)
        several: list[dict[str, Any]] = [
            {"task": "rare"},
            {"client": "shop"},
            {"client": "shop", "text": "ada", "task": "rare"},
        ]
        for filters in several:
            for state, id in ids.items():
                assert await _found(harness, state, **filters) == [id], (state, filters)

    async def test_a_message_that_failed_before_is_found_by_its_reason(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.DELAYED)
        harness.need_shown(MessageState.DELAYED)
        lease = await harness.leased(harness.stranger())
        await harness.broker.nack([Nack(lease, 300.0, Reason("handler_error", "no such printer"))])
        await harness.put(delay_seconds=300.0)
        assert await _found(harness, MessageState.DELAYED, text="Printer") == [lease.id]

    async def test_finished_messages_are_filtered_by_what_they_keep(self, harness: Harness) -> None:
        values = {"task": "rare", "client": "shop", "key": "k", "text": "ada"}
        for state in FINISHED:
            if state not in harness.traits.browsable:
                continue
            queue = f"{state}-tasks"
            await _finished(harness, state, queue=queue)
            fields: dict[str, Any] = {"task": "rare", "client": "shop", "key": "k", "body": {"to": "ada"}}
            wanted = await _finished(harness, state, queue=queue, **fields)
            for field in harness.traits.ended_filters:
                if field != "text":
                    found = await harness.browse(queue, state, **{field: values[field]})
                    assert [one.id for one in found] == [wanted], (state, field)

    async def test_a_filter_by_what_finished_messages_do_not_keep_is_refused(self, harness: Harness) -> None:
        for state in FINISHED:
            for field in FIELDS:
                filters: dict[str, Any] = {field: "x"}
                query = harness.query(MessageState.DEAD, state, scan=True, **filters)
                if state not in harness.traits.browsable | harness.traits.scannable:
                    continue
                refused = await harness.is_refused(harness.broker.browse(query))
                assert refused == (field not in harness.traits.ended_filters), (state, field)

    async def test_a_filter_by_what_a_state_does_not_show_is_refused(self, harness: Harness) -> None:
        shown = harness.traits.browsable | harness.traits.scannable
        for state in sorted(shown - set(FINISHED)):
            for field in FIELDS:
                filters: dict[str, Any] = {field: "x"}
                is_opaque = state in harness.traits.opaque_states and field != "task"
                refused = await harness.is_refused(harness.broker.browse(harness.query(state, **filters)))
                assert refused == is_opaque, (state, field)

    async def test_a_page_of_matches_is_full_though_others_lie_between(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        wanted = []
        for number in range(12):
            lease = await harness.leased(harness.stranger(), task="rare" if number % 3 == 0 else TASK)
            wanted += [lease.id] if number % 3 == 0 else []
        page = await harness.broker.browse(harness.query(MessageState.LEASED, task="rare", limit=3))
        assert len(page.messages) == 3
        assert page.looked_at >= 7
        rest = harness.query(MessageState.LEASED, task="rare", cursor=page.cursor or "")
        last = await harness.broker.browse(rest)
        assert {one.id for one in (*page.messages, *last.messages)} == set(wanted)


async def _found(harness: Harness, state: MessageState = MessageState.READY, **filters: Any) -> list[str]:
    return [one.id for one in await harness.browse(state=state, **filters)]


async def _one_of_each(harness: Harness, **fields: Any) -> dict[MessageState, str]:
    dead = await harness.leased(harness.stranger(), **fields)
    await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
    held = await harness.leased(harness.stranger(), **fields)
    delayed = await harness.put(delay_seconds=300.0, **fields)
    return {MessageState.DEAD: dead.id, MessageState.LEASED: held.id, MessageState.DELAYED: delayed.id}


async def _finished(harness: Harness, state: MessageState, **fields: Any) -> str:
    lease = await harness.leased(harness.stranger(), **fields)
    if state is MessageState.COMPLETED:
        await harness.complete(lease)
    else:
        assert await harness.broker.cancel([lease.id]) == [MessageState.LEASED]
    return lease.id
