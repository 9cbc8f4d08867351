# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The counts of the cycle: integers that C counts without overflow."""

from multibody_dynamics.dynamics.control import CycleCounts
from multibody_dynamics.dynamics.core import record_fields


def test_all_counts_are_unsigned_in_c():
    assert {each.kind for each in record_fields.declared_fields(CycleCounts)} == {"unsigned long"}
    assert all(row.shape == (1,) for row in record_fields.zeros(CycleCounts))
