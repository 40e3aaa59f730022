"""The routes that undo and redo edits."""

from msgspec import UNSET

from jupyter_nbedit import errors
from jupyter_nbedit.handlers import spec
from jupyter_nbedit.handlers.editing import EditingHandler, TabsQuery, specify_edit
from jupyter_nbedit.handlers.spec import Route
from jupyter_nbedit.services.requests import (
    RedoBody,
    UndoBody,
    check_redo_body,
    check_undo_body,
    get_or_none,
)

#: The errors of everything that undoes edits.
UNDO_ERRORS = (*spec.EDIT_ERRORS, errors.EditNotFound, errors.NothingToUndo, errors.UndoConflict)


class UndoHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/undo``."""

    @specify_edit(
        "Undo an edit",
        "What the undo did.",
        body=UndoBody,
        errors=(*UNDO_ERRORS, errors.ChangeNotFound, errors.CellChanged),
    )
    async def post(self, path: str, body: UndoBody, query: TabsQuery) -> None:
        """Undo an edit, or with `cells` the changes that you have not kept.

        Without `edit_id` and `cells` it is your own newest edit. Later changes of other cells stay.
        In review mode the undo becomes a proposal, and while a person has paused edits it is
        refused. A person in an open page (`X-NbEdit-Page`) undoes at once, unless edits of the
        whole server are paused. `undone` of the reply says whose edit it was.
        """
        check_undo_body(body)
        request = self.build_request(path, body, query.wait_tabs)
        if body.cells is not UNSET:
            reply = await self.services.unseen.undo(request, body.cells, get_or_none(body.until))
        else:
            reply = await self.services.edits.undo(
                request, get_or_none(body.edit_id), whose=get_or_none(body.whose) or "own"
            )
        self.send_edit(reply, shows_diff=True)


class RedoHandler(EditingHandler):
    """``/nbedit/notebooks/{path}/redo``."""

    @specify_edit("Redo an undone edit", "What the redo did.", body=RedoBody, errors=UNDO_ERRORS)
    async def post(self, path: str, body: RedoBody, query: TabsQuery) -> None:
        """Redo an undone edit, by default the one that you have undone last.

        In review mode it becomes a proposal, and while a person has paused edits it is refused. A
        person in an open page (`X-NbEdit-Page`) redoes at once, unless edits of the whole server
        are paused.
        """
        check_redo_body(body)
        reply = await self.services.edits.undo(
            self.build_request(path, body, query.wait_tabs),
            get_or_none(body.edit_id),
            redo=True,
            whose=get_or_none(body.whose) or "own",
        )
        self.send_edit(reply, shows_diff=True)


routes: list[Route] = [
    (rf"{spec.NOTEBOOK}/undo", UndoHandler),
    (rf"{spec.NOTEBOOK}/redo", RedoHandler),
]
