# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Running nodes: several in one process, a live table of what they publish, and recording."""
