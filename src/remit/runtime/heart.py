"""A heartbeat: while this process drives a run, its lease is renewed, however long a tool takes.

One daemon thread serves all runs of the process. It only renews; who lost a lease learns it from the store, at the
next append.
"""

import threading
from time import sleep
from typing import ClassVar

from ..errors import RemitError
from .diagnostics import log
from .ports import Store

EVERY = 5.0
"""Seconds between renewals; a lease lasts three times that."""


class Heart:
    """Renews one lease until it is stopped."""

    _beating: ClassVar[set["Heart"]] = set()
    _lock: ClassVar = threading.Lock()
    _thread: ClassVar[threading.Thread | None] = None

    def __init__(self, store: Store, run: str, epoch: int) -> None:
        self._store = store
        self._run = run
        self._epoch = epoch
        with Heart._lock:
            Heart._beating.add(self)
            if Heart._thread is None or not Heart._thread.is_alive():  # a fork leaves it behind
                Heart._thread = threading.Thread(target=_beat, name="remit heart", daemon=True)
                Heart._thread.start()

    def stop(self) -> None:
        """Stop renewing."""
        with Heart._lock:
            Heart._beating.discard(self)

    def renew(self) -> None:
        """Renew once. A lost lease, or a store that fails, is the driver's to find out."""
        try:
            self._store.renew(self._run, self._epoch)
        except RemitError as error:
            log().warning("the lease of run %s could not be renewed: %s", self._run, error)
            self.stop()


def _beat() -> None:
    while True:
        sleep(EVERY)
        with Heart._lock:
            beating = list(Heart._beating)
            if not beating:
                Heart._thread = None
                return
        for heart in beating:
            heart.renew()
