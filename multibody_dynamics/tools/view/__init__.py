# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot in a browser: its shapes, the scene, sources of motion, and the page."""
