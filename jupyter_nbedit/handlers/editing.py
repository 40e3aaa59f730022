"""What all requests that change a notebook have in common."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.handlers.base import NbEditHandler, encode_json
from jupyter_nbedit.handlers.idempotency import StoredResponse
from jupyter_nbedit.handlers.openapi.spec import ETAG, LOCATION, Reply, get_spec
from jupyter_nbedit.models import (
    ChangeMetadata,
    EditReply,
    EditRequest,
    OperationFactory,
    get_or_none,
)
from jupyter_nbedit.notebook.operations import Insert, Operation, Position

#: How long the answer to a change may wait for open tabs, in milliseconds.
LONGEST_WAIT = 10_000
WaitTabs = Annotated[
    int,
    Meta(
        ge=0,
        le=LONGEST_WAIT,
        description="How many milliseconds to wait, after the change is made, until every open tab "
        "of the notebook has told what it made of it; the reply's `tabs` counts them. Tabs that "
        "have not told when the time is up are in `open` alone.",
    ),
]

_WEAK = re.compile(r'W/"[^"]+"')


#: What a change of a notebook in review mode is answered with.
PROPOSED = {
    HTTPStatus.ACCEPTED: Reply(
        EditReply,
        "The notebook is in review mode: nothing is changed, and a person decides. `Location` "
        "is the proposal's address.",
        [ETAG, LOCATION],
    )
}


class TabsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a change that may wait for open tabs."""

    wait_tabs: WaitTabs = 0


def list_fields(
    operation: type[msgspec.Struct], *without: str
) -> list[tuple[str, Any] | tuple[str, Any, Any]]:
    """List an operation's fields for a body that says the same without naming the operation."""
    return [
        (field.name, field.type)
        if field.default is msgspec.NODEFAULT
        else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(operation)
        if field.name not in without
    ]


NewCell: type[Any] = msgspec.defstruct(
    "NewCell",
    list_fields(Insert, *Position.__struct_fields__),
    namespace={"__doc__": "A cell of a new notebook."},
    forbid_unknown_fields=True,
    frozen=True,
    kw_only=True,
)


def build_insert(cell: msgspec.Struct) -> Insert:
    """Return the operation that adds a `NewCell` to a notebook."""
    return Insert(at="end", **msgspec.structs.asdict(cell))


class EditingHandler(NbEditHandler):
    """A handler with verbs that change notebooks."""

    async def edit(
        self,
        path: str,
        operations: Sequence[Operation] | OperationFactory,
        change: ChangeMetadata,
        status: HTTPStatus = HTTPStatus.OK,
    ) -> None:
        """Make an edit and send what it did.

        Parameters
        ----------
        path
            The notebook's API path.
        operations
            What to do.
        change
            What the request says of the edit.
        status
            Of the answer, if the edit is made.
        """
        request = EditRequest(path, operations, **self.build_request_fields(change))
        await self.send(lambda: self.services.edits.edit(request), status)

    async def send(
        self, change: Callable[[], Awaitable[EditReply]], status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        """Make a change, unless this is a retry, and send what it did and who shows it.

        A verb whose contract has a query with ``wait_tabs`` waits for open tabs.

        Parameters
        ----------
        change
            Makes it.
        status
            Of the answer, if it is made.
        """
        contract = get_spec(getattr(self, str(self.request.method).lower()))
        form = None if contract is None else contract.query
        wait = 0 if form is None else getattr(self.parse_query(form), "wait_tabs", 0)
        tabs = self.services.tabs

        async def work() -> StoredResponse:
            since = tabs.report_count
            reply = await change()
            told = await tabs.wait_for_reports(reply, since=since, seconds=wait / 1000)
            reply = msgspec.structs.replace(reply, tabs=told)
            said = HTTPStatus.OK if reply.dry_run else status
            headers = {"ETag": f'"{reply.hash}"', **self.get_extra_headers(reply)}
            if reply.proposal_id is not UNSET:
                said = HTTPStatus.ACCEPTED
                place = f"{self.base_url}nbedit/proposals/{reply.proposal_id}"
                headers = {"ETag": headers["ETag"], "Location": place}
            return StoredResponse(encode_json(reply), said, headers)

        await self.run_idempotent(work)

    def build_request_fields(self, change: ChangeMetadata) -> dict[str, Any]:
        """Return what the editor is told of a change of a notebook that is there.

        Raises
        ------
        InvalidRequest
            If the request names no version where it should.
        """
        return {
            "hash": self.get_expected_hash(get_or_none(getattr(change, "hash", UNSET))),
            "session": self.session,
            "must_have_read": self.services.tools.read_before_edit,
            **self.build_metadata(change),
        }

    def get_extra_headers(self, reply: EditReply) -> dict[str, str]:  # noqa: ARG002 -- for those that have some
        """Return the headers of an answer besides its tag."""
        return {}

    def build_metadata(self, note: ChangeMetadata) -> dict[str, Any]:
        """Return what the editor is told of who makes a change, and why."""
        return {
            "dry_run": note.dry_run,
            "user": self.current_user.username,
            "client": get_or_none(note.client),
            "message": get_or_none(note.message),
        }

    def get_expected_hash(self, in_body: str | None) -> str | None:
        """Take the hash from ``If-Match`` or the body; a browser may not be allowed the header."""
        header = self.request.headers.get("If-Match")
        if header is None or (found := parse_etags(header)) == ["*"]:
            return in_body
        if len(found) == 1 and _WEAK.fullmatch(found[0]):
            # RFC 9110 13.1.1: this comparison is the strong one, which no weak tag passes.
            return found[0]
        if len(found) != 1 or not (found[0].startswith('"') and found[0].endswith('"')):
            message = (
                'Expected `If-Match: "<hash>"` with the one hash that reading the notebook gave; '
                f"found {', '.join(found)[:200]}."
            )
            raise InvalidRequest(message)
        tag = found[0].strip('"')
        if in_body not in {None, tag}:
            message = "`If-Match` and the body's `hash` differ; send one of them."
            raise InvalidRequest(message)
        return tag


def parse_etags(header: str) -> list[str]:
    """List the entity tags of a condition."""
    return [tag.strip() for tag in header.split(",") if tag.strip()]
