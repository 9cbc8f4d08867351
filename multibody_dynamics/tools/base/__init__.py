# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Shared by the commands: options, recordings, figures and progress bars."""
