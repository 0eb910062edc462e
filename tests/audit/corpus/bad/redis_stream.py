"""A group of consumers that never acknowledges, and one that does so too early."""

import redis

from mailing import deliver

r = redis.Redis()


def notify(fields):
    print(fields)


def endless():
    while True:
        for _stream, entries in r.xreadgroup("mails", "w1", {"mails": ">"}, count=10):  # expect: TQ601 TQ209
            for entry_id, fields in entries:
                r.xack("mails", "workers", entry_id)  # expect: TQ203
                deliver(fields)


def careless():
    while True:
        for _stream, entries in r.xreadgroup("mails", "w1", {"mails": ">"}, count=10, block=5000):  # expect: TQ209
            for entry_id, fields in entries:
                try:
                    notify(fields)
                    r.xack("mails", "workers", entry_id)  # expect: TQ204
                except redis.RedisError:
                    continue
