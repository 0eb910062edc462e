"""Jobs that are kept when they fail, and a broker that keeps messages."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from redis import Redis
from rq import Queue, Retry

from invoices import render

dramatiq.set_broker(RedisBroker(url="redis://localhost:6379/0"))
queue = Queue("invoices", connection=Redis())


@dramatiq.actor(max_retries=5, time_limit=600_000)
def send(number):
    render(number)


def order(number):
    queue.enqueue(render, number, retry=Retry(max=3), failure_ttl=604_800, result_ttl=0)
