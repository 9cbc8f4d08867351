# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded motions: compared with the model, replayed, and used to identify the robot."""
