"""Read every message that a query means, page after page.

For programs that need all of them: purging, redriving, exporting. Each page is bounded, so nothing waits for long; what
moves meanwhile may be seen twice or not at all.
"""

from collections.abc import AsyncIterator

import msgspec

from tenure.broker import Broker
from tenure.query import Browsed, Page, Query


async def pages(broker: Broker, query: Query) -> AsyncIterator[Page]:
    """Every page, also empty ones; each is read when the one before was dealt with."""
    while True:
        page = await broker.browse(query)
        yield page
        if page.cursor is None:
            return
        query = msgspec.structs.replace(query, cursor=page.cursor)


async def browse_all(broker: Broker, query: Query) -> AsyncIterator[Browsed]:
    """Read every message of a query, page by page."""
    async for page in pages(broker, query):
        for message in page.messages:
            yield message
