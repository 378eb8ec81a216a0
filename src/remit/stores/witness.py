"""The witness: a small file beside a database that notes the newest head of each run.

SQLite recovers from a torn or flipped log of its own by going back to an earlier, sound state, without an error. Only
somebody who remembers a later one can tell. The file has a slot of `SLOT` bytes for each run, at the run's integer
key: sequence number, digest, run id and a checksum. A slot is written after each commit and never synced: that it
lags is normal. A slot that is torn, or another run's, is no witness. Who deletes the file deletes what it knew.
"""

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

SLOT = 128
"""Bytes. It divides the size of every sector, so that no slot lies in two."""
_FORM = struct.Struct("<Q32s64sI")
_BODY = _FORM.size - 4


class Slot(NamedTuple):
    """The newest noted head of a run."""

    run: str
    seq: int
    digest: bytes


class Witness:
    """The file at `path`. Every method may raise OSError. Its user has the lock."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._fd: int | None = None

    def note(self, key: int, slot: Slot, *, like: str) -> None:
        """Write a run's slot. A missing file is made, with the permissions of the file `like`."""
        if self._fd is None:
            self._fd = _make(self.path, like)
        body = _FORM.pack(slot.seq, slot.digest, slot.run.encode(), 0)[:_BODY]
        os.pwrite(self._fd, body + crc32(body).to_bytes(4, "little"), key * SLOT)

    def newest(self, key: int) -> Slot | None:
        """Return what is in the slot, quickly; None where nothing sound is."""
        if self._fd is None:
            try:
                self._fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
        return _read(os.pread(self._fd, SLOT, key * SLOT))

    def find(self, run: str, key: int | None) -> Slot | None:
        """Return the run's slot, or None. `key` says where to look first; None: the database does not know the run."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                file.seek((key or 0) * SLOT)
                slot = _read(file.read(SLOT))
        except FileNotFoundError:
            return None
        if slot is not None and slot.run == run:
            return slot
        return next((slot for slot in self.slots() if slot.run == run), None)

    def slots(self) -> Iterator[Slot]:
        """Yield every sound slot; none where there is no file."""
        try:
            with open(self.path, "rb") as file:
                while data := file.read(SLOT):
                    slot = _read(data)
                    if slot is not None:
                        yield slot
        except FileNotFoundError:
            pass

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _make(path: str, like: str) -> int:
    mode = os.stat(like).st_mode & 0o777
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    if os.fstat(fd).st_size == 0:
        os.fchmod(fd, mode)  # the umask may have taken away what other users of this store need
    return fd


def _read(data: bytes) -> Slot | None:
    if len(data) < _FORM.size:
        return None
    seq, digest, run, check = _FORM.unpack_from(data)
    sound = seq > 0 and crc32(data[:_BODY]) == check
    return Slot(run.rstrip(b"\0").decode("ascii", "replace"), seq, digest) if sound else None
