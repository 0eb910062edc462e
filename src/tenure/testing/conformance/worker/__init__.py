"""The second tier: the real worker over a broker and a state.

    owning       messages taken and given up with no worker at all
    completing   each message once, within the slots
    failing      retries, dead letters, bad input, `max_hold`
    snoozing     put off by the handler, uncounted and bounded
    routing      messages that Tenure did not send
    holding      leases that outlive, are lost, or belong to a worker that froze or died
    repeating    what the outbox must be able to say twice
    keeping_payloads  payloads of completed messages, where a task keeps them
    outages      broker or ledger away, answers lost
    context_outages  a handler asks its context while the store is away
    stopping     the graceful end
    sharing      the queues of several clients, each with its part of the time
    leaving      one worker is drained or stopped by an operator, and what it says of itself
    operating    pauses, cancels, a task's own limit
    moving       dead letters that are moved or edited, and crashes in between
    timekeeping  clocks that are wrong, and machines that sleep
    keys         done is done, and one at a time
    contexts     hand-offs, checkpoints, progress, one effect
    handing_on   hand-offs that cannot be sent: refused in the handler, or dead letters
    effects      one effect for each send, and again for a new send
    suspects     who may have killed their workers run alone
    checking     bodies that are too large for the broker; `checking_crashes`: and their sender or worker dies
    crashpoints  killed before and after every single call
    storms       all of it together, seeded

Every promise of the first tier is a promise about calls; these are the promises to a user.
"""

from tenure.testing.conformance.runner import Suite
from tenure.testing.conformance.worker.checking import ClaimChecks
from tenure.testing.conformance.worker.checking_crashes import ClaimCheckCrashes
from tenure.testing.conformance.worker.completing import Completing
from tenure.testing.conformance.worker.context_outages import ContextOutages
from tenure.testing.conformance.worker.contexts import Contexts
from tenure.testing.conformance.worker.crashpoints import CrashPoints
from tenure.testing.conformance.worker.effects import Effects
from tenure.testing.conformance.worker.failing import Failing
from tenure.testing.conformance.worker.handing_on import HandingOn
from tenure.testing.conformance.worker.holding import Holding
from tenure.testing.conformance.worker.keeping_payloads import KeepingPayloads
from tenure.testing.conformance.worker.keys import WorkerKeys
from tenure.testing.conformance.worker.leaving import Leaving
from tenure.testing.conformance.worker.moving import Moving
from tenure.testing.conformance.worker.operating import Operating
from tenure.testing.conformance.worker.outages import Outages
from tenure.testing.conformance.worker.owning import Owning
from tenure.testing.conformance.worker.repeating import Repeating
from tenure.testing.conformance.worker.routing import Routing
from tenure.testing.conformance.worker.sharing import Sharing
from tenure.testing.conformance.worker.snoozing import Snoozing
from tenure.testing.conformance.worker.stopping import Stopping
from tenure.testing.conformance.worker.storms import Storms
from tenure.testing.conformance.worker.suspects import Suspects
from tenure.testing.conformance.worker.timekeeping import Timekeeping

#: In the order in which a message lives, and then dies.
WORKER_SUITES: tuple[Suite, ...] = (
    Owning,
    Completing,
    KeepingPayloads,
    Failing,
    Snoozing,
    Routing,
    Contexts,
    HandingOn,
    Effects,
    WorkerKeys,
    Holding,
    Stopping,
    Sharing,
    Leaving,
    Operating,
    Moving,
    Timekeeping,
    Repeating,
    Outages,
    ContextOutages,
    Suspects,
    ClaimChecks,
    ClaimCheckCrashes,
    CrashPoints,
    Storms,
)
