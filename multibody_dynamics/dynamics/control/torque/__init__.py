# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joints with springs as torque sources: loops, gains, observers, and their evaluation."""
