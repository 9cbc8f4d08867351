# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The whole road from a data sheet to a proven model: validation, prediction and the report."""
