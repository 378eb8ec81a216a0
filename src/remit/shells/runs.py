"""Find runs in a store, and say how each stands."""

from collections.abc import Iterator

from ..core.story import Story, told
from ..errors import UnknownRun
from ..runtime.ports import Head, Store
from .show import RunRow

UNKNOWN = "list them with `remit runs`, name another --store, or, if you mean a file, look at its path"


def resolve(store: Store, name: str) -> str:
    """Return the run's id for an id, a unique prefix of one, or `latest`. Raises UnknownRun."""
    ids = [head.run for head in store.heads()]
    if name == "latest" and ids:
        return ids[0]
    if name in ids:
        return name
    found = [run for run in ids if name and run.startswith(name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownRun(f"{len(found)} runs start with {name!r}", fix=f"give more of one: {', '.join(found[:5])}")
    raise UnknownRun(f"there is no run {name!r} in this store", fix=UNKNOWN)


def rows(store: Store) -> Iterator[RunRow]:
    """Yield a row for each run, the one that began last first. A damaged log is a row like any other."""
    for head in store.heads():
        story = told(store.read(head.run), witness=store.witness(head.run))
        status, reason = _standing(store, head, story)
        yield RunRow(
            run=head.run,
            status=status,
            reason=reason,
            grade=story.ended.grade if story.ended else None,
            began_at=head.began_at,
            at=head.at,
            turns=story.turns,
            calls=sum(story.started.values()),
            task=story.began.task if story.began else "",
            principal=story.began.principal if story.began else None,
        )


def _standing(store: Store, head: Head, story: Story) -> tuple[str, str]:
    """Return (status, reason): where it rests, or `running` while an owner holds it, else `interrupted`."""
    if story.damaged:
        return "damaged", "see `remit verify`"
    if story.rest()[0] != "not recorded":
        return story.rest()
    lease = store.lease(head.run)
    if lease is not None and lease.live:
        return "running", f"by {lease.owner}"
    return "interrupted", "its owner is gone; it can be resumed"
