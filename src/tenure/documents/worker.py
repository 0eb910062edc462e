"""An app for a worker of documents alone, with everything from the environment.

    tenure worker tenure.documents.worker:app

The queue is that of `CLIENT_ID`; tasks of plain producers are run, too (`tenure.QueueService`).
"""

from tenure import QueueService, Tenure
from tenure.documents.library import Library

app = Tenure()
service = QueueService(app)
library = Library()
library.register(app)
