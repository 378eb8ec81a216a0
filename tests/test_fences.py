"""The arrows of the architecture, read from the source: what may import what, how large a module is, what is public."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import remit

ROOT = Path(remit.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}

LAYERS: dict[str, set[str]] = {
    "errors": set(),
    "core": {"errors"},
    "models": {"core", "errors"},
    "tools": {"core", "errors"},
    "stores": {"core", "errors", "runtime.ports"},
    "runtime": {"core", "errors", "tools", "stores.memory"},
    "readers": {"core", "errors", "runtime"},
    "shells": {"core", "errors", "models", "readers", "runtime", "stores", "tools", ""},
    "": {"core", "errors", "models", "runtime", "stores", "tools"},
    "__main__": {"shells", ""},
}
"""Per layer, what it may import beside itself: a whole layer, or one module of it. `""` is the package's front."""

PURE = {"__future__", "bisect", "collections", "difflib", "functools", "hashlib", "json", "math", "types", "typing"}
"""All of the standard library that the core may use: nothing that reads a clock, a file, chance or the system."""
WHERE = {"msgspec": None, "jsonschema_rs": {"remit.core.validate"}}
"""What else the core may use, and in which of its modules."""
OUTSIDE = {"open", "input", "print", "eval", "exec", "compile", "__import__", "breakpoint"}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


def imports(module: str, within: ast.AST) -> Iterator[str]:
    """Yield the modules imported anywhere in `within`, absolute: `from . import x` names x where x is a module."""
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(within):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*base, node.module] if node.module else base)
            for alias in node.names:
                yield f"{source}.{alias.name}" if f"{source}.{alias.name}" in MODULES else source


def layer(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_along_the_arrows_only(module: str) -> None:
    assert layer(module) in LAYERS
    own = [name for name in imports(module, tree(module)) if name.split(".")[0] == "remit"]
    permitted = LAYERS[layer(module)] | {layer(module)}
    assert [n for n in own if layer(n) not in permitted and n.removeprefix("remit.") not in permitted] == []


@pytest.mark.parametrize("module", [name for name in MODULES if layer(name) in ("core", "errors")])
def test_the_core_imports_nothing_that_reaches_outside(module: str) -> None:
    others = {name.split(".")[0] for name in imports(module, tree(module))} - {"remit"}
    assert sorted(n for n in others - PURE if n not in WHERE or module not in (WHERE[n] or MODULES)) == []


@pytest.mark.parametrize("module", [name for name in MODULES if layer(name) in ("core", "errors")])
def test_the_core_calls_no_builtin_that_reaches_outside(module: str) -> None:
    names = [node for node in ast.walk(tree(module)) if isinstance(node, ast.Name)]
    assert sorted({name.id for name in names if isinstance(name.ctx, ast.Load)} & OUTSIDE) == []


def test_no_module_imports_itself_through_others() -> None:
    """Lazy imports count: what needs a module to do its work depends on it. What only type checkers read does not."""
    graph = {module: {n for n in imports(module, _at_run_time(tree(module))) if n in MODULES} for module in MODULES}
    while leaves := {module for module, needs in graph.items() if not needs & graph.keys()}:
        graph = {module: needs for module, needs in graph.items() if module not in leaves}
    assert graph == {}


def _at_run_time(whole: ast.Module) -> ast.Module:
    body = [node for node in whole.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]
    return ast.Module(body, [])


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_at_most_400_lines(module: str) -> None:
    assert len(MODULES[module].read_text("utf-8").splitlines()) <= 400


def test_folders_are_at_most_two_levels_deep() -> None:
    assert [str(path) for path in MODULES.values() if len(path.relative_to(ROOT).parts) > 2] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert {name.split(".")[-1] for name in MODULES} & {
        "utils",
        "util",
        "helpers",
        "common",
        "misc",
        "manager",
    } == set()


HEAVY = {
    "asyncio", "click", "concurrent", "email", "httpx", "http", "jsonschema_rs", "logging", "multiprocessing",
    "pathlib", "random", "rich", "secrets", "selectors", "socket", "sqlite3", "ssl", "subprocess", "tempfile",
    "threading",
}  # fmt: skip


@pytest.mark.parametrize(
    ("statement", "forbidden"),
    [
        pytest.param("import remit", HEAVY | {"msgspec", "typing", "re"}, id="the package alone loads nothing"),
        pytest.param("from remit.core import fold, judge, todo, recover", HEAVY, id="the core reaches for no system"),
        pytest.param("from remit.core import verify, story, report", HEAVY, id="reading a log needs no validator"),
        pytest.param("from remit.stores.memory import MemoryStore", HEAVY - {"threading"}, id="a log in memory"),
        pytest.param(
            "from remit import run, ScriptedPolicy, Remit, Toolbox",
            HEAVY - {"threading", "logging", "socket", "selectors", "pathlib"},
            id="a run without an event loop, a command or a file",
        ),
    ],
)
def test_an_import_loads_no_more_than_it_needs(statement: str, forbidden: set[str]) -> None:
    code = f"import sys; before = set(sys.modules); {statement}; print(*sorted(set(sys.modules) - before))"
    path = [str(ROOT.parent), *(p for p in sys.path if p.endswith("site-packages"))]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) & forbidden == set()


def test_the_public_surface_is_these_names() -> None:
    assert remit.__all__ == [
        "Remit", "Toolbox", "ToolError", "ScriptedPolicy", "Workflow", "Call", "Final", "Reply", "Context", "run",
        "arun", "Outcome", "open_store", "RemitError",
    ]  # fmt: skip
    assert len(remit.__all__) <= 15


@pytest.mark.parametrize("name", remit.__all__)
def test_each_public_name_resolves_and_is_documented(name: str) -> None:
    assert getattr(remit, name).__doc__
    assert name in dir(remit)


def test_a_name_that_is_not_public_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="Runner"):
        remit.Runner  # noqa: B018
