"""The modes of a server and of its notebooks, in real SQLite files."""

import asyncio
import errno
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from jupyter_nbedit.errors import Forbidden, HistoryUnavailable, ModesUnreadable
from jupyter_nbedit.services.events.models import ModeEvent
from jupyter_nbedit.services.modes import Mode, ModeManager
from tests.support.clock import Clock
from tests.support.services import ServiceBuilder

# Longer than a server takes the modes that it has read for current.
LATER_SECONDS = 10


async def list_mode_events(services: ServiceBuilder) -> list[tuple[str | None, str, str]]:
    """Return path, mode and user of all mode events."""
    events = await services.list_events(ModeEvent.get_schema_id())
    return [(event["path"], event["mode"], event["user"]) for event in events]


async def test_modes_are_separate_for_each_root(services: ServiceBuilder) -> None:
    await services.build_modes("/one").change("a.ipynb", "plan", "ada")
    other = services.build_modes("/other")
    assert await other.get_effective("a.ipynb") == "edit"
    await other.on_deleted("a.ipynb")
    await other.on_renamed("a.ipynb", "b.ipynb")
    assert await services.build_modes("/one").get_effective("a.ipynb") == "plan"


async def test_a_change_by_another_server_on_the_same_folder_applies_soon(
    services: ServiceBuilder, clock: Clock
) -> None:
    one, other = services.build_modes(), services.build_modes()
    assert await other.get_effective("a.ipynb") == "edit"
    await one.change("a.ipynb", "plan", "ada")
    clock.advance(LATER_SECONDS)
    assert await other.get_effective("a.ipynb") == "plan"


async def test_a_mode_is_renamed_and_deleted_with_its_notebook_or_folder(
    services: ServiceBuilder,
) -> None:
    modes = services.build_modes()
    for path in ("a.ipynb", "f/a.ipynb", "f/g/b.ipynb", "fg/c.ipynb"):
        await modes.change(path, "plan", "ada")
    await modes.change("z.ipynb", "review", "ada")
    await modes.on_renamed("a.ipynb", "z.ipynb")
    await modes.on_renamed("f", "h%_")
    for path in ("z.ipynb", "h%_/a.ipynb", "h%_/g/b.ipynb", "fg/c.ipynb"):
        assert await modes.read_own(path) == ("plan", None), path
    for path in ("a.ipynb", "f/a.ipynb", "f/g/b.ipynb"):
        assert await modes.read_own(path) == (None, None), path
    for path in ("z.ipynb", "h%_"):
        await modes.on_deleted(path)
    for one in (modes, services.build_modes()):
        for path in ("z.ipynb", "h%_/a.ipynb", "h%_/g/b.ipynb"):
            assert await one.read_own(path) == (None, None), path
        assert await one.read_own("fg/c.ipynb") == ("plan", None)


# Unreadable modes ---------------------------------------------------------------------------------


def list_quarantined(services: ServiceBuilder) -> list[Path]:
    """List the damaged files that were moved aside."""
    return list(services.database_file.parent.glob("*.corrupt-*"))


def list_marks(services: ServiceBuilder) -> list[Path]:
    """List the files that say that a damaged file was moved aside."""
    return list(services.database_file.parent.glob("*.quarantined*"))


def damage(services: ServiceBuilder) -> None:
    """Write nonsense over the database, which no server has open."""
    file = services.database_file
    file.write_bytes(b"\xff" * file.stat().st_size)


async def build_damaged(services: ServiceBuilder, **options: Any) -> ModeManager:
    """Return the modes of a server whose database is damaged."""
    before = services.build_modes()
    await before.change("a.ipynb", "plan", "ada")
    await before.database.close()
    damage(services)
    return services.build_modes(**options)


async def test_without_a_database_notebooks_have_no_mode_and_no_file_is_created(
    services: ServiceBuilder,
) -> None:
    modes = services.build_modes()
    assert (await modes.get_effective("a.ipynb"), await modes.explain_unreadable()) == (
        "edit",
        None,
    )
    assert not services.database_file.parent.exists()


async def test_after_corruption_modes_are_unreadable_until_a_person_sets_one_for_all(
    services: ServiceBuilder,
) -> None:
    modes = await build_damaged(services)
    # Other servers of the user see it, and those that start later.
    for one in (modes, services.build_modes(), services.build_modes("/other root")):
        for path in ("a.ipynb", "b.ipynb"):
            with pytest.raises(ModesUnreadable):
                await one.get_effective(path)
    await modes.change_server("review", "ada")
    assert (await modes.get_effective("a.ipynb"), await modes.explain_unreadable()) == (
        "review",
        None,
    )
    assert await services.build_modes().get_effective("a.ipynb") == "edit"
    # Whose modes of another root were lost has not decided.
    with pytest.raises(ModesUnreadable):
        await services.build_modes("/other root").get_effective("a.ipynb")


@pytest.mark.parametrize("mode", ["edit", "plan", None])
async def test_after_corruption_a_person_can_set_the_mode_of_one_notebook(
    services: ServiceBuilder, mode: Mode | None
) -> None:
    modes = await build_damaged(services)
    await modes.change("a.ipynb", mode, "ada")
    for one in (modes, services.build_modes()):
        assert await one.get_effective("a.ipynb") == (mode or "edit")
        assert await one.read_own("a.ipynb") == (mode, None)
        assert await one.explain_unreadable() is not None
        with pytest.raises(ModesUnreadable):
            await one.get_effective("b.ipynb")
    await modes.on_renamed("a.ipynb", "c.ipynb")
    assert await modes.read_own("c.ipynb") == (mode, None)
    with pytest.raises(ModesUnreadable):
        await modes.get_effective("a.ipynb")
    await modes.change_server(None, "ada")
    assert await modes.read_own("b.ipynb") == (None, None)
    assert await modes.read_own("c.ipynb") == (mode, None)


async def test_a_decision_after_corruption_does_not_apply_after_the_next_corruption(
    services: ServiceBuilder,
) -> None:
    modes = await build_damaged(services)
    await modes.change_server("edit", "ada")
    await modes.database.close()
    damage(services)
    with pytest.raises(ModesUnreadable):
        await services.build_modes().get_effective("a.ipynb")


async def test_a_quarantined_file_goes_and_its_mark_stays(
    services: ServiceBuilder,
) -> None:
    modes = await build_damaged(services)
    assert await modes.explain_unreadable() is not None
    await modes.database.close()
    modes = services.build_modes(database=services.build_database(max_days=-1))
    with pytest.raises(ModesUnreadable):
        await modes.get_effective("a.ipynb")
    assert list_quarantined(services) == []


async def test_the_quarantine_mark_is_written_before_the_file_is_moved(
    services: ServiceBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = await build_damaged(services)
    really_open = os.open

    def fill_disk(path: str, flags: int, *more: int, **options: int) -> int:
        if flags & os.O_CREAT and ".quarantined" in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return really_open(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", fill_disk)
    with pytest.raises(ModesUnreadable):
        await modes.get_effective("a.ipynb")
    assert list_quarantined(services) == []
    monkeypatch.undo()
    for one in (modes, services.build_modes()):
        await one.database.read(lambda _: None)
        with pytest.raises(ModesUnreadable):
            await one.get_effective("a.ipynb")
    assert len(list_quarantined(services)) == 1
    # Earlier releases look for this name.
    assert [path.name for path in list_marks(services)] == ["history.sqlite3.quarantined"]


@pytest.mark.parametrize("code", [32, 5], ids=["in use", "denied"])
async def test_a_damaged_file_that_windows_does_not_rename_leaves_no_mark_and_is_no_mode(
    services: ServiceBuilder, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    modes = await build_damaged(services)
    damaged = services.database_file.read_bytes()
    waits: list[float] = []
    rename = Path.rename

    def refuse(path: Path, target: str | Path) -> Path:
        if path != services.database_file:
            return rename(path, target)
        error = PermissionError(errno.EACCES, "for the test")
        error.winerror = code  # type: ignore[attr-defined]
        raise error

    monkeypatch.setattr(Path, "rename", refuse)
    monkeypatch.setattr(time, "sleep", waits.append)
    with pytest.raises(HistoryUnavailable, match="Stop the other Jupyter servers"):
        await modes.database.read(lambda _: None)
    with pytest.raises(ModesUnreadable):
        await modes.get_effective("a.ipynb")
    assert len(set(waits)) == len(waits) > 0
    assert (list_marks(services), list_quarantined(services)) == ([], [])
    assert services.database_file.read_bytes() == damaged
    monkeypatch.undo()
    # The other server has ended.
    with pytest.raises(ModesUnreadable):
        await services.build_modes().get_effective("a.ipynb")
    assert (len(list_marks(services)), len(list_quarantined(services))) == (1, 1)


async def test_the_mark_of_another_server_stays_if_the_file_cannot_be_renamed(
    services: ServiceBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = await build_damaged(services)
    rename = Path.rename

    def move_first(path: Path, _: str | Path) -> Path:
        monkeypatch.undo()
        # Another server finds the damage at the same moment, and is faster.
        theirs = path.with_name(f"{path.name}.quarantined-theirs")
        theirs.write_text("it was damaged", encoding="utf-8")
        rename(path, f"{path}.corrupt-theirs")
        path.touch()
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "rename", move_first)
    with pytest.raises(ModesUnreadable):
        await modes.get_effective("a.ipynb")
    assert [path.name for path in list_marks(services)] == [
        f"{services.database_file.name}.quarantined-theirs"
    ]
    with pytest.raises(ModesUnreadable):
        await services.build_modes().get_effective("a.ipynb")


@pytest.mark.parametrize("value", ["edit", "damaged"])
async def test_an_unknown_mode_in_the_database_is_not_guessed(
    services: ServiceBuilder, value: str
) -> None:
    modes = services.build_modes()
    await modes.change("a.ipynb", "plan", "ada")
    await modes.database.write(
        lambda found: found.execute("UPDATE modes SET mode = ?", (value,)), forget=True
    )
    other = services.build_modes()
    if value == "edit":
        assert await other.get_effective("a.ipynb") == "edit"
        return
    # The damaged row may have been that of another notebook.
    for path in ("a.ipynb", "b.ipynb"):
        with pytest.raises(ModesUnreadable):
            await other.get_effective(path)
    assert await other.explain_unreadable() is not None
    await other.change("a.ipynb", "review", "ada")
    assert (await other.get_effective("a.ipynb"), await other.explain_unreadable()) == (
        "review",
        None,
    )


async def test_unreadable_modes_are_unknown_until_they_can_be_read(
    services: ServiceBuilder, clock: Clock
) -> None:
    modes = services.build_modes()
    await modes.change("a.ipynb", "plan", "ada")
    await modes.change("b.ipynb", "edit", "ada")
    await modes.database.close()
    modes = services.build_modes()
    file = services.database_file
    moved_file = file.rename(file.with_name("kept"))
    file.mkdir()
    for path in ("a.ipynb", "b.ipynb", "c.ipynb"):
        with pytest.raises(ModesUnreadable):
            await modes.get_effective(path)
    with pytest.raises(HistoryUnavailable):
        await modes.change("a.ipynb", "edit", "ada")
    # A person may decide for all, in this server and for as long as the reason is the same.
    await modes.change_server(None, "ada")
    assert await modes.get_effective("a.ipynb") == "edit"
    with pytest.raises(ModesUnreadable):
        await services.build_modes().get_effective("a.ipynb")
    file.rmdir()
    moved_file.rename(file)
    clock.advance(LATER_SECONDS)
    assert [await modes.get_effective(path) for path in ("a.ipynb", "b.ipynb", "c.ipynb")] == [
        "plan",
        "edit",
        "edit",
    ]


async def test_lost_modes_on_a_server_with_fixed_modes_are_left_to_its_operator(
    services: ServiceBuilder,
) -> None:
    fixed = await build_damaged(services, configured_mode="edit", is_fixed=True)
    with pytest.raises(ModesUnreadable):
        await fixed.get_effective("a.ipynb")
    with pytest.raises(Forbidden):
        await fixed.change_server(None, "ada")
    with pytest.raises(ModesUnreadable):
        await fixed.get_effective("a.ipynb")
    await services.build_modes().change_server(None, "ada")
    assert await services.build_modes(is_fixed=True).get_effective("a.ipynb") == "edit"


async def test_pages_are_notified_when_modes_are_lost_and_when_a_person_has_decided(
    services: ServiceBuilder, clock: Clock
) -> None:
    modes = await build_damaged(services)
    await asyncio.sleep(0)
    services.forget_events()
    for _ in range(2):
        await modes.explain_unreadable()
        clock.advance(LATER_SECONDS)
    for _ in range(2):
        # The second time nothing changes, as with a notebook that has no mode of its own.
        await modes.change_server(None, "ada")
        await modes.change("a.ipynb", None, "ada")
    clock.advance(LATER_SECONDS)
    await modes.explain_unreadable()
    assert await list_mode_events(services) == [(None, "edit", ""), (None, "edit", "ada")]


@pytest.mark.parametrize("mode", ["plan", "edit"])
async def test_modes_of_a_newer_release_apply_and_cannot_be_changed(
    services: ServiceBuilder, mode: Mode
) -> None:
    modes = services.build_modes(configured_mode="review")
    await modes.change("a.ipynb", mode, "ada")
    await modes.database.write(lambda found: found.execute("PRAGMA user_version = 99"))
    await modes.database.close()
    file = services.database_file
    before = file.read_bytes()
    older = services.build_modes(configured_mode="review")
    assert [await older.get_effective(path) for path in ("a.ipynb", "b.ipynb")] == [mode, "review"]
    with pytest.raises(HistoryUnavailable):
        await older.change("a.ipynb", "review", "ada")
    assert await older.get_effective("a.ipynb") == mode
    await older.database.close()
    assert file.read_bytes() == before


async def test_the_mode_of_each_former_path_holds_until_a_rename_is_stored(
    services: ServiceBuilder,
) -> None:
    modes = services.build_modes()
    await modes.change("f/a.ipynb", "plan", "ada")
    with modes.expect_rename("f", "g"), modes.expect_rename("g/a.ipynb", "b.ipynb"):
        # Events may be forged: none hides what another one says.
        with modes.expect_rename("z.ipynb", "b.ipynb"):
            assert await modes.get_effective("b.ipynb") == "plan"
        assert await modes.get_effective("g/a.ipynb") == "plan"
        assert await modes.get_effective("g/b.ipynb") == "edit"
    assert await modes.get_effective("b.ipynb") == "edit"


async def test_many_forged_renames_cost_no_more_than_their_number(
    services: ServiceBuilder,
) -> None:
    modes = services.build_modes()
    await modes.change("other.ipynb", "plan", "ada")
    with ExitStack() as renames:
        # Each would double the former paths.
        for number in range(200):
            renames.enter_context(modes.expect_rename(f"a/{number}", "a"))
        with pytest.raises(ModesUnreadable, match="Too many renames"):
            await modes.get_effective("a/x.ipynb")
        assert await modes.get_effective("b.ipynb") == "edit"
    assert await modes.get_effective("a/x.ipynb") == "edit"
