"""A DEBUG record for each message that was sent, so that a log shows where a correlation id comes from.

It costs one look at the level where it is not wanted. Before: `client/claim_check.send`.
"""

import logging
from collections.abc import Sequence

from tenure.broker import Sent
from tenure.message import Outgoing

logger = logging.getLogger("tenure.sending")


def log_sent(batch: Sequence[Outgoing], answers: Sequence[Sent]) -> None:
    """Log what was stored, with task, message id and correlation id."""
    if not logger.isEnabledFor(logging.DEBUG):
        return
    for out, sent in zip(batch, answers, strict=True):
        if sent.refusal is not None:
            continue
        message = out.message
        about: dict[str, object] = {"task": message.task, "message_id": sent.id}
        if message.correlation_id is not None:
            about["correlation_id"] = message.correlation_id
        what = "was sent before" if sent.duplicate else "sent"
        logger.debug("%s %s %s to %s", message.task, sent.id, what, message.queue, extra=about)
