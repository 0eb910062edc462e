"""content-collector: fetches one feed and hands each of its articles to the processor."""

from tenure import SyncContext

from .app import app
from .processor import process
from .work.feed import BrokenFeed, parse_feed
from .work.fetch import fetch


@app.task(queue="content-collector", profile="content-collector", reject_on=(BrokenFeed,))
def collect(ctx: SyncContext, feed: str) -> str:
    """Read the feed at this path or URL.

    A feed that cannot be parsed is a dead letter at once, with the reason; a server that is busy is asked again later.
    What is handed on goes out together with the completion of this message: a crash before it hands on nothing, a
    crash after it repeats nothing. The key says that each version of an article is worked on once, however often the
    feed tells it.
    """
    articles = parse_feed(fetch(feed), feed.rpartition("/")[2])
    for article in articles:
        ctx.submit(process.bind(article), key=article.key)
    return f"{len(articles)} articles"
