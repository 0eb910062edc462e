"""Lists that are popped in a loop: without waiting, by a batch, and from either end."""

import json
import time

import redis

from newsletters import send

client = redis.Redis()


def poll():
    while True:
        raw = client.rpop("newsletters")  # expect: TQ207
        if raw is None:
            time.sleep(1)
            continue
        send(json.loads(raw))


def drain():
    while (raw := client.lpop("newsletters:late")) is not None:  # expect: TQ207
        send(json.loads(raw))


def many():
    while True:
        answer = client.blmpop(5, 1, "newsletters", direction="LEFT", count=10)  # expect: TQ207
        for raw in answer[1] if answer else []:
            send(json.loads(raw))
