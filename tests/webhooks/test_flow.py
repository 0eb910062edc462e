"""From an ending to the receiver, in virtual time, with receivers that fail in every way."""

import asyncio

import msgspec
import pytest
from tests.webhooks.world import OK, QUEUE, World, ids_of

from tenure.errors import BrokerUnavailable
from tenure.event import EventKind
from tenure.message import MessageState
from tenure.webhooks import verify
from tenure.webhooks.announcer import LOOK_SECONDS
from tenure.webhooks.endpoints import findings
from tenure.webhooks.transport import Answer
from tenure.webhooks.window import MOST

DOWN = Answer(status=500, seconds=0.1, error="out of order")
HOUR, DAY = 3_600.0, 86_400.0


async def test_an_ending_arrives_once_signed_and_complete(world: World) -> None:
    url = "https://orders.example.com/hook"
    secret = (await world.hooks.endpoints.add("orders", url)).secret
    assert secret is not None
    message = await world.end(result=b'{"n":12345678901234567890}')
    await world.run(10)
    assert await world.pending() == 0
    ((to, id, body),) = world.transport.got
    assert to == url
    assert (body["task_id"], body["status"], body["generation"]) == (message.id, "completed", 0)
    assert body["result"] == {"n": 12345678901234567890}
    assert body["error"] is None
    assert world.transport.headers[0]["webhook-id"] == id
    record = await world.record(id)
    assert record.state is MessageState.COMPLETED
    assert (record.result or b"").startswith(b'{"status":200,"seconds":0.01')
    raw = msgspec.json.encode(body)
    assert verify(raw, world.transport.headers[0], secret, clock=world.clock).id == id


async def test_each_ending_has_its_word(world: World) -> None:
    await world.add()
    for ending in (MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED):
        await world.end(ending=ending)
    await world.run(5)
    bodies = [body for _, _, body in world.transport.got]
    assert sorted(body["status"] for body in bodies) == ["cancelled", "completed", "failed"]
    (failed,) = [body for body in bodies if body["status"] == "failed"]
    assert failed["error"].startswith("gave up")
    assert failed["error_code"] == "max_attempts"


async def test_an_endpoint_gets_only_the_endings_that_it_wants(world: World) -> None:
    await world.add(events=[MessageState.DEAD])
    await world.end()
    await world.end(ending=MessageState.DEAD)
    await world.run(5)
    assert [body["status"] for _, _, body in world.transport.got] == ["failed"]
    assert await world.pending() == 0


async def test_a_receiver_that_is_down_for_an_hour_gets_everything_soon_after(world: World) -> None:
    url = await world.add()
    up_at = world.clock.now + HOUR
    world.transport.answers[url] = lambda: OK if world.clock.now >= up_at else DOWN
    made = await world.end_many(250)
    await world.run(HOUR)
    assert await world.waiting() <= MOST
    assert world.transport.tried[url] < 100  # it was left in peace
    await world.run(15 * 60)
    assert sorted(world.transport.tasks()) == sorted(ids_of(made))
    assert set(world.transport.ids().values()) == {1}
    assert await world.dead_deliveries() == []


async def test_a_receiver_that_never_comes_back_leaves_dead_letters_and_is_disabled(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.webhooks.window.MOST", 6)
    url = await world.add()
    world.transport.answers[url] = DOWN
    made = await world.end_many(10)
    await world.run(5.5 * DAY, step=300)
    dead = await world.dead_deliveries()
    assert {code for code, _ in dead} <= {"webhook_failed", "webhook_disabled"}
    assert any("HTTP 500 after 0.100 s: out of order" in text for _, text in dead)
    endpoint = await world.hooks.endpoints.get("orders")
    assert endpoint.disabled is not None
    assert endpoint.disabled.code == "failing"
    (event,) = world.disabled()
    assert (event.kind, event.data["endpoint"]) == (EventKind.WEBHOOK_DISABLED, "orders")
    (finding,) = findings([endpoint])
    assert finding.id == "webhook_disabled"
    # Everything is somewhere: dead, in the queue, or an announcement.
    assert len(dead) + await world.waiting() + await world.pending() == 10
    # And arrives, once it is enabled and the dead letters are replayed.
    world.transport.answers[url] = OK
    await world.hooks.endpoints.enable("orders")
    await world.broker.redrive([one.id for one in await world.browse(QUEUE, MessageState.DEAD)])
    await world.run(HOUR, step=10)
    assert sorted(world.transport.tasks()) == sorted(ids_of(made))
    assert set(world.transport.ids().values()) == {1}


async def test_a_receiver_that_is_gone_is_disabled_at_once(world: World) -> None:
    url = await world.add()
    world.transport.answers[url] = Answer(status=410, seconds=0.1)
    await world.end()
    await world.run(10)
    endpoint = await world.hooks.endpoints.get("orders")
    assert endpoint.disabled is not None
    assert endpoint.disabled.code == "gone"
    assert [code for code, _ in await world.dead_deliveries()] == ["webhook_failed"]
    assert len(world.disabled()) == 1
    await world.end()
    await world.run(10)
    assert await world.pending() == 1
    assert world.transport.tried[url] == 1


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_kept_and_uses_no_attempt(world: World, status: int) -> None:
    url = await world.add()
    answers = [Answer(status=status, seconds=0.1, retry_after=600.0), OK]
    world.transport.answers[url] = lambda: answers.pop(0)
    message = await world.end()
    began = world.clock.now
    await world.run(590)
    assert world.transport.tried[url] == 1
    await world.end()  # the endpoint rests as a whole
    await world.run(5)
    assert world.transport.tried[url] == 1
    answers.append(OK)
    await world.run(60)
    assert world.clock.now - began < 700
    assert min(world.transport.tasks()) == message.id
    record = await world.record(next(iter(world.transport.ids())))
    assert record.counters.attempts == 0


async def test_a_receiver_that_answers_429_for_ever_ends_in_the_dead_letters(world: World) -> None:
    url = await world.add()
    world.transport.answers[url] = Answer(status=429, seconds=0.1, retry_after=600.0)
    await world.end()
    await world.run(3 * DAY + HOUR, step=300)
    assert [code for code, _ in await world.dead_deliveries()] == ["webhook_failed"]


async def test_a_disabled_endpoint_with_10000_endings_costs_little_and_loses_none(world: World) -> None:
    url = await world.add()
    await world.add("other")
    await world.hooks.endpoints.disable("orders", "maintenance")
    made = await world.end_many(10_000)
    await world.announce()
    calls = 0
    for _ in range(200):  # while nothing changes it asks for one page a turn, and looks at all of it rarely
        answer = await world.announcer.run_once()
        calls += answer.read
        assert answer.waiting == ("webhook:orders",)
        await asyncio.sleep(1)
    assert calls == 0
    assert await world.waiting() == 0
    await world.end("webhook:other")
    await world.run(2)
    assert len(world.transport.got) == 1  # others pass it by
    await world.hooks.endpoints.enable("orders")
    for _ in range(2_000):
        await world.run(0.5, step=0.1)
        if not await world.pending() and not await world.waiting():
            break
        assert await world.waiting() <= MOST
    assert sorted(world.transport.tasks(url)) == sorted(ids_of(made))
    assert set(world.transport.ids().values()) == {1}


async def test_a_dead_endpoint_costs_others_nothing(world: World) -> None:
    dead, good = await world.add("dead"), await world.add("good")
    world.transport.answers[dead] = Answer(seconds=15.0, error="no answer within 15 s")
    world.transport.takes[dead] = 15.0
    await world.end_many(500, "webhook:dead")
    await world.run(120)
    began = world.clock.now
    await world.end_many(100, "webhook:good")
    await world.announce()
    while len(world.transport.tasks(good)) < 100:
        await world.deliver()
        await asyncio.sleep((await world.announce()).again_seconds)
    assert world.clock.now - began < 20.0


async def test_without_its_secret_nothing_goes_out_unsigned(world: World) -> None:
    await world.hooks.endpoints.add("orders", "https://orders.example.com/hook", secret="env:NOT_SET")
    await world.end()
    await world.run(300)
    assert world.transport.tried.total() == 0
    assert await world.waiting() == 1
    await world.run(3 * DAY, step=300)
    assert [code for code, _ in await world.dead_deliveries()] == ["webhook_disabled"]


async def test_an_ending_for_an_endpoint_that_is_not_there_is_a_dead_letter_and_arrives_when_it_is(
    world: World,
) -> None:
    message = await world.end()
    await world.run(5)
    assert await world.pending() == 0
    ((code, text),) = await world.dead_deliveries()
    assert code == "webhook_endpoint_missing"
    assert "replay" in text
    await world.add()
    await world.broker.redrive([one.id for one in await world.browse(QUEUE, MessageState.DEAD)])
    await world.run(5)
    assert world.transport.tasks() == [message.id]


async def test_a_url_of_a_message_goes_where_its_host_is_allowed_and_nowhere_else(world: World) -> None:
    await world.add("orders", hosts=["a.example.com"], clients=["acme"])
    await world.end("webhook:https://a.example.com/b", client="acme")
    await world.end("webhook:https://evil.example.com/b", client="acme")
    await world.end("webhook:https://a.example.com/b", client="other")
    await world.end("webhook:https://169.254.169.254/latest", client="acme")
    await world.run(5)
    assert world.transport.tried == {"https://a.example.com/b": 1}
    assert [code for code, _ in await world.dead_deliveries()] == ["webhook_refused"] * 3
    # Once it is allowed, a replay arrives.
    await world.hooks.endpoints.change("orders", hosts=["a.example.com", "evil.example.com"])
    world.hooks.reader.forget()
    await world.broker.redrive([one.id for one in await world.browse(QUEUE, MessageState.DEAD)])
    await world.run(5)
    assert world.transport.tried["https://evil.example.com/b"] == 1


async def test_a_host_that_a_message_named_cannot_disable_the_endpoint(world: World) -> None:
    url = await world.add("orders", hosts=["a.example.com"])
    world.transport.answers["https://a.example.com/b"] = Answer(status=410, seconds=0.1)
    await world.end("webhook:orders https://a.example.com/b")
    await world.end("webhook:orders")
    await world.run(10)
    assert (await world.hooks.endpoints.get("orders")).disabled is None
    assert world.transport.tried[url] == 1


async def test_two_targets_get_theirs_though_one_of_them_rests(world: World) -> None:
    first, second = await world.add("first"), await world.add("second")
    await world.hooks.endpoints.disable("second", "maintenance")
    message = await world.end("webhook:first", "webhook:second")
    await world.run(5 * LOOK_SECONDS)
    assert world.transport.tried == {first: 1}
    assert await world.pending() == 1
    assert (await world.new_announcer().run_once()).sent == 0  # it is noted who has it
    await world.hooks.endpoints.enable("second")
    await world.announce(world.new_announcer())  # another process takes over
    await world.run(10)
    assert world.transport.tasks(second) == [message.id]
    assert world.transport.tried == {first: 1, second: 1}
    assert await world.pending() == 0


async def test_the_rotation_of_a_secret_signs_with_both_for_its_time(world: World) -> None:
    url = "https://orders.example.com/hook"
    old = (await world.hooks.endpoints.add("orders", url)).secret
    new = (await world.hooks.endpoints.rotate("orders", overlap_seconds=HOUR)).secret
    assert old is not None
    assert new is not None
    await world.end()
    await world.run(5)
    await world.run(HOUR, step=60)
    await world.end()
    await world.run(5)
    during, after = world.transport.headers
    body = msgspec.json.encode(world.transport.got[0][2])
    for secret in (old, new):
        assert verify(body, during, secret, tolerance=2 * HOUR, clock=world.clock).id
    assert during["webhook-signature"].count("v1,") == 2
    assert after["webhook-signature"].count("v1,") == 1


async def test_a_delivery_that_its_endpoint_does_not_allow_any_more_is_not_posted(world: World) -> None:
    await world.add("orders", hosts=["a.example.com"], clients=["acme"])
    await world.end("webhook:orders https://a.example.com/b", "webhook:orders", client="acme")
    await world.announce()
    await world.hooks.endpoints.change("orders", hosts=[], clients=["acme"])
    world.hooks.reader.forget()
    await world.run(5)
    assert list(world.transport.tried) == ["https://orders.example.com/hook"]
    await world.end("webhook:orders", client="acme")
    await world.announce()
    await world.hooks.endpoints.change("orders", clients=["other"])
    world.hooks.reader.forget()
    await world.run(5)
    assert world.transport.tried.total() == 1
    assert [code for code, _ in await world.dead_deliveries()] == ["webhook_endpoint_missing"] * 2


async def test_a_replay_is_tried_for_three_days_anew(world: World) -> None:
    url = await world.add()
    world.transport.answers[url] = DOWN
    await world.end()
    await world.run(3 * DAY + 2 * HOUR, step=300)
    assert len(await world.dead_deliveries()) == 1
    await world.broker.redrive([one.id for one in await world.browse(QUEUE, MessageState.DEAD)])
    await world.run(HOUR, step=60)
    assert await world.dead_deliveries() == []
    assert await world.waiting() == 1


async def test_that_an_endpoint_is_gone_is_published_once(world: World) -> None:
    url = await world.add()
    world.transport.answers[url] = Answer(status=410, seconds=0.1)
    world.transport.takes[url] = 1.0
    await world.end_many(5)
    await world.announce()
    await world.deliver()
    assert world.transport.tried[url] == 5
    assert len(world.disabled()) == 1


async def test_an_endpoint_that_is_enabled_again_begins_anew(world: World) -> None:
    url = await world.add()
    world.transport.answers[url] = DOWN
    await world.end_many(20)
    await world.run(HOUR)
    await world.hooks.endpoints.disable("orders", "repairs")
    assert not (await world.hooks.health.of("orders", fresh=True)).is_well
    await world.hooks.endpoints.enable("orders")
    assert (await world.hooks.health.of("orders", fresh=True)).is_well


async def test_an_error_of_the_store_after_the_answer_posts_nothing_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = await world.add()
    world.transport.answers[url] = DOWN
    await world.end()
    await world.run(2)
    world.transport.answers[url] = OK

    async def away(*_: object) -> None:
        raise BrokerUnavailable("away")

    monkeypatch.setattr(world.hooks.health, "change", away)
    await world.run(60)
    assert set(world.transport.ids().values()) == {1}
    assert world.transport.tried[url] == 2
