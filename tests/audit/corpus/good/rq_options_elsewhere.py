"""A wrapper through which the options of every job go."""

from redis import Redis
from rq import Queue

from settings import JOB_OPTIONS

queue = Queue("jobs", connection=Redis())


def send(function, *args, **options):
    return queue.enqueue(function, *args, **{**JOB_OPTIONS, **options})


def cache(store, value):
    store.create(value, ttl=60)
