"""Files that are read and written again, in peace; and deduplication that is safe."""

import json
from pathlib import Path

from azure.core import MatchConditions
from azure.core.exceptions import ResourceExistsError


def format_file(path: Path):
    text = path.read_text()
    processed = text.replace("\t", "    ")
    processed += "\n"
    path.write_text(processed)


def bump(path):
    with open(path) as file:
        settings = json.load(file)
    settings["version"] = settings["version"] + 1
    with open(path, "w") as file:
        json.dump(settings, file)


def mark_processed_once(container, message_id):
    blob = container.get_blob_client(f"processed/{message_id}")
    try:
        blob.upload_blob(b"", overwrite=False)
    except ResourceExistsError:
        return False
    return True


def mark_processed_if_unchanged(blob, message_id):
    found = blob.download_blob()
    seen = json.loads(found.readall())
    seen.append(message_id)
    blob.upload_blob(
        json.dumps(seen), overwrite=True, etag=found.properties.etag, match_condition=MatchConditions.IfNotModified
    )


def log_processed(path, message_id):
    with open(path, "a") as file:
        file.write(f"{message_id}\n")


def copy_processed(source, target, message_id):
    content = source.download_blob().readall()
    content += message_id.encode()
    target.upload_blob(content, overwrite=True)
