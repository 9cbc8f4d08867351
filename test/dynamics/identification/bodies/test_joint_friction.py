# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Friction: closed forms, rates by differences, the description by joint."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.identification.bodies.joint_friction import JointFriction
from rejections import assert_rejected

NAMES = ("shoulder", "elbow", "wrist")
GIVEN = {
    "shoulder": {"viscous": 0.3, "coulomb": 0.5, "coulomb_velocity": 0.02, "offset": -0.1},
    "wrist": {"logistic": [0.8, 9.0, 0.03]},
}


def test_the_formulas():
    friction = JointFriction.from_mapping(GIVEN, NAMES)
    v = np.random.default_rng(0).normal(scale=0.3, size=(50, 3))
    found = friction.torque(v)
    assert np.allclose(found[:, 0], 0.3 * v[:, 0] + 0.5 * np.tanh(v[:, 0] / 0.02) - 0.1)
    assert not found[:, 1].any()
    x, x0 = 9.0 * (v[:, 2] + 0.03), 9.0 * 0.03
    assert np.allclose(found[:, 2], 0.8 / (1 + np.exp(-x)) - 0.8 / (1 + np.exp(-x0)))
    assert not JointFriction.none(3).torque(v).any()
    same = JointFriction.smooth_coulomb([0.3, 0, 0], [0.5, 0, 0], [-0.1, 0, 0], 0.02)
    assert np.allclose(same.torque(v)[:, 0], found[:, 0])


def test_the_rates_are_those_of_the_torque():
    friction = JointFriction.from_mapping(GIVEN, NAMES)
    t, h = np.linspace(0.0, 3.0, 40)[:, None], 1e-4
    w = np.array([1.0, 1.3, 0.7])

    def rows(t):
        return [0.1 * w**k * np.sin(w * t + k * np.pi / 2) for k in range(3)]

    before, now, after = (friction.torque(rows(t + s)[0]) for s in (-h, 0.0, h))
    first, second = friction.rates(*rows(t))
    assert np.allclose(first, (after - before) / (2 * h), atol=2e-5)
    assert np.allclose(second, (after - 2 * now + before) / h**2, atol=2e-3)


def test_invalid_descriptions():
    def read(name="elbow", entry=None, **friction):
        entry = friction if entry is None else entry
        return lambda: JointFriction.from_mapping({name: entry}, NAMES)

    assert_rejected(
        (read("knee"), "knee shoulder, elbow, wrist"),
        (read(viscos=1.0), "elbow viscos some of"),
        (read(entry=1.0), "elbow"),
        (read(coulomb=1.0, logistic=[1, 2, 3]), "elbow give only one"),
        (read(logistic=[1, 2]), "elbow"),
        (read(coulomb=1.0, coulomb_velocity=0.0), "elbow"),
        (read(viscous="much"), "elbow"),
        (read(viscous=float("nan")), "elbow"),
    )


def test_it_is_immutable():
    friction = JointFriction.none(2)
    with pytest.raises(ValueError, match="read-only"):
        friction.viscous[0] = 1.0
