# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Filtering and differentiating recordings, and least squares with errors correlated in time."""
