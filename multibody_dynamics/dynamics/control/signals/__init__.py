# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Filters of sampled signals, and the torques that were sent."""
