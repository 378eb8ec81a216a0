"""Find runs in a store, and say how each stands."""

from collections.abc import Iterator

from ..core.fold import fold
from ..core.run import Run
from ..core.todo import resting
from ..errors import UnknownRun
from ..runtime.ports import Store
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


def standing(store: Store, run: Run) -> tuple[str, str]:
    """Return (status, reason): where it rests, or `running` while an owner holds it, else `interrupted`."""
    rest = resting(run)
    if rest is not None:
        return rest
    lease = store.lease(run.id)
    if lease is not None and lease.live:
        return "running", f"by {lease.owner}"
    return "interrupted", "its owner is gone; it can be resumed"


def rows(store: Store) -> Iterator[RunRow]:
    """Yield a row for each run, the one that began last first."""
    for head in store.heads():
        run = fold(head.run, store.read(head.run))
        status, reason = standing(store, run)
        yield RunRow(
            run=run.id,
            status=status,
            reason=reason,
            grade=run.ended.grade if run.ended else None,
            began_at=run.began_at,
            at=run.at,
            turns=run.turns,
            calls=run.started,
            task=run.began.task,
            principal=run.began.principal,
        )
