"""Errors are part of the interface: a stable code for machines, a sentence for people.

    TenureError
    ├── ConfigurationError
    │   ├── BadURL               bad_url
    │   ├── BadSetting           bad_setting
    │   ├── MissingExtra         missing_extra
    │   ├── BadTask              bad_task
    │   ├── BadSchedule          bad_schedule
    │   ├── BadMiddleware        bad_middleware
    │   ├── StoreMissing         store_missing
    │   ├── NotMigrated          not_migrated
    │   ├── UnknownQueue         unknown_queue
    │   ├── QueueNotEmpty        queue_not_empty
    │   ├── UnknownSchedule      unknown_schedule
    │   ├── NotBrowsable         not_browsable
    │   ├── NotDead              not_dead
    │   ├── NotDelayed           not_delayed
    │   ├── AmbiguousId          ambiguous_id
    │   ├── ChildFailed          child_failed (runtime/processes/child_process.py)
    │   ├── UnknownEndpoint      unknown_endpoint
    │   ├── EndpointExists       endpoint_exists
    │   ├── UnknownFinding       unknown_finding
    │   ├── SecretUnreadable     secret_unreadable
    │   ├── LoginRefused         login_refused
    │   ├── PermissionMissing    permission_missing
    │   └── ServerTooOld         server_too_old (adapters/redis/faults.py)
    ├── BadMessage
    │   ├── UnknownTask          unknown_task
    │   ├── BodyTooLarge         body_too_large
    │   ├── BodyTooDeep          body_too_deep
    │   ├── BodyUndecodable      body_undecodable
    │   ├── PayloadInvalid       payload_invalid
    │   ├── KeyConflict          key_conflict
    │   ├── QuotaExceeded        quota_exceeded
    │   ├── WebhookRefused       webhook_refused
    │   ├── BadArgument          bad_argument
    │   │   └── StaleReceipt     stale_receipt
    │   └── SyncInAsync          sync_in_async
    ├── PartlySent               partly_sent
    ├── BrokerError
    │   ├── BrokerUnavailable    broker_unavailable
    │   │   └── QueueGone        queue_gone
    │   ├── StoreUnreadable      store_unreadable
    │   ├── StoreUnwritable      store_unwritable
    │   ├── StoreDamaged         store_damaged
    │   ├── StoreForeign         store_foreign
    │   ├── StoreReplaced        store_replaced
    │   ├── SchemaTooNew         schema_too_new
    │   └── OwnerRetired         owner_retired
    ├── NoResult
    │   ├── TaskFailed           task_failed
    │   ├── MessageCancelled     message_cancelled
    │   ├── ResultGone           result_gone
    │   ├── ResultInvalid        result_invalid
    │   ├── ResultTooLarge       result_too_large
    │   └── ResultTimeout        result_timeout (also a TimeoutError)
    ├── MessageNotFound          message_not_found
    ├── GroupNotFound            group_not_found
    ├── NotPromotable            not_promotable
    ├── NotRunning               not_running
    ├── StackUnanswered          stack_unanswered
    ├── WorkerGone               worker_gone
    ├── WorkerShared             worker_shared
    ├── WebhookError             webhook
    │   ├── SignatureInvalid     signature_invalid
    │   └── SignatureExpired     signature_expired
    └── LeaseLost                lease_lost

Every sentence says what happened to the message and what to do. Codes never change; sentences may.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class TenureError(Exception):
    """Root of everything Tenure raises on purpose."""

    code: ClassVar[str] = "tenure_error"


class ConfigurationError(TenureError):
    """Something is set up in a way that cannot work; nothing was started."""

    code = "configuration"


class BadURL(ConfigurationError):
    """The broker or state URL cannot be understood."""

    code = "bad_url"


class BadSetting(ConfigurationError):
    """One or more settings have values that are not allowed; all are named."""

    code = "bad_setting"


class MissingExtra(ConfigurationError):
    """The URL needs an optional package that is not installed."""

    code = "missing_extra"


class BadTask(ConfigurationError):
    """A handler cannot be made a task as it is written."""

    code = "bad_task"


class BadSchedule(ConfigurationError):
    """A schedule names no moment, or cannot be understood; it was not registered."""

    code = "bad_schedule"


class BadMiddleware(ConfigurationError):
    """A function cannot be put around handlers as it is written."""

    code = "bad_middleware"


class LoginRefused(ConfigurationError):
    """The store does not take the user and password, the key or the token, or there are none."""

    code = "login_refused"


class PermissionMissing(ConfigurationError):
    """The login is good, but not for this call, command or key."""

    code = "permission_missing"


class StoreMissing(ConfigurationError):
    """There is no store at this place; nothing was created."""

    code = "store_missing"


class NotMigrated(ConfigurationError):
    """An earlier version kept messages or settings here that were not carried over yet; nothing was started."""

    code = "not_migrated"


class UnknownQueue(ConfigurationError):
    """A queue that does not exist here: most likely mistyped."""

    code = "unknown_queue"


class QueueNotEmpty(ConfigurationError):
    """A queue that was to be deleted still holds messages; it stays."""

    code = "queue_not_empty"


class UnknownSchedule(ConfigurationError):
    """A schedule that does not exist here."""

    code = "unknown_schedule"


class NotBrowsable(ConfigurationError):
    """The broker cannot show its messages."""

    code = "not_browsable"


class NotDead(ConfigurationError):
    """A message that was named as a dead letter is not one."""

    code = "not_dead"


class NotDelayed(ConfigurationError):
    """A message that was to run now waits for no time: it runs, is dead or has ended."""

    code = "not_delayed"


class AmbiguousId(ConfigurationError):
    """The beginning of an id that several messages share."""

    code = "ambiguous_id"


class UnknownEndpoint(ConfigurationError):
    """A webhook endpoint that does not exist here."""

    code = "unknown_endpoint"


class UnknownFinding(ConfigurationError):
    """A finding that does not exist here, or not any more."""

    code = "unknown_finding"


class EndpointExists(ConfigurationError):
    """A webhook endpoint of that name exists already; it stays as it is."""

    code = "endpoint_exists"


class SecretUnreadable(ConfigurationError):
    """The secret of a webhook endpoint cannot be sealed or read, so nothing can be signed with it."""

    code = "secret_unreadable"


class BadMessage(TenureError):
    """The message was refused before it was sent; nothing was stored."""

    code = "bad_message"


class UnknownTask(BadMessage):
    """No task of that name is registered with this app."""

    code = "unknown_task"


class BodyTooLarge(BadMessage):
    """The encoded message is larger than the broker takes."""

    code = "body_too_large"


class BodyTooDeep(BadMessage):
    """The payload's lists and objects are nested deeper than every worker can read."""

    code = "body_too_deep"


class BodyUndecodable(BadMessage):
    """The stored bytes are not an envelope this Tenure can read. `newer`: a later version wrote it."""

    code = "body_undecodable"

    def __init__(self, message: str, *, newer: bool = False) -> None:
        """Say what is wrong with the bytes."""
        super().__init__(message)
        self.newer = newer


class PayloadInvalid(BadMessage):
    """The payload does not fit the handler's parameters. `payload` is the one that was read, if it came that far."""

    code = "payload_invalid"

    def __init__(self, message: str, payload: object = None) -> None:
        """Say what does not fit."""
        super().__init__(message)
        self.payload = payload


class KeyConflict(BadMessage):
    """The same key was sent before with another payload."""

    code = "key_conflict"


class QuotaExceeded(BadMessage):
    """As many messages wait in the queue as may; sent again later, it may be taken."""

    code = "quota_exceeded"


class WebhookRefused(BadMessage):
    """A webhook that the message asks for may not be called."""

    code = "webhook_refused"


class BadArgument(BadMessage):
    """An option of a message has a value that is not allowed."""

    code = "bad_argument"


class StaleReceipt(BadArgument):
    """The receipt of a message is an old one: a heartbeat of this process has replaced it; nothing was changed."""

    code = "stale_receipt"


class SyncInAsync(BadMessage):
    """A blocking call was made in async code, where it would stop everything else; nothing was sent."""

    code = "sync_in_async"


class PartlySent(TenureError):
    """Some messages of a `submit_many` were refused, or could not be sent; the others are sent."""

    code = "partly_sent"

    def __init__(self, message: str, handles: Sequence[Any], refusals: Mapping[int, TenureError]) -> None:
        """Say what was refused."""
        super().__init__(message)
        #: In the order of the calls; None where one was refused.
        self.handles = list(handles)
        #: The error of each refused call, by its place.
        self.refusals = dict(refusals)


class BrokerError(TenureError):
    """The broker or its store answered with trouble."""

    code = "broker_error"


class BrokerUnavailable(BrokerError):
    """The broker cannot be reached or refuses to write for now; try again.

    `outcome_unknown` is true where the request may have been carried out although no answer came.
    """

    code = "broker_unavailable"

    def __init__(self, message: str, *, outcome_unknown: bool = False) -> None:
        """Say what is away, and whether the request may have taken effect."""
        super().__init__(message)
        self.outcome_unknown = outcome_unknown


class QueueGone(BrokerUnavailable):
    """One queue was there, and is not any more; the others are served as before."""

    code = "queue_gone"


class StoreUnreadable(BrokerError):
    """The store's file or folder cannot be read by this user."""

    code = "store_unreadable"


class StoreUnwritable(BrokerError):
    """The store's file or folder cannot be created or written."""

    code = "store_unwritable"


class StoreDamaged(BrokerError):
    """The store is there but is not what it should be."""

    code = "store_damaged"


class StoreForeign(BrokerError):
    """The file belongs to another program; it was left as it is."""

    code = "store_foreign"


class StoreReplaced(BrokerError):
    """The store's file was deleted or replaced while it was open; this process cannot use it any more."""

    code = "store_replaced"


class SchemaTooNew(BrokerError):
    """The store was written by a newer Tenure."""

    code = "schema_too_new"


class OwnerRetired(BrokerError):
    """The worker's boot was declared dead and its messages were returned; it must join again under a new nonce."""

    code = "owner_retired"


class NoResult(TenureError):
    """There is no result to give; the subclass says why."""

    code = "no_result"


class TaskFailed(NoResult):
    """The task did not succeed: it is dead, and this is why.

    `reason_code` is the code of its end (max_attempts, rejected, expired, crashed_alone …), `error` the name of the
    exception's class where one was raised, and `remote_traceback` the traceback's text, also shown as a note.
    """

    code = "task_failed"

    def __init__(self, message: str, *, reason_code: str = "", error: str = "", remote_traceback: str = "") -> None:
        """Say why, and where."""
        super().__init__(message)
        self.reason_code = reason_code
        self.error = error
        self.remote_traceback = remote_traceback
        if remote_traceback:
            self.add_note(f"In the worker:\n{remote_traceback.rstrip()}")


class MessageCancelled(NoResult):
    """The message was cancelled, deleted or purged before it was completed."""

    code = "message_cancelled"


class ResultGone(NoResult):
    """The message is completed, but its result was not kept."""

    code = "result_gone"


class ResultInvalid(NoResult):
    """What the handler returned has no JSON form, or does not fit what the reader expects."""

    code = "result_invalid"


class ResultTooLarge(NoResult):
    """What the handler returned is larger than results may be."""

    code = "result_too_large"


class ResultTimeout(NoResult, TimeoutError):
    """The message was not finished in time. It goes on; ask again."""

    code = "result_timeout"


class MessageNotFound(TenureError):
    """No message with that id is known here."""

    code = "message_not_found"


class GroupNotFound(TenureError):
    """No such group is known here: it was never submitted to this place, or it was forgotten."""

    code = "group_not_found"


class NotPromotable(TenureError):
    """The queue cannot show a delayed message before its time. It stays delayed."""

    code = "not_promotable"


class NotRunning(TenureError):
    """No worker holds the message now, so there is no handler to look at, and no lease to touch."""

    code = "not_running"


class StackUnanswered(TenureError):
    """The worker that holds the message did not say in time where its handler is. The message is untouched."""

    code = "stack_unanswered"


class WorkerGone(TenureError):
    """No worker of that id is alive as far as the store knows. Nothing was asked."""

    code = "worker_gone"


class WorkerShared(TenureError):
    """The worker also serves queues that the caller does not see. Nothing was asked of it."""

    code = "worker_shared"


class WebhookError(TenureError):
    """A request to a webhook receiver must not be believed; the subclass says why."""

    code = "webhook"


class SignatureInvalid(WebhookError):
    """The request is not signed, or by another secret, or it was changed on its way. Answer 401."""

    code = "signature_invalid"


class SignatureExpired(WebhookError):
    """The request is signed, but too long ago: perhaps it is a replay. Answer 401."""

    code = "signature_expired"


class LeaseLost(TenureError):
    """The lease on the message is gone: someone else may be running it, so nothing more may be done for it."""

    code = "lease_lost"
