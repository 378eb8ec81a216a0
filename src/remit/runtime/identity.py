"""Names for runs and for the process that owns one."""

import os
from functools import cache

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32: no letter is mistaken for another


def new_run_id(at: int) -> str:
    """Return a new id: 9 characters of time (`at`, microseconds since 1970), which it sorts by, and 11 of chance."""
    number = (at // 1000) << 55 | int.from_bytes(os.urandom(7), "big") >> 1
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(95, -5, -5))


def process_owner() -> str:
    """Return `user@host:pid`, by which another process names this one."""
    return f"{login()}@{os.uname().nodename}:{os.getpid()}"


@cache
def login() -> str:
    """Return the login name of this process, a claim and no proof."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
