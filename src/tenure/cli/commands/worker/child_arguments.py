"""The command line of a worker that another `tenure worker` starts: `--processes` and `--reload`."""

from collections.abc import Sequence


def child_words(  # noqa: PLR0913 - one for each option
    target: str,
    concurrency: int | None,
    queues: Sequence[str],
    grace: float | None,
    style: str,
    *,
    clients: str | None,
    wait_for_broker: float | None,
    until_empty: bool,
    verbose: bool,
    event_names: str | None = None,
    detail: float | None = None,
    platforms: Sequence[str] = (),
) -> list[str]:
    """The command line of a child; its name and what ties it to its supervisor come on top."""
    words = ["worker", target, "--log", style]
    words += [] if concurrency is None else ["--concurrency", str(concurrency)]
    words += [word for queue in queues for word in ("--queue", queue)]
    words += [] if clients is None else ["--clients", clients]
    words += [] if grace is None else ["--grace", str(grace)]
    words += [] if wait_for_broker is None else ["--wait-for-broker", str(wait_for_broker)]
    words += [] if event_names is None else ["--log-events", event_names]
    words += [] if detail is None else ["--detail", str(detail)]
    words += [word for platform in platforms for word in ("--platform", platform)]
    words += ["--until-empty"] if until_empty else []
    return [*words, "--verbose"] if verbose else words


def own_words(
    name: str,
    slot: str | None,
    processes: int | None,
    heartbeat: str,
    metrics: str | None,
    emf: str | None,
    *,
    as_json: bool,
) -> list[str]:
    """Return the options that a supervisor keeps to itself; a reloader's child may be a supervisor."""
    words = ["--name", name] if name else []
    words += [] if slot is None else ["--slot", slot]
    words += [] if processes is None else ["--processes", str(processes)]
    words += ["--heartbeat", heartbeat]
    words += [] if metrics is None else ["--metrics", metrics]
    words += [] if emf is None else ["--emf", emf]
    return [*words, "--json"] if as_json else words
