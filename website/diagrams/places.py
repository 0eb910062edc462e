"""Where the pieces run: programs, workers, the server, the store between them."""

from website.diagrams.canvas import Canvas

TITLE = (
    "Where the pieces run. Your programs, the command line, workers and the server know only the store, which is one "
    "URL. Browsers, programs in other languages and monitoring talk to the server over HTTP."
)


def draw() -> str:
    """The drawing."""
    canvas = Canvas(900, 430, TITLE)
    canvas.box(20, 40, 216, 70, "Your program", "submit, results, cancel", "web, script, notebook")
    canvas.box(20, 138, 216, 52, "Command line", "tenure top, dead, doctor")
    canvas.box(20, 218, 216, 176, "Worker machines", "one, or hundreds", kind="held", left=True)
    canvas.box(36, 270, 184, 40, "supervisor")
    for number in range(3):
        canvas.box(36 + number * 63, 338, 58, 40, "worker")
        canvas.arrow((65 + number * 63, 310), (65 + number * 63, 338))
    canvas.box(330, 40, 236, 354, "The store: one URL", kind="ground", left=True)
    canvas.box(348, 80, 200, 82, "Broker", "messages, leases,", "dead letters")
    canvas.box(348, 176, 200, 82, "State", "claims, results, who is", "alive, events, counts")
    for number, place in enumerate(("sqlite:///jobs.db", "redis://host/0", "sqs://eu-west-1", "azure://account")):
        canvas.words(448, 290 + number * 25, place, kind="small", anchor="middle")
    canvas.box(
        660,
        40,
        220,
        106,
        "Server: tenure serve",
        "HTTP, live events, webhooks,",
        "metrics, and the dashboard",
        "(optional)",
        kind="held",
    )
    canvas.box(660, 206, 220, 46, "Browser", "the dashboard")
    canvas.box(660, 272, 220, 46, "Any language", "submit, lease, settle")
    canvas.box(660, 338, 220, 56, "Monitoring", "Prometheus, OpenTelemetry")
    canvas.arrow((236, 75), (330, 75), both=True, label="send, ask", at=(283, 66))
    canvas.arrow((236, 164), (330, 164), both=True, label="look, act", at=(283, 155))
    canvas.arrow((236, 300), (330, 300), both=True, kind="held", label="lease, settle", at=(283, 291))
    canvas.arrow((660, 93), (566, 93), both=True, kind="held", label="look, act", at=(613, 84))
    canvas.arrow((770, 206), (770, 146), both=True, label="HTTP", at=(780, 180), anchor="start")
    canvas.line(642, 176, 770, 176, kind="line")
    canvas.line(642, 176, 642, 366, kind="line")
    for y in (295, 366):
        canvas.arrow((642, y), (660, y))
    return canvas.svg()
