# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rigid joints."""

import numpy as np

from multibody_dynamics.dynamics.elastic import Motor, Rigid
from rejections import assert_rejected


def test_a_rigid_joint_is_its_motor():
    q, Q = np.random.default_rng(0).normal(size=(2, 3, 4))
    (row,) = Rigid(Motor(0.0)).motor_rows(q, Q, (), None, "raise")
    np.testing.assert_array_equal(row[:4], [*q, Q[0]])


def test_an_invalid_rigid_joint_is_rejected():
    assert_rejected((lambda: Rigid(None), "expected a Motor, None"))
