"""A lane: the deliveries that rest together and have a window of their own.

An endpoint's own URL is one; the URLs of another host that it allows are another one, so that a host which one message
named cannot make the endpoint rest.
"""

from urllib.parse import urlsplit


def lane_of(endpoint: str, url: str | None) -> str:
    """The lane of a delivery, as the name of its documents."""
    return endpoint if url is None else f"{endpoint}@{urlsplit(url).hostname or ''}"


def endpoint_of(lane: str) -> str:
    """The endpoint that a lane belongs to."""
    return lane.partition("@")[0]
