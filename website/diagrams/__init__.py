"""The drawings of how Tenure works, each made by a script: `make reference` writes them into docs/pictures.

They are legible on light and dark ground, and a test compares the files with what the scripts draw.
"""

from collections.abc import Callable

from website.diagrams import cloud_core, message_path, places, states, worker_death

#: What draws each file of docs/pictures.
DRAWINGS: dict[str, Callable[[], str]] = {
    "message-path": message_path.draw,
    "worker-death": worker_death.draw,
    "places": places.draw,
    "cloud-core": cloud_core.draw,
    "states": states.draw,
}
