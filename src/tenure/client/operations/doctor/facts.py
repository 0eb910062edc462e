"""Facts: what several checks of the doctor need, read once from the store."""

from collections.abc import Mapping

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.consumers import ConsumerStatus, consumers_of
from tenure.client.operations.presence import judged
from tenure.key_value import name_of
from tenure.owner import Member
from tenure.rules.queue_pattern import matches
from tenure.rules.reserved_queue import is_reserved
from tenure.worker_report import REPORT_KIND, WorkerReport, decoded

#: A worker beats every second, in the cloud every five. After so long it is frozen, or cut off from the store.
SILENT_SECONDS = 15.0


class Facts(msgspec.Struct, frozen=True):
    """The store as one look at it found it."""

    access: Access
    #: Full names of the queues of the app's tasks.
    task_queues: tuple[str, ...]
    #: Those, and every other queue that the store has.
    queues: tuple[str, ...]
    #: Workers whose death is not proven.
    workers: tuple[Member, ...]
    consumers: tuple[ConsumerStatus, ...]
    reports: Mapping[str, WorkerReport]

    def report_of(self, worker: Member) -> WorkerReport | None:
        """The worker's last report. None: it writes none, or none yet."""
        return self.reports.get(name_of(worker.owner.id))

    def serving(self, queue: str) -> int:
        """How many workers and consumers serve a queue. One that is silent does not count."""
        heard = (one.owner.queues for one in self.workers if one.silent_seconds <= SILENT_SECONDS)
        return sum(matches(queue, one) for one in (*heard, *(one.queues for one in self.consumers)))


async def read_facts(access: Access) -> Facts:
    """Read them. Raises `BrokerError` while the store is away."""
    own = sorted({task.queue for task in access.tasks.values() if access.sees(task.queue)})
    there = [one for one in await access.broker.queues() if access.sees(one) and not is_reserved(one)]
    kept = await access.state.key_values.list(REPORT_KIND)
    workers = [one for one in (await judged(access)).living if access.sees_any(one.owner.queues)]
    return Facts(
        access=access,
        task_queues=tuple(own),
        queues=tuple(dict.fromkeys((*own, *there))),
        workers=tuple(workers),
        consumers=await consumers_of(access),
        reports={one.name: report for one in kept if (report := decoded(one.data)) is not None},
    )
