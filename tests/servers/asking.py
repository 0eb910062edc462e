"""One question to a server, over a socket of its own.

No client library: what is tested must not vouch for itself, and a server that starts is asked many times in vain.
"""

import socket
from typing import IO, Any

#: A server that does not answer within this time is taken to be away. A busy machine may hold it up for seconds.
ANSWER_SECONDS = 20.0


class ServerError(Exception):
    """The server answered with an error."""


def ask(port: int, *words: str | float, seconds: float = ANSWER_SECONDS) -> Any:
    """The answer to a command; text as `str`. Raises `ServerError`, and `OSError` if nobody answers."""
    parts = [str(word).encode() for word in words]
    request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
    with socket.create_connection(("127.0.0.1", port), seconds) as connection, connection.makefile("rb") as answer:
        connection.sendall(request)
        return _read(answer)


def _read(answer: IO[bytes]) -> Any:
    line = answer.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionResetError("the server hung up")
    kind, text = line[:1], line[1:-2].decode(errors="replace")
    match kind:
        case b"+":
            return text
        case b"-":
            raise ServerError(text)
        case b":":
            return int(text)
        case b"$":
            return None if text == "-1" else answer.read(int(text) + 2)[:-2].decode(errors="replace")
        case b"*":
            return None if text == "-1" else [_read(answer) for _ in range(int(text))]
    msg = f"the server answered {line!r}"
    raise ServerError(msg)
