"""Middleware of one's own with all that belongs to it, and times in milliseconds."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AgeLimit, AsyncIO, Callbacks, CurrentMessage, Pipelines, Retries, TimeLimit

from mailing import deliver

MINUTE = 60_000
broker = RedisBroker(
    url="redis://localhost:6379/0",
    middleware=[AgeLimit(), TimeLimit(time_limit=10 * MINUTE), Callbacks(), Pipelines(), Retries(max_retries=3)],
    dead_message_ttl=14 * 24 * 60 * MINUTE,
)
broker.add_middleware(AsyncIO())
broker.add_middleware(CurrentMessage())
dramatiq.set_broker(broker)


@dramatiq.actor(max_retries=0, max_age=2_000)
def tick(moment):
    deliver(moment)


@dramatiq.actor(time_limit=90 * MINUTE, min_backoff=500, max_age=120_000)
async def send(address):
    deliver(address)


def later(address):
    send.send_with_options(args=(address,), delay=250)
