"""Answers: writes where a handler is, for posts on the board that ask.

`board_watch.py` passes on each question, once a second and for as long as it is asked. Questions about messages that
this worker does not hold are left to others. An answer is a key-value that lapses by itself. At most a few are
written a second, those that waited longest first. While nothing is asked, nothing runs. An answer that cannot be
written is not tried again: the next reading of the board asks again.

Runs beside the path (`background.py`), so it answers while a handler blocks the worker's loop.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from tenure.errors import BrokerError
from tenure.handler_stack import ANSWER_KIND, ANSWER_SECONDS, HandlerStack, encoded, question_name
from tenure.notice import Post
from tenure.runtime.background.stacks.look import Look
from tenure.runtime.delivery import Delivery
from tenure.state import KeyValues

logger = logging.getLogger("tenure.stacks")

#: This many answers to one reading of the board.
MOST_ANSWERS = 4


async def write_answer(key_values: KeyValues, seen: HandlerStack, wall: float) -> None:
    """Keep it for those who asked. Another answer at the same moment may stay instead: it is as new."""
    name = question_name(seen.id)
    before = await key_values.get(ANSWER_KIND, name)
    expect = None if before is None else before.version
    await key_values.put(ANSWER_KIND, name, encoded(seen), expect=expect, expires_at=wall + ANSWER_SECONDS)


class StackAnswers:
    """Answers for one worker."""

    def __init__(
        self,
        key_values: KeyValues,
        look: Look,
        held: Callable[[], Iterable[Delivery]],
        *,
        owner: Callable[[], str],
        wall: Callable[[], float],
    ) -> None:
        """`held`: the messages of this worker; `wall`: the store's time."""
        self._key_values = key_values
        self._look = look
        self._held = held
        self._owner = owner
        self._wall = wall
        self._asked: tuple[str, ...] = ()
        #: When each question was answered last, as a number that rises. Only of those that still stand.
        self._answered: dict[str, int] = {}
        self._count = 0
        self._wake = asyncio.Event()

    def ask(self, posts: Sequence[Post]) -> None:
        """These questions stand on the board now. Called on the loop on which `run` runs."""
        self._asked = tuple(post.name for post in posts)
        self._wake.set()

    async def run(self) -> None:
        """Answer questions until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            asked = frozenset(self._asked)
            self._answered = {name: count for name, count in self._answered.items() if name in asked}
            ours = {name: one for one in self._held() if (name := question_name(one.id)) in asked}
            for name in sorted(ours, key=lambda name: self._answered.get(name, 0))[:MOST_ANSWERS]:
                self._count += 1
                self._answered[name] = self._count
                await self._answer(ours[name])

    async def _answer(self, delivery: Delivery) -> None:
        try:
            seen = await self._look.at(delivery, owner=self._owner(), wall=self._wall())
            await write_answer(self._key_values, seen, self._wall())
        except BrokerError as error:
            logger.warning("could not report the stack of %s (%s); ask again", delivery.id, error)
        except Exception:
            # Users' own objects stand in a stack. A look is never worth a worker.
            logger.exception("could not read the stack of %s", delivery.id)
