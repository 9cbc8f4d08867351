# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions in files: trajectories, time scaling, exciting motions, integration of rigid bodies."""
