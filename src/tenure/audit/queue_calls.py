"""Every call of a queue in a module: receive, delete, extend, send; whose, and with which words.

A method's name alone is no evidence: a chat bot deletes messages too. It takes a client that is known, words that only
a queue has (`QueueUrl`, `visibility_timeout`), or the vendor's import and a name that speaks of a queue.
Next: `trace.py`, and the rules.
"""

import ast
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from tenure.audit.clients import SdkClient, Shape, client_of
from tenure.audit.module import Module
from tenure.audit.running import Called, called
from tenure.audit.tree import dotted, last_name


class CallKind(StrEnum):
    """The kinds of operations on messages."""

    RECEIVE = "receive"
    DELETE = "delete"
    EXTEND = "extend"
    SEND = "send"


class QueueCall(NamedTuple):
    """One call to a queue."""

    kind: CallKind
    #: sqs, azure or redis.
    vendor: str
    #: Where it happens: the call itself, or the one that runs it in a thread.
    node: ast.Call
    #: What is called, and with what by its place.
    func: ast.expr
    args: Sequence[ast.expr]
    #: The words with their values, those of a `**dict` too.
    words: dict[str, ast.expr]
    #: There may be words that cannot be seen from here.
    is_open: bool
    client: SdkClient | None

    @property
    def name(self) -> str:
        """The call as it is written, without its arguments."""
        return dotted(self.func) or f"….{self.verb}"

    @property
    def verb(self) -> str:
        """The last part of its name."""
        return self.func.attr if isinstance(self.func, ast.Attribute) else getattr(self.func, "id", "")

    def word(self, *names: str) -> ast.expr | None:
        """The value of the first of these words that is given and is not None."""
        found = (self.words[name] for name in names if name in self.words)
        return next((value for value in found if not (isinstance(value, ast.Constant) and value.value is None)), None)

    @property
    def timeout(self) -> ast.expr | None:
        """The visibility timeout that the call gives."""
        return self.word("VisibilityTimeout", "visibility_timeout")


_SQS = {
    "receive_message": CallKind.RECEIVE,
    "delete_message": CallKind.DELETE,
    "delete_message_batch": CallKind.DELETE,
    "change_message_visibility": CallKind.EXTEND,
    "change_message_visibility_batch": CallKind.EXTEND,
    "send_message": CallKind.SEND,
    "send_message_batch": CallKind.SEND,
}
_SQS_QUEUE = {
    "receive_messages": CallKind.RECEIVE,
    "delete_messages": CallKind.DELETE,
    "change_message_visibility_batch": CallKind.EXTEND,
    "send_message": CallKind.SEND,
    "send_messages": CallKind.SEND,
}
_AZURE = {
    "receive_message": CallKind.RECEIVE,
    "receive_messages": CallKind.RECEIVE,
    "delete_message": CallKind.DELETE,
    "update_message": CallKind.EXTEND,
    "send_message": CallKind.SEND,
}
#: They take a message off a list, and no other worker has it.
POPS = {"blpop", "brpop", "lpop", "rpop", "blmpop", "lmpop"}
_REDIS = {
    **dict.fromkeys(POPS, CallKind.RECEIVE),
    "xreadgroup": CallKind.RECEIVE,
    "xautoclaim": CallKind.RECEIVE,
    "xclaim": CallKind.EXTEND,
    "xack": CallKind.DELETE,
    "xadd": CallKind.SEND,
}
#: Its parameters, in order.
_XREADGROUP = ("groupname", "consumername", "streams", "count", "block", "noack")
#: Functions around a delete that are known by name: Tenure's own, and one that they replace.
SAFE_DELETERS = {"delete_message_with_retry", "delete_queue_message_safe", "delete_and_track"}
DELETERS = SAFE_DELETERS | {"delete_queue_message"}

_VENDORS = {"azure", "boto3", "botocore", "aiobotocore", "aioboto3", "redis", "valkey"}
_SQS_WORDS = {"QueueUrl", "ReceiptHandle", "MaxNumberOfMessages", "WaitTimeSeconds", "MessageBody", "VisibilityTimeout"}
_AZURE_WORDS = {"visibility_timeout", "messages_per_page", "max_messages", "pop_receipt"}
_QUEUE_WORDS = {"MaxNumberOfMessages", "WaitTimeSeconds", "VisibilityTimeout", "Entries"}
_SOME_QUEUE = SdkClient("sqs", Shape.QUEUE, is_async=None)
#: Of Azure Service Bus and of chats, which use the same verbs.
_OTHERS_WORDS = {"max_message_count", "max_wait_time", "chat_id", "channel", "channel_id"}


@lru_cache(maxsize=8)  # every rule asks for the same few modules
def queue_calls(module: Module) -> tuple[QueueCall, ...]:
    """Every call of a queue, in the order of the text."""
    found = [one for call in module.calls if (one := _read(module, call)) is not None]
    if any(one.client is not None and one.client.shape is Shape.QUEUE for one in found):
        found += [one for call in module.calls if (one := _of_message(module, call)) is not None]
        found.sort(key=lambda one: (one.node.lineno, one.node.col_offset))
    return tuple(found)


def _read(module: Module, call: ast.Call) -> QueueCall | None:
    run = called(module, call)
    name = run.name
    if name in DELETERS or _is_wrapped_receive(run):
        return _made(module, run, CallKind.DELETE if name in DELETERS else CallKind.RECEIVE, _vendor_here(module))
    if not isinstance(run.func, ast.Attribute) or not any(name in one for one in (_SQS, _SQS_QUEUE, _AZURE, _REDIS)):
        return None
    if isinstance(module.class_behind(run.func.value), ast.ClassDef):  # a wrapper of this file: its own calls are read
        return None
    words, is_open = _words(module, run.keywords)
    client = client_of(module, run.func.value) or _queue_by(name, words)
    vendor = client.vendor if client is not None else _vendor_by(module, run.func, words, is_open=is_open)
    table = _table(vendor, client)
    if vendor is None or name not in table:
        return None
    found = _made(module, run, table[name], vendor, client)
    if name == "xreadgroup":
        found.words.update(zip(_XREADGROUP, run.args, strict=False))
    return found


def _made(module: Module, run: Called, kind: CallKind, vendor: str, client: SdkClient | None = None) -> QueueCall:
    words, is_open = _words(module, run.keywords)
    return QueueCall(kind, vendor, run.node, run.func, run.args, words, is_open, client)


def _table(vendor: str | None, client: SdkClient | None) -> dict[str, CallKind]:
    if vendor == "sqs":
        return _SQS_QUEUE if client is not None and client.shape is Shape.QUEUE else _SQS
    return {"azure": _AZURE, "redis": _REDIS}.get(vendor or "", {})


def _queue_by(name: str, words: dict[str, ast.expr]) -> SdkClient | None:
    """A queue of boto3's resources, by words that no other client takes with that verb."""
    return _SOME_QUEUE if name in ("receive_messages", "delete_messages") and _QUEUE_WORDS & words.keys() else None


def _vendor_by(module: Module, func: ast.Attribute, words: dict[str, ast.expr], *, is_open: bool) -> str | None:
    """Guess the service of a call whose client is unknown."""
    before = (dotted(func.value) or "").lower()
    name = func.attr
    if before in ("self", "cls", "super") or _OTHERS_WORDS & words.keys() or _is_of_others(module, func.value):
        return None
    if name in _SQS and _SQS_WORDS & words.keys():
        return "sqs"
    if name in _REDIS and (name in POPS or name in ("xreadgroup", "xautoclaim", "xack", "xclaim") or "redis" in before):
        return "redis"
    if name in _AZURE and _AZURE_WORDS & words.keys():
        return "azure"
    speaks = any(word in before for word in ("queue", "sqs"))
    if name in _SQS and speaks and is_open and module.imports_any("boto3", "botocore", "aiobotocore", "aioboto3"):
        return "sqs"
    return "azure" if name in _AZURE and speaks and module.imports_any("azure.storage.queue") else None


def _is_of_others(module: Module, node: ast.expr) -> bool:
    """Whether an expression is an object of a class from elsewhere and no vendor's: a wrapper that we cannot see."""
    made = [module.full(one.func) or "" for one in module.bound(node) if isinstance(one, ast.Call)]
    classes = [name for name in made if name.rpartition(".")[2][:1].isupper()]
    return any(name.split(".")[0] not in _VENDORS for name in classes)


def _is_wrapped_receive(run: Called) -> bool:
    """A function around a receive that takes the timeout: `receive_queue_messages(client, visibility_timeout=30)`."""
    name = run.name
    if name in _AZURE or not name.lstrip("_").startswith(("receive", "dequeue", "get_messages", "poll")):
        return False
    return any(one.arg == "visibility_timeout" for one in run.keywords)


def _vendor_here(module: Module) -> str:
    return "sqs" if module.imports_any("boto3", "botocore", "aiobotocore", "aioboto3") else "azure"


def _of_message(module: Module, call: ast.Call) -> QueueCall | None:
    """`message.delete()` and `message.change_visibility(...)` of boto3's resources."""
    run = called(module, call)
    if run.name not in ("delete", "change_visibility") or not isinstance(run.func, ast.Attribute):
        return None
    if run.name == "change_visibility":
        found = _made(module, run, CallKind.EXTEND, "sqs")
        return found if "VisibilityTimeout" in found.words else None
    before = dotted(run.func.value) or ""
    is_message = "message" in before or before in ("m", "msg", "self.msg")
    return _made(module, run, CallKind.DELETE, "sqs") if is_message and not run.args and not run.keywords else None


def _words(module: Module, keywords: Sequence[ast.keyword]) -> tuple[dict[str, ast.expr], bool]:
    """The keyword arguments; a `**name` is followed to the dict that it is, if that is sure."""
    words: dict[str, ast.expr] = {}
    is_open = False
    for one in keywords:
        if one.arg is not None:
            words[one.arg] = one.value
            continue
        inside = _dict_words(module, one.value)
        words |= inside or {}
        is_open = is_open or inside is None
    return words, is_open


def _dict_words(module: Module, node: ast.expr) -> dict[str, ast.expr] | None:
    if isinstance(node, ast.Name | ast.Attribute):
        bound = module.bound(node)
        # A dict that is changed after it was made says `name["word"] = …`: then it is not known.
        if len(bound) != 1 or bound[0] is None or module.is_changed(node):
            return None
        node = bound[0]
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        return {str(key.value): value for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)}  # fmt: skip
    if isinstance(node, ast.Call) and last_name(node) == "dict" and not node.args and all(k.arg for k in node.keywords):
        return {str(one.arg): one.value for one in node.keywords}
    return None
