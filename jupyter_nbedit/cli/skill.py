"""The command ``jupyter nbedit skill``: print or install the skill for agents."""

import argparse
import sys
from pathlib import Path

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.options import Subparsers

#: The folder of the skill, in the form of https://agentskills.io.
SKILL = Path(__file__).parents[1] / "agents" / "skill" / "jupyter-notebooks"
# Claude Code reads the second, most other clients the first.
_FOLDERS = (".agents/skills", ".claude/skills")
#: What to put into AGENTS.md or CLAUDE.md; nothing writes these files.
INSTRUCTIONS = """\
- Read and edit notebooks (.ipynb) with the tools `notebook_*`, or in a shell with `jupyter nbedit`.
- Never edit one as JSON, with NotebookEdit, nbformat, sed or jq: it may be open in JupyterLab.
- The skill `jupyter-notebooks` has the details; `jupyter nbedit skill` prints it.
"""


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "skill",
        help="print the skill for agents, or install it",
        description="Print the skill jupyter-notebooks, which tells an agent how to work with"
        " notebooks, or copy it to where agents look for skills.",
    )
    parser.add_argument(
        "--install",
        choices=("user", "project"),
        help="copy it to .agents/skills and .claude/skills, in the home folder or in this folder",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print or install the skill."""
    if options.install is None:
        print((SKILL / "SKILL.md").read_text(encoding="utf-8"), end="")
        return exit_codes.DONE
    return _install(Path.cwd() if options.install == "project" else None)


def _install(project: Path | None) -> int:
    """Copy the skill into a project or, without one, into the home folder."""
    # Only writing needs this module, which loads much.
    from jupyter_nbedit.agents.setup.config_file import WriteRefused, write_file  # noqa: PLC0415

    exit_code = exit_codes.DONE
    for name in _FOLDERS:
        folder = (project or Path.home()) / name / SKILL.name
        try:
            outcomes = [
                write_file(folder / file.relative_to(SKILL), file.read_bytes(), project)
                for file in sorted(SKILL.rglob("*.md"))
            ]
        except WriteRefused as error:
            print(f"jupyter nbedit skill: {error}", file=sys.stderr)
            exit_code = exit_codes.REFUSED
            continue
        has_changed = any(outcome.has_changed for outcome in outcomes)
        print(f"{folder} {'is written' if has_changed else 'is up to date'}.")
    print(f"You can add these lines to AGENTS.md or CLAUDE.md:\n{INSTRUCTIONS}", end="")
    return exit_code
