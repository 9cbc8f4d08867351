# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The laws of generated controllers; beside their design, so that `--help` need not load it."""

GENERATED_LAWS = ("motor_pd", "state_feedback", "hold")
"""Laws by name; "hold" only stops the arm and holds it."""
