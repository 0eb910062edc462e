"""Remedies: one sentence for each error code that says what to do, for `--json`.

The sentence of an error names what happened, with its figures; it may change. A program that shows a person what to do
gets this one, which goes with the code. A code without a sentence of its own has that of its parent class.
"""

_REMEDIES = {
    "usage": "Run the command with --help.",
    "permission_denied": "Check the permissions of the file and its folders, or run it as another user.",
    "internal": "Report it, with what TENURE_DEBUG=1 shows.",
    "interrupted": "Look at what was done before you run the command again.",
    "interrupted_act": "Run the command again; it goes on with the rest.",
    "interrupted_wait": "Look with tenure show; without the same id or key, another submit sends a second message.",
    "tenure_error": "Read the message.",
    # Set up
    "configuration": "Fix what the message names.",
    "bad_url": "Fix the URL; sqlite:///jobs.db is relative, sqlite:////srv/jobs.db absolute.",
    "bad_setting": "Fix the environment variables that the message names.",
    "missing_extra": "Install the extra that the message names.",
    "bad_task": "Change the task's signature, or give it another name.",
    "bad_schedule": "Fix the schedule's line, zone or interval.",
    "bad_middleware": "Write it as: async def m(ctx, run): return await run().",
    "store_missing": "Check the path or the name; on SQS and Azure, create=yes in the URL creates it.",
    "child_failed": "Fix what the message names.",
    "login_refused": "Fix the URL, the credentials or the clock.",
    "permission_missing": "Grant what the message names.",
    "server_too_old": "Use a newer server.",
    # Send
    "bad_message": "Fix what the message names, and send it again.",
    "unknown_task": "Check the name of the task.",
    "payload_invalid": "Send what the handler takes.",
    "bad_argument": "Fix the option.",
    "quota_exceeded": "Send it again later, or raise the quota.",
    "key_conflict": "Use a new key for new work.",
    "body_too_large": "Use a claim check, or keep the data elsewhere.",
    "body_too_deep": "Make the payload flatter, or send it as one text.",
    "body_undecodable": "Encode the payload as UTF-8.",
    "partly_sent": "Fix the refused messages, and send them again.",
    # Store
    "broker_error": "Read the message.",
    "broker_unavailable": "Try again; with an id or a key that makes no second message.",
    "queue_gone": "Create the queue again, or put create=yes into the URL.",
    "queue_missing": "Create the queue, or put create=yes into the URL.",
    "bad_queue_name": "Use letters, digits, - and _, at most 80.",
    "redrive_too_soon": "Set maxReceiveCount to 100 or more, or put redrive_policy=accept into the URL.",
    "store_unreadable": "Check the permissions of the file and its folder.",
    "store_unwritable": "Check permissions and free space.",
    "store_damaged": "Restore a copy.",
    "store_foreign": "Use another path or prefix.",
    "store_replaced": "Stop every process, put the right file in place, and start them again.",
    "schema_too_new": "Upgrade this Tenure.",
    "not_redis": "Fix the URL; rediss:// where TLS is wanted.",
    "tls_failed": "Set ca_file, cert_file and key_file in the URL.",
    "not_replicated": "Check the replicas; sending it again with its id is safe.",
    # Documents
    "index_unavailable": "Check the place of the index and of the files.",
    "index_mismatch": "Set the embedder back, or ingest all documents into a new index.",
    "endpoint_error": "Check the endpoint and its key; the message says what it answered.",
    # Result
    "no_result": "Read the message.",
    "task_failed": "Fix the cause, then run: tenure dead redrive.",
    "message_cancelled": "Nothing, or submit it again.",
    "result_timeout": "Ask again with tenure show; the message goes on.",
    "result_gone": "Nothing: the message is completed.",
    "message_not_found": "Check the id and the place.",
    "group_not_found": "Check the id and the place.",
    # Server
    "server_error": "Fix what the message names.",
    "unauthenticated": "Send an access token; tenure token create makes one.",
    "forbidden_scope": "Use a token with that scope.",
    "read_only": "Use a server that was started without --read-only and --view.",
    "host_refused": "Call the server by its own name, or set TENURE_SERVER_HOSTS.",
    "proxy_refused": "Make an access token first: tenure token create.",
    "cross_origin": "Send it from a page of the server itself, or from a program.",
    "not_json": "Send Content-Type: application/json.",
    "request_invalid": "Fix the parameter, or the place in the body, that the message names.",
    "ambiguous_length": "Send Content-Length or Transfer-Encoding: chunked, not both.",
    "request_too_large": "Send less in one request.",
    "request_too_slow": "Send the whole body at once.",
    "too_many_attempts": "Wait as long as Retry-After says, and use a valid token.",
    "too_many_streams": "Close streams that are not read.",
    "server_busy": "Try again after as long as Retry-After says.",
    "route_not_found": "Look the route up at /api/v1/docs.",
    "method_not_allowed": "Use one of the methods that Allow names.",
    "lifespan_missing": "Enter server.lifespan() in the lifespan of the outer application.",
    "watch_link_invalid": "Ask the page that gave the link for a new one.",
    "token_not_found": "Run tenure token list for the ids.",
    "lease_token_invalid": "Send the token that came with the message.",
    "taken_over": "Stop the work: another consumer does it. Touch leases in time.",
    "already_gone": "Nothing, if an earlier request settled it; else touch leases in time.",
    "port_in_use": "Use another --port, or stop the program that has it.",
    "unprotected": "Make an access token first: tenure token create.",
    "not_promotable": "Try again later, or cancel it and send it again without a delay.",
    "not_running": "Look with tenure show where it is.",
    "stack_unanswered": "Ask again; look at its worker with tenure workers.",
    # Command line
    "bad_target": "Name module:attribute, or a URL.",
    "import_failed": "Fix the module.",
    "not_browsable": "Use tenure queues for counts, tenure show for one message.",
    "not_confirmed": "Add --yes.",
    "unknown_queue": "Check the name of the queue.",
    "queue_not_empty": "Purge it, or let its messages end first.",
    "worker_gone": "Run tenure workers for the ids.",
    "worker_shared": "Use a token for all queues of that worker.",
    "unknown_schedule": "Run tenure schedules for the names.",
    "not_cancelled": "Nothing: they had ended before.",
    "ambiguous_id": "Type more of the id.",
    "not_delayed": "Run tenure show for its state.",
    "not_dead": "Run tenure show for its state.",
}


def remedy_for(*codes: str) -> str:
    """Return the remedy of the first code that has one: the error's own, then those of its parents."""
    return next((_REMEDIES[code] for code in codes if code in _REMEDIES), _REMEDIES["tenure_error"])


def codes_of(error: BaseException) -> list[str]:
    """The error's code and those of its parents."""
    return list(dict.fromkeys(kind.code for kind in type(error).__mro__ if hasattr(kind, "code")))
