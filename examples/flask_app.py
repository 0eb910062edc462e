"""Flask: submit from code that is not async; a worker runs beside it.

    pip install flask
    python flask_app.py                     in one terminal
    tenure worker flask_app:jobs            in another

    curl -X POST 'localhost:8000/welcomes?to=ada@example.org'       the answer has an id
    curl 'localhost:8000/welcomes/THE-ID'

`submit_sync`, `handle_sync` and the handles they return block for the moment that a database takes. They work from
any thread and after a fork, so every WSGI server will do. For Django see django_style.py: its views are plain
functions too.
"""

import os
import smtplib
from typing import Any

from flask import Flask, request

from tenure import MessageNotFound, Tenure

jobs = Tenure("sqlite:///flask_app.db")
web = Flask(__name__)


@jobs.task(reject_on=(smtplib.SMTPRecipientsRefused,))
def welcome(to: str) -> str:
    """A plain function: the worker runs it in a thread."""
    if "@" not in to:
        raise smtplib.SMTPRecipientsRefused({to: (550, b"no such mailbox")})
    return f"sent to {to}"


@web.post("/welcomes")
def create() -> tuple[dict[str, Any], int]:
    """When this answers, the message cannot be lost any more. An address is welcomed once, however often it asks."""
    to = request.args["to"]
    handle = jobs.submit_sync(welcome.bind(to), key=to)
    return {"id": handle.id, "duplicate": handle.duplicate}, 202


@web.get("/welcomes/<id>")
def show(id: str) -> tuple[dict[str, Any], int]:
    """Where it is."""
    try:
        status = jobs.handle_sync(id).status()
    except MessageNotFound as error:
        return {"error": str(error)}, 404
    return {"state": status.state, "error": status.reason.text if status.reason else None}, 200


if __name__ == "__main__":
    web.run(port=int(os.environ.get("PORT", "8000")))
