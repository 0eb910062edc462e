"""A Flask receiver of webhooks: believes only what is signed, and saves each ending once.

    pip install flask
    tenure webhooks endpoints add frontend https://api.example.com/internal/notify      prints the secret, once
    WEBHOOK_SECRET=whsec_… python webhook_flask.py

    curl localhost:8000/endings

A webhook comes at least once: if an answer gets lost, it comes again under the same `webhook-id`. So the id and the
ending are stored in one transaction, and an id that is there already is answered with 204 and nothing else. Of a task
that was run again the newest generation counts, also if they arrive in another order.
"""

import os
import sqlite3
from contextlib import closing

from flask import Flask, Response, jsonify, request

from tenure.webhooks import Webhook, WebhookError, verify

#: While the secret is rotated, the new one and the old one with a space between them.
SECRETS = os.environ["WEBHOOK_SECRET"].split()

web = Flask(__name__)


def database() -> sqlite3.Connection:
    """Your database; two tables in it."""
    opened = sqlite3.connect("webhook_flask.db")
    opened.execute("CREATE TABLE IF NOT EXISTS webhooks (id TEXT PRIMARY KEY)")
    opened.execute(
        "CREATE TABLE IF NOT EXISTS endings (task_id TEXT PRIMARY KEY, generation INT, status TEXT, error TEXT)"
    )
    return opened


def save(hook: Webhook) -> bool:
    """Store it once. False: it was there already."""
    body = hook.body
    with closing(database()) as opened, opened:  # one transaction
        if not opened.execute("INSERT OR IGNORE INTO webhooks VALUES (?)", (hook.id,)).rowcount:
            return False
        opened.execute(
            "INSERT INTO endings VALUES (?, ?, ?, ?) ON CONFLICT (task_id) DO UPDATE SET "
            "generation = excluded.generation, status = excluded.status, error = excluded.error "
            "WHERE excluded.generation >= generation",
            (body["task_id"], body["generation"], body["status"], body["error"]),
        )
    return True


@web.post("/internal/notify")
def notify() -> Response:
    """Tenure calls this. 2xx: we have it. Anything else: it comes again."""
    try:
        hook = verify(request.get_data(), dict(request.headers), SECRETS)
    except WebhookError as error:
        return Response(error.code, 401)
    save(hook)
    return Response(status=204)


@web.get("/endings")
def endings() -> Response:
    """What arrived so far."""
    with closing(database()) as opened:
        rows = opened.execute("SELECT task_id, generation, status, error FROM endings ORDER BY task_id")
        return jsonify([dict(zip(("task_id", "generation", "status", "error"), row, strict=True)) for row in rows])


if __name__ == "__main__":
    web.run(host="127.0.0.1", port=int(os.environ.get("PORT", "8000")))
