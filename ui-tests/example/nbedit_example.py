"""A server extension that counts the edits of each `counted.ipynb`, in its cell `count`."""

from collections import Counter
from typing import Any

from jupyter_nbedit.errors import NbEditError

CLIENT = "Counting example"


def _load_jupyter_server_extension(serverapp: Any) -> None:
    serverapp.log.info("The counting example is there.")


async def _start_jupyter_server_extension(serverapp: Any) -> None:
    # All extensions are loaded now. The order in which they were loaded is not defined.
    nbedit = serverapp.web_app.settings["jupyter_nbedit"]
    edits: Counter[str] = Counter()

    async def count(event: dict[str, Any]) -> None:
        path: str = event["path"]
        if event["client"] == CLIENT or not path.endswith("counted.ipynb"):
            return
        edits[path] += 1
        source = f"Edited {edits[path]} times, last by {event['client'] or event['user']}."
        operation = {"op": "replace", "cell": "count", "source": source}
        try:
            await nbedit.edit(path, [operation], user=event["user"], client=CLIENT)
        except NbEditError as error:
            serverapp.log.info("Not counted in %r: %s", path, error.reason)

    nbedit.on_edit(count)
