"""A doc that cannot fail a test is a rumour: rendered pages are current, snippets run, links lead somewhere."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from remit import Remit
from remit.shells.agent_file import load_agent

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from docs import render  # noqa: E402

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", render.PAGES)
def test_a_rendered_page_is_current(page: str) -> None:
    assert (ROOT / page).read_text("utf-8") == render.PAGES[page](), "run `make docs`"


def test_every_guarantee_that_is_built_has_a_test() -> None:
    data = tomllib.loads((ROOT / "docs/guarantees.toml").read_text("utf-8"))
    marked = render.marked_tests()
    assert [name for name, guarantee in data.items() if guarantee["built"] and not marked.get(name)] == []
    assert sorted(set(marked) - set(data)) == []


def snippets() -> list[object]:
    return [
        pytest.param(code, id=f"{page.name}:{number}")
        for page in PAGES
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.S), 1)
    ]


@pytest.mark.parametrize("code", snippets())
def test_a_python_snippet_runs_as_it_stands(code: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_local_link_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_agent_file_in_the_docs_is_sound(tmp_path: Path) -> None:
    text = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/agent-file.md").read_text("utf-8"), re.S)[0]
    (tmp_path / "agent.toml").write_text(text, encoding="utf-8")
    assert load_agent(tmp_path / "agent.toml").remit.turns == 10


def test_every_key_of_the_remit_is_in_the_docs() -> None:
    text = (ROOT / "docs/agent-file.md").read_text("utf-8")
    assert [key for key in Remit.__struct_fields__ if f"`{key}`" not in text] == []
