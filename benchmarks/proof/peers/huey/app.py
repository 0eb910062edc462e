"""huey: its instance, tasks and producer."""

import work
from huey import RedisHuey
from redis import Redis

huey = RedisHuey("proof", url=work.URL, results=False)


@huey.task()
def noop() -> None:
    """Do nothing."""
    work.noop()


@huey.task(retries=5)
def run(id: str, kind: str, seconds: float) -> None:
    """Take its time."""
    work.work(id, kind, seconds)


def fill(count: int) -> None:
    """Send messages that do nothing."""
    for _ in range(count):
        noop()


def send(messages: list[tuple[str, str, float]]) -> None:
    """Send these messages."""
    for message in messages:
        task = run.s(*message)
        task.id = message[0]
        huey.enqueue(task)


def malform() -> None:
    """Put entries into the queue that cannot be read."""
    with Redis(port=work.PORT) as redis:
        redis.lpush(huey.storage.queue_key, b"{not pickle", b"\xff\x00", b"")


if __name__ == "__main__":
    import app  # its tasks are known by the name of their module, which is not `__main__`

    work.answer(app.fill, app.send, app.malform)
