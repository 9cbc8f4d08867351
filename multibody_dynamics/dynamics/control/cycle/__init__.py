# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle as functions over records: compiled for Python, and printed as C."""
