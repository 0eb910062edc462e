"""A lease token: the signed name of a lease, which a client keeps instead of the lease itself.

    tnl_<what it names>.<signature>

It names the message, its queue, the owner, the fence, and the claim where there is one. There is no receipt in it, so
it does not change when the lease is touched, and it is good on every server of the store and after a restart. It says
nothing that its holder may not know, and cannot be made or changed without the store's secret (`client/signing.py`).
"""

import base64
import binascii

import msgspec

from tenure.claim import Scope, Token
from tenure.client.signing import Signing
from tenure.lease import Lease
from tenure.message import Message, Overrides

#: What the secret of the store signs here.
PURPOSE = "lease"
_PREFIX = "tnl_"
#: A longer text is no token of ours.
LONGEST = 4_096


class ClaimName(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What of a claim its lease does not say."""

    key: str
    generation: int
    fence: int
    seconds: float
    send_id: str = ""


class LeaseName(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a token names."""

    id: str
    queue: str
    owner: str
    fence: int
    #: The name of the message's task.
    task: str
    #: When it was leased: wall time by the store's clock.
    at: float
    #: The length of the lease.
    seconds: float
    #: Failed attempts before this one.
    attempts: int = 0
    #: Set: the message's own limit.
    max_attempts: int | None = None
    claim: ClaimName | None = None

    @property
    def place(self) -> tuple[str, int]:
        """Tells it apart from every other lease of the store."""
        return self.id, self.fence

    @property
    def token(self) -> Token | None:
        """The claim, as the ledger knows it."""
        claim = self.claim
        if claim is None:
            return None
        scope = Scope(self.queue, self.task, claim.key, claim.generation)
        return Token(scope, self.id, self.owner, claim.fence, claim.seconds, claim.send_id)

    @property
    def stub(self) -> Message:
        """The message without its body, as far as it is known from here."""
        overrides = Overrides(max_attempts=self.max_attempts)
        return Message(id=self.id, queue=self.queue, task=self.task, body=msgspec.Raw(b"null"), overrides=overrides)


def name_of(lease: Lease, message: Message | None, token: Token | None, at: float) -> LeaseName:
    """The name of a lease that was made at `at`."""
    claim = None
    if token is not None:
        scope = token.scope
        claim = ClaimName(scope.key, scope.generation, token.fence, token.seconds, token.send_id)
    return LeaseName(
        lease.id, lease.queue, lease.owner, lease.fence, "" if message is None else message.task, at, lease.seconds,
        lease.counters.attempts, None if message is None else message.overrides.max_attempts, claim,
    )  # fmt: skip


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(LeaseName).decode


class LeaseTokens:
    """Writes and reads tokens."""

    def __init__(self, signing: Signing) -> None:
        """Sign with the secret of the store."""
        self._signing = signing

    async def write(self, name: LeaseName) -> str:
        """The token of a lease."""
        said = base64.urlsafe_b64encode(_encode(name)).rstrip(b"=").decode()
        return f"{_PREFIX}{said}.{await self._signing.sign(PURPOSE, said)}"

    async def read(self, text: str) -> LeaseName | None:
        """What a token names. None: nothing of this store signed it."""
        if len(text) > LONGEST or not text.startswith(_PREFIX) or not text.isascii():
            return None
        said, _, signature = text.removeprefix(_PREFIX).partition(".")
        if not await self._signing.is_signed(PURPOSE, said, signature):
            return None
        try:
            return _decode(base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)))
        except (msgspec.DecodeError, binascii.Error, ValueError):  # signed by a newer version that names more
            return None
