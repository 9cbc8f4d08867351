# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command line: `multibody_dynamics COMMAND`, and the programs started with `python -m`."""
