"""Every label of metrics, and what bounds the number of its values."""

from tenure.monitoring.catalogue.spec import LabelSpec
from tenure.settlement import Outcome
from tenure.timing import tallied

#: The value of a label for everything beyond the bound (`TENURE_METRICS_LABEL_VALUES`).
OTHER = "other"

_BY_SETTING = "TENURE_METRICS_LABEL_VALUES, default 100; the rest is `other`"

#: How a message left a worker.
OUTCOMES = (
    tallied.COMPLETED, tallied.RETRIED, tallied.SNOOZED, tallied.DEAD, tallied.DUPLICATE, tallied.GIVEN_BACK,
    tallied.LEASE_LOST, tallied.LATE_SETTLE, tallied.CANCELLED,
)  # fmt: skip
DELIVERIES = ("1", "2", "3", "4", "5+")
TIERS = ("ledger", "running")
RETURN_CAUSES = ("overdue", "dead_worker")
WEBHOOK_RESULTS = ("delivered", "failed", "postponed", "given_up")
DEPTH_STATES = ("ready", "delayed", "leased", "dead")
LEASE_STATES = ("held", "overdue")
OPERATIONS = ("lease", "settle")
PERCENTILES = ("50", "95", "99")

LABELS: tuple[LabelSpec, ...] = (
    LabelSpec("queue", "The queue. A client's queue has its name: `{client}-tasks`.", _BY_SETTING),
    LabelSpec("task", "The task; empty where it is not known.", _BY_SETTING),
    LabelSpec("outcome", "How a message left the worker: the words of events.", "known", OUTCOMES),
    LabelSpec("delivery", "Which delivery of the message it was.", "known", DELIVERIES),
    LabelSpec(
        "tier",
        "What showed that it was a duplicate: the ledger (the work is done), or the worker (it runs here).",
        "known",
        TIERS,
    ),
    LabelSpec(
        "result",
        "How a settle or a webhook delivery ended.",
        "known",
        (*(one.value for one in Outcome), *WEBHOOK_RESULTS),
    ),
    LabelSpec("cause", "Why a lease was taken back.", "known", RETURN_CAUSES),
    LabelSpec("to", "Where a message went whose lease was taken back.", "known", ("ready", "dead")),
    LabelSpec("operation", "What a batch call did.", "known", OPERATIONS),
    LabelSpec("state", "Of messages in a queue, or of leases.", "known", (*DEPTH_STATES, *LEASE_STATES)),
    LabelSpec("percentile", "How many of a hundred runs took no longer.", "known", PERCENTILES),
    LabelSpec("kind", "The kind of event.", "known"),
    LabelSpec("version", "The version of Tenure.", "one a process"),
    LabelSpec("route", "The pattern of the route, not the path: `/messages/{id}`.", "known"),
    LabelSpec("method", "The HTTP method; one that no route has is `other`.", "known"),
    LabelSpec("status", "The HTTP status.", "known"),
    LabelSpec("code", "The code of the problem with which a request was refused.", "known"),
)
