"""`python -m bench [NAME…]`: measure these rows, or all, and print each figure beside its must and its aim."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TextIO

import click

from .durable import file_system
from .harness import Place, documents, head, lines, machine, table_head
from .rows import ROWS

NAMES = [row.name for row in ROWS]


@click.command(epilog=f"The rows: {', '.join(NAMES)}.")
@click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice(NAMES))
@click.option("--json", "file", type=click.File("w"), help="Write the figures, of each round too, to this file.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
    help="Where to sync and write; what is made there is deleted. By default the folder for temporary files.",
)
def bench(names: tuple[str, ...], file: TextIO | None, folder: Path | None) -> None:
    """Measure the rows of this name, or all of them."""
    click.echo(f"{head()}\n\n{table_head()}")
    figures: list[dict[str, Any]] = []
    with TemporaryDirectory(prefix="remit-bench-", dir=folder or _default()) as made:
        for row in ROWS:
            if not names or row.name in names:
                measured = row.measure(Place(Path(made)))
                click.echo("\n".join(lines(row, measured)))
                figures += documents(row, measured)
    if file is not None:
        json.dump({"machine": machine(), "figures": figures}, file, indent=1)
        file.write("\n")


def _default() -> str | None:
    """Return the folder `build` where the one for temporary files is in memory: nothing is synced there."""
    with TemporaryDirectory() as place:
        if file_system(Path(place)) not in ("tmpfs", "ramfs"):
            return None
    build = Path("build")
    build.mkdir(exist_ok=True)
    click.echo(f"the folder for temporary files is in memory: using {build}/ instead", err=True)
    return str(build)


if __name__ == "__main__":
    bench(prog_name="python -m bench")
