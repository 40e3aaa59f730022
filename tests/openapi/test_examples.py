"""Every example of the document, sent to a real server: the answer is the one that is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from jupyter_nbedit.errors import FileNotFound
from jupyter_nbedit.handlers.examples import Exchange, exchanges
from jupyter_nbedit.handlers.refusals import INTERNAL_ERROR, ErrorBody, body_of
from tests.openapi.playing import ARRANGEMENTS, SETTINGS, Stage

PLAYED = [exchange for exchange in exchanges() if not exchange.constructed]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with closing(Stage(tmp_path_factory.mktemp("stage"))) as servers:
        yield servers


@pytest.mark.parametrize("exchange", PLAYED, ids=[exchange.name for exchange in PLAYED])
def test_an_example_is_answered_as_shown(stage: Stage, exchange: Exchange) -> None:
    assert stage.answered(exchange) == (exchange.status, exchange.answer)


def test_what_no_server_answers_in_our_form_is_shown_as_it_would() -> None:
    constructed = {told.reason: told for told in exchanges() if told.constructed}
    assert set(constructed) == {INTERNAL_ERROR, FileNotFound.reason}
    for reason, failure in ((INTERNAL_ERROR, None), (FileNotFound.reason, FileNotFound())):
        told = constructed[reason]
        assert ErrorBody(**told.answer) == body_of(failure, told.status)


def test_examples_have_names_of_their_own_and_are_arranged_by_what_they_say() -> None:
    names = [exchange.name for exchange in exchanges()]
    assert len(set(names)) == len(names)
    given = {exchange.given for exchange in exchanges()} - {None}
    assert given == set(ARRANGEMENTS) | set(SETTINGS)
