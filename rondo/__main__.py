"""`python -m rondo` is `rondo`."""

from rondo.cli import main

if __name__ == "__main__":
    main()
