"""Errors are part of the interface: a stable code for machines, a sentence for people.

    TenureError
    ├── ConfigurationError
    │   ├── BadURL               bad_url
    │   ├── BadSetting           bad_setting
    │   ├── MissingExtra         missing_extra
    │   ├── BadTask              bad_task
    │   ├── StoreMissing         store_missing
    │   └── ChildFailed          child_failed (runtime/spawning.py)
    ├── BadMessage
    │   ├── UnknownTask          unknown_task
    │   ├── BodyTooLarge         body_too_large
    │   ├── BodyUndecodable      body_undecodable
    │   ├── PayloadInvalid       payload_invalid
    │   ├── KeyConflict          key_conflict
    │   └── BadArgument          bad_argument
    ├── BrokerError
    │   ├── BrokerUnavailable    broker_unavailable
    │   ├── StoreUnwritable      store_unwritable
    │   ├── StoreDamaged         store_damaged
    │   ├── SchemaTooNew         schema_too_new
    │   └── OwnerRetired         owner_retired
    ├── MessageNotFound          message_not_found
    └── LeaseLost                lease_lost

Every sentence says what happened to the message and what to do. Codes never change; sentences may.
"""

from typing import ClassVar


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


class StoreMissing(ConfigurationError):
    """There is nothing at the place that somebody wants to look at; nothing was created."""

    code = "store_missing"


class BadMessage(TenureError):
    """The message was refused at the door; nothing was stored."""

    code = "bad_message"


class UnknownTask(BadMessage):
    """No task of that name is registered with this app."""

    code = "unknown_task"


class BodyTooLarge(BadMessage):
    """The encoded message is larger than the broker takes."""

    code = "body_too_large"


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


class BadArgument(BadMessage):
    """An option of a message has a value that is not allowed."""

    code = "bad_argument"


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


class StoreUnwritable(BrokerError):
    """The store's file or folder cannot be created or written."""

    code = "store_unwritable"


class StoreDamaged(BrokerError):
    """The store is there but is not what it should be."""

    code = "store_damaged"


class SchemaTooNew(BrokerError):
    """The store was written by a newer Tenure."""

    code = "schema_too_new"


class OwnerRetired(BrokerError):
    """The worker's boot was declared dead and its messages were returned; it must join again under a new nonce."""

    code = "owner_retired"


class MessageNotFound(TenureError):
    """No message with that id is known here."""

    code = "message_not_found"


class LeaseLost(TenureError):
    """The lease on the message is gone: someone else may be running it, so nothing more may be done for it."""

    code = "lease_lost"
