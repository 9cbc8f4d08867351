# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One robot: inspect it, draw it, convert it for Gazebo, or update its files."""
