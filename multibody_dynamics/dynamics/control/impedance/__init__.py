# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joints and tools that feel like springs and dampers, and the parts of these laws."""
