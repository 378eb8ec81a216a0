"""The command line's entry: what must start at once is answered before click is imported."""

import sys


def main() -> None:
    """Run the command line."""
    args = sys.argv[1:]
    if args == ["--version"]:
        from . import __version__

        print(f"remit {__version__}")
        return
    if args[:1] == ["simulate"]:
        from .shells.simulate import plain

        code = plain(args[1:])
        if code is not None:
            sys.exit(code)
    elif args[:1] == ["report"] and len(args) == 2:
        from .shells.report_file import plain as report

        code = report(args[1])
        if code is not None:
            sys.exit(code)
    from .shells.cli import cli

    cli(prog_name="remit")


if __name__ == "__main__":
    main()
