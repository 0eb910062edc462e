"""Everything that Tenure can do, done once, for the tests that compare it with the catalogue.

Real workers over stores in memory, in virtual time. Each is scraped as it ends.
"""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from tests.monitoring.operator_stories import acts, findings, schedules, served, webhooks
from tests.monitoring.worker_stories import (
    deletes_that_fail,
    leases_that_are_lost,
    sweeps,
    tasks_that_end_in_every_way,
    workers_that_come_and_go,
)
from tests.runtime.conftest import MemoryHarness
from tests.webhooks.world import World

from tenure.event import Event
from tenure.testing.harness import Harness
from tenure.testing.virtual import run_virtual

H = TypeVar("H", bound=Harness)


class Told(msgspec.Struct):
    """What came of all of it."""

    events: list[Event]
    #: Each as Prometheus reads it.
    scrapes: list[str]


@functools.cache
def everything_told() -> Told:
    """Play all stories, once for all tests of a process."""
    told = Told([], [])
    for story in (
        tasks_that_end_in_every_way, leases_that_are_lost, workers_that_come_and_go, sweeps, schedules, acts,
        findings, served,
    ):  # fmt: skip
        told.events += _played(story, MemoryHarness(), told.scrapes)
    told.events += _played(deletes_that_fail, MemoryHarness(exact=False), told.scrapes)
    told.events += _played(webhooks, World(), told.scrapes)
    return told


def _played(
    story: Callable[[H, list[str]], Coroutine[Any, Any, list[Event]]], harness: H, scrapes: list[str]
) -> list[Event]:
    """Each story has a store and a time of its own."""
    return run_virtual(story(harness, scrapes), harness.clock)
