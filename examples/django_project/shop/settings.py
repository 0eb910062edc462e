"""Settings of the project. What is Tenure's stands at the end."""

import os
from pathlib import Path

BASE_DIR = Path(__file__).parent.parent

SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "only-for-this-example")
DEBUG = True
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "shop.urls"
INSTALLED_APPS = ["shop"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": BASE_DIR / "shop.sqlite3",
        # Several processes write: wait for each other, and take the lock when a transaction begins.
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
        # So long a connection may live. `with_database` in shop/jobs.py keeps a worker's threads to it.
        "CONN_MAX_AGE": 60,
    }
}

#: Where Tenure keeps its messages. On several machines: redis://…, sqs://… or azure://….
TENURE_URL = os.environ.get("TENURE_URL") or f"sqlite:///{BASE_DIR / 'jobs.db'}"
#: An order that has no invoice after so long is submitted again (`shop/jobs.py`).
SUBMIT_AGAIN_SECONDS = float(os.environ.get("SHOP_SUBMIT_AGAIN_SECONDS", "60"))
