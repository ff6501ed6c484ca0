"""One package per target; nothing outside knows a framework.

Targets that live elsewhere are found too: RONDO_TARGETS lists folders of such packages.
"""

import os

__path__ = [*__path__, *filter(None, os.environ.get("RONDO_TARGETS", "").split(os.pathsep))]
