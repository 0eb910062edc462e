"""What can be sent: a table of cases."""

from typing import Any

import msgspec
import pytest

from tenure import envelope
from tenure.message import Message, Outgoing, Overrides
from tenure.rules.sendable import MOST_LEVELS, is_too_deep, unsendable

SURROGATE = "a\ud800b"


def _outgoing(body: Any = b"{}", **given: Any) -> Outgoing:
    own = {name: given.pop(name) for name in ("delay_seconds", "unique_seconds") if name in given}
    fields: dict[str, Any] = {"id": "one", "queue": "mail", "task": "deliver"} | given
    return Outgoing(Message(body=msgspec.Raw(body), **fields), **own)


def _nested(levels: int, *, objects: bool = False) -> bytes:
    return b'{"a":' * levels + b"1" + b"}" * levels if objects else b"[" * levels + b"]" * levels


REFUSED: dict[str, tuple[str, Outgoing]] = {
    **{f"{name} with {what}": ("bad_argument", _outgoing(**{name: f"a{text}b"}))
       for name in ("id", "queue", "task", "key", "unique")
       for what, text in {"NUL": "\0", "a newline": "\n", "an escape": "\x1b[2J", "DEL": "\x7f", "a C1 control": "\x9b",
                          "a line separator": "\u2028", "a lone surrogate": "\ud800"}.items()},
    **{f"an empty {name}": ("bad_argument", _outgoing(**{name: ""})) for name in ("id", "queue", "task")},
    "a queue with a star": ("bad_argument", _outgoing(queue="mail-*")),
    "a queue with a star, and a key": ("bad_argument", _outgoing(queue="*", key="a")),
    **{f"{name} with a lone surrogate": ("bad_argument", _outgoing(**{name: SURROGATE}))
       for name in ("client", "correlation_id", "parent_id")},
    "a header's name with a lone surrogate": ("bad_argument", _outgoing(headers={SURROGATE: "x"})),
    "a header with a lone surrogate": ("bad_argument", _outgoing(headers={"x": SURROGATE})),
    **{f"a delay of {delay}": ("bad_argument", _outgoing(delay_seconds=delay))
       for delay in (1e18, float("inf"), float("-inf"), float("nan"), -1.0, 4e8)},
    **{f"a unique window of {window}": ("bad_argument", _outgoing(unique="a", unique_seconds=window))
       for window in (float("inf"), float("nan"), -1.0)},
    "sent at no moment": ("bad_argument", _outgoing(sent_at=float("nan"))),
    "never expiring": ("bad_argument", _outgoing(expires_at=float("inf"))),
    "a lease of no length": ("bad_argument", _outgoing(overrides=Overrides(lease_seconds=float("nan")))),
    "held for ever": ("bad_argument", _outgoing(overrides=Overrides(max_hold_seconds=float("inf")))),
    "a payload that is no UTF-8": ("body_undecodable", _outgoing(b'{"a":"\xff"}')),
    "a payload with a lone surrogate": ("body_undecodable", _outgoing(rb'{"a":"\ud800"}')),
    "lists that are nested too deep": ("body_too_deep", _outgoing(_nested(MOST_LEVELS + 1))),
    "objects that are nested too deep": ("body_too_deep", _outgoing(_nested(MOST_LEVELS + 1, objects=True))),
    "nested deeper than any decoder goes": ("body_too_deep", _outgoing(_nested(100_000))),
    "a lone surrogate, nested deeper than any decoder goes": (
        "body_too_deep", _outgoing(_nested(100_000)[:100_000] + rb'"\ud800"' + b"]" * 100_000),
    ),
}  # fmt: skip

TAKEN: dict[str, Outgoing] = {
    "a plain message": _outgoing(),
    "names in every script": _outgoing(id="größe-試験", queue="почта", task="送る", key="clé à\u00a0deux", unique="ü"),
    "stars elsewhere": _outgoing(id="a*", task="b*", key="c*", unique="*"),
    "an emoji": _outgoing(rb'{"a":"\ud83d\ude00"}', key="😀"),
    "a newline in a header": _outgoing(headers={"trace": "a\nb\0"}),
    "ten years": _outgoing(delay_seconds=3653 * 86_400.0),
    "as deep as it goes": _outgoing(_nested(MOST_LEVELS)),
    "objects as deep as it goes": _outgoing(_nested(MOST_LEVELS, objects=True)),
    "many lists side by side": _outgoing(b"[" + b"[]," * 5000 + b"[]]"),
    "brackets in a text": _outgoing(b'["' + b"[{" * 5000 + rb'\"\\"]'),
}


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str) -> None:
    code, outgoing = REFUSED[what]
    reason = unsendable(outgoing)
    assert reason is not None
    assert reason.code == code
    assert "was not stored" in reason.text
    assert reason.text.isprintable(), "people read it on a terminal"


@pytest.mark.parametrize("what", TAKEN)
def test_it_is_taken_and_can_be_read(what: str) -> None:
    outgoing = TAKEN[what]
    assert unsendable(outgoing) is None
    assert envelope.decode(envelope.encode(outgoing.message)) == outgoing.message
    msgspec.json.decode(outgoing.message.body)


def test_a_payload_at_the_limit_is_read_from_deep_within_other_code() -> None:
    def read(frames: int) -> object:
        return read(frames - 1) if frames else msgspec.json.decode(_nested(MOST_LEVELS))

    assert read(300)


@pytest.mark.parametrize("levels", [0, 1, MOST_LEVELS, MOST_LEVELS + 1])
def test_levels_are_counted(levels: int) -> None:
    assert is_too_deep(_nested(levels)) == (levels > MOST_LEVELS)
