"""Lists that lose nothing, or hold nothing that could be lost."""

import redis

from jobs import run

lists = redis.Redis()


def answer_of(request):
    lists.rpush("requests", request)
    _, raw = lists.blpop(f"answer:{request}", timeout=30)
    return run(raw)


def worker(name):
    while True:
        raw = lists.blmove("jobs", f"jobs:{name}", timeout=5)
        if raw is not None:
            run(raw)
            lists.lrem(f"jobs:{name}", 1, raw)


def tail():
    while True:
        line = lists.blpop("log", timeout=5)
        print(line)
