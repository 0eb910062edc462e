"""Takes a message off the queue before anything was done."""

from azure.storage.queue import QueueClient

from ingest import ingest_document


def consume(connection, seconds):
    queue = QueueClient.from_connection_string(connection, "documents")
    message = queue.receive_message(visibility_timeout=seconds)
    if message:
        queue.delete_message(message)


def handle(queue: QueueClient, message):
    document = message.content
    queue.delete_message(message)  # expect: TQ203
    ingest_document(document)


def handle_all(queue: QueueClient, seconds):
    for message in queue.receive_messages(max_messages=1, visibility_timeout=seconds):
        queue.delete_message(message)  # expect: TQ203
        ingest_document(message.content)
