# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""`python -m multibody_dynamics`: the command `multibody_dynamics` if it is not on the path."""

import sys

from .tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
