"""The documents as a plain website: `make docs` writes it into build/docs.

No page fetches anything from elsewhere, and every page works from a folder, without a server. In order: `tree` (which
page goes where, and what is beside it), `place` (one page's view of the others), `render` (Markdown to HTML), `layout`
(the page around it), `check` (links). `build` calls them.
"""
