# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The equilibrium of links on their springs."""

import numpy as np
import pytest

from elastic_arms import at_start, elastic_panda, linear_arm, mixed_panda, nonlinear_arm
from multibody_dynamics.dynamics.control import LinkEquilibrium
from multibody_dynamics.dynamics.core import DynamicsError
from multibody_dynamics.dynamics.rigid import gravity_forces


@pytest.mark.parametrize("arm", [linear_arm, nonlinear_arm, elastic_panda, mixed_panda])
def test_links_hang_where_springs_and_gravity_balance(arm):
    arm = arm()
    (q, _, theta, _), _, load = at_start(arm)
    hanging = LinkEquilibrium(arm.actuators, theta, lambda q: (gravity_forces(arm.model, q), None))
    hanging.start()
    np.testing.assert_allclose(hanging.update(60), load, atol=1e-9)
    np.testing.assert_allclose(hanging.q, q, atol=1e-9)
    assert np.abs(hanging.excess).max() < 1e-9


def test_a_stiffness_that_the_iteration_knows_does_not_slow_it_down():
    """Gravity and a spring to q_0 with 70 % of the joints' stiffness, where the error of the plain
    iteration hardly decays."""
    model, actuators, rest = linear_arm()
    K = 0.7 * np.array([400.0, 200.0])

    def links(q):
        return gravity_forces(model, q) - K * (q - rest), np.diag(K)

    hanging = LinkEquilibrium(actuators, rest + np.array([0.1, -0.05]), links)
    hanging.start()
    hanging.update(12)
    torque, _ = links(hanging.q)
    np.testing.assert_allclose(hanging.springs.torque, torque, atol=1e-4)


def test_links_stiffer_than_their_springs_are_refused():
    model, actuators, rest = linear_arm()
    hanging = LinkEquilibrium(actuators, rest, lambda q: (0.0 * q, np.diag([100.0, 195.0])))
    first, second = model.joint_names
    with pytest.raises(DynamicsError, match=f"exceeds that of the springs .* joint '{second}'"):
        hanging.update(1)
    coupled = np.array([[399.0, 30.0], [30.0, 100.0]])
    hanging = LinkEquilibrium(actuators, rest, lambda q: (0.0 * q, coupled))
    with pytest.raises(DynamicsError, match=f"joint '{first}'"):
        hanging.update(1)
