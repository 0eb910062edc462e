"""A broker for tests, in production."""

import dramatiq
from dramatiq.brokers.stub import StubBroker

dramatiq.set_broker(StubBroker())  # expect: TQ806


@dramatiq.actor(max_retries=5)
def count_words(url):
    print(url)
