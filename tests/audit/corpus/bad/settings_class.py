"""Numbers in a settings class that nothing can change."""

import json

from azure.storage.queue import QueueClient

from parcels import ship


class Settings:
    QUEUE = "parcels"
    LEASE = 10 * 60


class Defaults:
    lease = 300


defaults = Defaults()


def run(connection):
    queue = QueueClient.from_connection_string(connection, Settings.QUEUE)
    for message in queue.receive_messages(visibility_timeout=Settings.LEASE):  # expect: TQ101
        ship(json.loads(message.content))
        queue.delete_message(message)


def run_fast(connection):
    queue = QueueClient.from_connection_string(connection, Settings.QUEUE)
    for message in queue.receive_messages(visibility_timeout=defaults.lease):  # expect: TQ101
        ship(json.loads(message.content))
        queue.delete_message(message)
