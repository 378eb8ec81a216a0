"""The command line. It translates and decides nothing: each verb reads its words, calls the library, prints a result.

Results go to standard output, progress, questions and errors to standard error. Exit codes: 0 complete (and not
unsupported), 1 failed or a broken store, 2 usage or bad input, 3 resting, 4 any other end, 5 complete but unsupported.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from .. import __version__
from ..errors import RemitError
from ..runtime.ports import Store
from .output import complain, give_up, reason

JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
STORE = click.option(
    "--store",
    metavar="PATH",
    envvar="REMIT_STORE",
    help="The log's file; by default $REMIT_STORE, or a file in your data folder.",
)
AGENT = click.argument("agent_file", metavar="[AGENT.toml]", default="agent.toml", type=click.Path(path_type=Path))


class Verbs(click.Group):
    """Verbs in the order a person meets them; what remit raises becomes one message and its exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RemitError as error:
            click.echo(f"remit: {error}", err=True)
            ctx.exit(error.exit_code)
        except BrokenPipeError:
            give_up()
            ctx.exit(1)
        except OSError as error:
            if error.filename:  # else it is the output that cannot be written
                click.echo(f"remit: {error.filename}: {error.strerror}", err=True)
                ctx.exit(2)
            give_up()
            ctx.exit(complain(f"cannot write: {reason(error)}", 1))


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(__version__, prog_name="remit", message="%(prog)s %(version)s")
def cli() -> None:
    """Run an agent within its remit: every call judged, recorded, and accounted for."""


@cli.command()
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@JSON
def init(folder: Path, as_json: bool) -> None:
    """Write a commented agent file that runs. Nothing is overwritten."""
    from .starter import write_starter

    written = write_starter(folder)
    if as_json:
        _print_json({"written": [str(path) for path in written]})
    else:
        _print([f"wrote {path}" for path in written] + ["next: remit check, then remit run, in that folder"])


@cli.command()
@AGENT
@click.option("--call", metavar="CALL", help='Say what would become of this call: \'deploy {"target": "x"}\'.')
@JSON
def check(agent_file: Path, call: str | None, as_json: bool) -> None:
    """Say what is wrong with an agent file, or what the agent may and may not do."""
    from .agent_file import load_agent
    from .explain import explain, explain_document
    from .verdict import verdict

    agent = load_agent(agent_file)
    if call is not None:
        said, rule, sentence = verdict(agent, call)
        if as_json:
            _print_json({"verdict": said, "rule": rule, "reason": sentence})
        else:
            _print([f"{said}: {sentence} (rule {rule})"])
    elif as_json:
        _print_json(explain_document(agent))
    else:
        _print(explain(agent))


@cli.command()
@AGENT
@click.option("--task", metavar="TEXT", help="The task, in place of the agent file's.")
@click.option("--no-ask", is_flag=True, help="Never ask at the terminal: a held call rests.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@STORE
@JSON
def run(agent_file: Path, task: str | None, no_ask: bool, quiet: bool, store: str | None, as_json: bool) -> None:
    """Run an agent to its rest. A held call is asked about on a terminal; without one the run rests."""
    from .run import run_agent

    with _opened(store) as opened:
        outcome = run_agent(
            agent_file, task, opened, store, ask=not (no_ask or as_json), progress=not (quiet or as_json)
        )
    if as_json:
        _print_json(outcome.document)
    else:
        _print(outcome.lines)
    sys.exit(outcome.exit_code)


@cli.command()
@STORE
@JSON
def runs(store: str | None, as_json: bool) -> None:
    """List the runs in a store, the latest first."""
    from .runs import rows
    from .show import runs_table

    with _opened(store, readonly=True) as opened:
        found = list(rows(opened))
    if as_json:
        _print_json([row._asdict() for row in found])
    else:
        _print([runs_table(found)])


@cli.command()
@click.argument("name", metavar="[RUN]", default="latest")
@STORE
@JSON
def show(name: str, store: str | None, as_json: bool) -> None:
    """Show a run event by event."""
    from .runs import resolve
    from .show import show_records
    from .sources import verified

    with _opened(store, readonly=True) as opened:
        run = resolve(opened, name)
        _print(show_records(opened.read(run), as_json))
        for found in verified(opened, run):
            if not found.sound:
                click.echo("\n".join(["remit: the log is damaged", *found.lines()]), err=True)


@cli.command()
@click.argument("source", metavar="[FILE|-|RUN]", required=False)
@click.option("--full", is_flag=True, help="Budgets, waits, refusals, decisions, checks and the timeline as well.")
@click.option("--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text")
@STORE
@JSON
def report(source: str | None, full: bool, form: str, store: str | None, as_json: bool) -> None:
    """Report on a run, on an export, or on a file of events.

    Without an argument it reads what is piped in, or takes the latest run. The exit code is 0 whatever the run's end.
    """
    from .report_file import is_export, report_stream
    from .report_run import report_records
    from .runs import resolve
    from .sources import is_file, is_piped, runs_in

    source = source or ("-" if is_piped() else "latest")
    shape: Any = "json" if as_json else form
    if not is_file(source):
        with _opened(store, readonly=True) as opened:
            name = resolve(opened, source)
            _print(report_records(opened.read(name), full=full, form=shape, witness=opened.witness(name)))
    elif is_export(source):
        for records in runs_in(source):
            _print(report_records(records, full=full, form=shape))
    else:
        sys.exit(report_stream(source, shape == "json"))


@cli.command()
@click.argument("source", metavar="[RUN|FILE]", required=False)
@STORE
@JSON
def verify(source: str | None, store: str | None, as_json: bool) -> None:
    """Verify the log of a run, of an export, or of every run in the store. The exit code is 1 on damage."""
    from ..readers.export import verify_export
    from .sources import is_file, verified
    from .sources import opened as opened_file

    if source is not None and is_file(source):
        with opened_file(source) as stream:
            whole = verify_export(stream, source)
        found, lines, sound = whole.runs, list(whole.lines()), whole.sound
    else:
        with _opened(store, readonly=True) as opened:
            found = tuple(verified(opened, source))
        lines, sound = [line for run in found for line in run.lines()], all(run.sound for run in found)
    if as_json:
        _print_json({"sound": sound, "runs": [{**run._asdict(), "sound": run.sound} for run in found]})
    else:
        _print(lines or ["no runs"])
    sys.exit(0 if sound else 1)


@cli.command()
@click.argument("name", metavar="[RUN]", default="latest")
@STORE
@JSON
def export(name: str, store: str | None, as_json: bool) -> None:
    """Write a run's log as JSON lines, which `verify` and `report` read anywhere."""
    from ..readers.export import lines
    from .runs import resolve

    with _opened(store, readonly=True) as opened:
        for line in lines(opened.read(resolve(opened, name))):
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


@cli.command()
@click.argument("source", metavar="[FILE|-]", default="-")
@click.option("--consequential", metavar="A,B", help="The tools that need approval, in place of the usual ones.")
@JSON
def simulate(source: str, consequential: str | None, as_json: bool) -> None:
    """Run a scripted agent in a simulated environment, and print its steps."""
    from .simulate import DEFAULT_CONSEQUENTIAL, names, simulate

    chosen = DEFAULT_CONSEQUENTIAL if consequential is None else names(consequential)
    sys.exit(simulate(source, chosen, as_json))


@contextmanager
def _opened(where: str | None, *, readonly: bool = False) -> Iterator[Store]:
    from ..stores.opening import open_store

    store = open_store(where, readonly=readonly)
    try:
        yield store
    finally:
        store.close()


def _print(lines: Iterable[str]) -> None:
    """Print lines as UTF-8 in any locale."""
    out = sys.stdout.buffer
    for line in lines:
        out.write(line.encode("utf-8", "backslashreplace") + (b"" if line.endswith("\n") else b"\n"))
    out.flush()


def _print_json(value: Any) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
