"""Wrappers: one from another file, one of this file whose callers say different timeouts."""

import os

from azure.storage.queue import QueueClient

from mailing import send_letter
from ourqueues import MailQueue


def letters():
    mail_queue = MailQueue(os.environ["QUEUE"])
    for message in mail_queue.receive_messages(max_messages=5):
        send_letter(message.content)
        mail_queue.delete_message(message)


class Parcels:
    def __init__(self, connection, lease=300):
        self.inner = QueueClient.from_connection_string(connection, "parcels")
        self.lease = lease

    def receive_messages(self, seconds):
        return self.inner.receive_messages(visibility_timeout=seconds)

    def delete_message(self, message):
        self.inner.delete_message(message)


def parcels(connection):
    parcel_queue = Parcels(connection)
    for message in parcel_queue.receive_messages(60):
        send_letter(message.content)
        parcel_queue.delete_message(message)
    for message in parcel_queue.receive_messages(600):
        send_letter(message.content)
        parcel_queue.delete_message(message)
