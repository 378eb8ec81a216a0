"""A store is opened where it is named: by a path, a URL, a variable, or not at all."""

import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest

from remit.errors import InputError
from remit.stores.memory import MemoryStore
from remit.stores.opening import open_store


@pytest.mark.parametrize(
    ("where", "file"),
    [
        pytest.param("{home}/a.db", "a.db", id="a path"),
        pytest.param("~/a.db", "a.db", id="a path from home"),
        pytest.param("sqlite:///{home}/a.db", "a.db", id="a URL"),
        pytest.param("sqlite:///a.db", "a.db", id="a relative URL"),
        pytest.param(None, "data/remit/runs.db", id="the default"),
    ],
)
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_store_is_opened_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str | None, file: str, by_variable: bool
) -> None:
    home = at_home(tmp_path, monkeypatch)
    where = where and where.format(home=home)
    if by_variable:
        monkeypatch.setenv("REMIT_STORE", where or "")
    store = open_store(None if by_variable else where)
    store.append("r", 1, 0, b"[]")
    store.close()
    assert (home / file).is_file()
    assert stat.S_IMODE((home / file).stat().st_mode) == 0o600
    with closing(open_store(None if by_variable else where, readonly=True)) as reader:
        assert [head.run for head in reader.heads()] == ["r"]


def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in {"HOME": home, "XDG_DATA_HOME": home / "data", "REMIT_STORE": ""}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.chdir(home)
    return home


def test_the_default_folder_is_its_owners_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = at_home(tmp_path, monkeypatch)
    for data, folder in (("", ".local/share/remit"), ("relative", ".local/share/remit"), (str(home / "d"), "d/remit")):
        monkeypatch.setenv("XDG_DATA_HOME", data)
        with pytest.raises(InputError, match="there is no store"):
            open_store(readonly=True)
        open_store().close()
        assert stat.S_IMODE((home / folder).stat().st_mode) == 0o700
        (home / folder / "runs.db").unlink()
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setenv("XDG_DATA_HOME", "")
    with pytest.raises(InputError, match=r"Library/Application Support/remit/runs\.db"):
        open_store(readonly=True)


def test_memory_is_a_place_too() -> None:
    assert isinstance(open_store(":memory:"), MemoryStore)


@pytest.mark.parametrize(
    ("where", "text"),
    [
        pytest.param("postgres://u:secret@h/db", "a store of the kind `postgres://` is not supported", id="PostgreSQL"),
        pytest.param("sqlite://x.db", "sqlite://x.db names no file", id="two slashes"),
        pytest.param("sqlite:///", "sqlite:/// names no file", id="no path"),
        pytest.param("", "the name of the store is empty", id="nothing"),
    ],
)
def test_what_names_no_store_is_refused(where: str, text: str) -> None:
    with pytest.raises(InputError) as raised:
        open_store(where)
    assert (raised.value.message, raised.value.fix) == (text, "give a file's path, sqlite:///PATH, or :memory:")
