"""What the scripts in `fuzz/` call: the fuzzer, with Ctrl-C told in one line from the first moment.

`rondo.fuzzer` listens to Ctrl-C once a campaign can end in order; before that, while half a second
of imports goes by, nothing is there to end.
"""

from __future__ import annotations

import sys

from rondo.errors import Interrupted, say


def fuzz(target: str) -> None:
    """Run a target's campaign with the command line of this process; does not return."""
    try:
        from rondo.fuzzer import run

        run(target)
    except KeyboardInterrupt:
        sys.exit(say(Interrupted("interrupted before the first case", "start it again")))
