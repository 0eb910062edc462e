"""Reminders for later, and a worker in the same program that never looks at them."""

from datetime import timedelta

from redis import Redis
from rq import Queue, Retry, Worker

from mailing import deliver, digest

redis = Redis()
queue = Queue("mails", connection=redis)


def remind(address):
    queue.enqueue_in(timedelta(hours=1), deliver, address, retry=Retry(max=3))  # expect: TQ813
    queue.enqueue(digest, address, ttl=300)  # expect: TQ814


if __name__ == "__main__":
    worker = Worker([queue], connection=redis)
    worker.work()
