"""What the environment says.

VIDEO_FOLDER   where videos, catalogue, queue and logs are; default: video_transcode_run
VIDEO_SPEED    how many times faster than the size table all is; default: 90
VIDEO_REAL     1: ffmpeg does the work, on clips of 2 to 32 s; else it sleeps as long
TENURE_URL     where the queue is; default: a SQLite file in the folder
"""

import os
from pathlib import Path

FOLDER = Path(os.environ.get("VIDEO_FOLDER", "video_transcode_run")).absolute()
UPLOADS, PUBLISHED, CATALOGUE = FOLDER / "uploads", FOLDER / "published", FOLDER / "catalogue.db"
IS_REAL = os.environ.get("VIDEO_REAL") == "1"
SPEED = float(os.environ.get("VIDEO_SPEED", "90"))
URL = os.environ.get("TENURE_URL", f"sqlite:///{FOLDER}/videos.db")
