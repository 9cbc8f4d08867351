# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Controllers of position: from a desired motion and a measured state to motor torques."""
