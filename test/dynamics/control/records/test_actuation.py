# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The record of the actuators: their numbers, in the types that compiled code takes."""

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, damped_arm, elastic_panda, mixed_panda, variable_arm
from multibody_dynamics.dynamics.control.records.actuation import Actuation, actuation
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.elastic import friction

ARMS = (antagonistic_arm, damped_arm, elastic_panda, mixed_panda, variable_arm)


@pytest.mark.parametrize("make", ARMS)
def test_the_record_has_the_numbers_of_the_actuators(make):
    actuators = make().actuators
    found = actuation(actuators)
    sizes = {"n": actuators.n, "m": len(actuators.motors)}
    for each in record_fields.declared_fields(Actuation):
        row = getattr(found, each.name)
        assert row.shape == record_fields.shape_of(each.field, sizes)
        assert row.dtype == (np.int64 if each.kind == "int" else np.float64)
        assert not row.flags.writeable
        if each.name == "link_friction":
            np.testing.assert_array_equal(row, [a.link_friction.row for a in actuators.actuators])
        elif each.name == "has_one_motor":
            np.testing.assert_array_equal(row, [len(a.motors) == 1 for a in actuators.actuators])
        elif each.name != "motor_rows":
            np.testing.assert_array_equal(row, getattr(actuators, each.name))
    velocity = np.linspace(-1.0, 1.0, sizes["m"])
    own = [friction(found.motor_rows, j, velocity[j], 0.0) for j in range(sizes["m"])]
    np.testing.assert_allclose(own, actuators.friction(velocity), rtol=1e-14)
