# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Control laws by name, and the complete control cycles that the nodes run."""
