# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Streams of targets: files, generated ones, and the replay against a simulated robot."""
