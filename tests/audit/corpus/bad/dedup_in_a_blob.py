"""One log a day, written back as a whole."""

import json
import time


class MessageDeduplicator:
    def __init__(self, container):
        self.container = container

    async def mark_processed(self, message_id):
        blob = self.container.get_blob_client(f"logs/{time.strftime('%Y-%m-%d')}/processed.jsonl")
        entry = json.dumps({"message_id": message_id})
        try:
            existing = await blob.download_blob()
            content = await existing.readall()
            content += f"\n{entry}".encode()
        except Exception:
            content = entry.encode()
        await blob.upload_blob(content, overwrite=True)  # expect: TQ401
