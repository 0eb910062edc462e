"""Single pieces of Tenure for people with a loop of their own, on a bare client of SQS or Azure Storage Queues.

    from tenure.standalone import MessageDeduplicator, VisibilityHeartbeat, delete_message_with_retry

Clients are yours and are handed in, so no SDK is imported here: boto3 or aiobotocore, the sync or the async
`azure-storage-queue`. What talks to a client is awaited; `tenure.standalone.sync` has the same names without `await`.
`VisibilityHeartbeat` is the same for both: `with`, or `async with`, where `delete`, `release` and `stop` are awaited.

Every decision (what an error means, when to try again, when to beat) is pure and is in `tenure.rules.cloud_errors`,
`tenure.retry` and `tenure.timing`.
"""

from tenure.standalone.measuring import Measurement, measure_processing
from tenure.standalone.message_deduplication import DeduplicationRecord, MessageDeduplicator, Turn, TurnState
from tenure.standalone.queue_message_handling import (
    Deletion,
    MessageDeletionTracker,
    Release,
    delete_message,
    delete_message_with_retry,
    delete_queue_message_safe,
    release_message,
    verify_message_deletion,
)
from tenure.standalone.receipt import Receipt
from tenure.standalone.storage_queue_config import StorageQueueConfig
from tenure.standalone.visibility_heartbeat import VisibilityHeartbeat
from tenure.standalone.visibility_timeout import (
    PROCESSING_TIME_ESTIMATES,
    calculate_visibility_timeout,
    estimate_processing_seconds,
    get_recommended_timeout,
    validate_visibility_timeout,
)

__all__ = [
    "PROCESSING_TIME_ESTIMATES",
    "DeduplicationRecord",
    "Deletion",
    "Measurement",
    "MessageDeduplicator",
    "MessageDeletionTracker",
    "Receipt",
    "Release",
    "StorageQueueConfig",
    "Turn",
    "TurnState",
    "VisibilityHeartbeat",
    "calculate_visibility_timeout",
    "delete_message",
    "delete_message_with_retry",
    "delete_queue_message_safe",
    "estimate_processing_seconds",
    "get_recommended_timeout",
    "measure_processing",
    "release_message",
    "validate_visibility_timeout",
    "verify_message_deletion",
]
