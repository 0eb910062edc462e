"""Quotas where messages are sent: refused in time, changed while it runs, and never in the way of a plain send."""

import asyncio
from typing import Any

import pytest

from tenure import Context, KeyConflict, PartlySent, QuotaExceeded, Tenure
from tenure.client.send_quotas import SendQuotas
from tenure.config import Settings, settings_from
from tenure.errors import BodyTooLarge
from tenure.message import Message, MessageState, Outgoing
from tenure.quota import NO_QUOTA, Quota
from tenure.testing.virtual import VirtualClock

QUEUE = "acme-tasks"


@pytest.fixture
def app(request: pytest.FixtureRequest, virtual_clock: VirtualClock) -> Tenure:
    return make_app(request.node.name, virtual_clock)


def make_app(place: str, clock: VirtualClock, **settings: Any) -> Tenure:
    app = Tenure(f"memory://{place}", clock=clock, settings=Settings(client="acme", **settings))

    @app.task
    async def resize(ctx: Context, image: str) -> None:
        if image == "more":
            ctx.submit(resize.bind("handed on"))

    return app


async def test_a_submit_over_the_quota_is_refused_and_sent_again_later(app: Tenure) -> None:
    await app.operate.quota("acme", waiting=2, must_exist=False)
    for image in ("a", "b"):
        await app.submit("resize", {"image": image})
    with pytest.raises(QuotaExceeded, match="2 messages may wait in queue 'acme-tasks'"):
        await app.submit("resize", {"image": "c"})
    await app.operate.purge_client("acme")
    await app.submit("resize", {"image": "c"})


async def test_of_many_those_that_fit_are_sent_and_the_others_are_named(app: Tenure) -> None:
    await app.operate.quota("acme", waiting=3, must_exist=False)
    resize = app.tasks["resize"]
    with pytest.raises(PartlySent) as caught:
        await app.submit_many([resize.bind(str(number)) for number in range(5)])
    assert sorted(caught.value.refusals) == [3, 4]
    assert {type(error) for error in caught.value.refusals.values()} == {QuotaExceeded}
    assert [handle is not None for handle in caught.value.handles] == [True, True, True, False, False]


async def test_a_payload_over_the_quota_is_refused(app: Tenure) -> None:
    await app.operate.quota("acme", payload="1KiB", must_exist=False)
    await app.submit("resize", {"image": "x" * 1_000})
    with pytest.raises(BodyTooLarge, match=r"has 1,0\d\d bytes, and in queue 'acme-tasks' it may have 1,024"):
        await app.submit("resize", {"image": "x" * 1_020})
    sent = await app.operate.access.client.send([Outgoing(message(app, "x" * 2_000)), Outgoing(message(app, "x"))])
    assert [one.refusal.code if one.refusal else None for one in sent] == ["body_too_large", None]


def message(app: Tenure, image: str) -> Message:
    return Message(id=f"m-{image[:3]}", queue=QUEUE, task="resize", body=app.tasks["resize"].bind(image).body)


async def test_a_change_elsewhere_counts_from_the_second_send_on(virtual_clock: VirtualClock) -> None:
    async with make_app("shared", virtual_clock) as one, make_app("shared", virtual_clock) as other:
        await one.submit("resize", {"image": "a"})
        await other.operate.quota("acme", waiting=1)
        await one.submit("resize", {"image": "known for less than a second"})
        await asyncio.sleep(1.5)
        await one.submit("resize", {"image": "beside this one the quota is read again"})
        with pytest.raises(QuotaExceeded):
            await one.submit("resize", {"image": "b"})
        await other.operate.clear_quota("acme")
        await asyncio.sleep(61.0)
        await one.submit("resize", {"image": "after a minute it is read first"})


async def test_defaults_hold_for_every_client_and_an_override_for_one(virtual_clock: VirtualClock) -> None:
    async with make_app("defaults", virtual_clock, quota_waiting=1, quota_payload=100) as app:
        await app.operate.quota("vip", waiting=2, must_exist=False)
        for client, most in (("acme", 1), ("eve", 1), ("vip", 2)):
            for number in range(most):
                await app.submit(app.tasks["resize"].bind(str(number)), client=client)
            with pytest.raises(QuotaExceeded):
                await app.submit(app.tasks["resize"].bind("x"), client=client)
            with pytest.raises(BodyTooLarge):
                await app.submit(app.tasks["resize"].bind("x" * 100), client=client)
        quotas = {one.client: one.quota for one in (await app.operate.clients()).clients}
        assert {name: quota.waiting for name, quota in quotas.items() if quota} == {"acme": 1, "eve": 1, "vip": 2}
        assert {name: quota.payload_bytes for name, quota in quotas.items() if quota} == dict.fromkeys(quotas, 100)


async def test_queues_that_are_no_clients_have_no_quota(virtual_clock: VirtualClock) -> None:
    async with make_app("others", virtual_clock, quota_waiting=0) as app:
        await app.submit(app.tasks["resize"].bind("a"), queue="gpu")
        with pytest.raises(QuotaExceeded):
            await app.submit("resize", {"image": "a"})


async def test_a_hand_off_and_a_redrive_go_through_and_count(app: Tenure) -> None:
    first = await app.submit("resize", {"image": "more"})
    await app.submit("resize", {"image": "b"}, delay=3600)
    await app.operate.quota("acme", waiting=1)
    async with app.worker():
        await first.result(timeout=60)
        await asyncio.sleep(60.0)
    found = await app.operate.client("acme")
    assert (found.waiting, found.delayed, found.dead) == (0, 1, 0)
    children = await app.operate.children(first.id)
    assert [child.state for child in children.children] == [MessageState.COMPLETED]


async def test_a_repeat_of_a_key_is_no_refusal(app: Tenure) -> None:
    first = await app.submit("resize", {"image": "a"}, key="k")
    await app.operate.quota("acme", waiting=1)
    again = await app.submit("resize", {"image": "a"}, key="k")
    assert (again.id, again.duplicate) == (first.id, True)
    with pytest.raises(KeyConflict):
        await app.submit("resize", {"image": "b"}, key="k")


async def test_messages_without_a_quota_are_passed_on_as_they_are(app: Tenure) -> None:
    access = app.operate.access
    await access.open()
    quotas = SendQuotas(access.state, access.client.clock, access.broker.traits, NO_QUOTA)
    batch = [Outgoing(message(app, "a"))]
    assert (await quotas.apply(batch))[0] is batch
    limited = SendQuotas(access.state, access.client.clock, access.broker.traits, Quota(waiting=3))
    ((out,), refused) = await limited.apply(batch)
    assert (out.most_waiting, refused) == (3, {})


def test_settings_read_the_defaults() -> None:
    found = settings_from(
        {
            "TENURE_QUOTA_WAITING": "10000",
            "TENURE_QUOTA_RUNNING": "5",
            "TENURE_QUOTA_RATE": "100/m",
            "TENURE_QUOTA_PAYLOAD": "64KiB",
        }
    )
    quota = (found.quota_waiting, found.quota_running, round(found.quota_per_second or 0, 3), found.quota_payload)
    assert quota == (10_000, 5, 1.667, 65_536)
