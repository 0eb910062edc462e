"""markdown-generator: writes the page of an article, and enters its publication in the catalogue."""

from tenure import SyncContext

from .app import app, settings
from .article import Article
from .publisher import publish
from .work.catalogue import catalogue, enter_publication
from .work.page import page_of, write_page


@app.task(queue="markdown-generator", profile="markdown-generator")
def generate(ctx: SyncContext, article: Article, summary: str) -> str:
    """Write one Markdown page.

    Readers see every publication as a line of the site's log and as an entry of its feed, so entering it twice would
    publish twice. `ctx.once` writes its own row in the same transaction: both are there, or neither, and a repeated run
    finds the row. Writing the file needs no such care: a second time, it is the same file.
    """
    with catalogue(settings.folder) as db:
        if ctx.once(db):
            enter_publication(db, article, summary)
        page = page_of(db, article.guid)
        write_page(settings.folder, page)
    ctx.submit(publish.bind(), unique="site")  # 200 pages, and one message that waits
    return page.name
