"""TQ701: calls that the SDK does not have, or that cannot work as they are written.

    queue = QueueServiceClient.from_connection_string(connection)
    messages = await queue.receive_messages()   # a service client has no messages, and a pager cannot be awaited
    await queue.delete_message(message.id)      # a delete needs the pop receipt

Only of clients that are known, by what they were made of.
"""

import ast
from collections.abc import Iterator

from tenure.audit.clients import SdkClient, Shape, client_of
from tenure.audit.module import Module
from tenure.audit.queue_calls import queue_calls
from tenure.audit.rule import Hit

_AZURE_SERVICE = frozenset(
    """
    close create_queue delete_queue from_connection_string get_queue_client get_service_properties get_service_stats
    get_user_delegation_key list_queues set_service_properties
    """.split()  # noqa: SIM905 - read as words
)
_AZURE_QUEUE = frozenset(
    """
    clear_messages close create_queue delete_message delete_queue from_connection_string from_queue_url
    get_queue_access_policy get_queue_properties peek_messages receive_message receive_messages send_message
    set_queue_access_policy set_queue_metadata update_message
    """.split()  # noqa: SIM905
)
_SQS = frozenset(
    """
    add_permission can_paginate cancel_message_move_task change_message_visibility change_message_visibility_batch
    close create_queue delete_message delete_message_batch delete_queue generate_presigned_url get_paginator
    get_queue_attributes get_queue_url get_waiter list_dead_letter_source_queues list_message_move_tasks
    list_queue_tags list_queues purge_queue receive_message remove_permission send_message send_message_batch
    set_queue_attributes start_message_move_task tag_queue untag_queue
    """.split()  # noqa: SIM905
)
#: What a call of SQS cannot do without.
_NEEDED = {
    "receive_message": ("QueueUrl",),
    "delete_message": ("QueueUrl", "ReceiptHandle"),
    "change_message_visibility": ("QueueUrl", "ReceiptHandle", "VisibilityTimeout"),
    "send_message": ("QueueUrl", "MessageBody"),
}


def impossible_calls(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ701."""
    read = {call.node: call for call in queue_calls(module)}
    for node in module.calls:
        if not isinstance(node.func, ast.Attribute):
            continue
        client = client_of(module, node.func.value)
        known = None if client is None else _known(client)
        if client is None or known is None:
            continue
        name, whose = node.func.attr, _called(client)
        awaited = isinstance(module.parents.get(node), ast.Await)
        call = read.get(node)
        if name not in known and not name.startswith("_"):
            yield Hit("TQ701", node, f"{whose} has no {name}")
        elif awaited and client.is_async is False and not name.startswith(("from_", "get_queue_client")):
            yield Hit("TQ701", node, f"{name} of {whose}, which is sync, cannot be awaited")
        elif awaited and client.vendor == "azure" and name in ("receive_messages", "list_queues"):
            yield Hit(
                "TQ701", node, f"{name} answers an async iterator at once, which cannot be awaited: use async for"
            )
        elif call is not None and not call.is_open and (lacks := _lacks(client, name, call.args, call.words)):
            yield Hit("TQ701", node, f"{name} is given no {lacks}")


def _known(client: SdkClient) -> frozenset[str] | None:
    """The methods of a client. None: they are not listed here."""
    match client.vendor, client.shape:
        case "azure", Shape.SERVICE:
            return _AZURE_SERVICE
        case "azure", _:
            return _AZURE_QUEUE
        case "sqs", Shape.CLIENT:
            return _SQS
    return None


def _called(client: SdkClient) -> str:
    if client.vendor == "sqs":
        return "a client of SQS"
    return "QueueServiceClient" if client.shape is Shape.SERVICE else "QueueClient"


def _lacks(client: SdkClient, name: str, args: object, words: dict[str, ast.expr]) -> str:
    """The word without which the call raises. Empty: none is missing, as far as can be seen."""
    given = list(args) if isinstance(args, list | tuple) else []
    if client.vendor == "sqs":
        return "" if given else next((word for word in _NEEDED.get(name, ()) if word not in words), "")
    is_by_id = len(given) == 1 and isinstance(given[0], ast.Attribute) and given[0].attr in ("id", "message_id")
    return "pop receipt" if name == "delete_message" and is_by_id and "pop_receipt" not in words else ""
