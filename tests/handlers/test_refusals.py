"""The one table from refusals to statuses."""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

import msgspec
import pytest
from tornado.web import HTTPError

from jupyter_nbedit import errors
from jupyter_nbedit.errors import NbEditError
from jupyter_nbedit.handlers.refusals import STATUS, body_of, status_of

#: As the design has it.
DOCUMENTED = {
    "invalid_request": 400,
    "invalid_operation": 400,
    "forbidden": 403,
    "plan_mode": 403,
    "cell_protected": 403,
    "notebook_not_found": 404,
    "file_not_found": 404,
    "cell_not_found": 404,
    "section_not_found": 404,
    "edit_not_found": 404,
    "proposal_not_found": 404,
    "tool_not_found": 404,
    "ambiguous_cell": 409,
    "ambiguous_section": 409,
    "text_mismatch": 409,
    "notebook_exists": 409,
    "cell_changed": 409,
    "undo_conflict": 409,
    "nothing_to_undo": 409,
    "not_a_plain_file": 409,
    "proposal_closed": 409,
    "too_many_proposals": 409,
    "version_unknown": 410,
    "hash_mismatch": 412,
    "too_large": 413,
    "unsupported_media_type": 415,
    "invalid_notebook": 422,
    "idempotency_mismatch": 422,
    "read_required": 428,
    "busy": 503,
    "no_space": 507,
    # What the design has no word for: the operating system fails, by nobody's fault.
    "history_unavailable": 503,
    "modes_unreadable": 503,
    "io_error": 500,
}


def refusals(of: type[NbEditError] = NbEditError) -> Iterator[type[NbEditError]]:
    for kind in of.__subclasses__():
        yield kind
        yield from refusals(kind)


def made(kind: type[NbEditError]) -> NbEditError:
    if issubclass(kind, errors.NotebookNotFound | errors.FileNotFound | errors.ProposalNotFound):
        return kind()
    return kind("Why, and what to do.", fact=1)


def test_every_refusal_has_a_status() -> None:
    assert set(refusals()) == set(STATUS)


def test_every_refusal_has_a_reason_of_its_own_and_its_documented_status() -> None:
    found = {kind.reason: int(STATUS[kind]) for kind in refusals()}
    # A kind may say more plainly what another one is about, under the same reason.
    assert len(found) == len([kind for kind in STATUS if "reason" in vars(kind)])
    assert found == DOCUMENTED


@pytest.mark.parametrize("kind", STATUS)
def test_a_refusal_becomes_its_status_and_a_body_of_three_members(kind: type[NbEditError]) -> None:
    refusal = made(kind)
    assert status_of(refusal, 500) == STATUS[kind]
    assert msgspec.to_builtins(body_of(refusal, STATUS[kind])) == {
        "message": refusal.message,
        "reason": kind.reason,
        "details": refusal.details,
    }


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 500, 503, 599])
def test_what_is_no_refusal_of_ours_has_the_same_form_and_repeats_nobody(status: int) -> None:
    for failure in (HTTPError(status, "in /home/me"), OSError(2, "no", "/home/me"), None):
        body = msgspec.to_builtins(body_of(failure, status))
        assert list(body) == ["message", "reason", "details"]
        assert body["message"]
        assert body["reason"]
        assert "/home/me" not in str(body)


def test_a_status_of_others_stays_theirs() -> None:
    assert status_of(HTTPError(418), 418) == 418
    assert status_of(None, HTTPStatus.FORBIDDEN) == HTTPStatus.FORBIDDEN
