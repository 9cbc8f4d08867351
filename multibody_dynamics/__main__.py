"""`python -m multibody_dynamics`: the command, where it is not on the path."""

import sys

from .tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
