"""Jobs for later, and a worker that moves them."""

from datetime import datetime, timedelta, timezone

from redis import Redis
from rq import Queue, Retry, Worker

from mailing import deliver

redis = Redis()
queue = Queue("mails", connection=redis, default_timeout=300)


def remind(address):
    queue.enqueue_in(timedelta(hours=1), deliver, address, retry=Retry(max=3, interval=60))
    queue.enqueue_at(datetime(2030, 1, 1, tzinfo=timezone.utc), deliver, address, failure_ttl=86_400)


def create(order):
    return order.create(name="x", ttl=5)


if __name__ == "__main__":
    Worker([queue], connection=redis).work(with_scheduler=True)
