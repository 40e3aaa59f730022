"""A plain model of the operations, on the parsed notebook: the oracle for what an edit means.

It shares no code with the package, keeps everything in one list that it searches, and knows nothing
of bytes. An error is its reason.
"""

import copy
import hashlib
import itertools
import json
import re
from collections.abc import Collection, Iterator
from typing import Any

import nbformat
from nbformat.validator import get_validator

from tests.notebook import model_sections as sections

JSON = Any


class RefusedByModel(Exception):
    """An invalid operation, with the reason."""


def decode_notebook(text: bytes) -> JSON:
    """Parse as nbformat does; numbers stay text, so that 5000 digits and NaN can be compared."""
    return json.loads(
        text.decode("utf-8-sig"),
        parse_int=parse_number,
        parse_float=parse_number,
        parse_constant=parse_number,
    )


class Number(str):
    """A number, as it is written."""

    __slots__ = ()


def parse_number(token: str) -> Number:
    return Number(f"number {token}")


def wrap_numbers(value: JSON) -> JSON:
    """Return the value with its numbers as Python has them."""
    if isinstance(value, Number):
        token = value.removeprefix("number ")
        return int(token) if re.fullmatch(r"-?\d{1,4300}", token) else float(token)
    if isinstance(value, dict):
        return {name: wrap_numbers(item) for name, item in value.items()}
    return [wrap_numbers(item) for item in value] if isinstance(value, list) else value


def get_source(cell: JSON) -> str:
    value = cell.get("source", "")
    return value if isinstance(value, str) else "".join(value)


def join_source(cell: JSON) -> JSON:
    """A cell whose source is one string, as nbformat reads it."""
    return {**cell, "source": get_source(cell)}


def merge_patch(target: JSON, patch: JSON) -> JSON:
    """Apply a merge patch as in RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = merge_patch(target.get(name), value)
    return target


def normalize_line_ends(text: str) -> str:
    return re.sub("\r\n?", "\n", text)


def replace_text(source: str, old: str, new: str, *, everywhere: bool) -> str:
    """Replace a text in which CR LF is one character, a line end like LF."""
    row = re.findall("\r\n|.", source, re.DOTALL)
    ends = [at for at, one in enumerate(row) if one in {"\n", "\r\n"}]
    text, old = "".join(one[-1] for one in row), old.replace("\r\n", "\n")
    if "\r\n" not in row:
        new = normalize_line_ends(new)
        old = old if old in text else normalize_line_ends(old)
    count = sum(text.startswith(old, at) for at in range(len(text)))
    if count == 0 or (count > 1 and not everywhere):
        raise RefusedByModel("text_mismatch")
    at = 0
    while (at := text.find(old, at)) != -1:
        # The next line end, or the first one if none follows, is that of the new text.
        following = [end for end in ends if end >= at] or ends
        row[at] = re.sub("\r?\n", row[following[0]], new) if following else new
        row[at + 1 : at + len(old)] = [""] * (len(old) - 1)
        at += len(old)
    return "".join(row)


def list_defined_members(owner: str, minor: int) -> set[str]:
    """Return which metadata nbformat's own schema defines for a type of cell or the notebook."""
    schema = get_validator(4, min(minor, 5))._schema
    whole = schema if owner == "notebook" else schema["definitions"].get(f"{owner}_cell")
    return set(whole["properties"]["metadata"]["properties"]) if whole else set()


def is_valid_metadata(owner: str, minor: int, metadata: JSON) -> bool:
    """Return whether nbformat finds a notebook with such metadata valid."""
    minor = min(minor, 5)
    cell = {"cell_type": owner, "source": "", "metadata": metadata}
    cell |= {"execution_count": None, "outputs": []} if owner == "code" else {}
    cell |= {"id": "x"} if minor == 5 else {}
    is_top = owner == "notebook"
    value = {
        "cells": [] if is_top else [cell],
        "metadata": metadata if is_top else {},
        "nbformat": 4,
        "nbformat_minor": minor,
    }
    return bool(nbformat.validator.isvalid(value, version=4))


def find_line(before: str, pieces: list[JSON], at_line: int) -> tuple[JSON, int]:
    """Return the piece that has a line of the source before, and its number in there."""

    def cut(text: str) -> list[str]:
        return text.replace("\r\n", "\n").split("\n")

    old = cut(before)
    new = [(piece, at, line) for piece in pieces for at, line in enumerate(cut(piece["source"]), 1)]
    texts = [line for _, _, line in new]
    if at_line > len(old) - (old[-1] == ""):
        raise RefusedByModel("invalid_operation")
    head, tail = old[:at_line], old[at_line - 1 :]
    if texts[: len(head)] == head:
        piece, number, _ = new[at_line - 1]
    elif texts[len(texts) - len(tail) :] == tail and len(tail) <= len(texts):
        piece, number, _ = new[len(texts) - len(tail)]
    else:
        raise RefusedByModel("invalid_operation")
    if number == 1:
        raise RefusedByModel("invalid_operation")
    return piece, number


class ModelBatch:
    """A notebook while operations are done to it.

    ``row`` holds the cells with a mark before and behind each; what goes beside a cell goes before
    one of its marks.
    """

    def __init__(self, notebook: JSON, fresh: Iterator[str]) -> None:
        self.top = {name: value for name, value in notebook.items() if name != "cells"}
        self.was = [join_source(cell) for cell in notebook["cells"]]
        self.cells = copy.deepcopy(self.was)
        self.minor = int(wrap_numbers(self.top.get("nbformat_minor", 0)))
        self.has_ids = self.minor >= 5
        self.fresh = fresh
        marks = [object() for _ in range(len(self.cells) + 1)]
        self.marks = {id(c): (marks[at], marks[at + 1]) for at, c in enumerate(self.cells)}
        self.ends = (marks[0], marks[-1])
        self.gaps = marks
        self.row: list[Any] = [marks[0]]
        for at, cell in enumerate(self.cells):
            self.row += [cell, marks[at + 1]]
        self.gone: list[JSON] = []
        self.inserted: dict[str, JSON] = {}
        # What splits have made of each cell, and what its source was at first.
        self.pieces: dict[int, list[JSON]] = {}
        self.before = {id(cell): cell["source"] for cell in self.cells}

    def apply(self, operation: JSON) -> None:
        fields = {name: value for name, value in operation.items() if name != "op"}
        marked = {id(cell): (cell, cell["source"]) for cell in self.now}
        if "section" not in fields:
            for cell, source in marked.values():
                cell["source"] = source.replace(sections.INSERTED, "")
        getattr(self, operation["op"])(**fields)
        if "section" not in fields:
            # What another operation has changed is read anew.
            for cell, source in marked.values():
                if cell["source"] == source.replace(sections.INSERTED, ""):
                    cell["source"] = source

    @property
    def now(self) -> list[JSON]:
        """The cells, with marks at the headings that the batch inserted."""
        return [entry for entry in self.row if isinstance(entry, dict)]

    @property
    def result(self) -> list[JSON]:
        """The cells as they are after the batch."""
        return [
            {**cell, "source": cell["source"].replace(sections.INSERTED, "")} for cell in self.now
        ]

    def list_untouched(self) -> list[int]:
        """The indexes of the cells that are there still, as they were."""
        now = [id(cell) for cell in self.now]
        return [
            at
            for at, (cell, before) in enumerate(zip(self.cells, self.was, strict=True))
            if id(cell) in now and cell == before
        ]

    def is_unchanged(self, notebook: JSON) -> bool:
        """Return whether the cells are the same ones as in the notebook, and all is as it was."""
        is_same = [id(cell) for cell in self.now] == [id(cell) for cell in self.cells]
        top = {name: value for name, value in notebook.items() if name != "cells"}
        return is_same and self.cells == self.was and self.top == top

    def find_index(self, what: object) -> int:
        return next(at for at, entry in enumerate(self.row) if entry is what)

    def find(self, address: str | int) -> JSON:
        if isinstance(address, str) and address in self.inserted:
            return self.inserted[address]
        if isinstance(address, str):
            same = [at for at, cell in enumerate(self.was) if cell.get("id") == address]
            if len(same) > 1:
                raise RefusedByModel("ambiguous_cell")
            known = {f"cell-{at}": at for at in range(len(self.was))}
            # Where a cell has an id of this form, another such text is no index.
            if any(re.fullmatch("cell-[0-9]+", str(cell.get("id"))) for cell in self.was):
                known = {}
            address = same[0] if same else known.get(address, -1)
        if not 0 <= address < len(self.was):
            raise RefusedByModel("cell_not_found")
        return self.cells[address]

    def find_cell(self, address: str | int, expect: JSON = None) -> JSON:
        cell = self.find(address)
        if any(cell is other for other in self.gone):
            raise RefusedByModel("invalid_operation")
        if expect is not None:
            before = next((w for w, c in zip(self.was, self.cells, strict=True) if c is cell), cell)
            if (
                expect["source_hash"]
                != hashlib.sha256(before["source"].encode("utf-8", "surrogatepass")).hexdigest()
            ):
                raise RefusedByModel("cell_changed")
        return cell

    def find_cells(self, cell: Any, cells: Any, expect: JSON = None) -> list[JSON]:
        found = (
            [self.find_cell(cell, expect)]
            if cells is None
            else [self.find_cell(one) for one in cells]
        )
        if len({id(one) for one in found}) < len(found):
            raise RefusedByModel("invalid_operation")
        return found

    def check_protection(self, cell: JSON, flag: str) -> None:
        metadata = cell.get("metadata")
        if isinstance(metadata, dict) and metadata.get(flag) is False:
            raise RefusedByModel("cell_protected")

    def judge(self, metadata: JSON, names: Collection[str], owner: str) -> None:
        """Refuse those of some members that nbformat defines and refuses."""
        if isinstance(metadata, dict):
            chosen = list_defined_members(owner, self.minor) & set(names) & set(metadata)
            judged = {name: wrap_numbers(metadata[name]) for name in chosen}
            if judged and not is_valid_metadata(owner, self.minor, judged):
                raise RefusedByModel("invalid_operation")

    def clear(self, cell: JSON) -> None:
        for name, value in (("outputs", []), ("execution_count", None)):
            if cell["cell_type"] == "code" and name in cell:
                cell[name] = value

    def make_id(self) -> dict[str, str]:
        used_ids = {cell.get("id") for cell in self.was} | set(self.inserted)
        return {"id": next(i for i in self.fresh if i not in used_ids)} if self.has_ids else {}

    def put(self, cell: JSON, mark: object) -> JSON:
        self.marks[id(cell)] = marks = (object(), object())
        at = self.find_index(mark)
        self.row[at:at] = [marks[0], cell, marks[1]]
        return cell

    def insert_new(self, mark: object, cell: JSON) -> JSON:
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
        if "id" in cell:
            self.inserted[cell["id"]] = cell
        self.before[id(cell)] = cell["source"]
        return self.put(cell, mark)

    def remove(self, cell: JSON) -> None:
        del self.row[self.find_index(cell)]

    def mark(self, place: JSON) -> object:
        if "at" in place:
            return self.ends[place["at"] == "end"]
        if "index" in place:
            if place["index"] > len(self.was):
                raise RefusedByModel("invalid_operation")
            return self.gaps[place["index"]]
        side = "after" if "after" in place else "before"
        return self.marks[id(self.find(place[side]))][side == "after"]

    # The operations, by their names.

    def replace(
        self,
        cell: Any,
        source: str | None = None,
        cell_type: str | None = None,
        outputs: str = "clear",
        expect: JSON = None,
    ) -> None:
        found = self.find_cell(cell, expect)
        self.check_protection(found, "editable")
        if source is not None:
            was = found["source"]
            is_kept = "\r\n" in was or source == was
            found["source"] = source if is_kept else normalize_line_ends(source)
        if cell_type is not None and cell_type != found["cell_type"]:
            known = list_defined_members(found["cell_type"], self.minor)
            only_new = list_defined_members(cell_type, self.minor) - known
            self.judge(found.get("metadata"), only_new, cell_type)
            alien = ("attachments",) if cell_type == "code" else ("outputs", "execution_count")
            for name in alien:
                found.pop(name, None)
            found["cell_type"] = cell_type
            if cell_type == "code":
                found |= {"execution_count": None, "outputs": []}
        if outputs == "clear":
            self.clear(found)

    def replace_text(
        self, cell: Any, edits: JSON = None, outputs: str = "clear", expect: JSON = None, **one: Any
    ) -> None:
        found = self.find_cell(cell, expect)
        self.check_protection(found, "editable")
        text = found["source"]
        for edit in edits or [one]:
            everywhere = bool(edit.get("all"))
            text = replace_text(text, edit["old"], edit["new"], everywhere=everywhere)
        found["source"] = text
        if outputs == "clear":
            self.clear(found)

    def insert(self, source: str, cell_type: str, metadata: JSON = None, **place: Any) -> None:
        cell_id = place.pop("id", None)
        if cell_id is not None:
            used_ids = {cell.get("id") for cell in self.was} | set(self.inserted)
            if cell_id in used_ids or not self.has_ids:
                raise RefusedByModel("invalid_operation")
        named = self.make_id() if cell_id is None else {"id": cell_id}
        mark = self.mark(place)
        metadata = decode_notebook(json.dumps(metadata or {}).encode())
        self.judge(metadata, metadata, cell_type)
        cell = {"cell_type": cell_type, "metadata": metadata, **named}
        self.insert_new(mark, {**cell, "source": normalize_line_ends(source)})

    def delete(self, cell: Any = None, cells: Any = None, expect: JSON = None) -> None:
        for one in self.find_cells(cell, cells, expect):
            self.check_protection(one, "deletable")
            self.remove(one)
            self.gone.append(one)

    def move(self, cell: Any = None, cells: Any = None, expect: JSON = None, **place: Any) -> None:
        mark = None
        for one in self.find_cells(cell, cells, expect):
            before = self.mark(place) if mark is None else mark
            self.remove(one)
            self.put(one, before)
            mark = mark or self.marks[id(one)][1]

    def split(self, cell: Any, at_line: int, expect: JSON = None) -> None:
        found = self.find_cell(cell, expect)
        self.check_protection(found, "editable")
        pieces = self.pieces.setdefault(id(found), [found])
        live = [piece for piece in pieces if not any(piece is other for other in self.gone)]
        addressed, (found, at_line) = found, find_line(self.before[id(found)], live, at_line)
        self.check_protection(found, "editable")
        lines = found["source"].split("\n")
        first, rest = "\n".join(lines[: at_line - 1]), "\n".join(lines[at_line - 1 :])
        found["source"] = first.removesuffix("\r")
        self.clear(found)
        copied_members = {
            name: found[name] for name in ("metadata", "attachments") if name in found
        }
        copied_members = {
            **copy.deepcopy(copied_members),
            "cell_type": found["cell_type"],
            "source": rest,
        }
        if copied_members["cell_type"] == "code":
            copied_members.pop("attachments", None)
        later = live[1 + next(at for at, piece in enumerate(live) if piece is found) :]
        mark = self.marks[id(later[0])][0] if later else self.marks[id(found)][1]
        new = self.insert_new(mark, {**copied_members, **self.make_id()})
        at = next(at for at, piece in enumerate(pieces) if piece is found)
        self.pieces[id(addressed)].insert(at + 1, new)

    def merge(self, cells: Any) -> None:
        found = self.find_cells(None, cells)
        now = [id(cell) for cell in self.now]
        first = now.index(id(found[0]))
        if now[first : first + len(found)] != [id(cell) for cell in found]:
            raise RefusedByModel("invalid_operation")
        if len({cell["cell_type"] for cell in found}) > 1:
            raise RefusedByModel("invalid_operation")
        for one in found:
            self.check_protection(one, "editable")
        gathered = [cell["attachments"] for cell in found if "attachments" in cell]
        for one, other in itertools.combinations(gathered, 2):
            if any(one[name] != other[name] for name in one.keys() & other.keys()):
                raise RefusedByModel("invalid_operation")
        # An empty object of another cell adds nothing.
        if any(gathered):
            found[0]["attachments"] = dict(itertools.chain(*(one.items() for one in gathered)))
        found[0]["source"] = "\n".join(cell["source"] for cell in found)
        self.clear(found[0])
        for one in found[1:]:
            self.check_protection(one, "deletable")
            self.remove(one)
            self.gone.append(one)

    def clear_outputs(
        self, cell: Any = None, cells: Any = None, expect: JSON = None, **everything: bool
    ) -> None:
        chosen = self.now if everything else self.find_cells(cell, cells, expect)
        for one in chosen:
            shows = one.get("outputs") or one.get("execution_count") is not None
            if not everything or (one["cell_type"] == "code" and shows):
                self.check_protection(one, "editable")
            self.clear(one)

    def set_metadata(self, patch: JSON, cell: Any = None, expect: JSON = None) -> None:
        target = self.top if cell is None else self.find_cell(cell, expect)
        if cell is not None and patch.get("editable", False) is False:
            self.check_protection(target, "editable")
        target["metadata"] = merge_patch(
            target.get("metadata"), decode_notebook(json.dumps(patch).encode())
        )
        owner = "notebook" if cell is None else target["cell_type"]
        self.judge(target["metadata"], patch, owner)

    def append_to_section(self, section: str, source: str, cell_type: str = "markdown") -> None:
        found = self.find_section(section)
        if not found.within:
            self.insert_in_section(self.gaps[found.stop], source, cell_type)
            return
        last = self.part(found.stop - 1)
        if cell_type != "markdown":
            raise RefusedByModel("invalid_operation")
        new = sections.build_insertion(source)
        self.change(last, sections.append(*self.cut(found, last), new))

    def replace_section(self, section: str, source: str, cell_type: str = "markdown") -> None:
        found = self.find_section(section)
        head = self.part(found.cell)
        before, part, after = self.cut(found, head)
        if found.stop == found.cell + 1 and (found.within or cell_type == "markdown"):
            if cell_type != "markdown":
                raise RefusedByModel("invalid_operation")
            new = sections.build_insertion(source)
            self.change(head, sections.replace(before, part, after, new))
            return
        self.change(head, sections.replace(before, part, after, ""))
        for at in range(found.cell + 1, found.stop):
            if found.within and at == found.stop - 1:
                last = self.part(at)
                self.change(last, "\n".join(self.cut(found, last)[2]))
            elif not any(self.cells[at] is other for other in self.gone):
                self.check_protection(self.cells[at], "deletable")
                self.remove(self.cells[at])
                self.gone.append(self.cells[at])
        self.insert_in_section(self.marks[id(head)][1], source, cell_type)

    def remove_entry(self, section: str, match: str) -> None:
        found, removed = self.find_section(section), False
        for at in range(found.cell, found.stop):
            cell = self.cells[at]
            if cell["cell_type"] == "markdown" and not any(cell is other for other in self.gone):
                text = sections.remove(*self.cut(found, cell), match)
                if text is not None:
                    self.change(cell, text)
                    removed = True
        if not removed:
            raise RefusedByModel("text_mismatch")

    def insert_in_section(self, mark: object, source: str, cell_type: str) -> None:
        named = self.make_id()
        cell = {"cell_type": cell_type, "metadata": {}, "source": normalize_line_ends(source)}
        self.insert_new(mark, {**cell, **named})

    def change(self, cell: JSON, text: str) -> None:
        if text.replace(sections.INSERTED, "") != cell["source"].replace(sections.INSERTED, ""):
            self.check_protection(cell, "editable")
        cell["source"] = text

    def find_section(self, name: str) -> sections.Section:
        sources = [cell["source"] if cell["cell_type"] == "markdown" else "" for cell in self.was]
        found = sections.find(sources, name)
        if len(found) != 1:
            raise RefusedByModel("ambiguous_section" if found else "section_not_found")
        return found[0]

    def part(self, at: int) -> JSON:
        cell = self.cells[at]
        if cell["cell_type"] != "markdown" or any(cell is other for other in self.gone):
            raise RefusedByModel("invalid_operation")
        return cell

    def cut(self, found: sections.Section, cell: JSON) -> tuple[list[str], list[str], list[str]]:
        """The lines of a cell before, in and behind the section; its heading is before."""
        lines = cell["source"].split("\n")
        start = 0
        if cell is self.cells[found.cell]:
            heads = [at for at, line in enumerate(lines) if line == found.line]
            if len(heads) != 1:
                raise RefusedByModel("invalid_operation")
            start = heads[0] + 1
        stop = sections.find_end(lines, found.level, start)
        return lines[:start], lines[start:stop], lines[stop:]
