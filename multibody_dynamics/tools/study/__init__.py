# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robustness of the control laws, studied with simulated robots: the command `study`."""
