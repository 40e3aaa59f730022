"""What all handlers that change notebooks share: conditions, replies, waiting for open tabs."""

import re
from functools import partial
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta

from jupyter_nbedit.errors import InvalidRequest
from jupyter_nbedit.handlers.base import NbEditHandler
from jupyter_nbedit.handlers.spec import (
    EDIT_ERRORS,
    EDIT_HEADERS,
    ETAG,
    LOCATION,
    OPERATION_ERRORS,
    OperationSpec,
    Reply,
)
from jupyter_nbedit.notebook.operations import Insert, Position
from jupyter_nbedit.services.replies import EditReply
from jupyter_nbedit.services.requests import ChangeMetadata, WriteRequest, get_or_none
from jupyter_nbedit.text.edit import render_edit

#: How long a reply may wait for open tabs, in milliseconds.
MAX_WAIT = 10_000
WaitTabs = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_WAIT,
        description="How many milliseconds to wait, after the change is made, until every open tab "
        "of the notebook has reported how it shows the change; `tabs` of the reply counts them. "
        "Tabs that have not reported in time are counted in `open` only.",
    ),
]

_WEAK = re.compile(r'W/"[^"]+"')


class TabsQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The query of a change that may wait for open tabs."""

    wait_tabs: WaitTabs = 0


def specify_edit(
    summary: str,
    description: str = "What the edit did.",
    reply_type: type[EditReply] = EditReply,
    **fields: Any,
) -> OperationSpec:
    """Return the specification of a verb that changes a notebook.

    ``description`` describes the reply. ``fields`` are fields of `OperationSpec`; without them the
    verb applies operations.
    """
    replies = {HTTPStatus.OK: Reply(reply_type, description, [ETAG]), **_propose(reply_type)}
    common = {
        "replies": replies,
        "query": TabsQuery,
        "headers": EDIT_HEADERS,
        "errors": (*EDIT_ERRORS, *OPERATION_ERRORS),
        "has_text": True,
    }
    return OperationSpec(summary, **{**common, **fields})


def build_creation_replies(description: str) -> dict[HTTPStatus, Reply]:
    """Return the replies to a request that creates something."""
    return {
        HTTPStatus.OK: Reply(EditReply, "What a dry run would do.", [ETAG]),
        HTTPStatus.CREATED: Reply(EditReply, description, [ETAG, LOCATION]),
        **_propose(EditReply),
    }


def _propose(reply_type: type[EditReply]) -> dict[HTTPStatus, Reply]:
    """Return the reply in review mode."""
    description = (
        "The notebook is in review mode: nothing is changed until a person decides. `Location` is "
        "the address of the proposal."
    )
    return {HTTPStatus.ACCEPTED: Reply(reply_type, description, [ETAG, LOCATION])}


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

    def build_request(self, path: str, change: ChangeMetadata, wait_tabs: int = 0) -> WriteRequest:
        """Return the request to change an existing notebook.

        The reply waits for at most ``wait_tabs`` milliseconds for the reports of open tabs.

        Raises
        ------
        InvalidRequest
            If the condition of the request is not valid.
        """
        author = self.build_author(get_or_none(change.client), get_or_none(change.message))
        return WriteRequest(
            path,
            author,
            dry_run=change.dry_run,
            hash=self.get_expected_hash(get_or_none(getattr(change, "hash", UNSET))),
            rev=get_or_none(getattr(change, "rev", UNSET)),
            wait_tabs=wait_tabs / 1000,
        )

    def send_edit(
        self,
        reply: EditReply,
        status: HTTPStatus = HTTPStatus.OK,
        *,
        location: str | None = None,
        shows_diff: bool = False,
    ) -> None:
        """Send the reply to a change.

        ``status`` is the status if the change is made, and ``location`` the address of what it has
        created. For ``shows_diff`` see `render_edit`.
        """
        headers = {"ETag": f'"{reply.hash}"'}
        if reply.proposal_id is not UNSET:
            status = HTTPStatus.ACCEPTED
            headers["Location"] = f"{self.base_url}nbedit/proposals/{reply.proposal_id}"
        elif reply.dry_run:
            status = HTTPStatus.OK
        elif location is not None:
            headers["Location"] = location
        has_server = self.services.tabs.has_server
        render = partial(render_edit, shows_diff=shows_diff, has_server=has_server)
        self.send_reply(reply, render, status=status, headers=headers)

    def get_expected_hash(self, body_hash: str | None) -> str | None:
        """Return the hash of ``If-Match`` or of the body, since a browser may drop the header."""
        header = self.request.headers.get("If-Match")
        if header is None or (tags := parse_etags(header)) == ["*"]:
            return body_hash
        if len(tags) == 1 and _WEAK.fullmatch(tags[0]):
            # RFC 9110 13.1.1: the comparison is strong, so a weak tag never matches.
            return tags[0]
        if len(tags) != 1 or not (tags[0].startswith('"') and tags[0].endswith('"')):
            raise InvalidRequest(
                'Expected `If-Match: "<hash>"` with the one hash that reading the notebook gave; '
                f"found {', '.join(tags)[:200]}."
            )
        notebook_hash = tags[0].strip('"')
        if body_hash not in {None, notebook_hash}:
            raise InvalidRequest("`If-Match` and the body's `hash` differ; send one of them.")
        return notebook_hash


def parse_etags(header: str) -> list[str]:
    """Return the entity tags of a header."""
    return [tag.strip() for tag in header.split(",") if tag.strip()]
