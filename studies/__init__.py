# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Programs that repeat the figures of the documentation; not installed. See README.md."""
