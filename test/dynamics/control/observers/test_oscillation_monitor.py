# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The default law over time, on soft bases that make it unstable until it notices, and under what
it must not take for such a base."""

import numpy as np
import pytest

from multibody_dynamics.dynamics.control.observers.disturbance_compensation import Disturbances
from multibody_dynamics.dynamics.control.observers.oscillation_monitor import (
    FLOOR,
    LARGE,
    LONGEST,
    SWINGS,
    oscillates,
)
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.study import single_run
from multibody_dynamics.tools.study.conditions import Condition
from multibody_dynamics.tools.study.single_run import simulate
from multibody_dynamics.tools.study.studied_laws import chosen_laws
from multibody_dynamics.tools.study.studied_robots import built_in_robots, load_arm, own_robot

LAW = next(iter(chosen_laws(["all"])))  # motor_pd, the default


@pytest.fixture(scope="module")
def panda():
    return load_arm(built_in_robots()["panda"])


@pytest.fixture(scope="module")
def two_links():
    config = share_directory() / "config"
    springs = config / "elastic_joints" / "planar_two_link.yaml"
    return load_arm(own_robot(config / "robots" / "planar_two_link.urdf", springs))


@pytest.fixture
def slowed(monkeypatch):
    """The texts about oscillations of the commands of a run."""
    texts = []
    measure = single_run._Cycle._measure

    def measured(self, t):
        command = measure(self, t)
        texts.extend([command.slowed] if command.slowed else [])
        return command

    monkeypatch.setattr(single_run._Cycle, "_measure", measured)
    return texts


def condition(base_frequency=5.0, **own):
    return Condition("own", "own", "effects", base_frequency=base_frequency, **own)


def soft(frequency, inertia):
    values = {"base_frequency": frequency, "base_inertia": inertia, "base_damping": 0.005}
    return {"effects": tuple(values.items())}


@pytest.mark.parametrize(
    ("frequency", "peak", "inertia", "error"),  # every base, with both errors by turns
    [
        (*base, inertia, 0.1 * ((i + k) % 2))
        for i, base in enumerate([(5.0, 24e-3), (10.0, 6e-3), (15.0, 6e-3)])
        for k, inertia in enumerate([0.2, 1.0, 5.0])
    ],
)
def test_no_soft_base_makes_the_default_law_unstable(panda, frequency, peak, inertia, error):
    outcome = simulate(panda, LAW, condition(error=error, **soft(frequency, inertia)))
    assert not outcome.lost
    assert outcome.peak < peak


def test_the_arm_on_a_wrong_model_oscillates_slower_than_its_base(panda, slowed):
    """At 3.1 Hz on a base of 5 Hz, with 30 % wrong parameters."""
    outcome = simulate(panda, LAW, condition(error=0.3, **soft(5.0, 0.2)), draw=3)
    assert not outcome.lost
    assert outcome.peak < 35e-3
    assert len(slowed) == 1


@pytest.mark.parametrize("base", [(10.0, 0.2), (5.0, 1.0)], ids=str)
def test_an_arm_softer_than_its_base_is_as_slow_as_it_requires(two_links, slowed, base):
    """On springs on which it swings at 2.5 Hz, with 30 % wrong parameters."""
    assert not simulate(two_links, LAW, condition(error=0.3, **soft(*base)), draw=3).lost
    assert len(slowed) == 1


@pytest.mark.parametrize("frequency", [5.0, 20.0])
def test_it_says_once_that_it_is_slower(panda, slowed, frequency):
    assert simulate(panda, LAW, condition(0.0, **soft(frequency, 0.2))).lost
    assert not slowed
    assert not simulate(panda, LAW, condition(**soft(frequency, 0.2))).lost
    assert len(slowed) == 1
    assert "base_frequency" in slowed[0]


@pytest.mark.parametrize(
    "own",
    [
        {},
        {"error": 0.3},
        {"bits": 14},
        {"has_payload": True},
        {"has_hit": True},
        {"effects": (("backlash", 1e-3),)},
        {"effects": (("gear_error", 5e-4), ("gear_harmonic", 200.0))},
        {"effects": (("link_coulomb", 0.05), ("link_static", 0.065))},
    ],
    ids=str,
)
def test_nothing_else_is_taken_for_a_soft_base(panda, slowed, own):
    """On a rigid base, the default law is the one for a rigid base."""
    assert simulate(panda, LAW, condition(**own)) == simulate(panda, LAW, condition(0.0, **own))
    assert not slowed


@pytest.mark.parametrize(
    ("growth", "frequency", "reference", "is_noticed"),
    [(2.0, 12.0, 0.0, 1), (0.0, 12.0, 0.0, 1), (-10.0, 12.0, 0.0, 0),
     (0.0, 3.0, 0.0, 1), (0.0, 2.0, 0.0, 0), (0.0, 12.0, 5.0, 0)],
)  # fmt: skip
def test_swings_that_do_not_decay_are_an_oscillation(growth, frequency, reference, is_noticed):
    """Unless they are slow, or the desired motion has them, too."""
    memory, omega = record_fields.zeros(Disturbances, n=1, m=1), 2.0 * np.pi * frequency
    noticed = 0
    for t in np.arange(0.0, 1.2, 1e-3):
        size = np.exp(growth * t)
        value, rate = size * np.sin(omega * t), size * omega * np.cos(omega * t)
        along = reference * rate
        noticed |= oscillates(memory, 0, value, rate, along, 10.0, LONGEST, 1e-3)
        if t < (SWINGS - 1) / (2.0 * frequency):
            assert not noticed
    assert noticed == is_noticed


@pytest.mark.parametrize(("size", "is_noticed"), [(1.3 * LARGE, True), (2.0 * FLOOR, False)])
def test_swings_at_the_limits_count_although_they_differ(size, is_noticed):
    memory, value, noticed = record_fields.zeros(Disturbances, n=1, m=1), 0.0, False
    for k in range(200):
        rate = (-1.0) ** (k // 20) * size * (1.0 + (k // 20) % 2)  # every other swing is half
        value += 10.0 * rate / 20.0
        noticed |= oscillates(memory, 0, value, rate, 0.0, 10.0, LONGEST, 1e-3)
    assert noticed == is_noticed
