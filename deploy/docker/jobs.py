"""The tasks of the image. TENURE_URL says where their messages are."""

from tenure import Tenure

app = Tenure()


@app.task
async def square(number: int) -> int:
    """Square a number."""
    return number * number
