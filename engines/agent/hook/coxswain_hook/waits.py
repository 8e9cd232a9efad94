"""How long did a rank do nothing but wait for others, or move data with them? From spans of time, each a pair (begin, end) in one unit."""


def merged(spans):
    """The same time as spans that do not touch, in order."""
    apart = []
    for begin, end in sorted(spans):
        if apart and begin <= apart[-1][1]:
            apart[-1][1] = max(apart[-1][1], end)
        else:
            apart.append([begin, end])
    return apart


def length(spans):
    """Time in which at least one of them lasted."""
    return sum(end - begin for begin, end in merged(spans))


def exposed(communication, compute):
    """Time of `communication` in which nothing was computed beside it: what is hidden behind computing holds nobody up."""
    computed = merged(compute)
    left, at = 0, 0
    for begin, end in merged(communication):
        while at < len(computed) and computed[at][1] <= begin:
            at += 1
        covered, next_one = begin, at
        while next_one < len(computed) and computed[next_one][0] < end:
            left += max(0, computed[next_one][0] - covered)
            covered = max(covered, computed[next_one][1])
            next_one += 1
        left += max(0, end - covered)
    return left
