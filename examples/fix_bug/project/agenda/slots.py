"""When is a day still free? A time is minutes since midnight, a span is its start and its end."""

from collections.abc import Iterable

Span = tuple[int, int]


def minutes(text: str) -> int:
    """Read a time of day such as `09:30`; the last one is `24:00`."""
    hours, _, rest = text.partition(":")
    if not (len(hours) == len(rest) == 2 and (hours + rest).isdecimal()):
        raise ValueError(f"{text!r} is not a time of day such as 09:30")
    found = int(hours) * 60 + int(rest)
    if int(rest) > 59 or found > 24 * 60:
        raise ValueError(f"{text!r} is past the end of the hour or of the day")
    return found


def span(text: str) -> Span:
    """Read a span such as `09:30-11:00`."""
    start, _, end = text.partition("-")
    found = minutes(start), minutes(end)
    if found[0] >= found[1]:
        raise ValueError(f"{text!r} does not end after its start")
    return found


def written(one: Span) -> str:
    """Write a span the way `span` reads it."""
    return "-".join(f"{time // 60:02}:{time % 60:02}" for time in one)


def busy(meetings: Iterable[Span]) -> list[Span]:
    """Return the meetings in order, those that touch or overlap joined into one span."""
    joined: list[Span] = []
    for start, end in sorted(meetings):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    return joined


def free(meetings: Iterable[Span], day: Span) -> list[Span]:
    """Return what the meetings leave of the day."""
    left: list[Span] = []
    start, close = day
    for begin, end in busy(meetings):
        if start < min(begin, close):
            left.append((start, min(begin, close)))
        start = max(start, end)
    if start < close:
        left.append((start, close))
    return left
