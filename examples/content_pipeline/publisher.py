"""site-publisher: waits until no more pages are coming, builds the site once, and swaps it in."""

from datetime import UTC, datetime, timedelta

from tenure import Context, Snooze, SyncContext
from tenure.errors import UnknownQueue

from .app import app, settings
from .work.site import build_site, publish_release, release_name

UPSTREAM = ("content-collector", "content-processor", "markdown-generator")
#: A busy site is published all the same, this often.
LONGEST_WAIT = timedelta(minutes=5)


async def waiting(queue: str) -> int:
    """How many messages a queue still has: ready, running or coming again. 0 too where the store cannot say."""
    try:
        one = await app.operate.queue(queue)
    except UnknownQueue:  # nothing was ever sent to it
        return 0
    return (one.ready or 0) + (one.leased or 0) + (one.delayed or 0)


@app.task(queue="site-publisher", max_snoozes=10_000)
async def publish(ctx: Context) -> str:
    """Ask for one build of all pages, once nothing is on its way to them.

    Snoozing uses no attempt, and while this message waits no second one is stored (`unique`). The key is what the pages
    say: the same content is built once, even if two messages ask for it.
    """
    coming = sum([await waiting(queue) for queue in UPSTREAM])
    waited = datetime.now(UTC) - datetime.fromtimestamp(ctx.message.sent_at, UTC)
    if coming and waited < LONGEST_WAIT:
        raise Snooze(after=0.5, reason=f"{coming} messages are still on their way")
    release = release_name(settings.folder)
    return ctx.submit(build.bind(release), key=release, webhook=settings.webhook)


@app.task(queue="site-publisher", profile="site-publisher", concurrency=1)
def build(ctx: SyncContext, name: str) -> dict[str, int | str]:
    """Build the site beside the one that readers see, check every link, and replace it in one step."""
    ctx.log.info("building %s", name)
    release = build_site(settings.folder, settings.site_url)
    publish_release(settings.folder, release)
    return {"pages": release.pages, "release": release.path.name}
