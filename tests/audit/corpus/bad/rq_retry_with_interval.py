"""Retries with an interval are scheduled too; and a job without an end."""

from redis import Redis
from rq import Queue, Retry, SimpleWorker

from reports import build

redis = Redis()
queue = Queue("reports", connection=redis, default_timeout=600)


def order(month):
    queue.enqueue(build, month, retry=Retry(max=3, interval=[10, 30, 60]))  # expect: TQ813
    queue.enqueue(build, month, job_timeout=-1, retry=Retry(max=1))  # expect: TQ815


def main():
    SimpleWorker(["reports"], connection=redis).work(burst=True, with_scheduler=False)
