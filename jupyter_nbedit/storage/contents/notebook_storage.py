"""Notebooks that only the contents manager can save: pairs, and notebooks that a hook may change.

nbformat creates new ids for cells without ids whenever it reads a notebook. Reading a notebook must
not change its hash.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import nbformat.reader
import nbformat.v4
from jupyter_server.utils import ensure_async
from tornado.web import HTTPError

from jupyter_nbedit.errors import InvalidNotebook, NbEditError, NotAPlainFile, NotebookExists
from jupyter_nbedit.notebook.splices import Splice, apply_splices
from jupyter_nbedit.storage.base import Content, StaleContent, WriteResult
from jupyter_nbedit.storage.contents.contents_storage import ContentsStorage, parse_timestamp
from jupyter_nbedit.storage.contents.errors import is_post_save_failure, map_contents_errors
from jupyter_nbedit.storage.contents.jupytext import get_known_pairs, list_paired_paths
from jupyter_nbedit.storage.contents.manager_kinds import is_asynchronous
from jupyter_nbedit.system.concurrency import run_in_thread_if_large
from jupyter_nbedit.trust import manager

_DISAGREE = (
    "The two files of this Jupytext pair disagree, so Jupytext does not open it: another "
    "program changed the .ipynb after the text file. Nothing was written; run `jupytext --sync` "
    "first, or delete the outdated file."
)
_IMPOSSIBLE = (
    "The Jupytext metadata of this notebook name an invalid paired file; correct their "
    "`formats`. Nothing was written."
)
_CHANGED_AS_TEXT = (
    "The notebook differs from what was written: Jupytext's text cannot represent all of it, or "
    "a hook of this server or another program has changed it. Read the notebook again before "
    "you edit it."
)

_NBFORMAT = 4
# nbformat 4.5 gave cells their ids.
_MINOR_WITH_IDS = 5
_ID_CHARACTERS = 8
# Members of Jupytext's metadata that describe the text file that it has written.
_WRITER_MEMBERS = frozenset(("encoding", "main_language", "text_representation"))

#: A notebook as in the Contents API: plain JSON values, each source as one string.
Notebook = dict[str, Any]


@dataclass(frozen=True, eq=False)
class NotebookStorage(ContentsStorage):
    """Notebooks that the manager saves; it runs hooks, signs, and writes both halves of a pair."""

    is_paired: bool

    kind: ClassVar[str] = "notebook"
    preserves_bytes: ClassVar[bool] = False
    is_signed: ClassVar[bool] = True

    @property
    def changed_warning(self) -> str:
        """The warning that the stored notebook differs from the one that was written."""
        return _CHANGED_AS_TEXT if self.is_paired else super().changed_warning

    async def read(self, path: str) -> Content:
        """Read a notebook's file; for a pair, what the manager merges from both files."""
        if not self.is_paired:
            return await super().read(path)
        # During a save, one half is newer than the other.
        async with self.lock(path):
            file_text = (await super().read(path)).text
            with map_contents_errors():
                try:
                    model = await ensure_async(
                        self.manager.get(path, content=True, type="notebook")
                    )
                except HTTPError as error:
                    if path not in (get_known_pairs(self.manager) or ()):
                        raise NotAPlainFile(_IMPOSSIBLE) from error
                    if error.status_code != 400:  # noqa: PLR2004 -- HTTP's own number
                        raise
                    if parse_model(file_text) is None:
                        # The file is not a notebook at all; parsing it gives a better message.
                        return await super().read(path)
                    raise NotAPlainFile(_DISAGREE) from error
            # If the manager is not asynchronous, no other task may run before a save.
            size = len(file_text) if is_asynchronous(self.manager) else 0
            text = await run_in_thread_if_large(size, serialize, model["content"], file_text)
        trust = is_marked_trusted(model["content"])
        return Content(text, parse_timestamp(model["last_modified"]), file_text, trust)

    async def write(self, path: str, base: Content, splices: Sequence[Splice]) -> WriteResult:
        """Save the spliced notebook, if the manager still returns what was read."""
        text = apply_splices(base.text, splices)
        model = await run_in_thread_if_large(len(text), self._build_model, text)
        notary = self.manager.notary
        is_trusted = base.is_trusted
        if is_trusted is None:
            is_trusted = await manager.is_trusted(notary, base.text)
        set_trusted(model["content"], is_trusted=is_trusted)
        # The manager signs every notebook without outputs; an untrusted one must not become
        # trusted.
        keeps_signature = is_trusted or await manager.is_trusted(notary, text)
        # From here to the save, no other task runs if the manager is not asynchronous.
        current = await self.read(path)
        if current.text != base.text:
            raise StaleContent
        original = current.version if isinstance(current.version, bytes) else current.text
        warnings = await self._save(path, text, model, original)
        if not keeps_signature:
            await manager.unsign(notary, await self._read_saved(path, text))
        return await self._build_result(path, text, warnings)

    async def _read_saved(self, path: str, text: bytes) -> bytes:
        """Return the bytes of the saved notebook, or ``text`` if it cannot be read."""
        try:
            return (await super().read(path)).text
        except NbEditError:
            return text

    async def ensure_absent(self, path: str) -> None:
        """Raise if the path exists, or the other half of a pair."""
        await super().ensure_absent(path)
        with map_contents_errors():
            for paired_path in (
                await list_paired_paths(self.manager, path) if self.is_paired else ()
            ):
                if await ensure_async(self.manager.exists(paired_path)):
                    raise NotebookExists(
                        "This notebook would belong to a Jupytext pair, and its paired file "
                        f"{paired_path!r} exists already. Nothing is ever overwritten; choose "
                        "another path."
                    )

    def _build_model(self, text: bytes) -> dict[str, Any]:
        """Return the model that a browser would send to save a notebook."""
        notebook = parse_model(text)
        if notebook is None:
            raise InvalidNotebook(
                "nbformat could not read the notebook after this edit, and this storage saves "
                "only what nbformat can read; nothing was written."
            )
        add_ids(notebook)
        return {"type": "notebook", "format": "json", "content": notebook}

    def _is_same(self, text: bytes, saved_text: bytes) -> bool:
        return is_same_notebook(text, saved_text)

    async def _is_saved(self, path: str, text: bytes, error: Exception) -> bool:
        # A hook that fails after the first half of a pair prevents the other from being written.
        return is_post_save_failure(error) and await super()._is_saved(path, text, error)

    async def _undo_save(
        self, path: str, text: bytes, model: dict[str, Any], original: bytes | None
    ) -> bool:
        """Restore the ``.ipynb`` half of a pair whose other half could not be saved."""
        file = ContentsStorage(self.manager, self.locks)
        # A hook may have changed one half and refused the other.
        own_texts = (text, json.dumps(model["content"], default=str).encode())
        with map_contents_errors():
            # On a full disk, a partial file may be left.
            if original is None and await file.remove_partial_file(
                path, lambda text: parse_model(text) is None
            ):
                return True
            if not await ensure_async(self.manager.file_exists(path)):
                return False
            current = await file.read(path)
            # Any other content was written by another program meanwhile.
            if not any(is_same_notebook(current.text, own_text) for own_text in own_texts):
                return False
            if original is None:
                await ensure_async(self.manager.delete_file(path))
            elif current.text != original:
                await file.write(path, current, [Splice(0, len(current.text), original)])
        return original is None


def parse_model(text: bytes) -> Notebook | None:
    """Parse a notebook like nbformat, without changing anything; None if it is not a notebook."""
    try:
        notebook = _convert_to_plain(nbformat.reader.reads(text.decode()))
        cells = notebook["cells"] if notebook["nbformat"] == _NBFORMAT else None
        is_complete = cells is not None and all("metadata" in cell for cell in cells)
        is_complete = is_complete and isinstance(notebook["nbformat_minor"], int)
    except Exception:  # noqa: BLE001 -- nbformat raises whatever its reader stumbles over
        return None
    return notebook if is_complete else None


def serialize(model: Mapping[str, Any], file_bytes: bytes) -> bytes:
    """Return the bytes for a notebook that the manager merged from several files.

    They are the bytes of its ``.ipynb`` file if the file has the same content; else new bytes, the
    same at every reading.
    """
    file_model = parse_model(file_bytes)
    if file_model is None:
        return file_bytes
    notebook = _convert_to_plain(model)
    if _normalize(notebook) == _normalize(file_model):
        return file_bytes
    file_ids = {cell["id"] for cell in file_model["cells"] if "id" in cell}
    for cell in notebook["cells"]:
        cell["metadata"].pop("trusted", None)
        if cell.get("id") not in file_ids:
            cell.pop("id", None)
    add_ids(notebook)
    text: str = nbformat.v4.writes(nbformat.from_dict(notebook))
    return f"{text}\n".encode()


def add_ids(notebook: Notebook) -> None:
    """Add an id, derived from its content, to every cell, if the format has ids."""
    if notebook["nbformat_minor"] < _MINOR_WITH_IDS:
        for cell in notebook["cells"]:
            cell.pop("id", None)
        return
    used_ids: set[str] = set()
    for index, cell in enumerate(notebook["cells"]):
        cell_id, salt = cell.get("id"), 0
        while cell_id is None or cell_id in used_ids:
            seed = f"{index} {salt} {cell['cell_type']} {cell['source']}"
            cell_id = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).hexdigest()
            cell_id, salt = cell_id[:_ID_CHARACTERS], salt + 1
        cell["id"] = cell_id
        used_ids.add(cell_id)


def is_same_notebook(first_text: bytes, second_text: bytes) -> bool:
    """Return whether two texts have the same content as notebooks."""
    first, second = parse_model(first_text), parse_model(second_text)
    if first is None or second is None:
        return first_text == second_text
    return _normalize(first) == _normalize(second)


def _normalize(notebook: Notebook) -> Notebook:
    """Return the content of a notebook without members that saving adds or removes."""
    metadata = dict(notebook["metadata"])
    jupytext_metadata = metadata.get("jupytext", {})
    if not isinstance(jupytext_metadata, Mapping):
        jupytext_metadata = {"jupytext": jupytext_metadata}
    jupytext = {
        name: value for name, value in jupytext_metadata.items() if name not in _WRITER_MEMBERS
    }
    cells = [
        {
            **{name: value for name, value in cell.items() if name != "id"},
            "metadata": {k: v for k, v in cell["metadata"].items() if k != "trusted"},
        }
        for cell in notebook["cells"]
    ]
    return {**notebook, "metadata": {**metadata, "jupytext": jupytext}, "cells": cells}


def is_marked_trusted(notebook: Mapping[str, Any]) -> bool | None:
    """Return whether a manager has marked all outputs as trusted; None without code cells."""
    code_cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if not code_cells:
        return None
    return all(cell["metadata"].get("trusted") or not cell["outputs"] for cell in code_cells)


def set_trusted(notebook: Notebook, *, is_trusted: bool) -> None:
    """Mark a notebook as trusted or not, as a browser does when it saves."""
    for cell in notebook["cells"]:
        # A mark in the file itself must not be believed.
        cell["metadata"].pop("trusted", None)
        if is_trusted and cell["cell_type"] == "code":
            cell["metadata"]["trusted"] = True


def _convert_to_plain(notebook: Mapping[str, Any]) -> Notebook:
    plain: Notebook = json.loads(json.dumps(notebook))
    return plain
