"""The cloud core: a queue delivers, perhaps twice; a row in a table decides who runs the message."""

from website.diagrams.canvas import Canvas

TITLE = (
    "On SQS and Azure a queue delivers and a table decides. The queue hands the same message to two workers. Both try "
    "to change its row by compare-and-set: one wins and runs it, the other hides its copy until the winner's lease "
    "could have ended."
)


def draw() -> str:
    """The drawing."""
    canvas = Canvas(900, 440, TITLE)
    canvas.box(
        20,
        20,
        860,
        66,
        "The queue delivers",
        "SQS, Azure Storage Queues: durable, and now and then twice",
        kind="ground",
    )
    canvas.box(90, 170, 300, 74, "Worker A", "won: it runs the message", kind="held")
    canvas.box(510, 170, 300, 74, "Worker B", "lost: it runs nothing")
    canvas.box(20, 336, 860, 84, "A table decides", kind="ground", left=True)
    cells = [("message", "m-1"), ("state", "leased"), ("owner", "worker A"), ("fence", "8"), ("until", "12:00:30")]
    for number, (name, value) in enumerate(cells):
        x = 36 + number * 166
        canvas.box(x, 370, 160, 36, kind="held" if number else "")
        canvas.words(x + 14, 393, name, kind="small")
        canvas.words(x + 146, 393, value, anchor="end")
    canvas.words(150, 360, "one row a message, changed by compare-and-set alone: DynamoDB, Azure Tables", kind="small")
    canvas.arrow((170, 86), (170, 170), label="1 a copy", at=(180, 132), anchor="start")
    canvas.arrow((590, 86), (590, 170), label="1 the same message again", at=(600, 132), anchor="start")
    canvas.arrow(
        (170, 244), (170, 336), kind="held", label="2 “lease it to me”: accepted", at=(180, 284), anchor="start"
    )
    canvas.arrow(
        (590, 244),
        (590, 336),
        kind="dead",
        label="2 “lease it to me”: refused, A has it",
        at=(600, 284),
        anchor="start",
    )
    canvas.arrow((360, 244), (360, 336), kind="done", label="3 sealed", at=(370, 310), anchor="start")
    canvas.arrow((360, 170), (360, 86), kind="done", label="4 deleted", at=(370, 132), anchor="start")
    canvas.arrow((780, 170), (780, 86), dashed=True, label="3 hidden", at=(790, 125), anchor="start")
    canvas.words(790, 142, "for later", kind="small")
    return canvas.svg()
