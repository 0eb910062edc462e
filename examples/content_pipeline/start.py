"""Asks for feeds to be collected: `python -m content_pipeline.start FEED…`, each a path or a URL."""

import asyncio
import sys

from . import app, collect


async def start(feeds: list[str]) -> None:
    """Submit one message a feed."""
    async with app:
        await app.submit_many([collect.bind(feed) for feed in feeds])


if __name__ == "__main__":
    asyncio.run(start(sys.argv[1:]))
