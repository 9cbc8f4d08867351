# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Desired motions, slowed down, or corrected by learning from earlier runs."""
