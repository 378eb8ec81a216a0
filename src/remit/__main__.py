"""The command line's entry: what must start at once is answered before click is imported."""

import gc
import sys


def main() -> None:
    """Run the command line."""
    gc.disable()  # nothing that a start imports is garbage
    try:
        _main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)


def _main(args: list[str]) -> None:
    if args == ["--version"]:
        from . import __version__

        print(f"remit {__version__}")
        return
    if args[:1] == ["simulate"]:
        from .shells.simulate import plain

        _started()
        code = plain(args[1:])
        if code is not None:
            sys.exit(code)
    elif args[:1] == ["report"] and len(args) == 2:
        from .shells.report_file import plain as report

        _started()
        code = report(args[1])
        if code is not None:
            sys.exit(code)
    from .shells.cli import cli
    from .shells.output import complain, ready

    _started()
    if not ready():
        sys.exit(complain("cannot write: standard output is closed; open it", 1))
    cli(prog_name="remit")


def _started() -> None:
    """Let the collector run again, and never look at what the imports have left."""
    gc.freeze()
    gc.enable()


if __name__ == "__main__":
    main()
