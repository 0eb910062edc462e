"""Middleware that comes from a list which the settings extend."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.middleware import TimeLimit

from settings import MIDDLEWARE, extra

stack = [TimeLimit()]
stack.extend(extra())
dramatiq.set_broker(RedisBroker(middleware=stack))
other = RedisBroker(namespace="other", middleware=[one() for one in MIDDLEWARE])
third = RedisBroker(namespace="third", middleware=MIDDLEWARE)


@dramatiq.actor
def resize(path):
    print(path)
