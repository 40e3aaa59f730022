"""The command ``completion``: scripts for shells, generated from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jupyter_nbedit.cli import exit_codes
from jupyter_nbedit.cli.connection import print_text
from jupyter_nbedit.cli.options import Subparsers

_HINTS = {
    "bash": 'eval "$(jupyter nbedit completion bash)"   # in ~/.bashrc',
    "zsh": 'eval "$(jupyter nbedit completion zsh)"   # in ~/.zshrc, after compinit',
    "fish": "jupyter nbedit completion fish | source   # in ~/.config/fish/config.fish",
}


def add_parser(commands: Subparsers) -> None:
    """Add the parser of the command."""
    parser = commands.add_parser(
        "completion",
        help="print a script that completes commands and options in a shell",
        description="Print a script that completes commands and options in a shell.",
        epilog="\n".join(["use:", *(f"  {hint}" for hint in _HINTS.values())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS))
    parser.set_defaults(run=run, commands=commands)


def run(options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    words = {name: _Words.from_parser(each) for name, each in options.commands.choices.items()}
    print_text(_SCRIPTS[options.shell](words))
    return exit_codes.DONE


@dataclass(frozen=True)
class _Words:
    """The options of a command, and the values of its arguments that have choices."""

    options: Sequence[str]
    values: Sequence[str]

    @classmethod
    def from_parser(cls, parser: argparse.ArgumentParser) -> _Words:
        actions = parser._actions  # noqa: SLF001 -- argparse has no public list
        options = [name for action in actions for name in action.option_strings]
        choices = [
            str(choice)
            for action in actions
            if not action.option_strings
            for choice in action.choices or ()
        ]
        return cls([name for name in options if name.startswith("--")], choices)


def _build_cases(words: Mapping[str, _Words]) -> str:
    return "\n".join(
        f'    {name}) flags="{" ".join(each.options)}" values="{" ".join(each.values)}" ;;'
        for name, each in words.items()
    )


def _build_bash(words: Mapping[str, _Words]) -> str:
    return f"""\
_jupyter_nbedit() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" first=1 flags= values=
  if [ "${{COMP_WORDS[0]##*/}}" = jupyter ]; then
    [ "${{COMP_WORDS[1]}}" = nbedit ] || return
    first=2
  fi
  if [ "$COMP_CWORD" -eq "$first" ]; then
    values="{" ".join(words)}"
  else
    case "${{COMP_WORDS[first]}}" in
{_build_cases(words)}
    esac
  fi
  case "$current" in
    -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
    *) COMPREPLY=($(compgen -W "$values" -- "$current")) ;;
  esac
}}
complete -o default -F _jupyter_nbedit jupyter-nbedit
complete -p jupyter >/dev/null 2>&1 || complete -o default -F _jupyter_nbedit jupyter"""


def _build_zsh(words: Mapping[str, _Words]) -> str:
    # `options` is a special parameter of zsh.
    return f"""\
_jupyter_nbedit() {{
  local first=2 flags= values=
  if [[ "${{words[1]:t}}" == jupyter ]]; then
    if [[ "${{words[2]}}" != nbedit ]]; then _files; return; fi
    first=3
  fi
  if (( CURRENT == first )); then
    compadd -- {" ".join(words)}
    return
  fi
  case "${{words[first]}}" in
{_build_cases(words)}
  esac
  if [[ "${{words[CURRENT]}}" == -* ]]; then
    compadd -- ${{=flags}}
  elif [[ -n "$values" ]]; then
    compadd -- ${{=values}}
  else
    _files
  fi
}}
compdef _jupyter_nbedit jupyter-nbedit
(( $+_comps[jupyter] )) || compdef _jupyter_nbedit jupyter"""


_FISH_FUNCTION = """\
function __jupyter_nbedit_command
  set -l tokens (commandline -opc)
  set -l first 2
  if test (basename $tokens[1]) = jupyter
    test "$tokens[2]" = nbedit; or return 1
    set first 3
  end
  if test (count $argv) -eq 0
    test (count $tokens) -lt $first
  else
    test "$tokens[$first]" = $argv[1]
  end
end"""


def _build_fish(words: Mapping[str, _Words]) -> str:
    lines = [_FISH_FUNCTION]
    for program in ("jupyter-nbedit", "jupyter"):
        complete = f"complete -c {program} -n"
        lines.append(f"{complete} __jupyter_nbedit_command -f -a '{' '.join(words)}'")
        for name, each in words.items():
            condition = f"'__jupyter_nbedit_command {name}'"
            lines += [
                f"{complete} {condition} -l {option.removeprefix('--')}" for option in each.options
            ]
            lines += [f"{complete} {condition} -f -a {value}" for value in each.values]
    return "\n".join(lines)


_SCRIPTS: Mapping[str, Callable[[Mapping[str, _Words]], str]] = {
    "bash": _build_bash,
    "zsh": _build_zsh,
    "fish": _build_fish,
}
