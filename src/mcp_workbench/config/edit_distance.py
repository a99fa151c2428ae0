"""How many typing mistakes lie between two words: keys of the configuration, or words of a search."""

from __future__ import annotations


def edit_distance(one: str, other: str, limit: int) -> int:
    """Count the letters to insert, delete, replace or swap with a neighbour. At most `limit + 1`.

    Not difflib's ratio, which finds "tags" nearer to "args" than "evn" is to "env".
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    one, other = _different_parts(one, other)
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, opposite in enumerate(other, 1):
            cost = min(last[column - 1] + (letter != opposite), last[column] + 1, current[column - 1] + 1)
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == opposite:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, last = last, current
    return min(last[-1], limit + 1)


def _different_parts(one: str, other: str) -> tuple[str, str]:
    """Return both words without their common beginning and end."""
    shorter = min(len(one), len(other))
    start = 0
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return one[start : len(one) - end], other[start : len(other) - end]
