"""The rule for messages that can be sent: every store can keep them and every worker can read them.

One rule for every broker: `Broker.send` asks it before it encodes anything, and answers with the reason instead of
storing the message. `Broker.refusal` asks it too, so `ctx.submit` refuses such a hand-off at once. Pure.

    bad_argument       an id, key or name with characters that cannot be shown or stored; a queue with a `*`, which
                       is for patterns of queues; a number that names no time
    body_undecodable   a payload that is no JSON text in UTF-8
    body_too_deep      a payload nested deeper than `MOST_LEVELS`
"""

import math
import re
from itertools import accumulate

import msgspec

from tenure.message import NO_OVERRIDES, Message, Outgoing
from tenure.rules.arguments import LONGEST_SECONDS
from tenure.rules.queue_pattern import WILDCARD
from tenure.verdict import Reason

#: Levels of lists and objects in a payload. Decoders give up at about 980, fewer if they are called from deep within
#: other code; half of that is read everywhere, and by the JSON libraries of other languages.
MOST_LEVELS = 500

#: What no id, key or name may contain: control characters (NUL among them), line and paragraph separators, and lone
#: surrogates, which are no text.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
#: An escape in JSON that could be a lone surrogate.
_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
#: For counting levels: texts in JSON; one step up or (as a signed byte) down for each bracket; and all other bytes.
_TEXTS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_OTHERS = bytes(byte for byte in range(256) if byte not in b"[{]}")


def unsendable(outgoing: Outgoing) -> Reason | None:
    """Why this message cannot be sent. None: it can."""
    message = outgoing.message
    wrong = "" if _is_usual(outgoing, message) else _wrong_text(message) or _wrong_number(outgoing)
    if wrong:
        return Reason("bad_argument", f"message {message.id!a} was not stored: {wrong}")
    body = bytes(message.body)
    if not body.isascii() or b"\\u" in body:
        wrong = _unreadable(body)
        if wrong:
            return Reason("body_undecodable", f"message {message.id!a} was not stored: its payload {wrong}")
    if is_too_deep(body):
        text = (
            f"message {message.id!a} was not stored: its payload has lists and objects nested over {MOST_LEVELS} "
            "levels, which not every worker could read; make it flatter, or send it as a text"
        )
        return Reason("body_too_deep", text)
    return None


def _is_usual(outgoing: Outgoing, message: Message) -> bool:
    """Whether there is nothing to look at closely, as in nearly all: bulk sends come by here."""
    id, queue, task = message.id, message.queue, message.task
    return (
        outgoing.delay_seconds == 0
        and message.key is None
        and message.unique is None
        and message.overrides is NO_OVERRIDES
        and not message.headers
        and message.correlation_id is None
        and message.parent_id is None
        and message.expires_at is None
        and outgoing.unique_seconds is None
        and math.isfinite(message.sent_at)
        and bool(id and queue and task)
        and WILDCARD not in queue
        and (id + queue + task).isprintable()
        and (message.client is None or message.client.isascii())
    )


def is_too_deep(body: bytes) -> bool:
    """Whether JSON has more than `MOST_LEVELS` levels of lists and objects."""
    if body.count(b"[") + body.count(b"{") <= MOST_LEVELS:  # nearly always
        return False
    # Texts go first, so that brackets in them do not count. All of it runs in C: bodies have megabytes.
    steps = _TEXTS.sub(b"", body).translate(_STEPS, _OTHERS)
    return max(accumulate(memoryview(steps).cast("b")), default=0) > MOST_LEVELS


def _wrong_text(message: Message) -> str:
    """Say what is wrong with the texts of a message; empty: nothing."""
    names = (("id", message.id), ("queue", message.queue), ("task", message.task))
    for name, text in names:
        if not text:
            return f"its {name} must not be empty"
    if WILDCARD in message.queue:
        return f"queue={message.queue!a} has a *, which is a wildcard in workers' queue patterns; remove it"
    for name, value in (*names, ("key", message.key), ("unique", message.unique)):
        # Printable text, which is nearly all of it, needs no second look.
        if value is not None and not value.isprintable() and UNSEEN.search(value):
            return f"{name}={value!a} has control characters, or characters that are not text; remove them"
    texts = [message.client, message.correlation_id, message.parent_id]
    if message.headers:
        texts += [part for pair in message.headers.items() for part in pair]
    for value in texts:
        if value is not None and not value.isascii() and _SURROGATE.search(value):
            return f"{value!a} has lone surrogates, which are not text in UTF-8; replace them"
    return ""


def _wrong_number(outgoing: Outgoing) -> str:
    """Say what is wrong with the numbers of a message; empty: nothing."""
    message = outgoing.message
    if not 0 <= outgoing.delay_seconds <= LONGEST_SECONDS:
        return f"delay={outgoing.delay_seconds!r} is not a number of seconds from 0 to ten years"
    window = outgoing.unique_seconds
    if window is not None and not 0 <= window <= LONGEST_SECONDS:
        return f"unique_window={window!r} is not a number of seconds from 0 to ten years"
    if not math.isfinite(message.sent_at):
        return f"sent_at={message.sent_at!r} is not a moment"
    if message.expires_at is not None and not math.isfinite(message.expires_at):
        return f"expires_at={message.expires_at!r} is not a moment"
    own = message.overrides
    if own is not NO_OVERRIDES:
        for name, value in (("lease", own.lease_seconds), ("max_hold", own.max_hold_seconds)):
            if value is not None and not 0 < value <= LONGEST_SECONDS:
                return f"{name}={value!r} is not a number of seconds up to ten years"
    return ""


def _unreadable(body: bytes) -> str:
    """Say what is wrong with a payload that is not plain ASCII; empty: nothing."""
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return f"is not text in UTF-8 ({error.reason} at byte {error.start}); encode it as UTF-8"
    if _ESCAPED.search(body) and not is_too_deep(body):
        try:
            msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return f"is not JSON ({error}); a lone surrogate is not text, replace it"
    return ""
