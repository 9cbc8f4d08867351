# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stability of the sampled closed loop, at one pose and over the joint range."""
