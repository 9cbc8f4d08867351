# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Stability of controllers at many poses."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import qmc

from elastic_arms import law_of, linear_arm, shipped, without_coulomb
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.stability.loop_sampling import RestingPlants, RobotErrors
from multibody_dynamics.dynamics.core import InputError, NoSolutionError, OverloadError
from multibody_dynamics.dynamics.elastic import Actuators, LinearArm, Motor, Rigid
from multibody_dynamics.dynamics.elastic_arm import SoftBase
from multibody_dynamics.dynamics.plant import DriveEffects, ElasticRobot
from multibody_dynamics.dynamics.rigid import inverse_dynamics_derivatives, mass_matrix

ENCODERS = control.StateEstimation("link_and_motor_encoders", bandwidth=100.0)


@pytest.mark.parametrize("count", [50, 100])
def test_poses_fill_the_joint_range_evenly(count):
    """Their discrepancy is well below that of random poses, and the sequence is always the same."""
    model = shipped("panda").model
    poses = control.spread_poses(model, count)
    shares = (poses - model.limits.lower) / (model.limits.upper - model.limits.lower)
    assert shares.shape == (count, 7)
    assert ((shares > 0.0) & (shares < 1.0)).all()
    rng = np.random.default_rng(0)
    chance = np.median([qmc.discrepancy(rng.random((count, 7))) for _ in range(9)])
    assert qmc.discrepancy(shares) < 0.7 * chance
    np.testing.assert_array_equal(control.spread_poses(model, count + 5)[:count], poses)


@pytest.mark.parametrize("error", [OverloadError, NoSolutionError, InputError])
def test_only_poses_without_rest_or_gains_are_left_out(error, monkeypatch):
    """Any other error concerns the whole law, and must not look like a stable one."""
    arm = shipped("panda")
    law = law_of(arm, "state_feedback")
    gains = law.gains_at(arm.rest)

    def gains_at(q):
        if q is not judge.poses[0]:
            raise error("not here")
        return gains

    judge = control.LoopJudge(law, arm.rest, estimation=ENCODERS, poses=2, model_error=0.1)
    judge.poses = list(judge.poses)
    monkeypatch.setattr(law, "gains_at", gains_at)
    if error is InputError:
        with pytest.raises(InputError, match="not here"):
            judge.judge(law)
    else:
        np.testing.assert_array_equal(np.isnan(judge.judge(law).growth), [False, True, True])


def test_joints_without_limits_are_judged_over_one_turn():
    model = linear_arm().model
    assert np.isinf(model.limits.upper).all()
    poses = control.spread_poses(model, 200)
    assert poses.min() == pytest.approx(-np.pi, abs=0.1)
    assert poses.max() == pytest.approx(np.pi, abs=0.1)


def test_state_feedback_of_the_panda_is_unstable_with_delay():
    """At 40 rad/s: with 3 ms at every pose, with 2 ms at a few, but not at the design pose."""
    arm = shipped("panda")
    law = law_of(arm, "state_feedback", bandwidth=40.0)
    late = control.judge_loop(law, arm.rest, delay=3e-3, estimation=ENCODERS, poses=5)
    assert late.unstable_share == 1.0
    assert late.is_unstable_at_design
    assert "including the design position" in str(late)
    few = control.judge_loop(law, arm.rest, delay=2e-3, estimation=ENCODERS, poses=30)
    assert 0.0 < few.unstable_share < 0.2
    assert not few.is_unstable_at_design
    k = int(few.growth.argmax())
    np.testing.assert_array_equal(few.worst_pose, few.poses[k])
    loop = control.sampled_loop(law, few.worst_pose, delay=2e-3, estimation=ENCODERS)
    assert loop.worst() == (few.pole, few.joint)
    assert few.pole.real == pytest.approx(few.growth[k])
    assert f"unstable at {few.is_unstable.sum()} of 31 poses" in str(few)


def test_controllers_judged_together_are_judged_as_each_alone():
    """The plants are shared, and computed without building and checking a model at each pose."""
    arm = shipped("panda")
    conditions = {"delay": 1.3e-3, "estimation": ENCODERS, "model_error": 0.1, "poses": 6}
    laws = ("motor_pd", "hold", "feedback_linearization")
    controllers = [law_of(arm, law) for law in laws]
    judge = control.LoopJudge(controllers[0], arm.rest, **conditions)
    for law in controllers:
        together, alone = judge.judge(law), control.judge_loop(law, arm.rest, **conditions)
        np.testing.assert_array_equal(together.growth, alone.growth)
        assert (together.pole, together.joint) == (alone.pole, alone.joint)


def test_a_robot_with_errors_is_that_of_a_model_with_them():
    """A model of its own for each corner of the box, checked and assembled from its links."""
    arm = shipped("panda")
    law = law_of(arm)
    found = control.judge_loop(law, arm.rest, model_error=0.1, poses=5)
    for k, q in enumerate(found.poses[1:], 1):
        errors = control.RobotErrors.corner(arm.actuators, 0.1, k)
        factors = 1.0 + errors.links
        inertias = factors[:, None, None] * arm.model.link_inertias
        true = replace(arm.model, link_inertias=inertias)
        plant = RestingPlants().at(law, q, errors)
        size = len(plant.arm.A) // 2
        exact = linear_arm_of(true, law.actuators, q, plant.rest, errors)
        np.testing.assert_allclose(plant.arm.A, exact.A, rtol=0, atol=1e-9 * np.abs(exact.A).max())
        np.testing.assert_allclose(plant.arm.B, exact.B, rtol=0, atol=1e-9 * np.abs(exact.B).max())
        assert size == 14


def linear_arm_of(model, actuators, q, rest, errors):
    """The arm near rest, from the mass matrix and the gravity of `model`."""
    n, joint = actuators.n, actuators.joint_of_motor
    arm = LinearArm(actuators, mass_matrix(model, q))
    springs = (1.0 + errors.springs)[np.concatenate((np.arange(n), joint))]
    arm.stiffness += rest.hessian * springs
    arm.damping *= springs
    zero = np.zeros(n)
    arm.stiffness[:n, :n] += inverse_dynamics_derivatives(model, q, zero, zero).dtau_dq
    viscous = np.array([motor.viscous for motor in actuators.motors])
    arm.damping[n:, n:] += np.diag((1.0 + errors.friction) * viscous)
    arm.mass[n:, n:] *= 1.0 + np.diag(errors.motors)
    return arm.state_space()


def test_model_errors_only_make_it_worse():
    arm = shipped("planar_two_link")
    law = law_of(arm)
    exact = control.judge_loop(law, arm.rest, estimation=ENCODERS, poses=20)
    off = control.judge_loop(law, arm.rest, estimation=ENCODERS, poses=20, model_error=0.3)
    assert exact.unstable_share == 0.0
    assert "stable at 21 poses" in str(exact)
    assert off.growth.max() > exact.growth.max()
    assert off.growth_at_design == exact.growth[0]
    assert "errors of 30 %" in str(off)


def test_poses_may_be_given_and_those_beyond_the_springs_are_left_out():
    arm = shipped("planar_two_link")
    law = law_of(arm)
    poses = [[0.1, 0.2], [0.3, -0.4]]
    found = control.judge_loop(law, arm.rest, poses=poses)
    np.testing.assert_array_equal(found.poses, [arm.rest, *poses])
    for k, q in enumerate(found.poses):
        assert found.growth[k] == control.sampled_loop(law, q).growth
    heavy = arm.model.with_payload(1, 60.0, (0.3, 0.0, 0.0))
    upright = arm._replace(model=heavy, rest=np.array([-np.pi / 2, 0.0]))
    found = control.judge_loop(law_of(upright), upright.rest, poses=[[0.0, 0.0]])
    assert np.isnan(found.growth[1])
    assert f"{1} poses" in str(found)


def test_the_laws_of_a_cycle_are_judged_by_name():
    arm = linear_arm()
    cycle = control.Arm(arm.model, arm.actuators)
    found = cycle.laws.judge("motor_pd", arm.rest, delay=1e-3, poses=3)
    assert found is not None
    own = law_of(arm)
    conditions = {"delay": 1e-3, "estimation": ENCODERS, "poses": 3}
    wanted = control.judge_loop(own, arm.rest, base_frequency=5.0, **conditions)
    np.testing.assert_array_equal(found.growth, wanted.growth)
    assert cycle.laws.judge("hold", arm.rest, poses=0) is not None
    for law in ("computed_torque", "esp", "joint_impedance"):
        assert cycle.laws.judge(law, arm.rest, poses=0) is not None
    without = {"disturbance_bandwidth": 0.0}
    on_motors = control.FlatnessSettings(
        law="state_feedback",
        controllers={
            name: control.ControllerSettings(law=name, **(without if name != "hold" else {}))
            for name in ("state_feedback", "motor_pd", "hold")
        },
        estimation=control.StateEstimation("motor_encoders", bandwidth=30.0),
    )
    cycle = control.Arm(arm.model, arm.actuators, on_motors)
    assert cycle.laws.judge("state_feedback", arm.rest, poses=0) is None
    assert cycle.laws.judge("motor_pd", arm.rest, poses=0) is not None


@pytest.mark.parametrize(
    ("frequency", "inertia"),
    [(5.0, 0.2), (5.0, 1.0), (7.0, 0.5), (10.0, 0.2), (10.0, 1.0), (15.0, 0.5), (20.0, 0.2)],
)
def test_the_default_law_is_stable_on_soft_bases(frequency, inertia):
    """Once it has noticed an oscillation; before, and for a rigid base, it is not."""
    arm = shipped("panda")
    default, fast = law_of(arm), law_of(arm, base_frequency=0.0)
    default.lowerings = fast.lowerings = 1
    base = SoftBase(frequency, inertia, 0.005)
    for q in (arm.rest, *control.spread_poses(arm.model, 3)):
        assert control.sampled_loop(default, q, estimation=ENCODERS, base=base).growth < 0.0
    if frequency <= 15.0 and inertia < 1.0:
        assert control.sampled_loop(fast, arm.rest, estimation=ENCODERS, base=base).growth > 0.0


@pytest.mark.parametrize("name", ["motor_pd", "state_feedback"])
def test_slow_poles_are_stable_with_a_wrong_model_on_soft_bases(name):
    """Of an arm that is softer than its base, with all parameters 30 % off."""
    arm = without_coulomb(shipped("planar_two_link"))
    law = law_of(arm, law=name)
    law.lowerings = 1
    corners = [RobotErrors.corner(arm.actuators, 0.3, k) for k in (0, 4)]
    bases = [SoftBase(f, inertia, 0.005) for f in (5.0, 10.0) for inertia in (0.2, 1.0)]
    for errors, base in product(corners, bases):
        loop = control.sampled_loop(law, arm.rest, estimation=ENCODERS, errors=errors, base=base)
        assert loop.growth < 0.0


def test_an_arm_with_dependent_joints_is_judged_at_every_pose():
    """Errors of its links are drawn by coordinate, and apply to all bodies there."""
    model = shipped("panda").model.with_couplings({"panda_joint7": {"panda_joint6": 0.5}})
    actuators = Actuators(model.joint_names, [Rigid(Motor(0.1))] * model.n)
    laws = control.Arm(model, actuators).laws
    found = laws.judge("motor_pd", control.middle_of_range(model), poses=12, model_error=0.1)
    assert np.isfinite(found.growth).all()
    assert "at 13 poses" in str(found)


def test_a_law_for_a_rigid_base_is_refused_on_a_soft_one():
    arm = shipped("panda")
    conditions = {"estimation": ENCODERS, "poses": 0}
    fast = law_of(arm, base_frequency=0.0)
    assert not control.judge_loop(fast, arm.rest, **conditions).is_unstable.any()
    found = control.judge_loop(fast, arm.rest, base_frequency=5.0, **conditions)
    assert found.is_unstable.all()
    assert "also on bases from 5 Hz" in str(found)
    assert not control.judge_loop(
        law_of(arm), arm.rest, base_frequency=5.0, **conditions
    ).is_unstable.any()


def test_a_soft_base_is_that_of_the_plant():
    """The undriven loop oscillates with the modes of the plant, which has other equations."""
    arm = without_coulomb(shipped("panda"))
    arm = arm._replace(model=replace(arm.model, gravity=np.zeros(3)))
    effects = DriveEffects(base_frequency=8.0, base_inertia=0.4, base_damping=0.02)
    straight = np.zeros(arm.model.n)  # at which the base of the plant is described
    values, _ = ElasticRobot(arm.model, arm.actuators, effects=effects).modes(straight)
    law = law_of(arm, disturbance_bandwidth=0.0)
    law.gains = control.StateFeedbackGains(arm.actuators.motor_names, 0.0 * law.gains.values)
    poles = control.sampled_loop(law, straight, base=SoftBase(8.0, 0.4, 0.02)).poles
    fast = values[np.abs(values) > 20.0]
    nearest = np.abs(poles[:, None] - fast).min(axis=0)
    assert (nearest < 1e-6 * np.abs(fast)).all()


def test_wrong_arguments_are_rejected():
    arm = linear_arm()
    law = law_of(arm)
    with pytest.raises(InputError, match="model_error is 1"):
        control.judge_loop(law, arm.rest, model_error=1.0)
    with pytest.raises(InputError, match="design"):
        control.judge_loop(law, [0.0])
