"""What happens when a worker dies: with a proof, without one, and when it was only frozen."""

from website.diagrams.canvas import Canvas

TITLE = (
    "A worker is killed 25 seconds into a run, with a lease of 30 seconds that was renewed at 20 seconds. Where its "
    "death is proved, another worker has the message within 3 seconds. Where nothing proves it, when the lease has "
    "ended and the next sweep has returned the message. A worker that was only frozen cannot settle it any more."
)
_LEFT, _SECOND = 190, 9.6


def _x(seconds: float) -> float:
    return round(_LEFT + seconds * _SECOND, 1)


def draw() -> str:
    """The drawing."""
    canvas = Canvas(900, 452, TITLE)
    for seconds in range(0, 71, 10):
        canvas.line(_x(seconds), 34, _x(seconds), 436)
        canvas.words(_x(seconds), 24, f"{seconds} s", kind="small", anchor="middle")
    _row(canvas, 52, "Worker A", "runs the message")
    canvas.box(_x(0), 52, _x(25) - _x(0), 34, kind="held")
    for beat in (10, 20):
        canvas.dot(_x(beat), 69, 4.5, "head-held")
    canvas.words(_x(10), 104, "each beat renews the lease", kind="small of-held", anchor="middle")
    canvas.line(_x(25), 44, _x(25), 436, kind="line line-dead dashed")
    canvas.words(_x(25) + 9, 66, "kill -9: no goodbye", kind="small of-dead")
    _row(canvas, 124, "Its lease", "30 s from the last beat")
    canvas.box(_x(0), 124, _x(50) - _x(0), 34, kind="held")
    canvas.line(_x(50), 118, _x(50), 330, kind="line line-held dashed")
    canvas.words(_x(50) + 9, 146, "the lease ends", kind="small of-held")
    _row(canvas, 196, "Its death is proved", "supervisor, witness, slot")
    canvas.box(_x(27), 196, _x(52) - _x(27), 34, "worker B runs it", kind="done")
    canvas.words(_x(52) + 9, 218, "within 3 s", kind="small of-done")
    _row(canvas, 268, "Nothing proves it", "its machine is gone")
    canvas.arrow((_x(25), 285), (_x(53), 285), dashed=True, label="no other worker may run it yet", at=(_x(38), 277))
    canvas.box(_x(53), 268, _x(70) - _x(53), 34, "worker B runs it", kind="done")
    canvas.words(_x(53), 320, "after the next sweep", kind="small of-done")
    _row(canvas, 356, "It was only frozen", "and wakes after its lease")
    canvas.box(_x(25), 356, _x(58) - _x(25), 34, "stopped: no beats", kind="ground")
    canvas.box(_x(58), 356, _x(70) - _x(58), 34, "it is refused", kind="dead")
    canvas.words(
        _x(70),
        408,
        "it can settle nothing: worker B has the lease, and a higher fence",
        kind="small of-dead",
        anchor="end",
    )
    return canvas.svg()


def _row(canvas: Canvas, y: float, name: str, detail: str) -> None:
    canvas.words(16, y + 15, name, kind="strong")
    canvas.words(16, y + 32, detail, kind="small")
