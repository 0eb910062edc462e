"""An async worker that blocks its own loop."""

import asyncio
import json
import subprocess
import time

import requests
from aiobotocore.session import get_session


async def main(url):
    session = get_session()
    async with session.create_client("sqs") as client:
        while True:
            response = await client.receive_message(  # expect: TQ102
                QueueUrl=url,
                WaitTimeSeconds=20,
            )
            for message in response.get("Messages", []):
                await handle(json.loads(message["Body"]))
                await client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


async def handle(job):
    page = requests.get(job["url"], timeout=10)  # expect: TQ501
    subprocess.run(["pandoc", "-o", job["out"]], input=page.content, check=True)  # expect: TQ501
    time.sleep(1)  # expect: TQ501
    convert(job)  # expect: TQ501


def convert(job):
    subprocess.check_output(["convert", job["out"]])


asyncio.run(main("https://sqs.eu-west-1.amazonaws.com/123456789012/pages"))
