"""The route that returns a notebook to an earlier state."""

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery, specify_edit
from jupyter_nbedit.handlers.spec import Route
from jupyter_nbedit.services.edits.restore import RestoreReply
from jupyter_nbedit.services.requests import RestoreBody


class RestoreHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/restore``."""

    @specify_edit(
        "Restore an earlier state",
        "What was done.",
        RestoreReply,
        body=RestoreBody,
        errors=(
            *spec.EDIT_ERRORS,
            errors.EditNotFound,
            errors.NothingToUndo,
            errors.UndoConflict,
        ),
    )
    async def post(self, path: str, body: RestoreBody, query: TabsQuery) -> None:
        """Return the notebook to what it was after an edit; this is an edit, which can be undone.

        Changes that are not in the history, such as a person's own in JupyterLab, stay. In review
        mode the restore becomes a proposal, and while a person has paused edits it is refused. A
        person in an open page (`X-NbEdit-Page`) restores at once, unless edits of the whole server
        are paused.
        """
        request = self.build_request(path, body, query.wait_tabs)
        self.send_edit(await self.services.edits.restore(request, body.edit_id), shows_diff=True)


routes: list[Route] = [(rf"{spec.NOTEBOOK}/restore", RestoreHandler)]
