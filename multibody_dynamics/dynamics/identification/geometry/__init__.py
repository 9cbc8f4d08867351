# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Errors in the placement of joints, and kinematic calibration."""
