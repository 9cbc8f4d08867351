# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What a leaf spring in a forearm costs that is planned as if rigid: docs/closed_loops.md."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import Arm, FlatnessSettings, Sample
from multibody_dynamics.dynamics.plant import ElasticRobot
from robots import CONFIG

SECOND, STEP = 10**9, 10**6  # ns
SETTLED = 600  # cycles until the law has taken over
HOME = np.array([0.2, 0.4])


def bar(length: float, mass: float) -> np.ndarray:
    """A uniform one along the x axis of its frame."""
    J = mass * length**2 / 12.0
    return dyn.spatial_inertia(mass, (length / 2.0, 0.0, 0.0), np.diag((0.01 * J, J, J)))


def arm_with_leaf_spring() -> dyn.MultibodyModel:
    """Upper arm 0.5 m, 2 kg; forearm 0.5 m, 1.5 kg, which bends in its middle; without gravity."""
    places = (0.0, 0.5, 0.75)
    return dyn.model_from_screws(
        [-1, 0, 1],
        [dyn.revolute((0, 0, 1), (x, 0, 0)) for x in places],
        [dyn.se3.from_rotation_translation(np.eye(3), (x, 0, 0)) for x in places],
        [bar(0.5, 2.0), bar(0.25, 0.75), bar(0.25, 0.75)],
        joint_names=("shoulder", "elbow", "leaf"),
        gravity=(0, 0, 0),
        frames={"tip": dyn.model.Frame(2, dyn.se3.exp([0, 0, 0, 0.25, 0, 0]))},
    )


def tip_error(frequency: float, duration: float, **changes: float) -> float:
    """Rms in m over a motion by 0.8 and 1.2 rad in `duration` s and 0.3 s after it, if the outer
    half of the forearm oscillates on the leaf spring at this frequency in Hz, all else locked."""
    real = arm_with_leaf_spring()
    model = real.with_locked({"leaf": 0.0})
    drives = dyn.load_actuators(
        CONFIG / "elastic_joints" / "planar_two_link.yaml", model.joint_names
    )
    stiffness = (2.0 * np.pi * frequency) ** 2 * 0.75 * 0.25**2 / 3.0
    leaf = dyn.elastic.SeriesElastic(  # its motor hardly moves
        dyn.elastic.Motor(1e6), dyn.elastic.LinearSpring(stiffness)
    )
    plant = ElasticRobot(real, dyn.elastic.Actuators(real.joint_names, (*drives.actuators, leaf)))
    laws = FlatnessSettings().controllers
    law = replace(laws["motor_pd"], **changes)
    arm = Arm(model, drives, FlatnessSettings(controllers={**laws, "motor_pd": law}))
    plant.reset(np.append(HOME, 0.0))
    arm.design(HOME)
    arm.activate()
    errors = []
    for k in range(SETTLED + round(1e3 * (duration + 0.3))):
        signals = {"link_position": plant.q[:2].copy(), "motor_position": plant.theta[:2].copy()}
        command = arm.update(Sample(SECOND + k * STEP, signals))
        assert command.mode.is_following
        if k == SETTLED:
            arm.motion.go(np.add(HOME, [0.8, 1.2]), duration)
        planned = np.append(command.desired[0], 0.0)
        tips = [dyn.frame_pose(real, q, "tip")[:3, 3] for q in (plant.q, planned)]
        errors.append(np.subtract(*tips))
        plant.step(np.append(command.torque, 0.0), 1e-9 * STEP)
    return float(np.sqrt(np.square(errors[SETTLED + 1 :]).sum(axis=1).mean()))


@pytest.mark.parametrize(
    ("frequency", "duration", "bandwidth", "documented"),
    [(30.0, 0.8, 120.0, 0.37e-3), (15.0, 1.6, 120.0, 0.66e-3), (15.0, 1.6, 0.0, 0.38e-3)],
)
def test_the_tip_errs_as_documented(frequency, duration, bandwidth, documented):
    error = tip_error(frequency, duration, disturbance_bandwidth=bandwidth)
    assert error == pytest.approx(documented, rel=0.1)
