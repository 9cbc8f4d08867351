# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Springs with scaled axes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics.dynamics.elastic import (
    CubicSpring,
    LinearSpring,
    PolynomialSpring,
    Spring,
    TableSpring,
    load_actuators,
)
from robots import CONFIG
from study_arms import EVERY_KIND


class Sine(Spring):
    """A law of the user's own."""

    def law(self, phi):
        s, c = 50.0 * np.sin(phi), 50.0 * np.cos(phi)
        return s, c, -s, -c

    def potential(self, phi):
        return 50.0 * (1.0 - np.cos(phi))


SPRINGS = {
    "linear": LinearSpring(300.0, travel=(-0.2, 0.3)),
    "cubic": CubicSpring(200.0, 5e3, travel=(-0.5, 0.5)),
    "polynomial": PolynomialSpring((10.0, 45.0, 20.0), travel=(0.0, 0.9)),
    "table": TableSpring((0.0, 0.1, 0.2, 0.3), (0.0, 8.0, 20.0, 40.0), symmetric=True),
    "own": Sine(travel=(-1.0, 1.0)),
}
factors = st.floats(0.3, 4.0)


@pytest.mark.parametrize("name", SPRINGS)
@given(torque=factors, deflection=factors, at=st.floats(0.02, 0.98))
def test_law_energy_and_inverse_are_those_of_the_scaled_axes(name, torque, deflection, at):
    base = SPRINGS[name]
    spring = base.scaled(torque=torque, deflection=deflection)
    lower, upper = base.travel
    x = lower + at * (upper - lower)
    orders = torque * deflection ** np.arange(4.0)
    expected = orders * base.derivatives(x)
    found = spring.derivatives(x / deflection)
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-6 * np.abs(expected).max())
    difference = base.energy(x) - base.energy(lower)
    own = spring.energy(x / deflection) - spring.energy(lower / deflection)
    assert own == pytest.approx(torque / deflection * difference, rel=1e-6, abs=1e-9)
    assert spring.deflection(torque * base.torque(x)) == pytest.approx(x / deflection, abs=1e-7)
    assert np.allclose(spring.travel, (lower / deflection, upper / deflection))


def test_a_factor_of_one_changes_nothing():
    spring = SPRINGS["cubic"]
    assert spring.scaled() is spring


@pytest.mark.parametrize("factor", [0.5, 5.0])
def test_a_stiffer_robot_carries_the_same_torques_at_smaller_deflections(factor):
    file = CONFIG / "elastic_joints" / "every_kind.yaml"
    names = EVERY_KIND
    for name, actuator in zip(names, load_actuators(file, names).actuators, strict=True):
        other = actuator.stiffened(factor)
        assert other.motors[0] == actuator.motors[0], name
        load = 3.0
        if name == "antagonistic":
            for spring, base in zip(other.springs, actuator.springs, strict=True):
                assert spring.deflection(load) == pytest.approx(base.deflection(load) / factor)
        elif name in ("variable", "driven"):
            k = np.mean(actuator.stiffness_range)
            one = actuator.shape.deflection(load / k)
            assert other.shape.deflection(load / (factor * k)) == pytest.approx(one / factor)
            assert np.allclose(other.stiffness_range, factor * np.array(actuator.stiffness_range))
            assert other.shape.stiffness(0.0) == pytest.approx(1.0)
        elif name != "stiff":
            deflection = actuator.spring.deflection(load)
            assert other.spring.deflection(load) == pytest.approx(deflection / factor)
            assert other.damping == factor * actuator.damping
    driven = load_actuators(file, names).actuators[names.index("driven")]
    assert driven.stiffened(factor).drive.gain == factor * driven.drive.gain


def test_with_springs_leaves_a_rigid_joint_alone():
    file = CONFIG / "elastic_joints" / "every_kind.yaml"
    names = EVERY_KIND
    rigid = load_actuators(file, names).actuators[-1]
    assert rigid.with_springs(lambda spring: replace(spring, travel=(0.0, 1.0))) is rigid
