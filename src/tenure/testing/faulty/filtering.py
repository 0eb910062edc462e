"""Brokers that filter in the wrong way."""

import math
from typing import ClassVar

import msgspec

from tenure.broker import Page, Query
from tenure.envelope import decode
from tenure.errors import BadArgument
from tenure.rules.browsing import ENDED
from tenure.testing.faulty.honest import HonestBroker


class _Ignoring(HonestBroker):
    """Base of faults: leaves one filter out."""

    field: ClassVar[str]

    async def browse(self, query: Query) -> Page:
        """Ask without it. What would be refused is refused."""
        await self.inner.browse(msgspec.structs.replace(query, limit=1, look_at=1))
        changes = {self.field: None}
        return await self.inner.browse(msgspec.structs.replace(query, **changes))


class IgnoresTheTask(_Ignoring):
    """Shows messages of every task."""

    caught_by = ("Filtering",)
    field = "task"


class IgnoresTheClient(_Ignoring):
    """Shows messages of every client."""

    caught_by = ("Filtering",)
    field = "client"


class IgnoresTheKey(_Ignoring):
    """Shows messages of every key."""

    caught_by = ("Filtering",)
    field = "key"


class IgnoresTheText(_Ignoring):
    """Shows messages of any text."""

    caught_by = ("Filtering",)
    field = "text"


class IgnoresTheStart(_Ignoring):
    """Shows messages from before the range."""

    caught_by = ("Filtering",)
    field = "since"


class IgnoresTheEnd(_Ignoring):
    """Shows messages from behind the range."""

    caught_by = ("Filtering",)
    field = "until"


class RangesIncludeTheirEnd(HonestBroker):
    """Shows what is of the very moment in which a range ends."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Include the moment at which the range ends."""
        until = None if query.until is None else math.nextafter(query.until, math.inf)
        return await self.inner.browse(msgspec.structs.replace(query, until=until))


class TextIsOfOneCase(HonestBroker):
    """Tells upper case from lower case."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Match the text by case."""
        page = await self.inner.browse(query)
        text = (query.text or "").encode()
        kept = tuple(
            one
            for one in page.messages
            if text in one.envelope or text in one.id.encode() or (one.reason and text in one.reason.text.encode())
        )
        return msgspec.structs.replace(page, messages=kept)


class FindsTextAnywhere(HonestBroker):
    """Looks for a text in the whole envelope."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Search keys and headers for the text too."""
        if query.text is None:
            return await self.inner.browse(query)
        await self.inner.browse(msgspec.structs.replace(query, limit=1, look_at=1))
        page = await self.inner.browse(msgspec.structs.replace(query, text=None))
        text = query.text.casefold()
        kept = tuple(one for one in page.messages if text in f"{one.envelope.decode()} {one.reason}".casefold())
        return msgspec.structs.replace(page, messages=kept)


class TextIsNotInTheReason(HonestBroker):
    """Looks for a text in the payload only."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Do not search the reason of a failure for the text."""
        page = await self.inner.browse(query)
        if query.text is None:
            return page
        text = query.text.casefold()
        kept = tuple(
            one
            for one in page.messages
            if text in one.id or text in bytes(decode(one.envelope).body).decode().casefold()
        )
        return msgspec.structs.replace(page, messages=kept)


class FiltersTheEndedByTheirSending(HonestBroker):
    """Takes the time of sending for that of the end."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Compare the time of sending for messages that ended."""
        if not ENDED.issuperset(query.states):
            return await self.inner.browse(query)
        page = await self.inner.browse(msgspec.structs.replace(query, since=None, until=None))
        since, until = query.since or 0.0, query.until or math.inf
        kept = tuple(one for one in page.messages if since <= (one.sent_at or 0.0) < until)
        return msgspec.structs.replace(page, messages=kept)


class FiltersWhatAPageShows(HonestBroker):
    """Reads a page, then filters it: pages are short though there is more."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Look at as many rows as messages are wanted."""
        return await self.inner.browse(msgspec.structs.replace(query, look_at=min(query.limit, query.look_at)))


class FindsNothingWhereItCannotLook(HonestBroker):
    """Answers a filter by a field that is gone as if nothing matched."""

    caught_by = ("Filtering",)

    async def browse(self, query: Query) -> Page:
        """Answer with an empty page instead of the error."""
        try:
            return await self.inner.browse(query)
        except BadArgument:
            return Page()
