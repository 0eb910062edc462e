"""Access tokens of one app, kept in its store: create, list, revoke, check.

A check reads the store at most every `FRESH_SECONDS` for each token, so a token that is revoked anywhere is refused
everywhere within 5 s. When it was last used is written at most once a minute.

Once a token was made, every server of the app asks for one, also on loopback, also after the last token was revoked or
has expired: a mark in the store says so.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from tenure.act import Act
from tenure.app import Tenure
from tenure.errors import BadArgument, BrokerError
from tenure.key_value import KeyValue
from tenure.rules.arguments import is_queue_pattern
from tenure.server.errors import TokenNotFound
from tenure.server.principal import ANY_QUEUE, AccessScope
from tenure.server.token import AccessToken, KeptToken, NewToken, digest_of, id_in, new_text
from tenure.state import KeyValues

logger = logging.getLogger("tenure.server")

KIND = "token"
#: Its name is the namespace: a token was made for it once.
MARK = "server.tokens"

#: A token expires even if it is not revoked, unless it was made to last for ever.
DEFAULT_EXPIRES_SECONDS = 90 * 86_400.0
#: For this long what the store said of a token is believed. A little less than the 5 s that are promised.
FRESH_SECONDS = 4.0
#: When a token was last used is written this often at most.
_USED_SECONDS = 60.0
_MOST_FRESH = 1_024
_LONGEST_NAME = 100
_MOST_QUEUES = 100


class _Fresh(msgspec.Struct, frozen=True):
    kept: KeptToken | None
    read_at: float


class Tokens:
    """The access tokens of one app."""

    def __init__(self, app: Tenure, *, writes: bool = True) -> None:
        """Keep the tokens of `app`. `writes=False`: their use is not noted."""
        self._app = app
        self._writes = writes
        #: What the store said a moment ago, by id, the oldest first.
        self._fresh: OrderedDict[str, _Fresh] = OrderedDict()
        self._required: tuple[bool, float] | None = None
        self._noting: set[asyncio.Task[None]] = set()

    # -- for people --------------------------------------------------------------------------------

    async def create(
        self,
        name: str,
        scopes: Sequence[AccessScope],
        queues: Sequence[str] = ANY_QUEUE,
        *,
        expires_seconds: float | None = None,
        by: str = "",
        triggered_by: str = "api",
        source: str = "",
    ) -> NewToken:
        """Make a token. Its text is in the answer and nowhere else."""
        self._check(name, scopes, queues, expires_seconds)
        now = self._app.state.wall()
        id, text = new_text()
        token = AccessToken(
            id=id,
            name=name,
            scopes=tuple(sorted(set(scopes))),
            queues=tuple(dict.fromkeys(queues)),
            created_at=now,
            created_by=by,
            expires_at=None if expires_seconds is None else now + expires_seconds,
        )
        kept = KeptToken(token=token, digest=digest_of(text), namespace=self._app.namespace)
        act = self._act("token_created", token, by, triggered_by, source)
        # The mark first: a store with a token in it and no mark would let loopback in once that token is gone.
        await self._values.put(MARK, self._mark, b"{}", expect=None)
        await self._values.put(KIND, id, msgspec.json.encode(kept), expect=None, expires_at=token.expires_at)
        try:
            await self._app.state.acts.record([act])
        except BrokerError:
            # Its text was not shown yet. A token that the audit log does not have is not handed out.
            await self._values.remove(KIND, id)
            raise
        self._required = None
        return NewToken(token=text, **msgspec.structs.asdict(token))

    async def list(self) -> list[AccessToken]:
        """Every token that has not expired, the newest first."""
        found = [self._read(value) for value in await self._values.list(KIND)]
        own = [kept.token for kept in found if kept is not None]
        return sorted(own, key=lambda token: (-token.created_at, token.id))

    async def revoke(self, id: str, *, by: str = "", triggered_by: str = "api", source: str = "") -> AccessToken:
        """Take a token back; servers refuse it within 5 s. Raises `TokenNotFound`."""
        id = id_in(id) or id  # a pasted whole token names itself
        value = await self._values.get(KIND, id) if id else None
        kept = None if value is None else self._read(value)
        if kept is None or not await self._values.remove(KIND, id):
            msg = f"no access token {id[:40]!r} is known here; nothing was changed"
            raise TokenNotFound(msg)
        self._fresh.pop(id, None)
        act = self._act("token_revoked", kept.token, by, triggered_by, source)
        try:
            await self._app.state.acts.record([act])
        except BrokerError as error:
            logger.critical("this was done, but could not be written to the audit log (%s): %s", error, act)
        return kept.token

    # -- for the server ----------------------------------------------------------------------------

    async def check(self, text: str) -> AccessToken | None:
        """The token with this text. None: there is none, or not any more."""
        id = id_in(text)
        kept = None if id is None else await self._find(id)
        if kept is None or not kept.fits(text):
            return None
        self._note_use(kept.token)
        return kept.token

    async def of_session(self, id: str) -> AccessToken | None:
        """The token that a session names. None: it was revoked, or has expired."""
        kept = await self._find(id)
        if kept is None:
            return None
        self._note_use(kept.token)
        return kept.token

    def is_known(self, id: str) -> bool:
        """Whether this process read it from the store a moment ago: then checking it costs no request."""
        fresh = self._fresh.get(id)
        return fresh is not None and fresh.kept is not None

    async def are_required(self) -> bool:
        """Whether a token was ever made for this app."""
        now = self._app.clock.monotonic()
        if self._required is None or not (self._required[0] or now - self._required[1] < FRESH_SECONDS):
            mark = await self._values.get(MARK, self._mark)
            self._required = (mark is not None, now)
        return self._required[0]

    async def close(self) -> None:
        """Wait for what is being noted."""
        await asyncio.gather(*self._noting, return_exceptions=True)

    # -- inside ------------------------------------------------------------------------------------

    @property
    def _values(self) -> KeyValues:
        return self._app.state.key_values

    @property
    def _mark(self) -> str:
        return self._app.namespace or "-"

    async def _find(self, id: str) -> KeptToken | None:
        now = self._app.clock.monotonic()
        fresh = self._fresh.get(id)
        if fresh is None or now - fresh.read_at >= FRESH_SECONDS:
            value = await self._values.get(KIND, id)
            fresh = _Fresh(None if value is None else self._read(value), now)
            self._fresh.pop(id, None)
            if fresh.kept is not None:  # guesses are not kept: there are more of them than tokens
                self._fresh[id] = fresh
                while len(self._fresh) > _MOST_FRESH:
                    self._fresh.popitem(last=False)
        kept = fresh.kept
        if kept is None or (kept.token.expires_at is not None and kept.token.expires_at <= self._app.state.wall()):
            return None
        return kept

    def _read(self, value: KeyValue) -> KeptToken | None:
        """A token of this app. None: it is another one's, or a newer Tenure wrote it in a way that we cannot read."""
        try:
            kept = msgspec.json.decode(value.data, type=KeptToken)
        except msgspec.MsgspecError as error:
            logger.warning("access token %s cannot be read and is refused: %s", value.name, error)
            return None
        return kept if kept.namespace == self._app.namespace else None

    def _note_use(self, token: AccessToken) -> None:
        """Write down that it was used, without holding the request up."""
        now = self._app.state.wall()
        if not self._writes or (token.used_at is not None and now - token.used_at < _USED_SECONDS):
            return
        fresh = self._fresh.get(token.id)
        if fresh is not None and fresh.kept is not None:  # the next request within the minute notes nothing
            used = msgspec.structs.replace(fresh.kept, token=msgspec.structs.replace(token, used_at=now))
            self._fresh[token.id] = _Fresh(used, fresh.read_at)
        noting = asyncio.get_running_loop().create_task(self._write_use(token.id, now))
        self._noting.add(noting)
        noting.add_done_callback(self._noting.discard)

    async def _write_use(self, id: str, now: float) -> None:
        try:
            value = await self._values.get(KIND, id)
            kept = None if value is None else self._read(value)
            if value is None or kept is None or (kept.token.used_at or 0.0) > now - _USED_SECONDS:
                return
            used = msgspec.structs.replace(kept, token=msgspec.structs.replace(kept.token, used_at=now))
            # By its version: a token that is revoked in between must not come back.
            data = msgspec.json.encode(used)
            await self._values.put(KIND, id, data, expect=value.version, expires_at=value.expires_at)
        except BrokerError as error:
            logger.debug("could not note the last use of access token %s: %s", id, error)

    def _act(self, kind: str, token: AccessToken, by: str, triggered_by: str, source: str) -> Act:
        about = {"token_id": token.id, "name": token.name, "scopes": list(token.scopes), "queues": list(token.queues)}
        return Act(kind, self._app.clock.wall(), by, triggered_by, source, data=about)

    def _check(
        self, name: str, scopes: Sequence[AccessScope], queues: Sequence[str], expires_seconds: float | None
    ) -> None:
        problem = None
        if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
            problem = f"a token's name has 1 to {_LONGEST_NAME} printable characters"
        elif not scopes:
            problem = "a token needs at least one scope"
        elif not queues or len(queues) > _MOST_QUEUES:
            problem = f"a token is for 1 to {_MOST_QUEUES} queues or patterns"
        elif odd := [queue for queue in queues if not is_queue_pattern(queue)]:
            problem = f"{odd[0]!r} cannot name queues; use letters, digits, dots, dashes and _, and * for any of these"
        elif expires_seconds is not None and expires_seconds <= 0:
            problem = "a token's time must be longer than 0"
        if problem is not None:
            raise BadArgument(f"{problem}; no token was made")
