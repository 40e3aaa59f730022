"""Find out whether a browser can be opened on this machine."""

import os
import webbrowser
from pathlib import Path

#: `webbrowser` finds these, too. They run in a terminal and cannot show JupyterLab.
TEXT_BROWSERS = frozenset({"elinks", "links", "lynx", "w3m", "www-browser"})


def explain_missing_browser() -> str | None:
    """Return why no browser can be opened, or None if Python has found a browser."""
    try:
        name = Path(webbrowser.get().name).name
    except webbrowser.Error:
        has_display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        return "no browser was found" if has_display else "this machine has no display"
    if name in TEXT_BROWSERS:
        return f"the only browser is {name}, which cannot show JupyterLab"
    return None
