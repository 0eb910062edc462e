"""Payloads of completed messages: kept in the journal where a task asks for it, and nowhere else."""

from tenure.message import MessageState
from tenure.tasks import kept_payload
from tenure.tasks.kept_payload import KEPT_BYTES, KeptPayload
from tenure.testing.harness import Harness
from tenure.testing.workers import Stage


class KeepingPayloads:
    """Tests of `keep_payload=True`."""

    async def test_the_payload_of_a_completed_message_is_kept_where_its_task_asks_for_it(
        self, harness: Harness
    ) -> None:
        async with Stage(harness) as stage:

            @stage.task(keep_payload=True)
            async def work(text: str) -> None: ...

            id = await stage.submit(work.bind('Grüße, \\ and " and \n'))
            await stage.start()
            assert (await stage.ended(id)).state is MessageState.COMPLETED
            await _until_told(stage, id)
            body = '{"text":"Grüße, \\\\ and \\" and \\n"}'
            assert await _kept(harness, id) == KeptPayload(body, len(body.encode()))

    async def test_no_payload_is_kept_unless_asked_for(self, harness: Harness) -> None:
        async with Stage(harness) as stage:

            @stage.task
            async def work(text: str) -> None: ...

            id = await stage.submit(work.bind("a secret"))
            await stage.start()
            await stage.ended(id)
            await _until_told(stage, id)
            assert await _kept(harness, id) is None
            assert not [one for one in await harness.state.journal.about(id) if "secret" in repr(one.event.data)]

    async def test_of_large_payloads_the_beginning_is_kept(self, harness: Harness) -> None:
        """Many in one batch, and of quotes, which take twice as much as text inside a text."""
        async with Stage(harness) as stage:

            @stage.task(keep_payload=True)
            async def work(text: str) -> None: ...

            text = '"' * (KEPT_BYTES // 2)
            ids = [await stage.submit(work.bind(text)) for _ in range(12)]
            await stage.start()
            for id in ids:
                await stage.ended(id)
                await _until_told(stage, id)
                kept = await _kept(harness, id)
                assert kept is not None
                assert (len(kept.text), kept.size, kept.is_whole) == (KEPT_BYTES, KEPT_BYTES + 11, False)


async def _kept(harness: Harness, id: str) -> KeptPayload | None:
    return kept_payload.find(one.event for one in await harness.state.journal.about(id))


async def _until_told(stage: Stage, id: str) -> None:
    async def is_told() -> bool:
        return bool(await stage.harness.state.journal.about(id))

    await stage.until(is_told)
