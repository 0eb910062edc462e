"""`tenure documents`: ingest, search, list, remove, summarize, agent, recall, serve, schema."""

import click

from tenure.documents.cli.agent import agent
from tenure.documents.cli.ingest import ingest
from tenure.documents.cli.inventory import documents_list, remove
from tenure.documents.cli.recall import recall
from tenure.documents.cli.schema import schema
from tenure.documents.cli.search import search
from tenure.documents.cli.serve import serve
from tenure.documents.cli.summarize import summarize


@click.group(short_help="Index documents; search, summarize and ask them.")
def documents() -> None:
    """Index documents; search, summarize and ask them.

    Works offline, in the folder where it is run. OPENAI_API_KEY, SUPABASE_URL,
    SUPABASE_KEY and TENURE_DOCUMENTS_* say what else to use.
    """


for _command in (ingest, search, documents_list, remove, summarize, agent, recall, serve, schema):
    documents.add_command(_command)
