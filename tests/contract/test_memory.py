"""The store in memory keeps the contract of stores."""

from pathlib import Path

import pytest

pytest.register_assert_rewrite("remit.stores.contract")

from remit.runtime.ports import Store  # noqa: E402
from remit.stores.contract import StoreContract  # noqa: E402
from remit.stores.memory import MemoryStore  # noqa: E402
from remit.stores.rules import LEASE_SECONDS  # noqa: E402


class TestMemoryStore(StoreContract):
    now = 100.0

    def open(self, tmp_path: Path) -> Store:
        return MemoryStore(boottime=lambda: self.now)

    def expire(self, store: Store, run: str) -> None:
        self.now += LEASE_SECONDS
