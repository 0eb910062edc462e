"""Other things with messages: a chat, Service Bus, a queue of threads, a web app. None of it is ours."""

import queue
import time

import boto3
from azure.servicebus import ServiceBusClient

inbox = queue.Queue()
dynamodb = boto3.client("dynamodb")


async def clean_up(bot, chat_id, message_id):
    try:
        await bot.delete_message(chat_id=chat_id, message_id=message_id)
    except Exception:
        pass
    await bot.update_message(message_id, text="gone")
    await bot.send_message(chat_id, "done")


def service_bus(connection):
    with ServiceBusClient.from_connection_string(connection) as client:
        with client.get_queue_receiver("orders") as receiver:
            for message in receiver.receive_messages(max_message_count=10, max_wait_time=5):
                print(str(message))
                receiver.complete_message(message)


async def page(request):
    time.sleep(0.01)
    return dynamodb.get_item(TableName="pages", Key={"id": {"S": request.path}})


class Mailbox:
    def receive_message(self):
        return inbox.get(timeout=1)

    def delete_message(self, message):
        inbox.task_done()

    def loop(self):
        while True:
            message = self.receive_message()
            self.delete_message(message)
            print(message.upper())
