# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Higher-order inverse dynamics of robots with elastic joints, and the ROS 2 nodes around it."""

__version__ = "1.0.0"
