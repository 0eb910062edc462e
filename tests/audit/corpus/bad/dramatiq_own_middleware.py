"""A list of middleware of one's own, from which the retries were forgotten."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import AgeLimit, Callbacks, Pipelines, ShutdownNotifications, TimeLimit

from metrics import Timing

broker = RedisBroker(  # expect: TQ807
    url="redis://localhost:6379/0",
    middleware=[AgeLimit(), TimeLimit(), ShutdownNotifications(), Callbacks(), Pipelines(), Timing()],
)
dramatiq.set_broker(broker)


@dramatiq.actor
def charge(order):
    print(order)
