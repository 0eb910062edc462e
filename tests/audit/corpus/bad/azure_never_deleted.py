"""Reads a queue as if it were a list."""

from azure.storage.queue import QueueClient


def index(text):
    print(len(text), file=open("index.txt", "a"))


def crawl(queue: QueueClient, timeout: int):
    for message in queue.receive_messages(visibility_timeout=timeout):  # expect: TQ201
        index(message.content)
