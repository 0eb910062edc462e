"""Every rule in words. The functions that find them are in `rules/`; `docs/reference/audit.md` is compared with this.

Ids are promises: TQ1 the lease, TQ2 deletes, TQ3 renewals, TQ4 deduplication, TQ5 handlers, TQ6 polling, TQ7 SDKs, TQ8
Celery, RQ and Dramatiq, TQ9 the audit.
"""

from tenure.audit.rule import Rule
from tenure.finding import Severity

_CRITICAL, _WARNING, _INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO

_ALL = (
    Rule(
        "TQ101",
        "hard-coded-timeout",
        _WARNING,
        "The visibility timeout is a number in the code",
        "Too short, and the message runs twice; too long, and a crashed worker's message waits. A number in the code "
        "follows neither the work nor the service it is copied to.",
        "Receive with 30 s and hold the message by VisibilityHeartbeat; without one, let calculate_visibility_timeout "
        "or a setting say the timeout.",
    ),
    Rule(
        "TQ102",
        "receive-without-timeout",
        _WARNING,
        "A receive leaves the visibility timeout to a default",
        "The default is 30 s on Azure, and on SQS the queue's own setting: nothing here shows that the work "
        "fits into it.",
        "Set the timeout: calculate_visibility_timeout, or 30 s and VisibilityHeartbeat.",
    ),
    Rule(
        "TQ103",
        "batch-on-one-lease",
        _WARNING,
        "A batch is received on a lease for one message, and run one by one",
        "All leases of a batch begin with the receive. The last message waits for all others, and "
        "goes to another worker before its turn comes.",
        "Receive no more than you run at once, or hold every message of the batch by VisibilityHeartbeat.",
    ),
    Rule(
        "TQ104",
        "zero-timeout",
        _CRITICAL,
        "A visibility timeout of 0: the message is seen by all while it is worked on",
        "Each worker that asks gets it, until the first one deletes it. The work is done as often.",
        "Receive with 30 s and hold the message by VisibilityHeartbeat, or ask calculate_visibility_timeout.",
    ),
    Rule(
        "TQ201",
        "never-deleted",
        _CRITICAL,
        "What is received is worked on, and never deleted",
        "A message that is not deleted comes back when its timeout is over, and is done again, for as long as the "
        "queue keeps it.",
        "Delete it after the work, by delete_message_with_retry.",
    ),
    Rule(
        "TQ202",
        "deleted-in-finally",
        _CRITICAL,
        "The message is deleted in `finally`: also if the work failed",
        "A delete in `finally` runs after an exception too. The message is gone and its work was not done.",
        "Move the delete behind the work, into the `try` or its `else`, and let a failed message come back.",
    ),
    Rule(
        "TQ203",
        "deleted-before-work",
        _CRITICAL,
        "The message is deleted before the work",
        "A crash, an exception or a deploy between the delete and the end of the work loses the message.",
        "Delete it after the work, by delete_message_with_retry; what must not run twice belongs to "
        "MessageDeduplicator.once.",
    ),
    Rule(
        "TQ204",
        "delete-error-swallowed",
        _WARNING,
        "An error of the delete is swallowed",
        "A delete that failed brings the message back after its timeout. It is not tried again, and nothing says why "
        "the work was done twice.",
        "Use delete_message_with_retry, and log or count what it says; MessageDeletionTracker does that.",
    ),
    Rule(
        "TQ205",
        "batch-delete-unread",
        _WARNING,
        "The answer of a batch delete is not read",
        "SQS answers 200 to a batch of which entries failed. They are under `Failed`, and their messages come back.",
        "Read `Failed` and try those again, or delete by delete_message_with_retry.",
    ),
    Rule(
        "TQ206",
        "failed-work-deleted",
        _CRITICAL,
        "An error of the work is only logged, and the message deleted",
        "The message is gone and its work was not done. A line in a log brings neither back.",
        "Delete it in the `try`, behind the work, or in its `else`; let a failed message come back, or put it with the "
        "dead letters first.",
    ),
    Rule(
        "TQ207",
        "popped",
        _CRITICAL,
        "The message is popped off a list, and gone before the work",
        "A crash, an exception or a deploy between the pop and the end of the work loses the message.",
        "Use a stream: read it by xreadgroup and say xack after the work. Or move it to a list of the worker's own by "
        "blmove, and lrem it after the work.",
    ),
    Rule(
        "TQ208",
        "handed-off",
        _CRITICAL,
        "The message is deleted while its work goes on beside",
        "A crash or a deploy ends the thread, the pool or the task, and the message is gone. An error in it is seen by "
        "nobody.",
        "Wait for the work before the delete, or delete where the work ends.",
    ),
    Rule(
        "TQ209",
        "never-reclaimed",
        _CRITICAL,
        "What a dead consumer held of a stream is never claimed",
        "Entries that were read and not acknowledged stay with their consumer. If it is gone, no other one ever reads "
        "them: `>` asks for new ones only.",
        "Call xautoclaim now and then, with an idle time that is longer than the longest run.",
    ),
    Rule(
        "TQ210",
        "dropped-after-tries",
        _CRITICAL,
        "After the last try the message is deleted, and kept nowhere",
        "The message is gone and its work was not done. A line in a log brings neither back.",
        "Send it to a queue of dead letters before the delete, or give the queue a redrive policy and delete nothing.",
    ),
    Rule(
        "TQ301",
        "update-without-timeout",
        _CRITICAL,
        "`update_message` without a timeout shows the message at once",
        "Without `visibility_timeout` the Azure SDK sends 0: another worker gets the message while it is worked on.",
        "Set visibility_timeout, or hold the message by VisibilityHeartbeat.",
    ),
    Rule(
        "TQ302",
        "late-heartbeat",
        _WARNING,
        "The heartbeat begins after a download",
        "The lease runs from the receive on. A file that is large, or a network that is slow, ends it before the first "
        "beat, and another worker begins the same message.",
        "Begin VisibilityHeartbeat before the download.",
    ),
    Rule(
        "TQ303",
        "ending-heartbeat",
        _WARNING,
        "The heartbeat ends at its first error",
        "One failed request is enough: the work goes on, the lease ends, and another worker runs the same message.",
        "Catch the error in the loop and try again soon, until the message is gone; VisibilityHeartbeat does that.",
    ),
    Rule(
        "TQ401",
        "dedup-log-rewritten",
        _WARNING,
        "A log of what was done is read, changed and written back as a whole",
        "Two workers read the same log, and the second write loses what the first one added; a read that failed "
        "overwrites all of it.",
        "Use MessageDeduplicator.once: one conditional record for each key.",
    ),
    Rule(
        "TQ501",
        "blocking-call",
        _WARNING,
        "A blocking call in an async handler",
        "It stops the event loop: no other message runs, and a heartbeat in that loop does not beat, so leases end.",
        "Use an async client or asyncio.sleep, or move the call off the loop by asyncio.to_thread.",
    ),
    Rule(
        "TQ601",
        "short-polling",
        _WARNING,
        "A loop asks for messages without waiting for them",
        "Every empty answer is a request that is paid for, and SQS asks a part of its servers only: messages that are "
        "there are not found.",
        "On SQS say WaitTimeSeconds=20; on Azure, which cannot wait, sleep for longer and longer while nothing comes; "
        "on Redis say block.",
    ),
    Rule(
        "TQ701",
        "no-such-call",
        _CRITICAL,
        "The SDK has no such call, or it cannot work like this",
        "It raises when it is reached. Then nothing is received, or what was done is never deleted and runs again.",
        "Use the call that the SDK has; the evidence says what is missing.",
    ),
    Rule(
        "TQ801",
        "celery-acks-early",
        _WARNING,
        "Celery acknowledges tasks before they run",
        "It is the default. A worker that is killed, or whose machine is gone, loses what it ran.",
        "Set task_acks_late=True and task_reject_on_worker_lost=True, for tasks that may run twice.",
    ),
    Rule(
        "TQ802",
        "celery-visibility-short",
        _CRITICAL,
        "A task of Celery waits or runs for longer than its broker waits for the ack",
        "Redis and SQS hand it out again, to another worker, each time the visibility timeout is over. It runs as "
        "often.",
        "Make visibility_timeout in broker_transport_options longer than the longest countdown and run, or keep far "
        "dates in a table and send them when they are due.",
    ),
    Rule(
        "TQ803",
        "celery-prefetch",
        _WARNING,
        "Celery acknowledges late, and takes tasks ahead",
        "Tasks that were taken ahead wait behind a long one, while other workers have nothing to do, and all of them "
        "run again after a crash.",
        "Set worker_prefetch_multiplier=1.",
    ),
    Rule(
        "TQ804",
        "celery-killed-is-acked",
        _CRITICAL,
        "Celery acknowledges a task whose process was killed",
        "With task_acks_late alone, a process that runs out of memory or is killed counts as done, and its task is "
        "gone.",
        "Set task_reject_on_worker_lost=True too, or reject_on_worker_lost=True beside acks_late.",
    ),
    Rule(
        "TQ805",
        "rq-failed-is-dropped",
        _CRITICAL,
        "RQ forgets a job as soon as it failed",
        "With failure_ttl=0 a job that raised is deleted: it cannot be looked at, nor put back.",
        "Leave failure_ttl at its default of a year, and give the job retry=Retry(max=3).",
    ),
    Rule(
        "TQ806",
        "broker-in-memory",
        _CRITICAL,
        "The broker keeps its messages in the memory of one process",
        "They are gone when it ends, by a deploy or a crash, and no other process sees them.",
        "Name a broker that keeps them; one in memory is for tests.",
    ),
    Rule(
        "TQ807",
        "dramatiq-failed-is-done",
        _CRITICAL,
        "Dramatiq takes a message that failed for done",
        "Without the middleware Retries an actor that raises is acknowledged: its message is neither tried again nor "
        "kept with the dead ones.",
        "Add Retries() to the middleware; an actor that must not be tried again says max_retries=0.",
    ),
    Rule(
        "TQ808",
        "dramatiq-milliseconds",
        _CRITICAL,
        "A time of Dramatiq is in milliseconds, and was given in seconds",
        "A time limit ends the work before it is done, each time; an age limit drops messages that have hardly waited.",
        "Multiply it by 1000.",
    ),
    Rule(
        "TQ809",
        "dramatiq-too-old-to-retry",
        _CRITICAL,
        "A message of Dramatiq is too old before its first retry",
        "The age counts from the first send. After an error the message waits for its retry, and is then dropped "
        "instead of run.",
        "Make max_age longer than the retries take, or set a smaller min_backoff.",
    ),
    Rule(
        "TQ810",
        "dramatiq-dead-expire",
        _WARNING,
        "Dead messages of Dramatiq are deleted within a day",
        "What failed for good in the night is gone before it was seen.",
        "Leave dead_message_ttl at its default of seven days.",
    ),
    Rule(
        "TQ811",
        "dramatiq-async-without-loop",
        _CRITICAL,
        "An async actor of Dramatiq has no event loop",
        "Without the middleware AsyncIO each run raises before the first line of the actor, until the message is dead.",
        "Call broker.add_middleware(AsyncIO()).",
    ),
    Rule(
        "TQ812",
        "rq-not-retried",
        _WARNING,
        "RQ runs a job once, also if its worker was killed",
        "It is the default. A job whose process was killed by a deploy or for lack of memory stays with the failed "
        "ones until somebody requeues it.",
        "Give jobs that may run twice a retry=Retry(max=3).",
    ),
    Rule(
        "TQ813",
        "rq-never-scheduled",
        _CRITICAL,
        "RQ has jobs for later, and nothing that sends them",
        "Jobs of enqueue_in and enqueue_at, and retries with an interval, wait in a registry. Only a worker with its "
        "scheduler moves them into the queue.",
        "Start a worker by work(with_scheduler=True), or by rq worker --with-scheduler.",
    ),
    Rule(
        "TQ814",
        "rq-ttl-drops",
        _WARNING,
        "RQ deletes a job that waited too long",
        "After its ttl a job that did not begin is gone, and kept nowhere. A backlog or a weekend without workers is "
        "enough.",
        "Leave ttl out, and let the handler look whether the job is still wanted.",
    ),
    Rule(
        "TQ815",
        "rq-without-end",
        _WARNING,
        "A job of RQ may run for ever",
        "A job that hangs holds its worker until somebody looks: no other job runs there.",
        "Set job_timeout to several times the longest run.",
    ),
    Rule(
        "TQ901",
        "not-audited",
        _WARNING,
        "A file could not be audited",
        "Nothing is known about it.",
        "Fix the file, or leave it out by --exclude.",
    ),
    Rule(
        "TQ902",
        "bad-ignore",
        _INFO,
        "A comment names a rule that does not exist",
        "It hides no finding, although its author expects it to.",
        "Write the rule's id in brackets, as in the list of rules.",
    ),
    Rule(
        "TQ903",
        "unused-ignore",
        _INFO,
        "A comment ignores a rule that finds nothing there",
        "The mistake was fixed, or is on another line. The comment would hide the next one.",
        "Remove it, or move it to a line of the call.",
    ),
)

#: By id, in their order.
RULES: dict[str, Rule] = {rule.id: rule for rule in _ALL}
