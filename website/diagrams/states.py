"""The states of a message. A test compares this drawing with ARCHITECTURE.md, and that with the code."""

from website.diagrams.canvas import Canvas, Point

TITLE = "The states of a message: ready, delayed, leased, completed, dead, cancelled, and what moves it between them."
_BOXES: dict[str, tuple[float, float, float, float]] = {
    "delayed": (150, 30, 150, 48),
    "ready": (150, 170, 150, 96),
    "leased": (500, 170, 150, 96),
    "completed": (730, 30, 150, 48),
    "dead": (730, 360, 150, 48),
    "cancelled": (150, 372, 150, 48),
}
_KINDS = {"leased": "held", "completed": "done", "dead": "dead"}
#: From, to, the verb, the points of the arrow, where the words are, and how they are aligned there.
ARROWS: list[tuple[str, str, str, list[Point], Point, str]] = [
    ("[*]", "ready", "send", [(40, 218), (150, 218)], (64, 210), "middle"),
    ("[*]", "delayed", "send with delay", [(40, 208), (40, 54), (150, 54)], (38, 44), "start"),
    ("delayed", "ready", "due, promote", [(215, 78), (215, 170)], (225, 128), "start"),
    ("ready", "leased", "lease", [(300, 190), (500, 190)], (400, 182), "middle"),
    ("leased", "ready", "give_back, nack, sweep, retire", [(500, 218), (300, 218)], (400, 210), "middle"),
    ("leased", "delayed", "give_back or nack with delay", [(540, 170), (540, 54), (300, 54)], (420, 44), "middle"),
    ("leased", "completed", "ack", [(620, 170), (620, 54), (730, 54)], (675, 44), "middle"),
    ("leased", "dead", "dead_letter, sweep", [(650, 218), (805, 218), (805, 360)], (795, 330), "end"),
    ("dead", "ready", "redrive", [(730, 374), (400, 374), (400, 246), (300, 246)], (412, 300), "start"),
    ("leased", "cancelled", "cancel", [(575, 266), (575, 390), (300, 390)], (585, 330), "start"),
    ("ready", "cancelled", "delete, cancel", [(225, 266), (225, 372)], (235, 322), "start"),
    ("delayed", "cancelled", "delete, cancel", [(150, 68), (88, 68), (88, 396), (150, 396)], (96, 322), "start"),
    ("dead", "cancelled", "delete", [(730, 404), (300, 404)], (515, 420), "middle"),
]


def draw() -> str:
    """The drawing."""
    canvas = Canvas(900, 440, TITLE)
    canvas.dot(40, 218, 7, "head")
    for name, (x, y, width, height) in _BOXES.items():
        canvas.box(x, y, width, height, name, kind=_KINDS.get(name, ""))
    for start, end, label, points, at, anchor in ARROWS:
        kind = "held" if (start, end) == ("ready", "leased") else ""
        kind = "done" if end == "completed" else "dead" if end == "dead" else kind
        canvas.arrow(*points, kind=kind, label=label, at=at, anchor=anchor)
    return canvas.svg()
