"""Schedules, acts of operators, findings, webhooks and a server: what the catalogue says of it is compared with it.

On stores in memory, in virtual time.
"""

import asyncio

from tests.examples.program import free_port
from tests.monitoring.watched import Watched, events_of, is_running
from tests.server.asking import serving
from tests.webhooks.world import World

from tenure import Tenure
from tenure.client.operations.operate import Operate
from tenure.config import Settings
from tenure.event import Event, EventKind
from tenure.tasks.schedule import schedule_from
from tenure.testing.harness import QUEUE, Harness
from tenure.testing.operated import operate_on
from tenure.webhooks.transport import Answer


async def schedules(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:

        @stage.task
        async def report() -> None: ...

        schedule = schedule_from("hourly", report.bind(), every=3600)
        operate = operate_on(harness, tasks=stage.tasks, schedules={"hourly": schedule})
        await stage.start(schedules=[schedule])
        await asyncio.sleep(2 * 3600.0)
        await operate.pause_schedule("hourly")
        await asyncio.sleep(2 * 3600.0)
        await operate.resume_schedule("hourly")
        await operate.run_schedule("hourly")
        await operate.forget_schedule("hourly")
        return await events_of(harness)


async def acts(harness: Harness, scrapes: list[str]) -> list[Event]:
    async with harness, Watched(harness, scrapes) as stage:

        @stage.task(max_attempts=1)
        async def bad() -> None:
            raise LookupError

        @stage.task(queue="other")
        async def slow() -> None:
            await asyncio.sleep(100.0)

        operate = operate_on(harness, tasks=stage.tasks)
        dead = [await stage.submit(bad.bind()) for _ in range(4)]
        running = await stage.submit(slow.bind())
        actor = await stage.start(queues=(QUEUE, "other"))
        for id in dead:
            await stage.ended(id)
        await is_running(stage, actor)
        await operate.touch(running, 200.0)
        await operate.pause(QUEUE)
        await operate.redrive(dead[:1])
        await operate.move(dead[1:2], "elsewhere")
        await operate.edit(dead[2], priority=9)
        await operate.delete(dead[3:])
        await operate.purge(QUEUE)
        delayed = await stage.submit(bad.bind(), delay=600.0)
        await operate.run_now(delayed)
        await operate.cancel([delayed])
        await operate.resume(QUEUE)
        await operate.limit(QUEUE, running=1)
        await operate.clear_limit(QUEUE)
        await stage.submit(bad.bind(), queue="acme-tasks")
        await _clients(operate)
        await operate.purge("elsewhere")
        await operate.delete_queue("elsewhere")
        told = await events_of(harness)
        await operate.forget_client("acme")  # its events stay, without what they said
        return [*told, *(one for one in await events_of(harness) if one.kind is EventKind.CLIENT_FORGOTTEN)]


async def _clients(operate: Operate) -> None:
    await operate.quota("acme", waiting=10, must_exist=False)
    await operate.clear_quota("acme")


async def findings(harness: Harness, scrapes: list[str]) -> list[Event]:
    app = Tenure("memory://", clock=harness.clock)

    @app.task(max_attempts=1)
    async def broken() -> None:
        raise LookupError

    async with app, app.worker() as worker:
        await asyncio.sleep(200.0)
        await broken.submit()
        await asyncio.sleep(60.0)
        await app.operate.ack_finding("dead_letters@default-tasks")
        await app.operate.silence_finding("dead_letters@default-tasks", 60.0)
        await asyncio.sleep(1_000.0)
        scrapes.append(worker.metrics_text())
        return [one.event for one in await app.state.journal.read(limit=10_000)]


async def served(harness: Harness, scrapes: list[str]) -> list[Event]:
    """A server with webhooks to a port where nobody listens, a queue that is paused, and requests that are refused."""
    settings = Settings(webhook_allow=("127.0.0.1",), secret_key="k" * 32)
    app = Tenure("memory://", clock=harness.clock, settings=settings)

    @app.task(queue=QUEUE, expected_wait=60.0)
    async def work() -> None: ...

    async with serving(app) as (_, client):
        await app.operate.access.client.webhooks.endpoints.add("orders", f"http://127.0.0.1:{free_port()}/hook")
        async with app.worker() as worker:
            await work.bind().submit(webhook="orders")
            async with asyncio.timeout(600.0):
                while "tenure_webhook_deliveries_total" not in "".join(scrapes):
                    await asyncio.sleep(10.0)
                    scrapes += worker.metrics_text(), (await client.get("/metrics")).text
        await app.operate.pause(QUEUE)
        await work.submit()
        await client.get("/api/v1/messages/nothing")
        await asyncio.sleep(30.0)  # the server reads the store once an interval
        scrapes.append((await client.get("/metrics")).text)
        return [one.event for one in await app.state.journal.read(limit=10_000)]


async def webhooks(world: World, _scrapes: list[str]) -> list[Event]:
    async with world:
        world.deliverer._detail = 1.0
        url = await world.add()
        await world.end(correlation_id="order-9")
        await world.run(5)
        world.transport.answers[url] = Answer(status=500, seconds=0.1, error="out of order")
        await world.end()
        await world.run(5)
        world.transport.answers[url] = Answer(status=410, seconds=0.1)
        await world.end()
        await world.run(200)
        return world.events
