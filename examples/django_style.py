"""Django, or any other code that is not async: views and scripts submit, a worker runs beside them.

    python django_style.py

Django itself is not needed to see it: a view is a plain function that a thread of the server calls. In a real
project the app and its tasks stand in a module (`jobs.py`), views import the tasks, and the worker is
`tenure worker jobs:app`, with DJANGO_SETTINGS_MODULE set and `django.setup()` called in that module.
Inside a transaction, submit when it is committed: `transaction.on_commit(lambda: invoice.submit_sync(id))`.
"""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tenure import PartlySent, Tenure

app = Tenure("sqlite:///django_style.db")


@app.task
def invoice(order: int) -> str:
    """The work: a plain function, so it may use the ORM."""
    return f"invoice for order {order}"


def order_view(order: int) -> dict[str, str]:
    """A view: answers at once, with an id to ask about later."""
    handle = invoice.submit_sync(order)
    return {"id": handle.id}


def status_view(id: str) -> dict[str, str]:
    """Another view, perhaps in another process. A view should not wait; a script may."""
    return {"state": app.handle_sync(id).status().state, "result": app.handle_sync(id).result(timeout=30)}


def import_script(orders: list[int]) -> None:
    """A management command: many messages in few steps. One that is refused does not hold up the others."""
    calls = [invoice.bind(order).having(key=f"order-{order}") for order in orders]
    calls[0] = calls[0].having(priority=99)
    try:
        handles = app.submit_many_sync(calls)
    except PartlySent as error:
        print("refused:", {place: refusal.code for place, refusal in error.refusals.items()})
        handles = [handle for handle in error.handles if handle is not None]
    print("sent:", len(handles))


def main() -> None:
    """A server's threads call the views, a worker works."""
    with subprocess.Popen([sys.executable, __file__, "work"]) as worker, ThreadPoolExecutor(4) as server:  # noqa: S603
        answers = [*server.map(order_view, range(1, 6))]
        for answer in server.map(status_view, [answer["id"] for answer in answers]):
            print(answer["result"])
        import_script([6, 7, 8])
        worker.kill()  # what it held, if anything, is for the next one
    app.close_sync()


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        asyncio.run(app.worker().run())
    else:
        main()
