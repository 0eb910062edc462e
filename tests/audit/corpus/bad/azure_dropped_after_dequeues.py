"""The same on Azure and on a stream."""

import os

import redis
from azure.storage.queue import QueueClient

from orders import place

LEASE = int(os.environ["LEASE"])
client = redis.Redis()


def azure(connection):
    queue = QueueClient.from_connection_string(connection, "orders")
    for message in queue.receive_messages(visibility_timeout=LEASE):
        if message.dequeue_count > 3:
            print("poison", message.id)
            queue.delete_message(message)  # expect: TQ210
        else:
            place(message.content)
            queue.delete_message(message)


def stream(name):
    for entry in client.xpending_range("orders", "placing", "-", "+", 10):
        for entry_id, fields in client.xclaim("orders", "placing", name, 60000, [entry["message_id"]]):
            place(fields)
            client.xack("orders", "placing", entry_id)
    for _, entries in client.xreadgroup("placing", name, {"orders": ">"}, block=1000):
        for entry_id, fields in entries:
            retries = int(fields.get("retries", 0))
            if retries >= 5:
                client.xack("orders", "placing", entry_id)  # expect: TQ210
                continue
            place(fields)
            client.xack("orders", "placing", entry_id)
