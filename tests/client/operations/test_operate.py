"""`app.operate`: what people and programs do with a store, in memory and virtual time."""

import asyncio
import inspect

import msgspec
import pytest

from tenure import Reject, Tenure
from tenure.client.operations.blocking import SyncOperate
from tenure.client.operations.dead import DeadQuery
from tenure.client.operations.events import EventQuery
from tenure.client.operations.messages import MessageQuery
from tenure.client.operations.operate import Operate
from tenure.config import Settings
from tenure.errors import (
    AmbiguousId,
    BadArgument,
    MessageNotFound,
    NotDead,
    PayloadInvalid,
    QueueNotEmpty,
    UnknownQueue,
    UnknownSchedule,
)
from tenure.event import EventKind
from tenure.lease import LeaseRequest
from tenure.message import MessageState
from tenure.testing import Kit


@pytest.fixture
def tenure_app() -> Tenure:
    app = Tenure("memory://", settings=Settings(max_attempts=1))

    @app.task
    async def resize(image: str, width: int = 800) -> int:
        if image.startswith("bad"):
            raise Reject(f"cannot read {image!r}")
        if image.startswith("broken"):
            return int(image)
        return width

    @app.task(queue="acme-tasks")
    async def mail(to: str) -> None: ...

    app.schedule(mail.bind("ada"), every=3600, name="hourly")
    return app


async def _sent(kit: Kit, *images: str) -> list[str]:
    resize = kit.app.tasks["resize"]
    return [(await kit.app.submit(resize.bind(image))).id for image in images]


async def _dead(kit: Kit, *images: str) -> list[str]:
    ids = await _sent(kit, *images)
    await kit.drain()
    assert len(kit.dead()) == len(images)
    return ids


# -- looking ---------------------------------------------------------------------------------------


async def test_an_overview_adds_up(kit: Kit) -> None:
    await _sent(kit, "a", "b")
    overview = await kit.operate.overview()
    (queue, other) = overview.queues[1], overview.queues[0]
    assert (queue.queue, queue.waiting, other.queue, other.waiting) == ("default-tasks", 2, "acme-tasks", 0)
    assert (overview.total.waiting, overview.total.workers) == (2, 0)
    assert overview.headline.text.startswith("No worker is alive and 2 messages wait")
    assert [one.queue for one in (await kit.operate.overview(["acme-*"])).queues] == ["acme-tasks"]


async def test_queues_tasks_workers_and_leases_are_listed(kit: Kit) -> None:
    await _sent(kit, "a")
    await kit.app.broker.lease(LeaseRequest("somebody/00", "r1", ("default-tasks",), 1, 30.0))
    (queue,) = (await kit.operate.queues()).queues
    assert (queue.queue, queue.ready, queue.leased) == ("default-tasks", 0, 1)
    assert (await kit.operate.queue("default-tasks")).leased == 1
    (lease,) = (await kit.operate.leases()).leases
    assert (lease.owner, lease.task) == ("somebody/00", "resize")
    assert (await kit.operate.leases(["acme-*"])).leases == ()
    tasks = {one.task: one for one in (await kit.operate.tasks()).tasks}
    assert (tasks["resize"].running, tasks["resize"].in_app) == (1, True)
    policy = tasks["mail"].policy
    assert policy is not None
    assert (policy.max_attempts, policy.parameters) == (1, ("to",))
    assert (await kit.operate.workers()).workers == ()
    with pytest.raises(UnknownQueue, match=r"there is no queue 'defualt-tasks'.*did you mean 'default-tasks'"):
        await kit.operate.queue("defualt-tasks")


async def test_messages_are_paged_and_one_is_told_with_its_life(kit: Kit) -> None:
    ids = await _sent(kit, "a", "b", "c")
    first = await kit.operate.messages(MessageQuery(limit=2))
    assert [one.id for one in first.messages] == ids[:2]
    assert (first.more, first.messages[0].client) == (True, "default")
    rest = await kit.operate.messages(MessageQuery(limit=2, after=first.after or ""))
    assert ([one.id for one in rest.messages], rest.more) == (ids[2:], False)
    newest = await kit.operate.messages(MessageQuery(states=(MessageState.READY,), newest_first=True))
    assert [one.id for one in newest.messages] == ids[::-1]
    await kit.drain()
    found = await kit.operate.message(ids[0])
    assert [step.what for step in found.life] == ["sent", "completed"]
    assert msgspec.json.decode(found.result or b"") == 800
    with pytest.raises(BadArgument, match="apart from the others"):
        await kit.operate.messages(MessageQuery(states=(MessageState.READY, MessageState.COMPLETED)))


async def test_a_page_reads_no_more_than_it_may_and_says_how_far_it_came(kit: Kit) -> None:
    await _sent(kit, *(f"hay{number}" for number in range(20)), "needle")
    query = MessageQuery(text="needle", look_at=8)
    pages = [await kit.operate.messages(query)]
    while pages[-1].after is not None:
        pages.append(await kit.operate.messages(msgspec.structs.replace(query, after=pages[-1].after)))
    assert [(len(one.messages), one.looked_at) for one in pages] == [(0, 8), (0, 8), (1, 5)]
    with pytest.raises(BadArgument, match="look_at=0"):
        await kit.operate.messages(MessageQuery(look_at=0))


async def test_an_id_may_be_shortened_while_it_means_one(kit: Kit) -> None:
    await _sent(kit, "a")
    for id in ("customer-1", "customer-2"):
        await kit.app.submit(kit.app.tasks["resize"].bind("x"), id=id)
    assert (await kit.operate.message("customer-1")).id == "customer-1"
    with pytest.raises(AmbiguousId, match="customer is the beginning of 2 ids"):
        await kit.operate.cancel(["customer"])
    with pytest.raises(MessageNotFound, match="nothing was changed"):
        await kit.operate.cancel(["customer-1", "nobody-knows"])
    assert (await kit.operate.message("customer-1")).state is MessageState.READY


# -- acting ----------------------------------------------------------------------------------------


async def test_cancel_tells_of_each_and_of_all(kit: Kit) -> None:
    ids = await _sent(kit, "a", "b")
    await kit.drain()
    (waiting,) = await _sent(kit, "c")
    found = await kit.operate.cancel([ids[0], waiting])
    assert [(one.cancelled, one.was) for one in found.messages] == [
        (False, MessageState.COMPLETED),
        (True, MessageState.READY),
    ]
    assert (found.found, found.done, found.skipped) == (2, 1, 1)


async def test_an_act_on_many_is_bounded_and_goes_on_when_it_is_repeated(kit: Kit) -> None:
    ids = await _sent(kit, *"abcde")
    query = MessageQuery(task="resize")
    dry = await kit.operate.cancel_all(query, dry_run=True)
    assert (dry.found, dry.done, dry.skipped, dry.ids, dry.kinds) == (5, 0, 0, tuple(ids), {"ready": 5})
    first = await kit.operate.cancel_all(query, limit=3)
    assert (first.found, first.done, first.more) == (3, 3, True)
    rest = await kit.operate.cancel_all(query, limit=3)
    assert (rest.found, rest.done, rest.more) == (2, 2, False)
    assert not (await kit.operate.messages()).messages


async def test_dead_letters_go_back_evenly_and_as_many_as_were_asked_for(kit: Kit) -> None:
    await _dead(kit, *(f"bad{number}" for number in range(20)))
    told: list[tuple[int, int]] = []
    began = kit.clock.monotonic()
    result = await kit.operate.redrive_all(rate=4.0, limit=12, progressed=lambda done, of: told.append((done, of)))
    assert (result.found, result.done, result.more) == (12, 12, True)
    assert kit.clock.monotonic() - began == pytest.approx(2.75, abs=0.3)
    assert told == [(number, 12) for number in range(1, 13)]
    assert result.kinds == {"resize (rejected)": 12}
    with pytest.raises(BadArgument, match="rate=0"):
        await kit.operate.redrive_all(rate=0)


async def test_dead_letters_are_chosen_by_client_key_and_text_too(kit: Kit) -> None:
    await _dead(kit, "bad-red", "bad-blue")
    resize = kit.app.tasks["resize"]
    await kit.app.submit(resize.bind("bad-red"), key="shop-7")
    await kit.drain()
    found = {
        name: (await kit.operate.redrive_all(query, dry_run=True)).found
        for name, query in {
            "text": DeadQuery(text="bad-red"), "key": DeadQuery(key="shop-7"),
            "both": DeadQuery(key="shop-7", text="blue"), "client": DeadQuery(client="default"),
            "stranger": DeadQuery(client="nobody"),
        }.items()
    }  # fmt: skip
    assert found == {"text": 2, "key": 1, "both": 0, "client": 3, "stranger": 0}
    assert [one.key for one in (await kit.operate.dead(DeadQuery(key="shop-7"))).messages] == ["shop-7"]
    assert [one.count for one in (await kit.operate.dead_groups(DeadQuery(text="bad-red"))).groups] == [2]
    began = kit.clock.monotonic()
    assert (await kit.operate.delete_dead_all(DeadQuery(text="bad-red"), rate=0.5)).done == 2
    assert kit.clock.monotonic() - began == pytest.approx(2.0, abs=0.3)


async def test_an_act_is_cancelled_in_the_middle_with_all_that_was_done_recorded(kit: Kit) -> None:
    await _dead(kit, *(f"bad{number}" for number in range(8)))
    acting = asyncio.ensure_future(kit.operate.redrive_all(rate=1.0))
    await asyncio.sleep(3.5)
    acting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await acting
    recorded = sum(one.count for one in (await kit.operate.acts(kinds=["redriven"])).acts)
    assert recorded == 4
    assert len(kit.dead()) == 4
    assert (await kit.operate.redrive_all()).done == 4


async def test_the_kit_redrives(kit: Kit) -> None:
    await _dead(kit, "bad")
    assert (await kit.redrive("mail")).done == 0
    assert (await kit.redrive(reason="rejected")).done == 1
    await kit.drain()
    assert [one.runs for one in kit.dead()] == [2]


async def test_only_dead_letters_are_redriven_by_id(kit: Kit) -> None:
    (dead,) = await _dead(kit, "bad")
    (waiting,) = await _sent(kit, "a")
    with pytest.raises(NotDead, match="is ready, not dead; nothing was changed"):
        await kit.operate.redrive([dead, waiting])
    assert (await kit.operate.redrive([dead])).ids == (dead,)
    assert (await kit.operate.delete([dead, waiting])).done == 2


async def test_an_edit_is_checked_by_the_signature_and_says_what_changes(kit: Kit) -> None:
    (id,) = await _dead(kit, "bad")
    for payload in ({"image": 3}, {"picture": "x"}):
        with pytest.raises(PayloadInvalid):
            await kit.operate.edit(id, payload)
    with pytest.raises(BadArgument, match="nothing in message"):
        await kit.operate.edit(id, {"image": "bad"})
    dry = await kit.operate.edit(id, {"image": "ok", "width": 3}, priority=9, dry_run=True)
    assert [(one.path, one.kind, one.before, one.after) for one in dry.changes] == [
        ("payload.image", "changed", "bad", "ok"),
        ("payload.width", "added", None, 3),
        ("priority", "changed", 5, 9),
    ]
    assert (dry.new_id, dry.checked) == (None, True)
    assert len(kit.dead()) == 1
    done = await kit.operate.edit(id, {"image": "ok", "width": 3}, priority=9)
    await kit.drain()
    assert done.new_id is not None
    assert await kit.app.handle(done.new_id).result() == 3
    assert not kit.dead()
    old = await kit.operate.message(id)
    assert (old.state, old.life[-1].act, old.life[-1].data["new_id"]) == ("cancelled", "edited", done.new_id)


async def test_a_move_leaves_what_it_cannot_move_and_says_why(kit: Kit) -> None:
    ids = await _dead(kit, "bad1", "bad2")
    same = await kit.operate.move(ids, "default-tasks")
    assert (same.done, same.skipped, "redrive it" in same.messages[0].problem) == (0, 2, True)
    assert (await kit.operate.move(ids, "elsewhere", dry_run=True)).done == 0
    moved = await kit.operate.move(ids, "elsewhere")
    assert (moved.found, moved.done, moved.skipped) == (2, 2, 0)
    assert [one.queue for one in (await kit.operate.messages()).messages] == ["elsewhere"] * 2
    (act, _) = (await kit.operate.acts(kinds=["moved"])).acts
    assert (act.queue, act.data["to"], act.count) == ("default-tasks", "elsewhere", 1)


async def test_a_queue_is_paused_purged_and_deleted(kit: Kit) -> None:
    await _sent(kit, "a", "b")
    assert (await kit.operate.pause("default-tasks")).changed
    assert not (await kit.operate.pause("default-tasks")).changed
    assert (await kit.operate.queue("default-tasks")).paused is not None
    with pytest.raises(UnknownQueue):
        await kit.operate.pause("typo")
    assert (await kit.operate.pause("later", must_exist=False)).changed
    with pytest.raises(QueueNotEmpty, match="stays as it is"):
        await kit.operate.delete_queue("default-tasks")
    with pytest.raises(BadArgument, match="only these can be purged"):
        await kit.operate.purge("default-tasks", ["leased"])
    dry = await kit.operate.purge("default-tasks", dry_run=True)
    assert (dry.purged, dry.would) == (0, {"ready": 2, "delayed": 0})
    assert (await kit.operate.purge("default-tasks")).purged == 2
    assert (await kit.operate.delete_queue("default-tasks")).changed
    assert (await kit.operate.resume("default-tasks")).changed
    assert not (await kit.operate.resume("default-tasks")).changed


async def test_a_schedule_is_run_paused_and_resumed(kit: Kit) -> None:
    run = await kit.operate.run_schedule("hourly")
    assert not run.duplicate
    again = await kit.operate.run_schedule("hourly")
    assert (again.duplicate, again.message_id) == (True, run.message_id)
    (message,) = kit.waiting("mail")
    assert message.id == run.message_id
    await kit.operate.pause_schedule("hourly")
    await kit.advance(hours=3)
    assert len(kit.completed("mail")) == 1, "a paused schedule ticked"
    (shown,) = (await kit.operate.schedules()).schedules
    assert shown.paused is not None
    assert shown.message_id is None
    await kit.operate.resume_schedule("hourly")
    await kit.advance(hours=1)
    assert len(kit.completed("mail")) == 2
    kinds = [one.kind for one in (await kit.operate.acts()).acts]
    assert kinds == ["schedule_resumed", "schedule_paused", "schedule_run"]
    with pytest.raises(UnknownSchedule, match="did you mean 'hourly'"):
        await kit.operate.pause_schedule("hourli")


async def test_events_are_paged_and_chosen(kit: Kit) -> None:
    ids = await _dead(kit, "bad1", "bad2")
    page = await kit.operate.events(EventQuery(kinds=(EventKind.DEAD,), limit=1))
    (event,) = page.events
    assert (event.message_id, event.data["reason"]) == (ids[0], "cannot read 'bad1'")
    rest = await kit.operate.events(EventQuery(kinds=(EventKind.DEAD,), after=page.after))
    assert [one.message_id for one in rest.events] == [ids[1]]
    assert rest.after == rest.last
    about = await kit.operate.events(EventQuery(message=ids[1]))
    assert {one.message_id for one in about.events} == {ids[1]}
    assert (await kit.operate.events(EventQuery(after=10_000))).gap


# -- who asks --------------------------------------------------------------------------------------


async def test_what_is_not_theirs_is_not_there(kit: Kit) -> None:
    (mine,) = await _dead(kit, "bad")
    theirs = (await kit.app.submit(kit.app.tasks["mail"].bind("ada"))).id
    acme = kit.operate.bound(by="acme", queues=["acme-*"])
    assert [one.queue for one in (await acme.queues()).queues] == ["acme-tasks"]
    assert [one.queue for one in (await acme.overview()).queues] == ["acme-tasks"]
    assert [one.id for one in (await acme.messages()).messages] == [theirs]
    assert [one.id for one in (await acme.messages(MessageQuery(queues=("*",)))).messages] == [theirs]
    assert (await acme.messages(MessageQuery(queues=("default-*",)))).messages == ()
    assert (await acme.overview(["default-tasks"])).queues == ()
    assert (await acme.leases(["default-tasks"])).leases == ()
    assert (await acme.dead()).messages == ()
    assert (await acme.dead_groups()).groups == ()
    assert {one.queue for one in (await acme.events()).events} <= {"acme-tasks"}
    for looking in (acme.message(mine), acme.cancel([mine]), acme.redrive([mine]), acme.edit(mine, {"image": "x"})):
        with pytest.raises(MessageNotFound):
            await looking
    for acting in (
        acme.queue("default-tasks"),
        acme.pause("default-tasks"),
        acme.purge("default-tasks"),
        acme.pause("default-tasks", must_exist=False),
        acme.resume("default-tasks"),
        acme.delete_queue("default-tasks"),
        acme.dead(DeadQuery(queues=("default-tasks",))),
    ):
        with pytest.raises(UnknownQueue) as unknown:
            await acting
        assert "there are: default-tasks" not in str(unknown.value)
    assert (await acme.redrive_all()).found == 0
    assert (await acme.cancel_all(MessageQuery())).ids == (theirs,)
    assert len(kit.dead()) == 1
    assert (await kit.operate.bound(by="nobody", queues=[]).messages()).messages == ()
    act = (await acme.acts()).acts[0]
    assert (act.by, act.kind, act.queue) == ("acme", "cancelled", "acme-tasks")
    await kit.redrive()
    assert [one.by for one in (await acme.acts()).acts] == ["acme"]


async def test_a_move_ends_in_no_queue_that_is_not_theirs(kit: Kit) -> None:
    ids = await _dead(kit, "bad")
    bound = kit.operate.bound(by="x", queues=["default-*"])
    with pytest.raises(UnknownQueue):
        await bound.move(ids, "acme-tasks")
    assert len(kit.dead()) == 1


async def test_without_payload_there_are_no_texts(kit: Kit) -> None:
    secret = "broken-SECRET"
    await _dead(kit, secret, "bad-SECRET")
    await kit.app.submit(kit.app.tasks["resize"].bind("SECRET"), headers={"h": "SECRET"}, id="waits")
    await kit.app.submit(kit.app.tasks["resize"].bind("done"), headers={"h": "SECRET"}, id="ran")
    blind = kit.operate.bound(by="x", sees_payload=False)
    ids = [one.id for one in (await blind.dead()).messages]
    answers: list[object] = [
        await blind.messages(), await blind.dead(), await blind.dead_groups(), await blind.events(),
        await blind.overview(), await blind.message("waits"),
        *[await blind.message(id) for id in ids],
        await blind.edit(ids[1], {"image": "SECRET-2"}, dry_run=True),
    ]  # fmt: skip
    for answer in answers:
        assert b"SECRET" not in msgspec.json.encode(answer), answer
        assert b'"redacted":true' in msgspec.json.encode(answer) or hasattr(answer, "headline")
    with pytest.raises(BadArgument, match="scope `payload`"):
        await blind.messages(MessageQuery(text="SEC"))
    with pytest.raises(BadArgument, match="scope `payload`"):
        await blind.cancel_all(MessageQuery(text="SEC"), dry_run=True)
    for looked in (blind.dead, blind.dead_groups, blind.redrive_all, blind.delete_dead_all):
        with pytest.raises(BadArgument, match="scope `payload`"):
            await looked(DeadQuery(text="SEC"))
    assert b"SECRET" in msgspec.json.encode(await kit.operate.dead_groups())


async def test_who_acts_and_whence_is_recorded(kit: Kit) -> None:
    await _sent(kit, "a")
    bound = kit.operate.bound(by="ada", triggered_by="http", source="203.0.113.7")
    await bound.cancel_all(MessageQuery())
    (act,) = (await kit.operate.acts()).acts
    assert (act.by, act.triggered_by, act.source) == ("ada", "http", "203.0.113.7")
    assert [one.by for one in (await kit.operate.acts(by="AD")).acts] == ["ada"]


async def test_a_namespace_sees_its_own_and_takes_names_as_in_code() -> None:
    plain = Tenure("memory://shared-namespaces")
    shop = Tenure("memory://shared-namespaces", namespace="shop")
    async with plain, shop:

        @plain.task
        async def resize(image: str) -> None: ...

        @shop.task(name="resize")
        async def resize_too(image: str) -> None: ...

        await plain.submit(resize.bind("a"))
        await shop.submit(resize_too.bind("a"))
        assert [one.queue for one in (await shop.operate.queues()).queues] == ["shop/default-tasks"]
        for name in ("default-tasks", "shop/default-tasks"):
            assert (await shop.operate.queue(name)).ready == 1
        found = await shop.operate.bound(by="x", queues=["default-*"]).messages(MessageQuery(queues=("default-tasks",)))
        assert len(found.messages) == 1


# -- settings, blocking ----------------------------------------------------------------------------


async def test_settings_say_where_they_came_from_and_mask_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACK_TIMEOUT_SECONDS", "20")
    monkeypatch.setenv("TENURE_CLIENT", "acme")
    app = Tenure("redis://ada:secret@host/0", namespace="shop")
    found = {one.name: one for one in (await app.operate.settings()).settings}
    assert (found["lease_seconds"].value, found["lease_seconds"].source) == (20.0, "environment")
    assert found["lease_seconds"].variable == "ACK_TIMEOUT_SECONDS"
    assert (found["client"].value, found["client"].source) == ("acme", "environment")
    assert (found["namespace"].value, found["namespace"].source) == ("shop", "argument")
    assert (found["max_attempts"].source, found["max_attempts"].variable) == ("default", "TENURE_MAX_ATTEMPTS")
    assert (found["url"].value, found["url"].source) == ("redis://ada:…@host/0", "argument")
    assert found.keys() == set(Settings.__struct_fields__)
    given = Tenure("memory://", settings=Settings(concurrency=3))
    told = {one.name: one.source for one in (await given.operate.settings()).settings}
    assert (told["concurrency"], told["lease_seconds"]) == ("argument", "default")


def test_every_operation_blocks_too() -> None:
    ours = {name for name, one in inspect.getmembers(Operate) if inspect.iscoroutinefunction(one) and name[0] != "_"}
    theirs = {name for name, one in vars(SyncOperate).items() if name[0] != "_"} - {"bound"}
    assert ours == theirs
    for name in ours:
        assert inspect.signature(getattr(Operate, name)) == inspect.signature(getattr(SyncOperate, name))


@pytest.mark.real_time
def test_operations_block_where_there_is_no_loop() -> None:
    app = Tenure("memory://")

    @app.task
    async def resize(image: str) -> None: ...

    id = app.submit_sync(resize.bind("a")).id
    (message,) = app.operate_sync.messages().messages
    assert message.id == id
    assert app.operate_sync.bound(by="ada").cancel([id]).done == 1
    assert app.operate_sync.acts().acts[0].by == "ada"
    app.close_sync()
