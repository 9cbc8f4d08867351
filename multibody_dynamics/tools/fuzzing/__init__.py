# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Fuzzing: damaged files and command lines, and the readers that have to refuse them."""
