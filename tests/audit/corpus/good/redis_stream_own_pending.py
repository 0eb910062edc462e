"""Two ways in which nothing stays behind: one's own entries at the start, and those of others by the pending list."""

import redis

from payments import book

client = redis.Redis(decode_responses=True)


def consume(name):
    last = "0"
    while True:
        answer = client.xreadgroup("booking", name, {"payments": last}, count=10, block=5000)
        for _stream, entries in answer:
            last = entries[-1][0] if entries and last != ">" else ">"
            for entry_id, fields in entries:
                book(fields)
                client.xack("payments", "booking", entry_id)


def consume_new(name):
    while True:
        answer = client.xreadgroup("booking", name, {"payments": ">"}, count=10, block=5000)
        for _stream, entries in answer:
            for entry_id, fields in entries:
                book(fields)
                client.xack("payments", "booking", entry_id)


def take_over(name):
    for entry in client.xpending_range("payments", "booking", min="-", max="+", count=100, idle=60_000):
        for entry_id, fields in client.xclaim("payments", "booking", name, 60_000, [entry["message_id"]]):
            book(fields)
            client.xack("payments", "booking", entry_id)
