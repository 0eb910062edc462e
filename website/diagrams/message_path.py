"""How a message travels: lease, claim, handle, seal, settle."""

from website.diagrams.canvas import Canvas

TITLE = (
    "How a message travels. A worker leases it from the broker, claims it from the ledger, handles it while the "
    "heartbeat renews the lease, seals it as done in the ledger, and settles it at the broker."
)
_STAGES = [
    ("1 lease", "a batch: as many", "as there are free slots"),
    ("2 claim", "may it run here?", "is it done already?"),
    ("3 handle", "your function: async,", "in a thread or process"),
    ("4 seal", "record it as done,", "with its result"),
    ("5 settle", "take it out of", "the queue"),
]


def draw() -> str:
    """The drawing."""
    canvas = Canvas(900, 420, TITLE)
    canvas.box(20, 16, 860, 58, "Broker", "the messages: ready, delayed, leased, dead", kind="ground")
    canvas.box(20, 150, 860, 118, kind="ground")
    canvas.words(36, 172, "Worker", kind="strong")
    for number, (name, *lines) in enumerate(_STAGES):
        kind = "held" if number in {1, 2} else "done" if number == 3 else ""  # noqa: PLR2004
        canvas.box(36 + number * 168, 184, 156, 70, name, *lines, kind=kind)
        if number:
            canvas.arrow((24 + number * 168, 219), (36 + number * 168, 219))
    canvas.box(204, 344, 492, 58, "Ledger", "who may run what, and what is done", kind="ground")
    canvas.arrow((114, 74), (114, 184), label="leased for 30 s", at=(124, 116), anchor="start")
    canvas.arrow((786, 184), (786, 74), label="ack", at=(776, 116), anchor="end")
    canvas.arrow((450, 184), (450, 74), kind="held", dashed=True, label="the heartbeat renews the lease", at=(462, 110),
                 anchor="start")  # fmt: skip
    canvas.words(462, 128, "as long as your function runs", kind="small of-held")
    canvas.arrow((282, 254), (282, 344), both=True, label="fresh, running or done?", at=(294, 306), anchor="start")
    canvas.arrow((618, 254), (618, 344), kind="done", label="done", at=(608, 306), anchor="end")
    canvas.words(714, 354, "Seal before settle:", kind="strong")
    canvas.words(714, 374, "after a crash in between the", kind="small")
    canvas.words(714, 391, "ledger says it is done.", kind="small")
    return canvas.svg()
