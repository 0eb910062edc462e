"""As the first page of RQ shows it, with every option somebody once needed."""

from redis import Redis
from rq import Queue

from crawler import count_words

q = Queue(connection=Redis())
now = Queue("now", is_async=False, connection=Redis())  # expect: TQ806


def count(url):
    job = q.enqueue(count_words, url)  # expect: TQ812
    q.enqueue_call(func=count_words, args=(url,), timeout=-1)  # expect: TQ815
    q.enqueue_call(func=count_words, args=(url,), timeout=60, ttl=30)  # expect: TQ814
    return job.id
