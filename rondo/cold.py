"""Run a repro in a cold interpreter that does not outlive its driver: `python -m rondo.cold`.

A repro itself knows nothing of Rondo. This wrapper imports no framework unless planted faults have
to be installed first, since without them their bugs do not show.
"""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from harnesses import base
from rondo.executor.processes import die_with_parent


def main() -> None:
    """Install the faults and run the repro as the main program; its exit code is this one's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("repro")
    parser.add_argument("--fault", action="append", default=[])
    options = parser.parse_args()
    sys.argv = [options.repro]  # its own arguments, of which it has none
    die_with_parent()
    os.register_at_fork(after_in_child=die_with_parent)
    if not options.fault:
        runpy.run_path(options.repro, run_name="__main__")
        return
    runtime = base.load(options.target).runtime()
    try:
        for fault in options.fault:
            runtime.install_fault(fault)
        runpy.run_path(options.repro, run_name="__main__")
    finally:
        runtime.close()


if __name__ == "__main__":
    main()
