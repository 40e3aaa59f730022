"""What all handlers that change notebooks share: conditions, replies, waiting for open tabs."""

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

#: How long a reply may wait for open tabs, in milliseconds.
LONGEST_WAIT = 10_000
WaitTabs = Annotated[
    int,
    Meta(
        ge=0,
        le=LONGEST_WAIT,
        description="How many milliseconds to wait, after the change is made, until every open tab "
        "of the notebook has reported how it shows the change; `tabs` of the reply counts them. "
        "Tabs that have not reported in time are counted in `open` only.",
    ),
]

_WEAK = re.compile(r'W/"[^"]+"')


#: The reply to a change of a notebook in review mode.
PROPOSED = {
    HTTPStatus.ACCEPTED: Reply(
        EditReply,
        "The notebook is in review mode: nothing is changed until a person decides. `Location` "
        "is the address of the proposal.",
        [ETAG, LOCATION],
    )
}


class TabsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a change that may wait for open tabs."""

    wait_tabs: WaitTabs = 0


def list_fields(
    operation: type[msgspec.Struct], *excluded_names: str
) -> list[tuple[str, Any] | tuple[str, Any, Any]]:
    """Return the fields of an operation, for the definition of a struct with the same fields."""
    return [
        (field.name, field.type)
        if field.default is msgspec.NODEFAULT
        else (field.name, field.type, field.default)
        for field in msgspec.structs.fields(operation)
        if field.name not in excluded_names
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
        """Make an edit and send its reply.

        Parameters
        ----------
        path
            The API path of the notebook.
        operations
            The operations, or a function that returns them.
        change
            The body, with the metadata of the change.
        status
            The status if the edit is made.
        """
        request = EditRequest(path, operations, **self.build_request_fields(change))
        await self.send(lambda: self.services.edits.edit(request), status)

    async def send(
        self, change: Callable[[], Awaitable[EditReply]], status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        """Make a change, unless this is a retry, and send its reply with the counts of open tabs.

        If the query of the verb has the field ``wait_tabs``, wait for the reports of open tabs.

        Parameters
        ----------
        change
            Makes the change.
        status
            The status if the change is made.
        """
        spec = get_spec(getattr(self, str(self.request.method).lower()))
        query_type = None if spec is None else spec.query
        wait = 0 if query_type is None else getattr(self.parse_query(query_type), "wait_tabs", 0)
        tabs = self.services.tabs

        async def run() -> StoredResponse:
            since = tabs.report_count
            reply = await change()
            counts = await tabs.wait_for_reports(reply, since=since, seconds=wait / 1000)
            reply = msgspec.structs.replace(reply, tabs=counts)
            body, tag = encode_json(reply), f'"{reply.hash}"'
            if reply.proposal_id is not UNSET:
                location = f"{self.base_url}nbedit/proposals/{reply.proposal_id}"
                headers = {"ETag": tag, "Location": location}
                return StoredResponse(body, HTTPStatus.ACCEPTED, headers)
            headers = {"ETag": tag, **self.get_extra_headers(reply)}
            return StoredResponse(body, HTTPStatus.OK if reply.dry_run else status, headers)

        await self.run_idempotent(run)

    def build_request_fields(self, change: ChangeMetadata) -> dict[str, Any]:
        """Return the fields of a `GuardedRequest`.

        Raises
        ------
        InvalidRequest
            If the condition of the request is not valid.
        """
        return {
            "hash": self.get_expected_hash(get_or_none(getattr(change, "hash", UNSET))),
            "session": self.session,
            "must_have_read": self.services.tools.read_before_edit,
            **self.build_metadata(change),
        }

    def get_extra_headers(self, reply: EditReply) -> dict[str, str]:  # noqa: ARG002 -- for those that have some
        """Return the headers of a reply besides ``ETag``."""
        return {}

    def build_metadata(self, change: ChangeMetadata) -> dict[str, Any]:
        """Return the fields of a `WriteRequest` that name the author, and ``dry_run``."""
        return {
            "dry_run": change.dry_run,
            "user": self.current_user.username,
            "client": get_or_none(change.client),
            "message": get_or_none(change.message),
        }

    def get_expected_hash(self, body_hash: str | None) -> str | None:
        """Return the hash of ``If-Match`` or of the body, since a browser may drop the header."""
        header = self.request.headers.get("If-Match")
        if header is None or (tags := parse_etags(header)) == ["*"]:
            return body_hash
        if len(tags) == 1 and _WEAK.fullmatch(tags[0]):
            # RFC 9110 13.1.1: the comparison is strong, so a weak tag never matches.
            return tags[0]
        if len(tags) != 1 or not (tags[0].startswith('"') and tags[0].endswith('"')):
            message = (
                'Expected `If-Match: "<hash>"` with the one hash that reading the notebook gave; '
                f"found {', '.join(tags)[:200]}."
            )
            raise InvalidRequest(message)
        digest = tags[0].strip('"')
        if body_hash not in {None, digest}:
            message = "`If-Match` and the body's `hash` differ; send one of them."
            raise InvalidRequest(message)
        return digest


def parse_etags(header: str) -> list[str]:
    """Return the entity tags of a header."""
    return [tag.strip() for tag in header.split(",") if tag.strip()]
