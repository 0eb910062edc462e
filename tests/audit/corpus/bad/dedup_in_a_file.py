"""The same in a file, by two methods."""

import json
from pathlib import Path


class SeenMessages:
    def __init__(self, folder):
        self.path = Path(folder) / "seen_messages.json"

    def _load(self):
        return json.loads(self.path.read_text())

    def _save(self, seen):
        self.path.write_text(json.dumps(seen))  # expect: TQ401

    def remember(self, message_id):
        seen = self._load()
        seen[message_id] = True
        self._save(seen)
