"""Another program acts between any two system calls of an edit."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.races import rig as acts
from tests.races.edit_loop import NAME
from tests.races.paused_edit import OURS
from tests.races.rig import AWAY, BEFORE, THEIRS, Rig, build_rig
from tests.races.users import list_users, name_user
from tests.support.sampling import is_nightly

Act = Callable[[Path, Rig], None]
ACTS = [
    acts.replace_by_rename,
    acts.write_in_place,
    acts.write_while_open,
    acts.write_with_old_time,
    acts.append_line,
    acts.remove_file,
    acts.move_file,
]

only_at_night = pytest.mark.skipif(not is_nightly(), reason="a way of few systems: nightly")


@pytest.fixture(scope="module", params=list_users(), ids=name_user)
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    with build_rig(request.param) as found:
        yield found


def is_possible(act: Act, left: dict[str, bytes], ours: bytes) -> bool:
    """Return whether the files in the folder are possible without a lost write."""
    if act is acts.remove_file:
        return left == {}
    if act is acts.move_file:
        return set(left) == {AWAY} and left[AWAY] in {BEFORE, ours}
    if act is acts.append_line:
        return set(left) == {NAME} and left[NAME] in {BEFORE + b"\n", ours + b"\n"}
    return left == {NAME: THEIRS}


def assert_little_is_lost(rig: Rig, act: Act, guard: str, allowed: int = 0) -> None:
    """Act before each call, and count the lost writes."""
    calls, outcome = rig.edit(0)
    assert outcome == f"written by {guard}"
    ours = rig.read_folder()[NAME]
    assert OURS.encode() in ours
    lost, write_count = [], 0
    for number in range(1, calls + 1):
        _, outcome = rig.edit(number, act)
        left = rig.read_folder()
        write_count += outcome.startswith("written")
        if not is_possible(act, left, ours):
            sizes = {name: f"{len(text)} bytes" for name, text in left.items()}
            lost.append(f"before call {number} of {calls}: {outcome}, and there is {sizes}")
        # No reader ever finds a partial file.
        assert set(left.values()) <= {BEFORE, THEIRS, ours, BEFORE + b"\n", ours + b"\n"}
    print(f"{act.__name__}: {calls} places, {write_count} edits made, {len(lost)} times lost")
    assert len(lost) <= allowed, "\n".join(lost)
    # When they act first there is no edit, and when they act last there is.
    assert 0 < write_count < calls


@pytest.mark.parametrize("act", ACTS)
def test_a_write_between_any_two_calls_of_an_edit_is_not_lost(rig: Rig, act: Act) -> None:
    assert_little_is_lost(rig, act, "lease")


@only_at_night
@pytest.mark.parametrize("act", [acts.replace_by_rename, acts.remove_file, acts.move_file])
def test_without_leases_replacing_or_removing_the_file_loses_nothing(act: Act) -> None:
    with build_rig(list_users()[0], refused_calls=["lease"]) as rig:
        assert_little_is_lost(rig, act, "exchange")


@only_at_night
def test_without_exchange_only_a_write_between_last_check_and_rename_is_lost() -> None:
    with build_rig(list_users()[0], refused_calls=["exchange"]) as rig:
        # To look again is to open, to read and to close.
        assert_little_is_lost(rig, acts.replace_by_rename, "compare", allowed=6)
