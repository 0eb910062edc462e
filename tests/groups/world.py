"""A store in virtual time, an app on it, and processes that can be killed between any two steps."""

from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from tests.client.conftest import MemoryHarness

from tenure import GroupResult, Tenure
from tenure.announcement import READ_LIMIT, Announcement
from tenure.broker import Refused, Sent
from tenure.client.client import Client
from tenure.client.group_sending import GroupClient
from tenure.config import Settings
from tenure.group import GROUP_TARGET, GroupProgress
from tenure.groups.assembly import Groups
from tenure.groups.handle import GroupHandle
from tenure.groups.reading import GroupReading
from tenure.key_value import KeyValue
from tenure.message import MessageState, Outgoing
from tenure.settlement import DeadLetter
from tenure.tasks.call import Call
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.honest_state import HonestKeyValues, HonestState
from tenure.verdict import Reason
from tenure.webhooks.announcer import Announcer
from tenure.webhooks.assembly import Webhooks

T = TypeVar("T")

WENT_WRONG = Reason("max_attempts", "gave up after 3 of 3 attempts")

app = Tenure("memory://")


@app.task(queue="thumbs")
async def thumb(n: int) -> int:
    """A member."""
    return n


@app.task(queue="albums")
async def publish(album: int, group: GroupResult) -> int:
    """What follows."""
    return album + len(group.members)


class Killed(BaseException):
    """The process is gone."""


class Death:
    """Kills at a given step: before it takes effect, or after."""

    def __init__(self, step: int, *, late: bool, error: type[BaseException] = Killed) -> None:
        self.step, self.late, self.error = step, late, error
        self.taken = 0

    async def take(self, act: Coroutine[Any, Any, T]) -> T:
        """Take a step."""
        self.taken += 1
        if self.taken == self.step and not self.late:
            act.close()
            raise self.error("before")
        answer = await act
        if self.taken == self.step and self.late:
            raise self.error("after")
        return answer


NEVER = Death(0, late=False)


class MortalBroker(HonestBroker):
    """Each verb of a group is a step."""

    death: Death = NEVER

    async def announcements(self, after: str = "", limit: int = READ_LIMIT) -> list[Announcement]:
        return await self.death.take(self.inner.announcements(after, limit))

    async def announced(self, batch: Sequence[Announcement]) -> None:
        await self.death.take(self.inner.announced(batch))

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        return await self.death.take(self.inner.send(batch))

    async def cancel(self, ids: Sequence[str], queue: str | None = None) -> list[MessageState | None]:
        return await self.death.take(self.inner.cancel(ids, queue))

    async def put_aside(self, batch: Sequence[Refused]) -> None:
        await self.death.take(self.inner.put_aside(batch))


class MortalKeyValues(HonestKeyValues):
    """A write is a step."""

    death: Death = NEVER

    async def put(
        self, kind: str, name: str, data: bytes, *, expect: str | None, expires_at: float | None = None
    ) -> KeyValue | None:
        return await self.death.take(self.inner.put(kind, name, data, expect=expect, expires_at=expires_at))

    async def remove(self, kind: str, name: str, *, expect: str | None = None) -> bool:
        return await self.death.take(self.inner.remove(kind, name, expect=expect))


class Process:
    """A process that sends groups, announces and looks after them, until it dies."""

    def __init__(self, world: "World", death: Death = NEVER) -> None:
        self.broker = MortalBroker(world.broker, world.clock)
        values = MortalKeyValues(world.state, world.clock)
        self.broker.death = values.death = death
        self.state = HonestState(world.state, values)
        self.client = Client(self.broker, self.state, world.clock, client="default", namespace=None)
        groups = Groups(self.broker, self.state, self.broker.send, self.broker.cancel)
        self.keeper = groups.keeper
        hooks = Webhooks(self.broker, self.state, world.clock, Settings())
        self.announcer: Announcer = hooks.announcer(self.broker.send, {groups.kind.name: groups.kind})

    async def submit(
        self, many: int | Sequence[Call[Any]] = 5, *, id: str | None = "7", then: Call[Any] | None = None, **more: Any
    ) -> GroupHandle[Any]:
        """A group of thumbs."""
        calls = [thumb.bind(n) for n in range(many)] if isinstance(many, int) else many
        last = then or publish.bind(7, GroupResult.later())
        return await GroupClient(self.client).submit(
            calls, last, read=publish.signature.decode_result, id=id, expires=more.pop("expires", None)
        )

    async def announce(self) -> None:
        """Announce all that can be now."""
        while (await self.announcer.run_once()).again_seconds == 0:
            pass


class World(MemoryHarness):
    """A store with groups."""

    def process(self, death: Death = NEVER) -> Process:
        """One more process."""
        return Process(self, death)

    async def end(self, many: int = 1, ending: MessageState = MessageState.COMPLETED) -> list[str]:
        """Let the next members end; their ids."""
        leases = await self.lease(self.stranger(), many, queues=("thumbs",))
        for lease in leases:
            if ending is MessageState.DEAD:
                await self.broker.dead_letter([DeadLetter(lease, WENT_WRONG)])
            elif ending is MessageState.CANCELLED:
                await self.broker.cancel([lease.id])
            else:
                await self.complete(lease, b"[%d]" % len(lease.id))
        return [lease.id for lease in leases]

    async def progress(self, id: str = "grp_7") -> GroupProgress:
        """Where the group is."""
        found = await GroupReading(Groups(self.broker, self.state, _no, _no).headers).progress(id)
        assert found is not None
        return found

    async def result(self, id: str = "grp_7") -> GroupResult:
        """How its members ended."""
        found = await GroupReading(Groups(self.broker, self.state, _no, _no).headers).result(id)
        assert found is not None
        return found

    async def last(self) -> list[str]:
        """The messages at the end that may run now; they are run."""
        found = []
        while leases := await self.lease(self.stranger(), 10, queues=("albums",)):
            for lease in leases:
                await self.complete(lease, b"12")
                found.append(lease.id)
        return found

    async def pending(self) -> int:
        """Announcements for groups."""
        page = await self.broker.announcements()
        return sum(target.startswith(GROUP_TARGET) for one in page for target in one.targets)


async def _no(*_: Any) -> Any:
    raise AssertionError


__all__ = ["NEVER", "Death", "Killed", "Process", "World", "app", "publish", "thumb"]
