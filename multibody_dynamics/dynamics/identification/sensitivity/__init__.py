# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of the dynamics with respect to parameters."""
