"""A task service: a front end, two clients with a queue each, and a worker for each. See README.md.

From the bottom up:

- `settings`: what the environment says
- `documents`: where the clients' documents are: a folder, or a blob container
- `passages`: text, cut into passages and summed up
- `index`: the search index that `ingest` fills and `agent` asks
- `jobs`: the tasks: ingest, summarize, agent (`python -m tenure worker service.jobs:app`)
- `task_list`: the front end's database: whose task is which, and how it ended
- `live`: what each open page is told while tasks run
- `web`: the front end
- `__main__`: starts all of it (`python -m service`)
"""
