"""RabbitMQ with next to no middleware, and an async actor."""

import dramatiq
import httpx
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.middleware import TimeLimit

MIDDLEWARE = [TimeLimit(time_limit=30)]  # expect: TQ808
broker = RabbitmqBroker(url="amqp://localhost", middleware=MIDDLEWARE)  # expect: TQ807
dramatiq.set_broker(broker)


@dramatiq.actor  # expect: TQ811
async def fetch(url):
    async with httpx.AsyncClient() as client:
        await client.get(url)
