"""Async from end to end; what blocks is moved off the loop."""

import asyncio
import json
import subprocess
import time

import aiohttp
import requests
from aiobotocore.session import get_session


async def main(url, timeout):
    async with get_session().create_client("sqs") as client, aiohttp.ClientSession() as http:
        while True:
            response = await client.receive_message(QueueUrl=url, WaitTimeSeconds=20, VisibilityTimeout=timeout)
            for message in response.get("Messages", []):
                await handle(http, json.loads(message["Body"]))
                await client.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


async def handle(http, job):
    async with http.get(job["url"]) as answer:
        page = await answer.read()
    await asyncio.to_thread(subprocess.run, ["pandoc", "-o", job["out"]], input=page, check=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, lambda: requests.post(job["done"], timeout=10))
    await asyncio.sleep(1)

    def in_a_thread():
        time.sleep(5)

    await asyncio.to_thread(in_a_thread)


def command_line():
    time.sleep(1)
    asyncio.run(main("https://sqs.eu-west-1.amazonaws.com/123456789012/pages", 60 if time.time() else 30))
