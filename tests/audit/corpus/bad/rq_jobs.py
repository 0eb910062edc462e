"""Jobs of RQ whose failures nobody will see."""

from redis import Redis
from rq import Queue
from rq.decorators import job

from invoices import render

connection = Redis()
queue = Queue("invoices", connection=connection)


def order(number):
    queue.enqueue(render, number, failure_ttl=0, job_timeout=600)  # expect: TQ805 TQ812


@job("invoices", connection=connection, failure_ttl=0)  # expect: TQ805
def again(number):
    render(number)
