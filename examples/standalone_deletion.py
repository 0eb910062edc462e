"""Deleting from an Azure Storage queue so that it is known how that ended, with the sync SDK.

    python standalone_deletion.py

Needs `azure-storage-queue` and AZURE_STORAGE_CONNECTION_STRING, of an account or of Azurite; it makes a queue
`tenure-articles` and removes it.
"""

import os
import sys

from azure.storage.queue import QueueClient

from tenure.standalone.sync import (
    MessageDeletionTracker,
    StorageQueueConfig,
    delete_message_with_retry,
    verify_message_deletion,
)

CONNECTION = os.environ.get("AZURE_STORAGE_CONNECTION_STRING") or sys.exit(
    "Set AZURE_STORAGE_CONNECTION_STRING to that of a storage account, or of Azurite: UseDevelopmentStorage=true."
)


def main() -> None:
    """One message that is deleted, and one that was deleted too late."""
    config = StorageQueueConfig.from_environment("tenure-articles")
    with QueueClient.from_connection_string(CONNECTION, config.queue_name) as queue:
        queue.create_queue()
        queue.send_message("first")
        tracker = MessageDeletionTracker("content-processor")

        (message,) = queue.receive_messages(max_messages=1, visibility_timeout=config.visibility_timeout)
        print("deleted:", delete_message_with_retry(queue, message))
        print("verified:", verify_message_deletion(queue, message.id, "content-processor"))

        # Somebody else deletes what we hold too long: that is a different end, not a success, and not tried again.
        queue.send_message("second")
        (message,) = queue.receive_messages(max_messages=1, visibility_timeout=config.visibility_timeout)
        queue.delete_message(message)
        ok, error = delete_message_with_retry(queue, message)
        print("deleted:", ok, "-", (error or "").partition(":")[0])

        for number in range(10):
            queue.send_message(str(number))
        for message in queue.receive_messages(max_messages=10, visibility_timeout=config.visibility_timeout):
            tracker.delete_and_track(queue, message)
        stats = tracker.get_stats()
        print(f"{stats['success_rate_percent']:g} % of {stats['total_deletions']}:", stats["outcomes"])
        queue.delete_queue()


if __name__ == "__main__":
    main()
