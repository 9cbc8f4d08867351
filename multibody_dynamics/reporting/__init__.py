# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Pages of headings, tables and figures, tables for the terminal, and progress bars."""
