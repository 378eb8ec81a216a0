"""Render the pages that are made of data: `python docs/render.py` writes them, the tests fail where one is stale."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent


def guarantees() -> str:
    """docs/guarantees.md: each guarantee, the tests marked with its id, and what is not there yet."""
    data = tomllib.loads((ROOT / "docs/guarantees.toml").read_text("utf-8"))
    tests = marked_tests()
    lines = ["# The guarantees", "", "Made of `docs/guarantees.toml` and the tests by `python docs/render.py`.", ""]
    for name, guarantee in data.items():
        lines += [f"## {name}", "", guarantee["sentence"], ""]
        if "gap" in guarantee:
            lines += [f"*Not yet:* {guarantee['gap']}", ""]
        shown = tests.get(name, [])
        lines += [f"Shown by {len(shown)} test{'s' * (len(shown) != 1)}:", ""]
        lines += [f"- `{test}`" for test in shown] + [""]
    return "\n".join(lines)


def marked_tests() -> dict[str, list[str]]:
    """Return, per guarantee id, the tests under tests/ that carry `@pytest.mark.guarantee(id)`."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for name, ids in _marked(ast.parse(path.read_text("utf-8"))):
            for guarantee in ids:
                found.setdefault(guarantee, []).append(f"{path.relative_to(ROOT).as_posix()}::{name}")
    return found


def _marked(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            ids = [i for decorator in node.decorator_list for i in _ids(decorator)]
            if ids:
                yield node.name, ids


def _ids(decorator: ast.expr) -> list[str]:
    call = isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.guarantee"
    return [arg.value for arg in decorator.args if isinstance(arg, ast.Constant)] if call else []  # type: ignore[attr-defined, misc]


def moves() -> str:
    """docs/moves.md: the tables of moves, drawn."""
    from docs import draw_moves

    return draw_moves.page()


def command_line() -> str:
    """docs/cli.md: the help text of every verb."""
    from click.testing import CliRunner

    from remit.shells.cli import cli

    lines = ["# The command line", "", "Made of the verbs' own help by `python docs/render.py`.", ""]
    lines += ["Exit codes: 0 complete (and not unsupported), 1 failed or a broken store, 2 usage or bad input,"]
    lines += ["3 resting, 4 any other end, 5 complete but unsupported.", ""]
    for verb in ["", *cli.commands]:
        text = (
            CliRunner().invoke(cli, [*([verb] if verb else []), "--help"], prog_name="remit", terminal_width=100).output
        )
        lines += [f"## remit {verb}".rstrip(), "", "```text", text.rstrip(), "```", ""]
    return "\n".join(lines)


PAGES = {"docs/guarantees.md": guarantees, "docs/cli.md": command_line, "docs/moves.md": moves}

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for page, render in PAGES.items():
        (ROOT / page).write_text(render(), encoding="utf-8")
