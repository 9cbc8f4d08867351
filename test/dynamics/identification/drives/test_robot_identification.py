# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Known robots are recovered from whatever was measured, within the stated errors."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from drive_runs import LINK_FRICTION, RATE, elastic_run, motion, planar, real_planar, without
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.drives import equation_sums
from robots import CONFIG

idn = dyn.identification
Settings = idn.IdentificationSettings


@cache
def everything():
    """All signals of the planar arm with springs: two runs, of which one is held out."""
    model, actuators = planar()
    return idn.identify_robot(
        model, [elastic_run()], actuators, held_out=[elastic_run(8.0, seed=1)]
    )


def within(found, true, errors=4.5):
    """Whether a determined value is within some standard errors of the true one."""
    return found.determined and abs(found.value - true) < errors * found.error


def test_springs_motors_and_friction_are_found_together():
    robot = everything().robot
    _, actuators = real_planar()
    for j, joint in enumerate(robot.model.joint_names):
        motor = actuators.motors[j]
        for name in ("inertia", "viscous", "coulomb", "coulomb_velocity"):
            assert within(robot.motors[joint][name], getattr(motor, name)), (joint, name)
        assert within(robot.springs[joint]["stiffness"], actuators.actuators[j].spring.K)
        assert within(robot.joints[joint]["viscous"], LINK_FRICTION.viscous[j])
        assert robot.motors[joint]["inertia"].error < 0.01 * motor.inertia
        found = robot.actuators.actuators[j]
        assert abs(found.spring.K / actuators.actuators[j].spring.K - 1.0) < 0.002
        assert found.damping == 0.0  # not significant: no damper where there was none
        assert abs(robot.delays[joint]["command"].value) < 1e-3


def test_base_parameters_are_found_and_links_remain_possible():
    found = everything()
    real, _ = real_planar()
    true = idn.base_parameters(real).values(idn.inertial_parameters(real))
    assert all(within(x, y) for x, y in zip(found.combinations.values(), true, strict=True)
               if x.determined)  # fmt: skip
    assert sum(x.determined for x in found.combinations.values()) >= 3
    ten = idn.inertial_parameters(found.robot.model).reshape(-1, 10)
    assert idn.is_physically_consistent(ten).all()


def test_residuals_of_a_held_out_run_are_the_noise():
    for each in everything().residuals:
        assert each.after < 0.3 * each.before
        assert each.held_after < 1.6 * each.after
        assert each.held_before > 3.0 * each.held_after


def rigid_run(still, seed, jitter=0.0, velocities=True, noise=0.02):
    """The planar arm without springs; some joints rest, up to the noise of their encoders."""
    model, _ = planar()
    q, qd, qdd = motion(model, 20.0, seed=4, rate=200.0)[:3].copy()
    q[:, still], qd[:, still], qdd[:, still] = 0.3, 0.0, 0.0
    tau = dyn.inverse_dynamics(model, q, qd, qdd).tau + REST_FRICTION.torque(qd)
    rng = np.random.default_rng(seed)
    q[:, still] += jitter * rng.normal(size=q[:, still].shape)
    qd[:, still] += 10.0 * jitter * rng.normal(size=q[:, still].shape)
    sensor = tau + noise * rng.normal(size=q.shape)
    return idn.MeasuredRun("run", 200.0, q=q, qd=qd if velocities else None, sensor=sensor)


REST_FRICTION = idn.JointFriction.smooth_coulomb([0.6, 0.4], [0.5, 0.3], [0.1, -0.1], 0.05)


@pytest.mark.parametrize(
    ("jitter", "velocities", "joint"),  # all pairs of values
    [(0.0, True, 0), (0.0, False, 1), (1e-4, True, 1), (1e-4, False, 0)],
)
def test_a_joint_at_rest_keeps_its_friction_and_others_are_found(jitter, velocities, joint):
    """Noise has no friction; a joint exactly at rest refuses nothing."""
    model, _ = planar()
    known = idn.JointFriction.smooth_coulomb([1.5, 1.2], [0.9, 0.8], [0.0, 0.0], 0.07)
    rest, moves = model.joint_names[joint], model.joint_names[1 - joint]
    for seed in range(2):
        run = rigid_run([joint], seed, jitter, velocities)
        settings = Settings(cutoff=6.0, links=False, rotors=False, delays=False)
        found = idn.identify_robot(model, [run], friction=known, settings=settings)
        friction = found.robot.friction
        for row in ("viscous", "offset", "amplitude", "steepness", "shift"):
            assert getattr(friction, row)[joint] == getattr(known, row)[joint], row
        for name, value in {"viscous": 1.5 - 0.3 * joint, "coulomb": 0.9 - 0.1 * joint}.items():
            each = found.robot.joints[rest][name]
            assert not each.determined
            assert each.value == pytest.approx(value, rel=1e-12)
        true = REST_FRICTION.viscous[1 - joint]
        assert within(found.robot.joints[moves]["viscous"], true)
        assert f"link {rest}: did not move" in "".join(found.notes)
        assert not any(name.startswith(f"{rest}.") for name in found.covariance.names)


SLIDER = """<robot name="slider"><link name="base"/><link name="carriage"><inertial>
<mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/>
</inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="carriage"/>
<axis xyz="0 0.6 0.8"/><limit lower="-1" upper="1" velocity="3" effort="50"/></joint></robot>"""


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_coulomb_friction_is_not_lost_with_its_velocity(seed):
    """The prior of the velocity, which the noise hides, contributes to the small errors of the
    sizes; as known before are then the velocity, and not the sizes, which are large."""
    model, rng = dyn.parse_urdf(SLIDER), np.random.default_rng(seed)
    t = np.arange(3000)[:, None] / 200.0
    w, phase = np.array([1.4, 2.7, 3.9]), np.array([0.0, 1.0, 2.0])
    q, qd, qdd = (
        (0.2 * w**k * np.sin(w * t + phase + k * np.pi / 2.0)).sum(axis=1, keepdims=True)
        for k in range(3)
    )
    tau = dyn.inverse_dynamics(model, q, qd, qdd).tau + 0.5 * qd + 0.8 * np.tanh(qd / 0.02)
    noisy = q + 2e-4 * rng.normal(size=q.shape)
    run = idn.MeasuredRun("run", 200.0, q=noisy, sensor=tau + 0.02 * rng.normal(size=q.shape))
    found = idn.identify_robot(model, [run], settings=Settings(cutoff=6.0))
    slide = found.robot.joints["slide"]
    assert slide["viscous"].value == pytest.approx(0.5, abs=0.03)
    assert slide["coulomb"].value == pytest.approx(0.8, abs=0.04)


def test_a_robot_that_rests_is_refused():
    with pytest.raises(dyn.InputError, match="no other joint has enough"):
        idn.identify_robot(planar()[0], [rigid_run([0, 1], 0)], settings=Settings(cutoff=6.0))


def test_friction_at_one_speed_is_not_split_at_random():
    """At a constant speed, only the sum of viscous and Coulomb friction can be found."""
    model, _ = planar()
    t = np.arange(4000) / 200.0
    speed = 0.05
    q = np.stack([speed * t - 0.5, 0.4 * np.sin(3.0 * t)], axis=1)
    qd = np.stack([np.full_like(t, speed), 1.2 * np.cos(3.0 * t)], axis=1)
    qdd = np.stack([np.zeros_like(t), -3.6 * np.sin(3.0 * t)], axis=1)
    tau = dyn.inverse_dynamics(model, q, qd, qdd).tau + REST_FRICTION.torque(qd)
    true = float(REST_FRICTION.torque([speed, 0.0])[0])
    settings = Settings(cutoff=6.0, links=False, rotors=False, delays=False)
    for seed in range(3):
        noise = 0.05 * np.random.default_rng(seed).normal(size=q.shape)
        run = idn.MeasuredRun("run", 200.0, q=q, qd=qd, sensor=tau + noise)
        found = idn.identify_robot(model, [run], settings=settings).robot
        joint = found.joints[model.joint_names[0]]
        kept = [name for name in ("viscous", "coulomb", "offset") if not joint[name].determined]
        assert len(kept) == 2
        assert all(joint[name].value == 0.0 for name in kept)
        assert found.friction.torque([speed, 0.0])[0] == pytest.approx(true, abs=0.02)


def test_a_robot_with_motor_torques_only_or_sensors_only():
    model, actuators = planar()
    _, real = real_planar()
    run = elastic_run()
    both = idn.identify_robot(model, [without(run, "sensor")], actuators).robot
    sensors = idn.identify_robot(model, [without(run, "motor_torque")], actuators).robot
    for j, joint in enumerate(model.joint_names):
        K = real.actuators[j].spring.K
        assert within(both.springs[joint]["stiffness"], K)
        assert within(both.motors[joint]["inertia"], real.motors[j].inertia)
        assert within(sensors.springs[joint]["stiffness"], K)
        assert joint not in sensors.motors
        assert sensors.actuators.motors[j] == actuators.motors[j]


@pytest.mark.parametrize(("lacking", "side"), [("q", "link"), ("theta", "motor")])
def test_a_side_that_was_not_measured_follows_from_the_known_springs(lacking, side):
    model, _ = planar()
    real, actuators = real_planar()
    found = idn.identify_robot(real, [without(elastic_run(), lacking, "sensor")], actuators)
    for j, joint in enumerate(model.joint_names):
        motor = actuators.motors[j]
        assert abs(found.robot.motors[joint]["coulomb"].value - motor.coulomb) < 0.1
        viscous = motor.viscous + LINK_FRICTION.viscous[j]  # they cannot be told apart
        assert abs(found.robot.motors[joint]["viscous"].value - viscous) < 0.15
        assert found.robot.actuators.actuators[j].spring == actuators.actuators[j].spring
        assert any(joint in note and f"position of its {side}" in note for note in found.notes)


def rigid_runs(gains=None, load=None, noise=0.02):
    """A Panda without springs but with rotors and friction; in the second run with a load."""
    model = dyn.load_urdf(CONFIG / "robots" / "panda.urdf")
    rotors = np.linspace(0.5, 0.1, model.n)
    friction = idn.JointFriction.smooth_coulomb(
        np.linspace(0.9, 0.3, 7), np.linspace(0.8, 0.4, 7), np.linspace(-0.3, 0.3, 7), 0.06
    )
    runs = []
    for seed in range(2 if load else 1):
        rows = motion(model, 10.0, seed, rate=250.0)
        rows[0] += (model.limits.lower + model.limits.upper) / 2.0
        carried = None
        real = model
        if load and seed:
            real = model.with_payload(model.body_names[-1], load, [0.05, 0.02, 0.1])
            carried = idn.CarriedPayload("load", load)
        torque = dyn.inverse_dynamics(real, *rows[:3]).tau + rotors * rows[2]
        torque += friction.torque(rows[1])
        rng = np.random.default_rng(seed)
        torque += noise * rng.normal(size=torque.shape)
        signal = {"motor_torque": torque} if gains is None else {"current": torque / gains}
        runs.append(idn.MeasuredRun(f"run{seed}", 250.0, q=rows[0], payload=carried, **signal))
    return model, rotors, friction, runs


def test_rotors_of_rigid_joints_do_not_go_into_the_links():
    model, rotors, friction, runs = rigid_runs()
    found = idn.identify_robot(model, runs, settings=Settings(cutoff=8.0))
    assert found.robot.actuators is None
    for j, joint in enumerate(model.joint_names):
        rotor = found.robot.motors[joint]["inertia"]
        assert within(rotor, rotors[j]) or not rotor.determined
        assert within(found.robot.joints[joint]["coulomb"], friction.amplitude[j] / 2.0)
        assert within(found.robot.joints[joint]["coulomb_velocity"], 0.06)
    assert found.robot.motors["panda_joint7"]["inertia"].determined
    # About the vertical first axis, rotor and links turn together.
    assert not found.robot.motors["panda_joint1"]["inertia"].determined
    assert any("panda_joint1: the inertia of its rotor" in note for note in found.notes)


def test_drive_gains_need_a_load_of_known_mass():
    gains = np.array([9.0, 12.0, 8.0, 11.0, 10.0, 9.0, 10.0])
    model, _, _, runs = rigid_runs(gains, load=3.0)
    found = idn.identify_robot(model, runs, settings=Settings(cutoff=8.0, delays=False))
    for j, joint in enumerate(model.joint_names):
        gain = found.robot.gains[joint]["gain"]
        assert within(gain, gains[j]) or not gain.determined
    assert found.robot.gains["panda_joint2"]["gain"].determined
    assert found.robot.gains["panda_joint4"]["gain"].determined
    assert abs(found.robot.payloads["load"]["com"]["z"].value - 0.1) < 0.03
    assert found.robot.payloads["load"]["mass"].value == pytest.approx(3.0)
    alone = idn.identify_robot(model, runs[:1], settings=Settings(cutoff=8.0, delays=False))
    assert not any(x["gain"].determined for x in alone.robot.gains.values())
    assert any("carry a payload of known mass" in note for note in alone.notes)


@pytest.mark.parametrize(("change", "is_kept"), [(0.0, True), (20.0, False)])
def test_tendons_that_the_motion_does_not_distinguish_keep_what_was_known(change, is_kept):
    """At constant stiffness, a tendon hardly moves along its law, and the coefficients of the law
    would have errors as large as themselves."""
    model = dyn.load_urdf(CONFIG / "robots" / "antagonistic_elbow.urdf")
    springs = CONFIG / "elastic_joints" / "antagonistic.yaml"
    actuators = dyn.load_actuators(springs, model.joint_names)
    t, rng, k = np.arange(3600) / 200.0, np.random.default_rng(0), np.arange(5)[:, None, None]
    w, size = np.array([0.7, 1.1]), np.array([0.6, 0.6])
    rows = size * w**k * np.sin(t[:, None] * w + k * np.pi / 2.0) + (k == 0) * [0.2, 0.4]
    stiffness = 80.0 * (k[:3, 0] == 0) + change * 1.3 ** k[:3, 0] * np.sin(
        1.3 * t + k[:3, 0] * np.pi / 2.0
    )
    torques = np.stack(dyn.inverse_dynamics(model, *rows), axis=-2)
    moved = dyn.elastic.motor_motion(
        actuators, np.moveaxis(rows, 0, -2), torques, stiffness.T[..., None]
    )
    q, theta, tau = (
        each + noise * rng.normal(size=each.shape)
        for each, noise in ((rows[0], 1e-5), (moved.position, 1e-5), (moved.torque, 0.01))
    )
    run = idn.MeasuredRun("slow", 200.0, q=q, theta=theta, motor_torque=tau)
    found = idn.identify_robot(model, [run], actuators)
    assert any("elbow_agonist.c3" in note and "kept" in note for note in found.notes) == is_kept
    for side in ("elbow_agonist", "elbow_antagonist"):
        springs = found.robot.springs[side]
        for name, true in (("c1", 10.0), ("c2", 45.0), ("c3", 20.0)):
            known = springs[name].value == true and not springs[name].determined
            assert known or (within(springs[name], true) and springs[name].error < 0.05 * true)


def test_outliers_are_left_out_and_reported():
    model, actuators = planar()
    run = elastic_run()
    pushed = run.motor_torque.copy()
    pushed[3000:3050] += 60.0
    found = idn.identify_robot(model, [replace(run, motor_torque=pushed)], actuators)
    _, real = real_planar()
    assert 0.0 < found.rejected < 0.2
    assert any("do not follow the equations" in note for note in found.notes)
    for j, joint in enumerate(model.joint_names):
        assert within(found.robot.motors[joint]["inertia"], real.motors[j].inertia)


def test_friction_that_falls_while_the_robot_warms_up_is_reported():
    model, actuators = planar()
    run = elastic_run()
    t = np.arange(len(run.q))[:, None] / RATE
    speed = np.gradient(run.theta, 1.0 / RATE, axis=0)
    warm = run.motor_torque - [0.3, 0.0] * (t / t[-1]) * speed
    found = idn.identify_robot(model, [replace(run, motor_torque=warm)], actuators)
    notes = [note for note in found.notes if "temperature" in note]
    assert any("motor shoulder: viscous friction changed by -0.3" in note for note in notes)
    assert not any("temperature" in note for note in everything().notes)


def test_delays_of_commands_and_sensors_are_found():
    model, actuators = planar()
    run = elastic_run(noise=0.01)
    late, early = (np.roll(x, k, axis=0) for x, k in ((run.sensor, 2), (run.motor_torque, -3)))
    cut = slice(10, -10)
    shifted = idn.MeasuredRun(
        "a", RATE, q=run.q[cut], theta=run.theta[cut], sensor=late[cut], motor_torque=early[cut]
    )
    delays = idn.identify_robot(model, [shifted], actuators).robot.delays
    for joint in model.joint_names:
        assert abs(delays[joint]["sensor"].value - 2 / RATE) < 5e-4
        assert abs(delays[joint]["command"].value - 3 / RATE) < 1e-3


def test_what_cannot_be_identified_is_refused_by_name():
    model, actuators = planar()
    with pytest.raises(dyn.InputError, match="no runs"):
        idn.identify_robot(model, [], actuators)
    panda = dyn.load_urdf(CONFIG / "robots" / "panda.urdf")
    with pytest.raises(dyn.InputError, match="has 2 joints, the robot 7"):
        idn.identify_robot(panda, [elastic_run(1.0)])
    with pytest.raises(dyn.InputError, match=r"longer recordings|no stretch"):
        idn.identify_robot(model, [elastic_run(1.0)], actuators)


def test_ctrl_c_after_the_first_fit_gives_the_results_so_far():
    model, actuators = planar()
    _, real = real_planar()
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done == total - 6:  # the drift has not been looked for
            raise KeyboardInterrupt

    found = idn.identify_robot(model, [elastic_run()], actuators, progress=stop)
    assert not found.is_complete
    assert any("stopped after 3 of 8 steps" in note for note in found.notes)
    assert seen[:3] == [(k, seen[0][1]) for k in range(3)]  # fits with and without effects
    assert seen == sorted(set(seen))
    assert not any("drift" in name for name in found.covariance.names)
    for j, joint in enumerate(model.joint_names):
        assert within(found.robot.springs[joint]["stiffness"], real.actuators[j].spring.K)
    with pytest.raises(KeyboardInterrupt):
        idn.identify_robot(model, [elastic_run()], actuators, progress=at_once)


def at_once(done, total):
    raise KeyboardInterrupt


def test_a_search_that_did_not_settle_is_said(monkeypatch):
    assert not any("settled" in note for note in everything().notes)
    monkeypatch.setattr(equation_sums, "ROUNDS", 1)
    monkeypatch.setattr(equation_sums, "CLOSE", 1e-9)
    model, actuators = planar()
    found = idn.identify_robot(model, [elastic_run(8.0)], actuators)
    assert any("before the parameters had settled" in note for note in found.notes)
