"""Run a repro in a cold interpreter with planted faults installed first: `python -m rondo.cold`.

A repro itself knows nothing of Rondo; this wrapper exists because a planted fault has to be there
for its bug to show.
"""

from __future__ import annotations

import argparse
import runpy

from harnesses import base


def main() -> None:
    """Install the faults and run the repro as the main program; its exit code is this one's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("repro")
    parser.add_argument("--fault", action="append", default=[])
    options = parser.parse_args()
    runtime = base.load(options.target).runtime()
    try:
        for fault in options.fault:
            runtime.install_fault(fault)
        runpy.run_path(options.repro, run_name="__main__")
    finally:
        runtime.close()


if __name__ == "__main__":
    main()
