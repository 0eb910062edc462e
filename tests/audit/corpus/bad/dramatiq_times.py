"""Seconds where Dramatiq takes milliseconds, and ages that end before the first retry."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from mailing import deliver, pages

HOUR = 60 * 60
dramatiq.set_broker(RedisBroker(url="redis://localhost:6379/0", dead_message_ttl=HOUR * 1000))  # expect: TQ810


@dramatiq.actor(time_limit=300, max_retries=5)  # expect: TQ808
def transcode(path):
    pages(path)


@dramatiq.actor(max_age=5_000)  # expect: TQ809
def notify(address):
    deliver(address)


@dramatiq.actor(max_age=HOUR, min_backoff=HOUR * 1000)  # expect: TQ809
def remind(address):
    deliver(address)


def later(address):
    notify.send_with_options(args=(address,), delay=500, max_age=600)  # expect: TQ808
