"""The command ``completion``: scripts for shells, generated from the parsers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping

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
    words = {name: [*_list_words(parser)] for name, parser in options.commands.choices.items()}
    print_text(_SCRIPTS[options.shell](words))
    return exit_codes.DONE


def _list_words(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the options of a command, and the values of an argument that has a choice."""
    for action in parser._actions:  # noqa: SLF001 -- argparse has no public list
        if action.help == argparse.SUPPRESS:
            continue
        yield from (option for option in action.option_strings if option.startswith("--"))
        if not action.option_strings and action.choices is not None:
            yield from map(str, action.choices)


def _build_cases(words: Mapping[str, list[str]]) -> str:
    return "\n".join(f'    {name}) words="{" ".join(each)}" ;;' for name, each in words.items())


def _build_bash(words: Mapping[str, list[str]]) -> str:
    return f"""\
_jupyter_nbedit() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" first=1 words=
  if [ "${{COMP_WORDS[0]##*/}}" = jupyter ]; then
    [ "${{COMP_WORDS[1]}}" = nbedit ] || return
    first=2
  fi
  if [ "$COMP_CWORD" -eq "$first" ]; then
    words="{" ".join(words)}"
  else
    case "${{COMP_WORDS[first]}}" in
{_build_cases(words)}
    esac
    case "$current" in
      -*) ;;
      *) [ "${{COMP_WORDS[first]}}" = completion ] || words= ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _jupyter_nbedit jupyter-nbedit
complete -p jupyter >/dev/null 2>&1 || complete -o default -F _jupyter_nbedit jupyter"""


def _build_zsh(words: Mapping[str, list[str]]) -> str:
    return f"""\
_jupyter_nbedit() {{
  local first=2 words_found=
  if [[ "${{words[1]:t}}" == jupyter ]]; then
    if [[ "${{words[2]}}" != nbedit ]]; then _files; return; fi
    first=3
  fi
  if (( CURRENT == first )); then
    compadd -- {" ".join(words)}
    return
  fi
  local words_of
  case "${{words[first]}}" in
{_build_cases(words).replace("words=", "words_of=")}
  esac
  if [[ "${{words[CURRENT]}}" == -* || "${{words[first]}}" == completion ]]; then
    compadd -- ${{=words_of}}
  else
    _files
  fi
}}
compdef _jupyter_nbedit jupyter-nbedit
(( $+_comps[jupyter] )) || compdef _jupyter_nbedit jupyter"""


def _build_fish(words: Mapping[str, list[str]]) -> str:
    lines = [
        "function __jupyter_nbedit_command",
        "  set -l tokens (commandline -opc)",
        "  set -l first 2",
        "  if test (basename $tokens[1]) = jupyter",
        '    test "$tokens[2]" = nbedit; or return 1',
        "    set first 3",
        "  end",
        "  if test (count $argv) -eq 0",
        "    test (count $tokens) -lt $first",
        "  else",
        '    test "$tokens[$first]" = $argv[1]',
        "  end",
        "end",
    ]
    for program in ("jupyter-nbedit", "jupyter"):
        lines.append(f"complete -c {program} -n __jupyter_nbedit_command -f -a '{' '.join(words)}'")
        for name, each in words.items():
            condition = f"-n '__jupyter_nbedit_command {name}'"
            for word in each:
                what = f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-f -a {word}"
                lines.append(f"complete -c {program} {condition} {what}")
    return "\n".join(lines)


_SCRIPTS: Mapping[str, Callable[[Mapping[str, list[str]]], str]] = {
    "bash": _build_bash,
    "zsh": _build_zsh,
    "fish": _build_fish,
}
