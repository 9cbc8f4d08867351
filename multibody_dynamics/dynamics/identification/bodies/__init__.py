# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inertial parameters of the links and friction of the joints, from torques."""
