"""Brokers that page in the wrong way."""

from collections.abc import Callable

import msgspec

from tenure.broker import Browsed, Page, Query
from tenure.client.browse_all import browse_all
from tenure.errors import BadArgument
from tenure.message import MessageState
from tenure.rules import browsing
from tenure.rules.queue_pattern import is_pattern
from tenure.testing.faulty.honest import HonestBroker
from tenure.testing.faulty.lending import Remembering


class _Listing(HonestBroker):
    """Base of faults: can read everything that a query means."""

    async def all_of(self, query: Query) -> list[Browsed]:
        """Read all pages of a query."""
        return [one async for one in browse_all(self.inner, msgspec.structs.replace(query, cursor=""))]


class _Asking(HonestBroker):
    """Base of faults: asks another query."""

    def asked(self, query: Query) -> Query:
        """Return the query that is asked instead."""
        return query

    async def browse(self, query: Query) -> Page:
        """Browse by the changed query."""
        return await self.inner.browse(self.asked(query))


class _Showing(HonestBroker):
    """Base of faults: shows another page."""

    def shown(self, page: Page, query: Query) -> Page:
        """Return the page that is shown instead."""
        del query
        return page

    async def browse(self, query: Query) -> Page:
        """Browse, and change the page."""
        return self.shown(await self.inner.browse(query), query)


class OrdersEverythingByArrival(_Listing):
    """Shows what is delayed, leased or ended in the order in which it came."""

    caught_by = ("Paging",)

    async def browse(self, query: Query) -> Page:
        """Sort by id, since the ids of the harness rise."""
        found = sorted(await self.all_of(query), key=lambda one: one.id, reverse=query.backwards)
        rest = [one for one in found if not query.cursor or (one.id > query.cursor) != query.backwards]
        page = tuple(one for one in rest if one.id != query.cursor)[: query.limit]
        is_end = len(page) < query.limit
        return Page(messages=page, cursor=None if is_end else page[-1].id, looked_at=len(page))


class PagesByOffset(_Listing):
    """Counts how many were shown, so that one is missed for each that goes meanwhile."""

    caught_by = ("Paging",)

    async def browse(self, query: Query) -> Page:
        """Begin at an offset instead of a position."""
        if query.cursor and not query.cursor.isdecimal():
            return await self.inner.browse(query)
        # What is wrong with the query is found out before.
        await self.inner.browse(msgspec.structs.replace(query, cursor=""))
        start = int(query.cursor or 0)
        found = await self.all_of(query)
        page = tuple(found[start : start + query.limit])
        end = start + len(page)
        return Page(messages=page, cursor=str(end) if end < len(found) else None, looked_at=len(page))


class IgnoresBackwards(_Asking):
    """Knows one direction only."""

    caught_by = ("Paging",)

    def asked(self, query: Query) -> Query:
        """Ask for the forward direction."""
        return msgspec.structs.replace(query, backwards=False)


class ReadsAsManyRowsAsItTakes(_Asking):
    """Looks for a rare match in one long call."""

    caught_by = ("Paging",)

    def asked(self, query: Query) -> Query:
        """Ask without a bound of rows."""
        return msgspec.structs.replace(query, look_at=10**9) if query.look_at > 0 else query


class TakesItsTime(_Asking):
    """Looks for a rare match for as long as it takes."""

    caught_by = ("Paging",)

    def asked(self, query: Query) -> Query:
        """Ask without a bound of time."""
        return msgspec.structs.replace(query, seconds=None) if (query.seconds or 0.0) >= 0 else query


class ShowsTheFirstStateOnly(_Asking):
    """Leaves the other states of a query out."""

    caught_by = ("Paging",)

    def asked(self, query: Query) -> Query:
        """Ask for the first state only."""
        return msgspec.structs.replace(query, states=query.states[:1])


class TakesPatternsForNames(_Asking):
    """Looks for a queue whose name has a star in it."""

    caught_by = ("Paging",)

    def asked(self, query: Query) -> Query:
        """Ask for named queues only."""
        if query.queues is None:
            return query
        return msgspec.structs.replace(query, queues=tuple(one for one in query.queues if not is_pattern(one)))


class SendsBodiesAlways(_Asking):
    """Sends every body over the network, wanted or not."""

    caught_by = ("Paging",)

    def asked(self, query: Query) -> Query:
        """Ask with bodies."""
        return msgspec.structs.replace(query, bodies=True)


class KnowsNoTaskWithoutItsBody(_Showing):
    """Leaves the task out with the body."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Show entries without bodies as if their task were unknown."""
        if query.bodies:
            return page
        return _each(page, lambda one: msgspec.structs.replace(one, task=None))


class HidesWhatIsCompleted(_Showing):
    """Says that it shows what is completed, and shows nothing."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Show no completed messages."""
        del query
        kept = tuple(one for one in page.messages if one.state is not MessageState.COMPLETED)
        return msgspec.structs.replace(page, messages=kept)


class ForgetsWhenItEnded(_Showing):
    """Shows what has ended without its end."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Show no end."""
        del query
        return _each(page, lambda one: msgspec.structs.replace(one, finished_at=None))


class CountsOnlyWhatMatches(_Showing):
    """Does not say how many rows it read."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Report as many rows read as are shown."""
        del query
        return msgspec.structs.replace(page, looked_at=len(page.messages))


class SaysItLookedUntilNow(_Showing):
    """Does not know how far it looked."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Report that everything until now was read."""
        del query
        return msgspec.structs.replace(page, looked_until=self.clock.wall())


class SaysItLookedUntilTheLastMatch(_Showing):
    """Forgets the rows behind the last match when it says how far it looked."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Report the time of the last message that is shown."""
        if query.task is None or not page.messages:
            return page
        return msgspec.structs.replace(page, looked_until=browsing.moment_of(page.messages[-1]))


class SaysThatThereIsMore(_Showing):
    """Takes a full page for a sign of another one."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """There may be."""
        return msgspec.structs.replace(page, has_more=len(page.messages) == query.limit)


class StopsAtAnEmptyPage(_Showing):
    """Says that the end is reached when a page is empty."""

    caught_by = ("Paging",)

    def shown(self, page: Page, query: Query) -> Page:
        """Drop the cursor of an empty page."""
        del query
        return page if page.messages else msgspec.structs.replace(page, cursor=None)


class TakesAnyCursor(HonestBroker):
    """Starts again from the front, in silence, if it cannot read a cursor."""

    caught_by = ("Paging",)

    async def browse(self, query: Query) -> Page:
        """Browse from the front if the cursor cannot be read."""
        try:
            return await self.inner.browse(query)
        except BadArgument:
            if not query.cursor:
                raise
            return await self.inner.browse(msgspec.structs.replace(query, cursor=""))


class AnswersEmptyQuestions(HonestBroker):
    """Answers a query that asks for nothing."""

    caught_by = ("Paging",)

    async def browse(self, query: Query) -> Page:
        """Answer with an empty page."""
        if not query.states or query.limit < 1 or query.look_at < 1:
            return Page()
        return await self.inner.browse(query)


class LookingRenews(Remembering):
    """Extends the leases of what is looked at, as receiving from a queue would."""

    caught_by = ("Paging",)

    async def browse(self, query: Query) -> Page:
        """Browse, and touch what is held."""
        page = await self.inner.browse(query)
        await self.inner.touch([self.latest[one.id] for one in page.messages if one.id in self.latest])
        return page


def _each(page: Page, change: Callable[[Browsed], Browsed]) -> Page:
    return msgspec.structs.replace(page, messages=tuple(change(one) for one in page.messages))
