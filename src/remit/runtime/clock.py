"""The clocks of this machine."""

from time import perf_counter_ns, time_ns


class SystemClock:
    """Wall clock for records, a steady clock for durations."""

    tick = staticmethod(perf_counter_ns)

    @staticmethod
    def now() -> int:
        """Microseconds since 1970 UTC."""
        return time_ns() // 1000
