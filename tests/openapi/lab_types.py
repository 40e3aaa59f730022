"""The schemas of the OpenAPI document as types for the JupyterLab extension."""

import subprocess
from collections.abc import Mapping
from typing import Any

import msgspec

from tests.support.paths import ROOT

LAB = ROOT / "jupyter_nbedit" / "lab"
LAB_TYPES = LAB / "src" / "server" / "openapi.ts"


def build_lab_types(document: Mapping[str, Any]) -> str:
    """Return the module with the types; `npm ci` must have run in the folder of the lab."""
    # The page calls the routes by hand, and needs no types of them.
    schemas = {
        **document,
        "paths": {},
        "components": {"schemas": document["components"]["schemas"]},
    }
    command = ("node", "node_modules/openapi-typescript/bin/cli.js")
    done = subprocess.run(
        (*command, "--immutable", "--empty-objects-unknown"),
        cwd=LAB,
        input=msgspec.json.encode(schemas),
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.decode()
