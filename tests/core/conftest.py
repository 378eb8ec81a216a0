"""Property tests are the same on every run; REMIT_EXAMPLES asks for more of them."""

import os

from hypothesis import settings

settings.register_profile(
    "remit", derandomize=True, deadline=None, database=None, max_examples=int(os.environ.get("REMIT_EXAMPLES", "100"))
)
settings.load_profile("remit")
