"""A content pipeline of four services on Tenure: feeds in, a static site out. `python -m content_pipeline` runs it.

collector → processor → markdown-generator → site-publisher. Each service is one task on a queue of its own, and a
worker of its own: `tenure worker content_pipeline:app --queue content-processor`.
"""

from .app import app
from .collector import collect
from .generator import generate
from .processor import process
from .publisher import build, publish

__all__ = ["app", "build", "collect", "generate", "process", "publish"]
