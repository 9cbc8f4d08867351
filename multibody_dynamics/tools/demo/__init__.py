# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The demos: prepare the nodes, run and record them, compare the recordings, write reports."""
