# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Constants of the control cycle, declared once for Python and for generated C."""
