"""Celery: its app, worker and producer."""

import work
from celery import Celery, group
from redis import Redis

app = Celery("app", broker=work.URL)
app.conf.update(
    task_ignore_result=True,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={"visibility_timeout": work.LEASE if work.IS_SAFE else 3600},
    task_acks_late=work.IS_SAFE,
    task_reject_on_worker_lost=work.IS_SAFE,
    worker_prefetch_multiplier=1 if work.IS_SAFE else 128,
)


@app.task(name="noop")
def noop() -> None:
    """Do nothing."""
    work.noop()


@app.task(name="work")
def run(id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    work.work(id, kind, seconds)


def _fill(count: int) -> None:
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(count):
            noop.apply_async(producer=producer)


def _send(messages: list[tuple[str, str, float]]) -> None:
    group(run.signature(message, task_id=message[0]) for message in messages).apply_async()


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        redis.lpush("celery", b"{not json", b"\xff\x00", b'{"body": "bm90IGpzb24="}')


if __name__ == "__main__":
    work.answer(_fill, _send, _malform)
