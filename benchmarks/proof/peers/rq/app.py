"""RQ: its functions and producer."""

import work
from redis import Redis
from rq import Queue, Retry

_TRIES = 5


def noop() -> None:
    """Do nothing."""
    work.noop()


def run(id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    work.work(id, kind, seconds)


def _queue() -> Queue:
    return Queue(connection=Redis(port=work.PORT))


def _fill(count: int) -> None:
    queue = _queue()
    for first in range(0, count, 1000):
        job = Queue.prepare_data("app.noop", result_ttl=0)
        queue.enqueue_many([job._replace(job_id=None) for _ in range(min(1000, count - first))])


def _send(messages: list[tuple[str, str, float]]) -> None:
    jobs = [
        Queue.prepare_data("app.run", args=message, job_id=message[0], timeout=int(work.LEASE), retry=Retry(max=_TRIES))
        for message in messages
    ]
    _queue().enqueue_many(jobs)


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        for number, entry in enumerate((b"{not zlib", b"\xff\x00")):
            redis.hset(f"rq:job:bad-{number}", mapping={"data": entry, "status": "queued", "created_at": "never"})
            redis.rpush("rq:queue:default", f"bad-{number}")
        redis.rpush("rq:queue:default", b"\xfe")


if __name__ == "__main__":
    work.answer(_fill, _send, _malform)
