"""The tree of errors."""

from collections.abc import Iterator

from jupyter_nbedit import errors


def list_branches(base: type[errors.NbEditError]) -> Iterator[tuple[str, str]]:
    for error in base.__subclasses__():
        yield error.__name__, base.__name__
        yield from list_branches(error)


def test_the_drawing_of_the_tree_is_complete_and_right() -> None:
    drawing = (errors.__doc__ or "").partition("::\n\n")[2].partition("\n\n")[0]
    drawn = []
    bases: dict[int, str] = {}
    for line in drawing.split("\n"):
        depth, names = len(line) - len(line.lstrip()), line.split()
        drawn += [(name, bases[depth - 2]) for name in names if depth - 2 in bases]
        bases[depth] = names[-1]
    assert sorted(drawn) == sorted(list_branches(errors.NbEditError))
