"""Pops that lose nothing: an answer that is waited for, old entries thrown away, a list of one's own."""

import redis

client = redis.Redis()


def answer(request):
    client.rpush("requests", request)
    return client.blpop([f"answers:{request}"], timeout=30)


def trim(key, longest):
    while client.llen(key) > longest:
        client.lpop(key)


def last(words):
    while words:
        yield words.pop()
