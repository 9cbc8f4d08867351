# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The simulated arm of a generated package against ElasticRobot, which has other recursions and
compiled code of its own."""

import ctypes
import subprocess
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from elastic_arms import antagonistic_arm, elastic_panda, mixed_panda, real_arm
from generated_controllers import (
    FLAGS,
    designed,
    five_bar,
    generated,
    needs_compiler,
    oblique,
    six_joints,
)
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.plant import ElasticRobot
from multibody_dynamics.tools.robot.generated_design import rest_of_motors, start_position

pytestmark = needs_compiler


def rubbing():
    """Backlash, kinematic errors, friction of motors under load and of links."""
    arm = real_arm()
    kinds = (replace(each, hysteresis=()) for each in arm.actuators.actuators)
    return arm._replace(actuators=Actuators(arm.model.joint_names, tuple(kinds)))


ARMS = {
    "rubbing": rubbing,
    "panda": elastic_panda,
    "rigid joints": mixed_panda,
    "antagonistic": antagonistic_arm,
    "oblique": oblique,
    "six joints": six_joints,
    "five-bar": five_bar,
}


class SimulatedArm:
    """simulated_arm.c, compiled. Views of q, q', theta, theta' in `state`."""

    def __init__(self, design, folder) -> None:
        generated(design, folder)
        library = folder / "simulated_arm.so"
        sources = ["ros2_control/simulated_arm.c", "arm_actuators.c", "arm_dynamics.c"]
        command = ["cc", *FLAGS, "-I.", "-shared", "-o", library, *sources, "-lm"]
        subprocess.run(command, check=True, cwd=folder, timeout=300)
        self._library = ctypes.CDLL(str(library))
        n, m = design.model.n, len(design.actuators.motors)
        second = 3 * max(1, len(design.actuators.variable_joints))
        N = design.model.body_count
        self._memory = np.zeros(2 * n + 2 * m + second + 1 + 10 * N)  # `brakes`, and loops
        self.state = self._memory[: 2 * n + 2 * m]
        self.q, self.qd, self.theta, self.thetad = np.split(self.state, (n, 2 * n, 2 * n + m))
        self._arm = self._memory.ctypes.data_as(ctypes.c_void_p)
        self.reset()

    def reset(self) -> None:
        self._library.arm_arm_reset(self._arm)

    def step(self, torque, dt) -> int:
        torque = np.ascontiguousarray(torque, dtype=np.float64)
        step = self._library.arm_arm_step
        return step(self._arm, torque.ctypes.data_as(ctypes.c_void_p), ctypes.c_double(dt))


def pair(arm, folder):
    """The arm in C, and ElasticRobot in the same state, with the torques that hold it."""
    design = designed(arm)
    simulated = SimulatedArm(design, folder)
    robot = ElasticRobot(design.model, design.actuators)
    robot.state[:] = simulated.state
    return simulated, robot, rest_of_motors(design, start_position(design)).torque


@pytest.mark.parametrize("name", ARMS)
def test_it_moves_as_the_plant_of_the_library(tmp_path, name):
    simulated, robot, hold = pair(ARMS[name](), tmp_path)
    rng = np.random.default_rng(3)
    scale = np.minimum(0.3 * np.abs(hold) + 1.0, 1.2 * robot.actuators.torque_limit)
    for dt in (1e-3, 1e-3, 0.37e-3, 2.2e-3) * 50:
        torque = hold + scale * rng.normal(size=len(hold))
        assert simulated.step(torque, dt) == 0
        robot.step(torque, dt)
    assert np.abs(robot.qd).max() > 1e-3
    for a, b in pairwise(np.cumsum([0, *map(len, (robot.q, robot.qd, robot.theta, robot.thetad))])):
        size = max(1e-3, np.abs(robot.state[a:b]).max())
        np.testing.assert_allclose(simulated.state[a:b], robot.state[a:b], rtol=0, atol=1e-8 * size)


@pytest.mark.parametrize("name", ["panda", "antagonistic"])
def test_brakes_hold_it_until_the_first_torque_and_it_rests_in_equilibrium(tmp_path, name):
    simulated, _, hold = pair(ARMS[name](), tmp_path)
    before = simulated.state.copy()
    for _ in range(100):
        assert simulated.step(0.0 * hold, 1e-3) == 0
    assert np.array_equal(simulated.state, before)
    for _ in range(500):
        assert simulated.step(hold, 1e-3) == 0
    assert np.abs(simulated.state - before).max() < 1e-7
    for _ in range(200):
        assert simulated.step(0.0 * hold, 1e-3) == 0
    assert np.abs(simulated.q - before[: len(simulated.q)]).max() > 1e-3  # it falls


def test_torques_beyond_the_limits_are_clipped_and_a_diverging_motion_is_refused(tmp_path):
    simulated, _, hold = pair(elastic_panda(), tmp_path)
    limit = designed(elastic_panda()).actuators.torque_limit
    moved = []
    for factor in (1.0, 50.0):
        simulated.reset()
        assert simulated.step(factor * limit, 1e-3) == 0
        moved.append(simulated.state.copy())
    assert np.array_equal(*moved)
    simulated.qd[:] = 1e200
    before = simulated.state.copy()
    assert simulated.step(hold, 1e-3) == 1
    assert np.array_equal(simulated.state, before)
