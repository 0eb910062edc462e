"""Async actors on the default middleware, which has no loop for them."""

import dramatiq
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

broker = RedisBroker(host="localhost", dead_message_ttl=0)  # expect: TQ810
broker.add_middleware(Results(backend=RedisBackend()))
dramatiq.set_broker(broker)


@dramatiq.actor(store_results=True, max_retries=3)  # expect: TQ811
async def summarize(text):
    return text[:80]
