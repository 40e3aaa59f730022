"""A notebook that is open in JupyterLab, as a person sees and uses it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engines.server import Server
from engines.webdriver import KEYS, Browser, poll

HELPERS = (Path(__file__).parent / "page.mjs").read_text()

#: Safari on a Mac gives buttons no focus by a click, but the next element around that can have it.
SAFARI_FOCUS = """() => addEventListener('mousedown', event => {
  const button = event.target.closest('button, input[type=radio], input[type=checkbox]');
  if (button === null || event.defaultPrevented) {
    return;
  }
  event.preventDefault();
  const around = button.parentElement.closest('[tabindex], [contenteditable=true]');
  if (around === null) {
    document.activeElement?.blur();
  } else {
    around.focus({ preventScroll: true });
  }
})"""


def wait_for(probe: Callable[[], object], expected: object) -> None:
    """Wait until a probe finds what is expected."""
    found = poll(probe, lambda found: found == expected)
    assert found == expected, f"{found!r} is not {expected!r}"


def wait_until(probe: Callable[[], object]) -> None:
    """Wait until a probe finds something."""
    found = poll(probe, bool)
    assert found, f"It stays {found!r}."


class Tab:
    """A window of JupyterLab with one notebook."""

    def __init__(self, browser: Browser, server: Server, *, is_safari: bool) -> None:
        self.browser = browser
        self.server = server
        self._is_safari = is_safari
        self._path = ""

    # The window.

    def start(self) -> None:
        """Load JupyterLab, without the notebooks that were open."""
        self.browser.open(self.server.get_login_address())
        is_ready = "() => !!window.jupyterapp && !document.querySelector('#jupyterlab-splash')"
        wait_until(lambda: self.browser.evaluate(is_ready))
        self.browser.evaluate("() => window.jupyterapp.restored.then(() => null)")
        self.browser.evaluate(f"() => {{ {HELPERS} }}")
        if self._is_safari:
            self.browser.evaluate(SAFARI_FOCUS)

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of page.mjs."""
        return self.browser.evaluate(f"(...all) => nbeditTest.{name}(...all)", *arguments)

    def run(self, command: str, **arguments: Any) -> None:
        """Run a command of JupyterLab."""
        self.call("run", command, arguments)

    # Keyboard and mouse.

    def press(self, *chords: str) -> None:
        """Press keys together, such as Control+s, one chord after the other."""
        for chord in chords:
            keys = [KEYS.get(key, key) for key in chord.split("+")]
            actions = [{"type": "keyDown", "value": key} for key in keys]
            actions += [{"type": "keyUp", "value": key} for key in reversed(keys)]
            self.browser.perform({"type": "key", "id": "keyboard", "actions": actions})

    def type(self, text: str) -> None:
        for character in text:
            actions = [{"type": kind, "value": character} for kind in ("keyDown", "keyUp")]
            self.browser.perform({"type": "key", "id": "keyboard", "actions": actions})

    def point_at(self, selector: str, name: str = "", cell: str = "") -> None:
        """Move the mouse to an element, when it is there, at rest and nothing is above it."""
        self._use_mouse(selector, name, cell, [])

    def click(self, selector: str, name: str = "", cell: str = "") -> None:
        """Click an element, when it is there, at rest and nothing is above it."""
        buttons = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")]
        self._use_mouse(selector, name, cell, buttons)

    def _use_mouse(self, selector: str, name: str, cell: str, then: list[dict[str, Any]]) -> None:
        point = poll(
            lambda: self.call("point", selector, name, cell), lambda point: not point["problem"]
        )
        assert not point["problem"], f"{selector} {name} {cell}: {point['problem']}"
        move = {"type": "pointerMove", "x": int(point["x"]), "y": int(point["y"])}
        parameters = {"pointerType": "mouse"}
        self.browser.perform(
            {"type": "pointer", "id": "mouse", "parameters": parameters, "actions": [move, *then]}
        )

    def turn_wheel(self, distance: int) -> None:
        """Turn the wheel over the notebook."""
        turn = {"type": "scroll", "x": 600, "y": 500, "deltaX": 0, "deltaY": distance}
        self.browser.perform({"type": "wheel", "id": "wheel", "actions": [turn]})

    def place_caret(self, cell: str) -> None:
        """Put the caret at the end of a cell."""
        self.call("scrollTo", cell)
        self.click(".jp-InputArea-editor .cm-content", cell=cell)
        self.press("Control+End")

    def save(self) -> None:
        """Press the keys until the notebook is saved.

        JupyterLab ignores them until the checkpoint of the last save is there.
        """

        def is_saved() -> bool:
            if self.is_dirty:
                self.press("Control+s")
            return not self.is_dirty

        wait_until(is_saved)

    # What is shown.

    def count(self, selector: str, name: str = "", cell: str = "") -> int:
        """Count the visible elements of a selector with a name that begins so."""
        count: int = self.call("count", selector, name, cell)
        return count

    def read(self, selector: str, name: str = "", cell: str = "") -> str:
        """Return the text of the first of these elements."""
        text: str = self.call("read", selector, name, cell)
        return text

    def wait_for_text(self, text: str, selector: str, name: str = "", cell: str = "") -> None:
        """Wait until the first of these elements contains a text."""
        found = poll(lambda: self.read(selector, name, cell), lambda shown: text in shown)
        assert text in found, f"{text!r} is not in {found!r}"

    @property
    def ids(self) -> list[str]:
        ids: list[str] = self.call("ids")
        return ids

    @property
    def marked_cells(self) -> list[str]:
        ids: list[str] = self.call("markedCells")
        return ids

    @property
    def is_dirty(self) -> bool:
        is_dirty: bool = self.call("isDirty")
        return is_dirty

    @property
    def focused_block(self) -> str:
        """The cell of the block that has the focus, or ''."""
        cell: str = self.call("focusedBlock")
        return cell

    @property
    def has_caret(self) -> bool:
        """Whether the next key types into the active cell."""
        has_focus: bool = self.call("caret")["hasFocus"]
        return has_focus

    def get_source(self, cell: str) -> str:
        source: str = self.call("source", cell)
        return source

    def wait_for_source(self, cell: str, source: str) -> None:
        wait_for(lambda: self.get_source(cell), source)

    # The notebook, on the server.

    def open(self, path: str, cells: int | None = None) -> None:
        """Open a notebook, a new one if a number of cells is given."""
        self._path = path
        if cells is not None:
            self.server.write_notebook(path, cells)
        self.call("open", path)

    def edit(self, *operations: dict[str, Any], client: str = "Claude") -> dict[str, Any]:
        """Edit the open notebook as an agent."""
        return self.server.edit(self._path, *operations, client=client)

    def read_file(self) -> dict[str, str]:
        """Return the sources of the cells on disk, by their ids."""
        notebook = json.loads((self.server.lab.root / self._path).read_text())
        return {cell["id"]: "".join(cell["source"]) for cell in notebook["cells"]}
