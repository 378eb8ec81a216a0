"""Run one permitted tool, and turn what it does into an outcome: a text, an error it expected, or a time-out.

A plain function without a timeout runs inline. With one it runs in a daemon thread that can be abandoned: a limit must
not depend on code that yields, and a thread left over must not keep the program from ending. Commands stop themselves.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from ..core.canon import NotCanonical, admit, clean, digest
from ..core.events import ObservationStatus, Observed
from ..core.remit import plain
from ..tools.result import CommandResult
from ..tools.toolbox import Runner
from .diagnostics import log

if TYPE_CHECKING:
    from threading import Event

T = TypeVar("T")


class TimedOut(Exception):
    """The tool did not come back in time."""


async def execute(
    run: Runner, name: str, args: dict[str, Any], effect_id: str | None, timeout: float | None, loop: bool
) -> Any:
    """Run the tool with at most `timeout` seconds and return what it returned. `loop` says whether an event loop runs.
    Raises TimedOut, and whatever the tool raises."""
    if run.asynchronous:
        return await _with_limit(run(args, effect_id, timeout, None), timeout)
    if run.blocking:
        return await in_thread(lambda stop: run(args, effect_id, timeout, stop), name, loop)
    if timeout is None:
        return run(args, effect_id, timeout, None)
    call = _Threaded(lambda: run(args, effect_id, timeout, None), name)
    return await call.awaited(timeout) if loop else call.waited(timeout)


async def in_thread(function: "Callable[[Event | None], T]", name: str, loop: bool) -> T:
    """Run what blocks and stops by itself: here where no event loop runs, else in a thread. If the task is cancelled,
    it is told to stop, and waited for: nothing it started outlives the call."""
    if not loop:
        return function(None)
    from threading import Event

    stop = Event()
    call = _Threaded(lambda: function(stop), name)
    try:
        return await call.awaited(None)  # type: ignore[no-any-return]
    finally:
        call.stop(stop)


def observe(call: str, value: Any, us: int, keep: int | None, *, write: bool = False) -> tuple[Observed, bytes | None]:
    """Turn what a tool returned after `us` microseconds into its observation with at most about `keep` bytes of text;
    the whole comes beside it where the text is not all of it. Raises TypeError for a value that is not JSON; of a write
    that came back that is no doubt about what it did, so there it is told in the observation."""
    if isinstance(value, str):
        return bounded(call, "ok", value, us, keep)
    if isinstance(value, CommandResult):
        status: ObservationStatus = "timeout" if value.timed_out else "ok" if value.exit_code == 0 else "error"
        seen, whole = bounded(call, status, value.text, us, keep)
        size, digest = value.size or seen.size, value.digest or seen.digest
        return replace(seen, exit_code=value.exit_code, size=size, digest=digest), whole
    try:
        text = admit(plain(msgspec.to_builtins(value)), largest=None)[0].decode()
    except (NotCanonical, TypeError, ValueError, RecursionError) as error:
        why = f"the tool returned {type(value).__name__}, which cannot be shown as JSON: {error}"
        if not write:
            raise TypeError(why) from None
        return replace(bounded(call, "ok", f"[{why}]", us, keep)[0], code="result.not_json"), None
    return bounded(call, "ok", text, us, keep)


def bounded(
    call: str, status: ObservationStatus, text: str, us: int, keep: int | None
) -> tuple[Observed, bytes | None]:
    """Return the observation of a text: all of it, or head and tail with a mark that names the whole."""
    if type(text) is str and text.isascii() and (keep is None or len(text) <= keep):
        return Observed(call=call, status=status, text=text, us=us), None
    shown = clean(text)  # a tool may hand out lone surrogates; a log may not
    data = shown.encode()
    code = None if shown == text else "result.surrogates"
    if keep is None or len(data) <= keep:
        return Observed(call=call, status=status, text=shown, us=us, code=code), None
    whole = digest(data)
    head = data[: keep * 3 // 4].decode(errors="ignore")
    tail = data[-(keep // 8) :].decode(errors="ignore")
    mark = f"\n[cut: {len(data)} bytes in all, {whole}; the middle is left out]\n"
    seen = Observed(call=call, status=status, text=head + mark + tail, us=us, code=code, size=len(data), digest=whole)
    return seen, data


async def _with_limit(awaitable: Any, timeout: float | None) -> Any:
    import asyncio

    limit = asyncio.timeout(timeout)
    try:
        async with limit:
            return await awaitable
    except TimeoutError:
        if limit.expired():
            raise TimedOut from None
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("something that the tool waited for was cancelled") from None  # not the run


class _Threaded:
    """A function running in a daemon thread; what comes after it was abandoned goes to diagnostics."""

    def __init__(self, function: Callable[[], Any], name: str) -> None:
        self._function = function
        self._name = name
        self._abandoned = False
        self._stopped = False

    def _run(self, deliver: Callable[[Any, BaseException | None], object]) -> None:
        value, error = None, None
        try:
            value = self._function()
        except BaseException as raised:  # noqa: BLE001 - delivered to the waiting side, which raises it
            error = raised
        if not self._abandoned:
            deliver(value, error)
        elif not self._stopped:
            log().warning("a late result of %s, after it was given up: %r", self._name, error or value)

    def _start(self, deliver: Callable[[Any, BaseException | None], object]) -> None:
        from threading import Thread

        self._thread = Thread(target=self._run, args=(deliver,), name=f"remit {self._name}", daemon=True)
        self._thread.start()

    def stop(self, event: "Event") -> None:
        """Tell the function to stop and wait for it; what it still returns is of no interest."""
        self._stopped = True
        event.set()
        self._thread.join()

    def waited(self, timeout: float | None) -> Any:
        """Wait for the result without an event loop."""
        from queue import Empty, SimpleQueue

        box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        self._start(lambda value, error: box.put((value, error)))
        try:
            value, error = box.get(timeout=timeout)
        except Empty:
            raise TimedOut from None
        finally:
            self._abandoned = True
        if error is not None:
            raise error
        return value

    async def awaited(self, timeout: float | None) -> Any:
        """Wait for the result in the running event loop."""
        import asyncio

        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if future.done():
                return
            if isinstance(error, StopIteration):  # no future can hold one
                future.set_exception(RuntimeError("the tool raised StopIteration"))
            elif error is not None:
                future.set_exception(error)
            else:
                future.set_result(value)

        def deliver(value: Any, error: BaseException | None) -> None:
            try:
                loop.call_soon_threadsafe(settle, value, error)
            except RuntimeError:  # the loop is closed: nobody waits any more
                log().warning("a late result of %s, after its run: %r", self._name, error or value)

        self._start(deliver)
        try:
            return await _with_limit(future, timeout)
        finally:
            self._abandoned = True
