"""The OpenAPI document of the server, as it is committed.

    python -m tests.docs.openapi_page > docs/reference/openapi.json

`tests/server/routes/test_openapi.py` fails while the file is not what this prints.
"""

import sys

import msgspec

from tenure.server.openapi.document import document
from tenure.server.routes import ROUTES


def text() -> str:
    return msgspec.json.format(msgspec.json.encode(document(ROUTES)), indent=1).decode() + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
