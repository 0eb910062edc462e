"""The broker's contract, one file a theme. A plain class each; see `tenure.testing.conformance`."""

from tenure.testing.conformance.broker.announcing import Announcing
from tenure.testing.conformance.broker.browsing import Browsing
from tenure.testing.conformance.broker.cancelling import Cancelling
from tenure.testing.conformance.broker.clocks import Clocks
from tenure.testing.conformance.broker.crashing import Crashing
from tenure.testing.conformance.broker.dead_letters import DeadLetters
from tenure.testing.conformance.broker.delays import Delays
from tenure.testing.conformance.broker.durability import Durability
from tenure.testing.conformance.broker.erasing import Erasing
from tenure.testing.conformance.broker.fencing import Fencing
from tenure.testing.conformance.broker.filtering import Filtering
from tenure.testing.conformance.broker.grace import Grace
from tenure.testing.conformance.broker.grouping import Grouping
from tenure.testing.conformance.broker.held_leases import HeldLeases
from tenure.testing.conformance.broker.hints import Hints
from tenure.testing.conformance.broker.keys import Keys
from tenure.testing.conformance.broker.lapsing import Lapsing
from tenure.testing.conformance.broker.lending import Lending
from tenure.testing.conformance.broker.limits import Limits
from tenure.testing.conformance.broker.named_leases import NamedLeases
from tenure.testing.conformance.broker.paging import Paging
from tenure.testing.conformance.broker.patterns import Patterns
from tenure.testing.conformance.broker.priority import Priority
from tenure.testing.conformance.broker.promoting import Promoting
from tenure.testing.conformance.broker.queues import Queues
from tenure.testing.conformance.broker.quotas import Quotas
from tenure.testing.conformance.broker.refusing import Refusing
from tenure.testing.conformance.broker.retiring import Retiring
from tenure.testing.conformance.broker.returning import Returning
from tenure.testing.conformance.broker.sendable import Sendable
from tenure.testing.conformance.broker.sending import Sending
from tenure.testing.conformance.broker.settling import Settling
from tenure.testing.conformance.broker.touching import Touching
from tenure.testing.conformance.broker.touching_elsewhere import TouchingElsewhere
from tenure.testing.conformance.broker.uniqueness import Uniqueness
from tenure.testing.conformance.broker.waiting import Waiting

__all__ = [
    "Announcing",
    "Browsing",
    "Cancelling",
    "Clocks",
    "Crashing",
    "DeadLetters",
    "Delays",
    "Durability",
    "Erasing",
    "Fencing",
    "Filtering",
    "Grace",
    "Grouping",
    "HeldLeases",
    "Hints",
    "Keys",
    "Lapsing",
    "Lending",
    "Limits",
    "NamedLeases",
    "Paging",
    "Patterns",
    "Priority",
    "Promoting",
    "Queues",
    "Quotas",
    "Refusing",
    "Retiring",
    "Returning",
    "Sendable",
    "Sending",
    "Settling",
    "Touching",
    "TouchingElsewhere",
    "Uniqueness",
    "Waiting",
]
