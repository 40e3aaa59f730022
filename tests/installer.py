"""Packages by uv, which is many times faster than pip, from wherever pip is told to get them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache

#: How uv has what pip is told, and what stands between several values; pip has blanks there.
NAMES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "no-index": ("UV_NO_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "default-timeout": ("UV_HTTP_TIMEOUT", " "),
    "timeout": ("UV_HTTP_TIMEOUT", " "),
    "proxy": ("ALL_PROXY", " "),
    "cert": ("SSL_CERT_FILE", " "),
    "client-cert": ("SSL_CLIENT_CERT", " "),
}
#: What `pip install` goes by: the later prevails.
SECTIONS = ("global", "install", ":env:")


@cache
def told() -> dict[str, str]:
    """Return what pip is told here, as uv's environment variables; uv's own prevail."""
    command = (sys.executable, "-m", "pip", "config", "list")
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    # pip takes the best of all its indexes, uv's own way is the first that has the package.
    variables = {"UV_INDEX_STRATEGY": "unsafe-best-match", **as_variables(listed.splitlines())}
    return {name: value for name, value in variables.items() if name not in os.environ}


def as_variables(listed: Iterable[str]) -> dict[str, str]:
    """Return the lines of ``pip config list`` as uv's environment variables."""
    settings: dict[str, str] = {}
    for line in listed:
        name, _, value = line.partition("=")
        settings[name] = str(ast.literal_eval(value))
    variables: dict[str, str] = {}
    for section in SECTIONS:
        for name, (variable, between) in NAMES.items():
            if found := settings.get(f"{section}.{name}"):
                variables[variable] = between.join(found.split())
    return variables
