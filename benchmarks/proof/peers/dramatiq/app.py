"""Dramatiq: its broker, actors and producer."""

import dramatiq
import work
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AgeLimit, Callbacks, Pipelines, Retries, ShutdownNotifications, TimeLimit
from redis import Redis

_MIDDLEWARE = [AgeLimit, TimeLimit, ShutdownNotifications, Callbacks, Pipelines, Retries]
broker = RedisBroker(
    url=work.URL,
    middleware=[kind() for kind in _MIDDLEWARE],
    heartbeat_timeout=int(work.LEASE * 1000) if work.IS_SAFE else 60_000,
    maintenance_chance=100_000 if work.IS_SAFE else 1_000,
)
dramatiq.set_broker(broker)


@dramatiq.actor
def noop() -> None:
    """Do nothing."""
    work.noop()


@dramatiq.actor
def run(id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    work.work(id, kind, seconds)


def _fill(count: int) -> None:
    for _ in range(count):
        noop.send()


def _send(messages: list[tuple[str, str, float]]) -> None:
    for message in messages:
        broker.enqueue(run.message(*message).copy(message_id=message[0]))


def _malform() -> None:
    with Redis(port=work.PORT) as redis:
        for number, entry in enumerate((b"{not json", b"\xff\x00", b'{"queue_name": 1}')):
            redis.hset("dramatiq:default.msgs", f"bad-{number}", entry)
            redis.rpush("dramatiq:default", f"bad-{number}")


if __name__ == "__main__":
    work.answer(_fill, _send, _malform)
