"""Fuzz the toy target: give it corpus folders or a file; `--help` lists the flags."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rondo.start import fuzz

if __name__ == "__main__":
    fuzz("toy")
