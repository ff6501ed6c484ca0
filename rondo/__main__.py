"""`python -m rondo` is `rondo`."""

from rondo.cli import main

main()
