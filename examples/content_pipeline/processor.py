"""content-processor: recognises what another feed has told already, and summarises the rest."""

from dataclasses import replace

from tenure import SyncContext

from .app import app, settings
from .article import Article
from .generator import generate
from .work.catalogue import catalogue, story_of
from .work.summary import summarise


@app.task(queue="content-processor", profile="content-processor")
def process(ctx: SyncContext, article: Article) -> str:
    """Hand the article on with its summary, unless it is a near-copy of one that we have.

    Its correction goes to the page that we have, whichever feed told the story first.
    """
    with catalogue(settings.folder) as db:
        story = story_of(db, article)
    if story != article.guid and not article.is_corrected:
        return f"a near-copy of {story}"
    summary = summarise(article, settings)
    ctx.submit(generate.bind(replace(article, guid=story), summary), key=article.key)
    return summary
