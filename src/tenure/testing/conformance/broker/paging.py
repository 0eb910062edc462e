"""Paging: each state in its own order, page after page, within the bounds of the query."""

import base64
import math
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from tenure.broker import Page, Query
from tenure.client.browse_all import pages
from tenure.envelope import decode
from tenure.lease import Lease
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, GiveBack
from tenure.testing.harness import BROKEN, QUEUE, TASK, Harness

#: What may be given to `browse(cursor=…)` by mistake: text, other base64, a value that only looks like a cursor.
NOT_CURSORS = (
    "garbled",
    "\N{SNOWMAN}",
    base64.urlsafe_b64encode(b'{"offset": 3}').decode(),
    base64.urlsafe_b64encode(b'["x", 1, 2]').decode(),
    base64.urlsafe_b64encode(f'[0,"{QUEUE}","no mark of any store"]'.encode()).decode(),
)


class Paging:
    """The promises of `browse` about order, pages and bounds."""

    async def test_ready_messages_come_by_arrival(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.READY)
        ids = [message.id for message in await harness.put_many(5)]
        await _check_order(harness, MessageState.READY, ids)

    async def test_ready_messages_come_by_arrival_whatever_their_priority(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.READY)
        ids = [(await harness.put(priority=priority)).id for priority in (5, 0, 9, 5, 9)]
        await _check_order(harness, MessageState.READY, ids)

    async def test_delayed_messages_come_by_due_time(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DELAYED)
        ids = [(await harness.put(delay_seconds=600.0 - 60.0 * number)).id for number in range(5)]
        await _check_order(harness, MessageState.DELAYED, ids[::-1])

    async def test_leased_messages_come_by_deadline(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        leases = await _held(harness)
        await _check_order(harness, MessageState.LEASED, [lease.id for lease in reversed(leases)])

    async def test_a_touch_moves_a_lease_to_its_new_place(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        *others, first = await _held(harness)
        (touched,) = await harness.broker.touch([msgspec.structs.replace(first, seconds=95.0)])
        await _check_order(harness, MessageState.LEASED, [*(lease.id for lease in reversed(others)), touched.id])

    async def test_dead_messages_come_in_the_stated_order(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        leases = await _held(harness)
        for lease in reversed(leases):
            await harness.advance(1.0)
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        await _check_order(harness, MessageState.DEAD, _ended(harness, leases))

    async def test_completed_messages_come_in_the_stated_order(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.COMPLETED)
        leases = await _held(harness)
        for lease in reversed(leases):
            await harness.advance(1.0)
            await harness.complete(lease)
        await _check_order(harness, MessageState.COMPLETED, _ended(harness, leases))

    async def test_completed_messages_of_one_batch_are_all_shown(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.COMPLETED)
        leases = await _held(harness)
        await harness.broker.ack([Ack(lease) for lease in leases])
        shown = [one.id for page in await harness.pages(state=MessageState.COMPLETED) for one in page.messages]
        assert sorted(shown) == sorted(lease.id for lease in leases)

    async def test_cancelled_messages_come_in_the_stated_order(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.CANCELLED)
        leases = await _held(harness)
        for lease in reversed(leases):
            await harness.advance(1.0)
            await harness.broker.cancel([lease.id])
        await _check_order(harness, MessageState.CANCELLED, _ended(harness, leases))

    async def test_what_has_ended_tells_when(self, harness: Harness) -> None:
        for state in (MessageState.COMPLETED, MessageState.CANCELLED):
            if state not in harness.traits.browsable:
                continue
            queue = f"{state}-tasks"
            lease = await harness.leased(harness.stranger(), queue=queue)
            await harness.advance(3.0)
            await (harness.complete(lease) if state is MessageState.COMPLETED else harness.broker.cancel([lease.id]))
            (shown,) = await harness.browse(queue, state)
            record = await harness.record(lease.id)
            assert (shown.id, shown.state, shown.finished_at) == (lease.id, state, record.finished_at)
            assert (shown.task, shown.envelope, shown.owner) == (TASK, b"", None)

    async def test_states_come_in_the_order_of_the_query(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD, MessageState.LEASED)
        dead, held = await harness.leased(harness.stranger()), await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        for states, ids in (
            ((MessageState.DEAD, MessageState.LEASED), [dead.id, held.id]),
            ((MessageState.LEASED, MessageState.DEAD), [held.id, dead.id]),
        ):
            for limit in (1, 10):
                found = await _pages(harness, harness.query(*states, limit=limit))
                assert _ids(found) == ids

    async def test_several_queues_are_paged_as_one(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        by_queue = {queue: await _put(harness, 3, queue) for queue in ("a-tasks", "b-tasks", "c-mail")}
        for queues, expected in (
            (("a-tasks", "c-mail"), ("a-tasks", "c-mail")),
            (("*-tasks",), ("a-tasks", "b-tasks")),
            (("*-tasks", "a-tasks", "c-mail"), ("a-tasks", "b-tasks", "c-mail")),
            (("nowhere", "*-nowhere"), ()),
            (None, ("a-tasks", "b-tasks", "c-mail")),
        ):
            query = harness.query(MessageState.READY, queues=queues, limit=2)
            found = _ids(await _pages(harness, query))
            assert sorted(found) == sorted(id for queue in expected for id in by_queue[queue]), queues

    async def test_each_of_several_queues_keeps_its_order(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.READY)
        by_queue = {queue: await _put(harness, 4, queue) for queue in ("a-tasks", "b-tasks")}
        for is_backwards in (False, True):
            query = harness.query(MessageState.READY, queues=("*-tasks",), limit=3, backwards=is_backwards)
            found = _ids(await _pages(harness, query))
            for ids in by_queue.values():
                assert [id for id in found if id in ids] == (ids[::-1] if is_backwards else ids)

    async def test_a_queue_that_is_not_there_is_an_empty_page(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        page = await harness.broker.browse(harness.query(MessageState.DEAD, queues=("nowhere",)))
        assert (page.messages, page.cursor, page.looked_at) == ((), None, 0)

    async def test_a_page_reads_no_more_rows_than_allowed(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        await harness.put_many(30)
        wanted = await harness.put(task="rare")
        found = await harness.pages(task="rare", look_at=5, limit=100)
        assert _ids(found) == [wanted.id]
        assert all(page.looked_at <= 5 for page in found), [page.looked_at for page in found]
        assert sum(page.looked_at for page in found) >= 31
        assert sum(not page.messages and page.cursor is not None for page in found) >= 5, "empty pages with a cursor"

    async def test_the_rows_of_several_states_and_queues_are_bounded_together(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD, MessageState.LEASED)
        for queue in ("a-tasks", "b-tasks"):
            leases = [await harness.leased(harness.stranger(), queue=queue) for _ in range(6)]
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN) for lease in leases[:3]])
        query = harness.query(MessageState.DEAD, MessageState.LEASED, queues=None, look_at=4, limit=100)
        found = await _pages(harness, query)
        assert len(set(_ids(found))) == 12
        assert all(page.looked_at <= 4 for page in found), [page.looked_at for page in found]

    async def test_a_page_ends_when_its_time_is_over(self, harness: Harness) -> None:
        """After 1,000 rows, or some more: a store reads some at a time."""
        harness.need_browsable(MessageState.READY)
        for queue in ("a-tasks", "b-tasks", "c-tasks"):
            await harness.put_many(700, queue=queue)
        wanted = await harness.put(task="rare", queue="c-tasks")
        query = harness.query(MessageState.READY, queues=None, task="rare", seconds=0.0, look_at=10_000)
        found = await _pages(harness, query)
        assert _ids(found) == [wanted.id]
        assert len(found) > 1, "it read on"
        assert found[0].looked_at >= 1_000
        assert sum(page.looked_at for page in found) == 2_101
        (page,) = await _pages(harness, msgspec.structs.replace(query, seconds=600.0))
        assert (_ids([page]), page.looked_at) == ([wanted.id], 2_101)

    async def test_a_page_that_knows_of_another_match_is_not_the_last(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        await harness.put_many(4)
        for queue in ("a-tasks", "b-tasks"):
            await harness.put_many(2, queue=queue)
            await harness.put(queue=queue, task="rare")
        questions: list[dict[str, Any]] = [{}, {"task": "rare"}, {"queues": None}, {"queues": None, "task": "rare"}]
        for filters in questions:
            for limit in (1, 2, 3, 4, 10):
                query = harness.query(MessageState.READY, limit=limit, **filters)
                found = await _pages(harness, query)
                for number, page in enumerate(found, 1):
                    assert not page.has_more or _ids(found[number:]), (filters, limit, number)

    async def test_a_page_says_how_far_it_looked(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        for _ in range(3):
            await harness.advance(2.0)
            await harness.broker.dead_letter([DeadLetter(await harness.leased(harness.stranger()), BROKEN)])
        found = [page for page in await harness.pages(state=MessageState.DEAD, look_at=1) if page.looked_at]
        assert [page.looked_until for page in found] == [page.messages[0].finished_at for page in found]
        assert len(found) == 3

    async def test_how_far_it_looked_is_the_time_of_sending_for_what_has_not_ended(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        leases = []
        for _ in range(3):
            await harness.advance(2.0)
            leases.append(await harness.leased(harness.stranger()))
        found = [page for page in await harness.pages(state=MessageState.LEASED, look_at=1) if page.looked_at]
        assert [page.looked_until for page in found] == [decode(lease.envelope).sent_at for lease in leases]

    async def test_how_far_it_looked_is_also_said_of_what_does_not_match(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        leases = []
        for task in ("rare", TASK, TASK):
            await harness.advance(2.0)
            leases.append(await harness.leased(harness.stranger(), task=task))
        sent_at = [decode(lease.envelope).sent_at for lease in leases]
        found = await harness.pages(state=MessageState.LEASED, task="rare")
        assert (_ids(found), [page.looked_until for page in found if page.looked_at]) == ([leases[0].id], sent_at[-1:])
        found = [
            page for page in await harness.pages(state=MessageState.LEASED, task="rare", look_at=1) if page.looked_at
        ]
        assert [page.looked_until for page in found] == sent_at

    async def test_bodies_are_left_out_if_nobody_wants_them(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        await harness.put(key="k", body={"to": "ada"})
        await harness.put(key="l")
        (shown,) = await harness.browse(bodies=True, key="k")
        assert decode(shown.envelope).key == "k"
        (bare,) = await harness.browse(bodies=False, key="k")
        assert (bare.id, bare.task, bare.envelope, bare.sent_at) == (shown.id, TASK, b"", shown.sent_at)

    async def test_a_message_tells_its_task_and_when_it_was_sent(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        await harness.advance(7.0)
        lease = await harness.leased(harness.stranger())
        (shown,) = await harness.browse(state=MessageState.LEASED, bodies=False)
        assert (shown.task, shown.sent_at) == (TASK, decode(lease.envelope).sent_at)

    async def test_what_is_not_a_cursor_is_refused(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        for _ in range(3):
            await harness.broker.dead_letter([DeadLetter(await harness.leased(harness.stranger()), BROKEN)])
        page = await harness.broker.browse(harness.query(MessageState.DEAD, limit=1))
        assert page.cursor
        cut, edited = page.cursor[:-3], f"{page.cursor[:4]}x{page.cursor[4:]}"
        for cursor in (*NOT_CURSORS, cut, edited, _with_another_mark(page.cursor)):
            query = harness.query(MessageState.DEAD, cursor=cursor)
            assert await harness.is_refused(harness.broker.browse(query)), cursor

    async def test_a_cursor_of_another_query_is_refused(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD, MessageState.LEASED)
        for _ in range(3):
            await harness.broker.dead_letter([DeadLetter(await harness.leased(harness.stranger()), BROKEN)])
        query = harness.query(MessageState.DEAD, limit=1)
        cursor = (await harness.broker.browse(query)).cursor
        assert cursor
        for change in ({"states": (MessageState.LEASED,)}, {"queues": ("other",)}, {"backwards": True}):
            other = msgspec.structs.replace(query, cursor=cursor, **change)
            assert await harness.is_refused(harness.broker.browse(other)), change

    async def test_the_next_page_may_be_of_another_size(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        ids = [lease.id for lease in reversed(await _held(harness))]
        first = await harness.broker.browse(harness.query(MessageState.LEASED, limit=2))
        rest = harness.query(MessageState.LEASED, limit=50, look_at=90, cursor=first.cursor or "")
        assert _ids([first, *await _pages(harness, rest)]) == ids

    async def test_an_empty_question_is_refused(self, harness: Harness) -> None:
        dead = MessageState.DEAD
        bounds = ({"limit": 0}, {"look_at": 0}, {"seconds": -1.0}, {"seconds": math.nan})
        for query in (Query(states=()), *(Query(states=(dead,), **bound) for bound in bounds)):
            assert await harness.is_refused(harness.broker.browse(query)), query

    async def test_what_cannot_be_shown_is_refused(self, harness: Harness) -> None:
        await harness.put()
        for state in MessageState:
            if state in harness.traits.browsable:
                assert not await harness.is_refused(harness.broker.browse(Query(states=(state,))))
                continue
            assert await harness.is_refused(harness.broker.browse(Query(states=(state,)))), state
            refused = await harness.is_refused(harness.broker.browse(Query(states=(state,), scan=True)))
            assert refused == (state not in harness.traits.scannable), state

    async def test_nothing_that_stays_is_missed_while_ready_messages_move(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        ids = [message.id for message in await harness.put_many(20)]
        gone: list[str] = []

        async def move(page: Page) -> None:
            """Take the row on which the page ended, lend from the front, and add one at the end."""
            gone.extend(await harness.broker.delete([one.id for one in page.messages[-1:]]))
            gone.extend(lease.id for lease in await harness.lease(harness.stranger()))
            await harness.put()

        seen = await _seen_while(harness, MessageState.READY, move)
        assert set(ids) - set(gone) <= set(seen)

    async def test_nothing_that_stays_is_missed_while_leases_end(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.LEASED)
        leases = {lease.id: lease for lease in await _held(harness, 12)}
        gone: list[str] = []

        async def move(page: Page) -> None:
            last = page.messages[-1].id
            if last in leases:
                await harness.broker.give_back([GiveBack(leases[last])])
                gone.append(last)
            await harness.lease_one(harness.stranger())

        seen = await _seen_while(harness, MessageState.LEASED, move)
        assert set(leases) - set(gone) <= set(seen)

    async def test_nothing_that_stays_is_missed_while_dead_letters_go(self, harness: Harness) -> None:
        harness.need_browsable(MessageState.DEAD)
        leases = await _held(harness, 12)
        for lease in leases:
            await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
        gone: list[str] = []

        async def move(page: Page) -> None:
            last, number = page.messages[-1].id, len(gone)
            gone.extend(await (harness.broker.redrive if number % 2 else harness.broker.delete)([last]))
            await harness.broker.dead_letter([DeadLetter(await harness.leased(harness.stranger(), queue="x"), BROKEN)])

        seen = await _seen_while(harness, MessageState.DEAD, move)
        assert {lease.id for lease in leases} - set(gone) <= set(seen)

    async def test_nothing_that_stays_is_missed_while_queues_come_and_go(self, harness: Harness) -> None:
        harness.need_shown(MessageState.READY)
        by_queue = {f"{name}-tasks": await _put(harness, 2, f"{name}-tasks") for name in "bdfh"}
        seen: list[str] = []
        query = harness.query(MessageState.READY, queues=None, limit=1)
        number = 0
        async for page in pages(harness.broker, query):
            seen += [one.id for one in page.messages]
            number += 1
            if number == 1:
                await harness.broker.delete(by_queue["d-tasks"])
                await harness.broker.forget_queue("d-tasks")
                await harness.put(queue="a-tasks")
                await harness.put(queue="e-tasks")
            assert number < 100, "it never ends"
        assert {id for queue, ids in by_queue.items() if queue != "d-tasks" for id in ids} <= set(seen)

    async def test_looking_with_filters_changes_nothing(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.LEASED)
        harness.need_browsable(MessageState.DEAD, MessageState.LEASED)
        dead, held = await harness.leased(harness.stranger()), await harness.leased(harness.stranger())
        await harness.broker.dead_letter([DeadLetter(dead, BROKEN)])
        ready = await harness.put()
        await harness.advance(10.0)
        ids = (dead.id, held.id, ready.id)
        before = [await harness.record(id) for id in ids]
        leases = await harness.broker.leases()
        query = Query(
            states=(MessageState.LEASED, MessageState.DEAD),
            text="ada",
            task=TASK,
            backwards=True,
            bodies=False,
            limit=1,
        )
        for _ in range(3):
            assert len(_ids(await _pages(harness, query))) == 2
            assert await harness.broker.leases() == leases
            await harness.broker.queues()
            await harness.broker.find(held.id, held.owner, held.fence)
        assert [await harness.record(id) for id in ids] == before
        assert [lease.id for lease in await harness.lease_all(harness.stranger())] == [ready.id]

    async def test_a_message_that_cannot_be_read_is_shown_all_the_same(self, harness: Harness) -> None:
        harness.need_envelopes(MessageState.READY)
        harness.need_shown(MessageState.READY)
        spoiled, whole = await harness.put(key="k"), await harness.put(key="k2")
        raw = await harness.damage(spoiled.id)
        shown = {one.id: one for one in await harness.browse()}
        assert shown.keys() == {spoiled.id, whole.id}
        assert shown[spoiled.id].envelope == raw
        assert [one.id for one in await harness.browse(key="k2")] == [whole.id]


def _with_another_mark(cursor: str) -> str:
    """Return the cursor as another store would have written it for the same query."""
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    *place, _mark = msgspec.json.decode(raw, type=list[int | str])
    return base64.urlsafe_b64encode(msgspec.json.encode([*place, "no mark of any store"])).decode().rstrip("=")


async def _check_order(harness: Harness, state: MessageState, ids: list[str]) -> None:
    """Forwards and backwards, in pages of every size."""
    for is_backwards in (False, True):
        expected = ids[::-1] if is_backwards else ids
        for limit in (1, 2, len(ids), 100):
            found = await harness.pages(state=state, limit=limit, backwards=is_backwards)
            assert all(len(page.messages) <= limit for page in found)
            assert _ids(found) == expected, f"{state}, backwards={is_backwards}, limit={limit}"


def _ended(harness: Harness, leases: list[Lease]) -> list[str]:
    """The order of what came in this order, and ended in the other."""
    ids = [lease.id for lease in leases]
    return ids[::-1] if harness.traits.ended_order == "end" else ids


async def _held(harness: Harness, count: int = 5) -> list[Lease]:
    """The last to come is the first to lapse."""
    return [await harness.leased(harness.stranger(), seconds=90.0 - 5.0 * number) for number in range(count)]


async def _put(harness: Harness, count: int, queue: str) -> list[str]:
    return [message.id for message in await harness.put_many(count, queue=queue)]


async def _pages(harness: Harness, query: Query) -> list[Page]:
    return [page async for page in pages(harness.broker, query)]


def _ids(found: list[Page]) -> list[str]:
    return [one.id for page in found for one in page.messages]


async def _seen_while(harness: Harness, state: MessageState, move: Callable[[Page], Awaitable[None]]) -> list[str]:
    """The ids on pages of two, while `move` is called after each page."""
    seen: list[str] = []
    turns = 0
    async for page in pages(harness.broker, harness.query(state, limit=2)):
        seen += [one.id for one in page.messages]
        turns += 1
        if page.messages and turns <= 8:
            await move(page)
        assert turns < 100, "it never ends"
    return seen
