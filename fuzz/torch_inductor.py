"""Fuzz the torch_inductor target: `python fuzz/torch_inductor.py corpus/`; `--help` lists the flags."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rondo.fuzzer import run

if __name__ == "__main__":
    run("torch_inductor")
