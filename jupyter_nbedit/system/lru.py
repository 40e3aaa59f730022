"""A cache of limited size."""

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class LRUCache(Generic[_Key, _Value]):
    """Keeps the values that were used last; the newest value stays, whatever its weight is.

    Parameters
    ----------
    max_weight
        The largest weight of all values together.
    weigh
        Returns the weight of a value, by default 1: ``max_weight`` is then a number of values.
    """

    def __init__(self, max_weight: int, weigh: Callable[[_Value], int] = lambda _: 1) -> None:
        self._max_weight = max_weight
        self._weigh = weigh
        self._values: dict[_Key, _Value] = {}
        self._weight = 0

    def __contains__(self, key: _Key) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._values)

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key, which counts as its use; None if the cache has none."""
        if key not in self._values:
            return None
        value = self._values[key] = self._values.pop(key)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        """Add the value of a key, and remove the values that were not used for the longest time."""
        self.remove(key)
        self._values[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._max_weight and len(self._values) > 1:
            self.remove(next(iter(self._values)))

    def remove(self, key: _Key) -> None:
        """Remove the value of a key, if the cache has one."""
        if key in self._values:
            self._weight -= self._weigh(self._values.pop(key))
