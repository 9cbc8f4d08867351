# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle of an arm with elastic joints: what it follows, its modes and faults."""
