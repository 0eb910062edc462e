"""`python -m content_pipeline [URL]`: runs the pipeline, kills every service once, and counts what readers got."""

from .rehearsal.command import main

main()
