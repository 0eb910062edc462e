"""A producer of its own: sends one message for each of so many keys, and prints which messages stand for them.

Run as `python -m scenarios.sending 50`.
"""

import asyncio
import json
import sys

from .served import app


async def send(count: int) -> dict[str, str]:
    """The ids by key."""
    async with app:
        handles = [
            (key, await app.submit("nap", {"seconds": 0.02}, key=key)) for key in (f"key-{n}" for n in range(count))
        ]
    return {key: handle.id for key, handle in handles}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(send(int(sys.argv[1])))))  # noqa: T201 - the answer
