"""Reads what is new and acknowledges it; what a dead consumer held stays with it for ever."""

import redis

from payments import book

GROUP, STREAM = "booking", "payments"
client = redis.Redis(decode_responses=True)


def consume(name):
    while True:
        answer = client.xreadgroup(GROUP, name, {STREAM: ">"}, count=10, block=5000)  # expect: TQ209
        for _stream, entries in answer:
            for entry_id, fields in entries:
                book(fields)
                client.xack(STREAM, GROUP, entry_id)
