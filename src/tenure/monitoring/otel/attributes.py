"""Names of attributes: those of the semantic conventions by the package's constants, ours for the rest."""

from opentelemetry.semconv._incubating.attributes.messaging_attributes import (
    MESSAGING_BATCH_MESSAGE_COUNT,
    MESSAGING_DESTINATION_NAME,
    MESSAGING_MESSAGE_CONVERSATION_ID,
    MESSAGING_MESSAGE_ID,
    MESSAGING_OPERATION_NAME,
    MESSAGING_OPERATION_TYPE,
    MESSAGING_SYSTEM,
    MessagingOperationTypeValues,
)

from tenure.message import Message

__all__ = ["BATCH_COUNT", "ENDPOINT", "PROCESS", "RECEIVE", "SEND", "attribute_of", "of_message", "of_operation"]

SYSTEM = "tenure"
BATCH_COUNT = MESSAGING_BATCH_MESSAGE_COUNT
TASK, ATTEMPT, ENDPOINT = "tenure.task", "tenure.attempt", "tenure.webhook.endpoint"
SEND, RECEIVE, PROCESS = (
    MessagingOperationTypeValues.SEND.value,
    MessagingOperationTypeValues.RECEIVE.value,
    MessagingOperationTypeValues.PROCESS.value,
)
_LABELS = {"queue": MESSAGING_DESTINATION_NAME, "task": TASK}


def attribute_of(label: str) -> str:
    """The attribute of a metric that a label of the catalogue becomes."""
    return _LABELS.get(label, f"tenure.{label}")


def of_operation(operation: str, queue: str) -> dict[str, str]:
    """The attributes of a span."""
    return {
        MESSAGING_SYSTEM: SYSTEM,
        MESSAGING_DESTINATION_NAME: queue,
        MESSAGING_OPERATION_NAME: operation,
        MESSAGING_OPERATION_TYPE: operation,
    }


def of_message(message: Message) -> dict[str, str]:
    """The attributes of a span about one message."""
    found = {MESSAGING_MESSAGE_ID: message.id, TASK: message.task}
    if message.correlation_id is not None:
        found[MESSAGING_MESSAGE_CONVERSATION_ID] = message.correlation_id
    return found
