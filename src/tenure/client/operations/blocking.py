"""The operations without async: `app.operate_sync`, for scripts, notebooks, Django.

Each line of `SyncOperate` is the method of `Operate` of that name, run in the portal's event loop: the same parameters
and answers, known to type checkers. A test compares the two lists.
"""

import functools
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

from tenure.client.blocking import BlockingPortal
from tenure.client.operations.access import EVERY_QUEUE
from tenure.client.operations.operate import Operate

P = ParamSpec("P")
R = TypeVar("R")


def _blocking(
    method: Callable[Concatenate[Operate, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate["SyncOperate", P], R]:
    @functools.wraps(method)
    def wait(self: "SyncOperate", /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._portal(lambda: method(self._operate, *args, **kwargs))

    return wait


class SyncOperate:
    """As `Operate`, for code that is not async: the same methods with the same parameters; each one blocks."""

    def __init__(self, operate: Operate, portal: BlockingPortal) -> None:
        """Ask as `operate` does, and wait for the answer."""
        self._operate = operate
        self._portal = portal

    def bound(
        self,
        *,
        by: str,
        triggered_by: str = "api",
        source: str = "",
        queues: Sequence[str] = EVERY_QUEUE,
        sees_payload: bool = True,
    ) -> "SyncOperate":
        """As `Operate.bound`."""
        operate = self._operate.bound(
            by=by, triggered_by=triggered_by, source=source, queues=queues, sees_payload=sees_payload
        )
        return SyncOperate(operate, self._portal)

    overview = _blocking(Operate.overview)
    figures = _blocking(Operate.figures)
    timing = _blocking(Operate.timing)
    scaling = _blocking(Operate.scaling)
    tasks = _blocking(Operate.tasks)
    queues = _blocking(Operate.queues)
    queue = _blocking(Operate.queue)
    pause = _blocking(Operate.pause)
    resume = _blocking(Operate.resume)
    limit = _blocking(Operate.limit)
    clear_limit = _blocking(Operate.clear_limit)
    purge = _blocking(Operate.purge)
    clients = _blocking(Operate.clients)
    client = _blocking(Operate.client)
    pause_client = _blocking(Operate.pause_client)
    resume_client = _blocking(Operate.resume_client)
    purge_client = _blocking(Operate.purge_client)
    quota = _blocking(Operate.quota)
    clear_quota = _blocking(Operate.clear_quota)
    weigh_client = _blocking(Operate.weigh_client)
    clear_weight = _blocking(Operate.clear_weight)
    forget_client = _blocking(Operate.forget_client)
    delete_queue = _blocking(Operate.delete_queue)
    messages = _blocking(Operate.messages)
    message = _blocking(Operate.message)
    run_now = _blocking(Operate.run_now)
    children = _blocking(Operate.children)
    group = _blocking(Operate.group)
    group_members = _blocking(Operate.group_members)
    cancel_group = _blocking(Operate.cancel_group)
    stack = _blocking(Operate.stack)
    cancel = _blocking(Operate.cancel)
    cancel_all = _blocking(Operate.cancel_all)
    delete = _blocking(Operate.delete)
    dead = _blocking(Operate.dead)
    dead_groups = _blocking(Operate.dead_groups)
    redrive = _blocking(Operate.redrive)
    redrive_all = _blocking(Operate.redrive_all)
    delete_dead_all = _blocking(Operate.delete_dead_all)
    move = _blocking(Operate.move)
    edit = _blocking(Operate.edit)
    workers = _blocking(Operate.workers)
    drain_worker = _blocking(Operate.drain_worker)
    stop_worker = _blocking(Operate.stop_worker)
    leases = _blocking(Operate.leases)
    touch = _blocking(Operate.touch)
    endpoints = _blocking(Operate.endpoints)
    add_endpoint = _blocking(Operate.add_endpoint)
    change_endpoint = _blocking(Operate.change_endpoint)
    rotate_endpoint = _blocking(Operate.rotate_endpoint)
    disable_endpoint = _blocking(Operate.disable_endpoint)
    enable_endpoint = _blocking(Operate.enable_endpoint)
    remove_endpoint = _blocking(Operate.remove_endpoint)
    test_endpoint = _blocking(Operate.test_endpoint)
    findings = _blocking(Operate.findings)
    finding = _blocking(Operate.finding)
    ack_finding = _blocking(Operate.ack_finding)
    silence_finding = _blocking(Operate.silence_finding)
    deliveries = _blocking(Operate.deliveries)
    replay = _blocking(Operate.replay)
    schedules = _blocking(Operate.schedules)
    run_schedule = _blocking(Operate.run_schedule)
    pause_schedule = _blocking(Operate.pause_schedule)
    resume_schedule = _blocking(Operate.resume_schedule)
    forget_schedule = _blocking(Operate.forget_schedule)
    events = _blocking(Operate.events)
    acts = _blocking(Operate.acts)
    settings = _blocking(Operate.settings)
    health = _blocking(Operate.health)
    doctor = _blocking(Operate.doctor)
