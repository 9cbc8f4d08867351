# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Adaptive feedforward: descent, bounds, the change of the torques, and whole control loops."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elastic_arms import elastic_panda, exciting, law_of
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import (
    AdaptationSettings,
    AdaptiveFeedforward,
    ControllerSettings,
    LinearFeedback,
    motor_bandwidth_gains,
)
from multibody_dynamics.dynamics.model import MultibodyModel
from multibody_dynamics.dynamics.plant import DriveEffects, ElasticRobot
from multibody_dynamics.dynamics.rigid import pseudo_inertias
from multibody_dynamics.tools.study.drive_terms import with_drive_terms
from observed_arms import elastic
from reference import error
from rejections import assert_rejected
from robots import draw, panda, random_tree, two_link_planar

STEP = 1e-3
SEEDS = st.integers(0, 2**32 - 1)
PAYLOAD = 2.0, (0.0, 0.0, 0.1), 0.005 * np.eye(3)


def links_off(model: MultibodyModel, share: float, seed: int = 0) -> MultibodyModel:
    """Every link heavier or lighter by a share."""
    factors = 1.0 + share * np.random.default_rng(seed).choice((-1.0, 1.0), model.n)
    return replace(model, link_inertias=model.link_inertias * factors[:, None, None])


def unexplained(model: MultibodyModel, true: MultibodyModel, state) -> np.ndarray:
    """The disturbance that an ideal observer with this model finds on the moving robot."""
    return dyn.inverse_dynamics(model, *state[:3]).tau - dyn.inverse_dynamics(true, *state[:3]).tau


def moving(model: MultibodyModel, t: float) -> np.ndarray:
    """A motion (5, n) that excites all joints."""
    k = np.arange(1.0, model.n + 1.0)
    w = 1.0 + 0.7 * k
    return np.array([0.8 * w**j * np.sin(w * t + k + j * np.pi / 2) for j in range(5)])


@settings(max_examples=6, deadline=None)
@given(SEEDS)
def test_a_step_brings_the_estimates_nearer_to_the_true_bodies(seed):
    """In the norm of N, in every state, because the projection is onto a convex set."""
    model = random_tree(5, seed)
    true = links_off(model, 0.3, seed)
    adaptive = AdaptiveFeedforward(model, AdaptationSettings(rate=20.0, sliding=0.0))
    factors = np.linalg.cholesky(pseudo_inertias(model))
    inverse = np.linalg.inv(factors)
    target = inverse @ pseudo_inertias(true) @ np.swapaxes(inverse, -1, -2)
    distance = np.linalg.norm(adaptive.estimate - target)
    for k in range(20):
        state = draw(model, 5, seed=seed % 1000 + k)
        now = state.copy()
        adaptive.apply(now, change := np.zeros((3, 5)))
        adaptive.update(STEP, now[:2], now, unexplained(model, true, now) + change[0])
        nearer = np.linalg.norm(adaptive.estimate - target)
        assert nearer <= distance * (1 + 1e-12)
        distance = nearer
    assert distance < np.linalg.norm(np.eye(4) - target)


def test_the_torques_of_the_estimates_converge():
    """On a lasting motion the estimated links explain nine tenths of the torque that the model
    does not; the bodies that the torques determine need not be the true ones."""
    model = panda()
    true = links_off(model, 0.3)
    adaptive = AdaptiveFeedforward(model, AdaptationSettings(rate=50.0, sliding=0.0))
    left = []
    for k in range(4000):
        state = moving(model, k * STEP)
        d = unexplained(model, true, state)
        adaptive.apply(state, change := np.zeros((3, model.n)))
        left.append(np.abs(d + change[0]).max())
        adaptive.update(STEP, state[:2], state, d + change[0])
    assert np.mean(left[-500:]) < 0.1 * np.mean(left[:20])


@settings(max_examples=4, deadline=None)
@given(SEEDS)
def test_bodies_stay_possible_and_within_their_bounds_whatever_happens(seed):
    model, rng = random_tree(4, seed % 50), np.random.default_rng(seed)
    for chosen in (
        AdaptationSettings(rate=100.0, bound=0.5, floor=0.1),
        AdaptationSettings(rate=100.0, adapts="payload", payload_mass=4.0, floor=0.1),
    ):
        adaptive = AdaptiveFeedforward(model, chosen, lag_bandwidth=100.0)
        nominal = pseudo_inertias(model)
        for _ in range(30):
            state = rng.normal(size=(5, 4))
            adaptive.update(STEP, state[:2], state, 1e3 * rng.normal(size=4))
        P = adaptive.pseudo_inertias
        assert np.linalg.eigvalsh(P).min() > 0.0
        added = P - nominal
        if chosen.adapts == "links":
            assert np.linalg.eigvalsh(P - 0.5 * nominal).min() > -1e-12
            assert np.linalg.eigvalsh(2.0 * nominal - P).min() > -1e-12
        else:
            assert not added[:-1].any()
            assert np.linalg.eigvalsh(added[-1]).min() > -1e-12
            assert added[-1, 3, 3] <= 4.0 + 1e-12
        assert np.abs(added).max() > 1e-3


def test_the_change_of_the_torques_is_that_of_another_model():
    """Q, Q', Q'' of a robot with the estimated bodies, less those of the model."""
    model = random_tree(5, 3)
    adaptive = AdaptiveFeedforward(model, AdaptationSettings(adapts="payload", payload_mass=3.0))
    true = model.with_payload(model.body_names[-1], 2.0, (0.05, -0.1, 0.02), 0.02 * np.eye(3))
    P = pseudo_inertias(true)[-1] - pseudo_inertias(model)[-1]
    factor = adaptive._factor[0]
    adaptive.estimate[0] = np.linalg.solve(factor, np.linalg.solve(factor, P).T)
    adaptive._use()
    state = draw(model, 5)
    torques = np.array(dyn.inverse_dynamics(model, *state))
    adaptive.apply(state, torques)
    for got, expected in zip(torques, dyn.inverse_dynamics(true, *state), strict=True):
        assert error(got, expected) < 1e-12
    adaptive.clear()
    adaptive.apply(state, rest := np.zeros((3, 5)))
    assert np.abs(rest).max() < 1e-11


def test_it_is_switched_off_and_ignores_small_disturbances():
    model = panda()
    adaptive = AdaptiveFeedforward(model, AdaptationSettings(dead_zone=2.0, sliding=0.0))
    state = moving(model, 0.3)
    adaptive.update(STEP, state[:2], state, np.full(7, 1.9))
    np.testing.assert_array_equal(adaptive.estimate, np.tile(np.eye(4), (7, 1, 1)))
    adaptive.is_active = False
    adaptive.update(STEP, state[:2], state, np.full(7, 20.0))
    np.testing.assert_array_equal(adaptive.estimate, np.tile(np.eye(4), (7, 1, 1)))
    adaptive.is_active = True
    adaptive.update(STEP, state[:2], state, np.full(7, 20.0))
    assert np.abs(adaptive.estimate - np.eye(4)).max() > 1e-6


def rms_error(law: LinearFeedback, true: MultibodyModel, motion) -> float:
    """rms tracking error of the links in mrad, on a robot with other links."""
    robot = ElasticRobot(true, law.actuators)
    robot.reset(motion(0.0)[0])
    desired, ahead, reached = np.zeros((3, 5, true.n))
    total, count = 0.0, round(1.5 / STEP)
    for k in range(count):
        motion.evaluate(k * STEP, desired)
        motion.evaluate((k + 0.5) * STEP, ahead)
        law.update(desired, robot.q, robot.qd, robot.theta, robot.thetad, ahead=ahead)
        robot.step(law.torque, STEP)
        motion.evaluate((k + 1) * STEP, reached)
        total += np.mean((reached[0] - robot.q) ** 2)
    return 1e3 * float(np.sqrt(total / count))


@pytest.mark.parametrize(("what", "bandwidth"), [("links", 0.0), ("payload", 180.0)])
def test_an_arm_with_springs_follows_better(what, bandwidth):
    """With wrong links or an unknown payload, adaptation improves tracking, with and without
    compensation of disturbances; without it, repeating the motion improves tracking further."""
    arm = elastic_panda()
    motion, model = exciting(arm, 0.5), arm.model
    if what == "links":
        true = links_off(model, 0.2)
    else:
        true = model.with_payload(model.body_names[-1], *PAYLOAD)
    chosen = {"disturbance_bandwidth": bandwidth, "base_frequency": 0.0}
    adapting = law_of(arm, adaptation=AdaptationSettings(adapts=what, rate=5.0), **chosen)
    without = rms_error(law_of(arm, **chosen), true, motion)
    first = rms_error(adapting, true, motion)
    assert first < 0.8 * without
    if not bandwidth:
        adapting.reset()
        assert rms_error(adapting, true, motion) < 0.8 * first


def test_with_the_right_model_nothing_changes():
    arm = elastic_panda()
    motion = exciting(arm, 0.5)
    plain, adapting = law_of(arm), law_of(arm, adaptation=AdaptationSettings(rate=5.0))
    assert rms_error(adapting, arm.model, motion) < 1.2 * rms_error(plain, arm.model, motion) + 1e-3
    assert np.abs(adapting.adaptive.estimate - np.eye(4)).max() < 0.02


def test_laws_hand_on_reset_and_model():
    arm = elastic_panda()
    law = law_of(arm, adaptation=AdaptationSettings())
    assert isinstance(law, LinearFeedback)
    law.adaptive.explained[:] = 1.0
    law.reset()
    assert not law.adaptive.explained.any()
    loaded = arm.model.with_payload(arm.model.body_names[-1], *PAYLOAD)
    law.set_model(loaded)
    np.testing.assert_allclose(law.adaptive.pseudo_inertias, pseudo_inertias(loaded), atol=1e-12)
    with pytest.raises(dyn.InputError, match="adaptation is not a setting of law 'hold'"):
        ControllerSettings(law="hold", adaptation=AdaptationSettings())


def test_settings_out_of_range_are_rejected():
    def bad(**settings):
        return lambda: AdaptationSettings(**settings)

    assert_rejected(
        (bad(adapts="motors"), "adapts 'motors' links, payload"),
        (bad(rate=-1.0), "rate -1.0"),
        (bad(bound=1.0), "bound 1.0"),
        (bad(payload_mass=np.nan), "payload_mass nan"),
        (bad(floor=0.0), "floor 0.0"),
        (bad(dead_zone=-1.0), "dead_zone -1.0"),
    )


def test_bodies_that_cannot_adapt_are_named():
    """A point mass has no second moments that a factor could change; a payload can."""
    inertias = panda().link_inertias.copy()
    inertias[2] = dyn.spatial_inertia(1.0, (0.1, 0.0, 0.0), np.zeros((3, 3)))
    model = replace(panda(), link_inertias=inertias)
    AdaptiveFeedforward(model, AdaptationSettings(adapts="payload", payload_body=3))
    nowhere = AdaptationSettings(adapts="payload", payload_body="no hand")
    other = random_tree(7, 1)
    assert_rejected(
        (lambda: AdaptiveFeedforward(model), f"body '{model.body_names[2]}' no mass"),
        (lambda: AdaptiveFeedforward(model, nowhere), "hand"),
        (lambda: AdaptiveFeedforward(panda()).set_model(other), "differ"),
    )


def imagined_payload(knows: bool) -> float:
    """kg, mean mass of a payload that the adaptation makes of friction of the links and hysteresis,
    where there is none."""
    model = two_link_planar()
    plain = elastic(model)
    effects = DriveEffects(link_coulomb=1.5, hysteresis=1.0, hysteresis_deflection=4e-3)
    actuators = with_drive_terms(plain, effects) if knows else plain
    gains = motor_bandwidth_gains(model, plain, np.zeros(2), 40.0)
    law = LinearFeedback(
        model, actuators, gains, disturbance_bandwidth=60.0,
        adaptation=AdaptationSettings(adapts="payload", rate=5.0),
    )  # fmt: skip
    plant, mean = ElasticRobot(model, plain, effects=effects), 0.0
    for k in range(4000):
        desired = moving(model, k * STEP)
        if k == 0:
            plant.reset(desired[0], desired[1])
        law.update(desired, plant.q, plant.qd, plant.theta, plant.thetad)
        plant.step(law.torque, STEP)
        ((_, found, true),) = law.adaptive.masses()
        mean += (found - true) / 4000
    return mean


def test_friction_of_links_and_hysteresis_are_not_taken_for_masses():
    assert imagined_payload(knows=True) < 0.4 * imagined_payload(knows=False)
