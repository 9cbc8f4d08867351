# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A planar arm with elastic joints and friction, and bags of its states."""

import numpy as np

from bag_files import messages_of, write_bag
from multibody_dynamics import dynamics as dyn
from robots import CONFIG

ARM = CONFIG / "robots" / "planar_two_link.urdf"
SPRINGS = CONFIG / "elastic_joints" / "planar_two_link.yaml"
MODEL = dyn.load_urdf(ARM)
NAMES = MODEL.joint_names
RATE = 200.0  # Hz, of the recordings
FRICTION = """
friction:
  shoulder: {viscous: 0.4, coulomb: 0.8, offset: 0.1}
  elbow: {logistic: [0.6, 8.0, 0.02]}
"""


def written(path, rows, t=None, names=NAMES, **options):
    """The bag `path` with rows (N, k, n) of joint states at times t (N,), by default at RATE."""
    t = np.arange(len(rows)) / RATE if t is None else t
    return write_bag(path, messages_of(t, rows, names, **options))


def driven(state, actuators=None):
    """The motion and torques of the motors along a motion (5, k, 2) of the arm with springs."""
    actuators = actuators or dyn.load_actuators(SPRINGS, NAMES, MODEL.joint_types)
    torques = np.stack(dyn.inverse_dynamics(MODEL, *state), axis=1)
    return dyn.elastic.motor_motion(actuators, np.moveaxis(state, 0, 1), torques)
