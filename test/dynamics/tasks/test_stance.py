# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A quadruped and a biped on contacts at rest, against Pinocchio's free flyer and differences."""

import numpy as np
import pinocchio as pin
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.tasks import Contact, RedundancyResolution, stance_motion
from multibody_dynamics.resources import share_directory
from reference import error
from rejections import assert_rejected

QUADRUPED = share_directory() / "config" / "mechanisms" / "quadruped.urdf"
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
BENT = [0.0, 0.75, -1.5] * 2 + [0.0, -0.75, 1.5] * 2
PERIOD = 1e-3
TIMES = np.arange(0.0, 0.3, PERIOD)
CROUCHED = [0.0, 0.05, -0.5, 1.0, -0.5, -0.05, 0.0, -0.05, -0.5, 1.0, -0.5, 0.05, 0.7]
SOLE = [[0.1, 0.04, -0.05], [0.1, -0.04, -0.05], [-0.06, 0.04, -0.05], [-0.06, -0.04, -0.05]]


def quadruped():
    return dyn.load_urdf(QUADRUPED)


def moved(height, way, times=TIMES):
    """The base `height` m above the ground is displaced by the screw `way` in 0.4 s."""
    start = np.eye(4)
    start[2, 3] = height
    return dyn.tasks.line(start, start @ dyn.se3.exp(way), 0.4).sample(times)


def on_four_feet(friction=0.6):
    """The quadruped sways, turns and squats."""
    model = quadruped()
    height = -dyn.frame_pose(model, BENT, FEET[0])[2, 3]
    base = moved(height, [0.06, -0.05, 0.1, 0.02, 0.02, -0.03])
    return model, stance_motion(
        model, [Contact(foot, friction=friction) for foot in FEET], TIMES, base, BENT
    )


def biped():
    """A trunk with an arm, on two legs of six joints: hip z x y, knee y, ankle y x."""
    axes = [np.eye(3)[k] for k in (2, 0, 1, 1, 1, 0)]
    heights = [0.9, 0.9, 0.9, 0.5, 0.1, 0.1]
    parents, screws, poses, inertias = [], [], [], []
    for y in (0.1, -0.1):
        for k, (axis, z) in enumerate(zip(axes, heights, strict=True)):
            parents.append(len(parents) - 1 if k else -1)
            screws.append(dyn.revolute(axis, (0.0, y, z)))
            poses.append(dyn.se3.from_rotation_translation(np.eye(3), np.array([0.0, y, z])))
            down = -0.2 if k in (2, 3) else -0.02
            inertias.append(
                dyn.spatial_inertia(2.0, (0.01, 0.0, down), np.diag([0.02, 0.02, 0.01]))
            )
    parents.append(-1)
    screws.append(dyn.revolute((0.0, 1.0, 0.0), (0.0, 0.2, 1.3)))
    poses.append(dyn.se3.from_rotation_translation(np.eye(3), np.array([0.0, 0.2, 1.3])))
    inertias.append(dyn.spatial_inertia(1.5, (0.0, 0.0, -0.2), np.diag([0.02, 0.02, 0.01])))
    trunk = dyn.spatial_inertia(20.0, (0.0, 0.0, 1.1), np.diag([0.9, 0.8, 0.3]))
    names = [f"{side}_{k}" for side in ("left", "right") for k in range(6)] + ["arm"]
    return dyn.model_from_screws(
        parents, screws, poses, inertias, joint_names=names, base_inertia=trunk
    )


def differences(rows):
    """The slopes of samples (k, ...) but for three at each end, to order 6."""
    weights = np.array([-1 / 60, 3 / 20, -3 / 4, 0.0, 3 / 4, -3 / 20, 1 / 60]) / PERIOD
    return sum(w * rows[j : len(rows) - 6 + j] for j, w in enumerate(weights))


def test_pinocchio_finds_the_same_torques_and_no_wrench_on_the_base():
    model, motion = on_four_feet()
    assert (np.abs(motion.residual).max(axis=(0, 2)) < [1e-12, 1e-11, 1e-9]).all()
    other = pin.buildModelFromUrdf(str(QUADRUPED), pin.JointModelFreeFlyer())
    assert list(other.names)[2:] == list(model.joint_names)
    data = other.createData()
    for k in range(0, len(TIMES), 30):
        base, (q, qd, qdd, *_) = motion.base, motion.states[k]
        rates = [base.twist[k], base.acceleration[k]]
        V, A = dyn.convert_twist(base.pose[k], rates, "spatial", "body")
        turned = pin.Quaternion(base.pose[k, :3, :3]).coeffs()
        x = np.r_[base.pose[k, :3, 3], turned, q]
        pin.framesForwardKinematics(other, data, x)
        applied = [pin.Force.Zero() for _ in range(other.njoints)]
        for i, foot in enumerate(FEET):
            frame = other.frames[other.getFrameId(foot)]
            where = data.oMf[other.getFrameId(foot)].translation
            assert np.abs(where - motion.points.positions[i]).max() < 1e-12
            f = motion.forces[k, 0, i]
            force = pin.Force(f, np.cross(where, f))
            applied[frame.parentJoint] += data.oMi[frame.parentJoint].actInv(force)
        tau = pin.rnea(other, data, x, np.r_[np.roll(V, 3), qd], np.r_[np.roll(A, 3), qdd], applied)
        assert np.abs(tau[:6]).max() < 1e-12
        assert error(motion.torques[k, 0], tau[6:]) < 1e-12


def test_the_feet_rest_to_the_fourth_derivative():
    model, motion = on_four_feet()
    rows = np.moveaxis(motion.states, 1, 0)
    for i, foot in enumerate(FEET):
        seen = dyn.tasks.task_motion(model, Contact(foot).task, *rows, base=motion.base)
        assert np.abs(seen.pose[:, :3, 3] - motion.points.positions[i]).max() < 1e-13
        for rate, row in zip(seen.rates, rows[1:], strict=True):
            assert np.abs(rate[:, 3:]).max() < 1e-11 * max(np.abs(row).max(), 1.0)


@pytest.mark.parametrize("name", ["states", "torques", "forces"])
def test_rates_are_those_of_the_samples(name):
    _, motion = on_four_feet()
    rows = getattr(motion, name)
    for k in range(rows.shape[1] - 1):
        rate = rows[3:-3, k + 1]
        assert np.abs(differences(rows[:, k]) - rate).max() < 1e-6 * np.abs(rate).max()


def test_the_contact_forces_are_inside_the_cones_and_their_wrenches_are_those_of_the_model():
    model, motion = on_four_feet(friction=0.3)
    assert (motion.forces[:, 0, :, 2] > 0.0).all()
    assert 0.1 < motion.friction_used.max() < 1.0
    sideways = np.linalg.norm(motion.forces[:, 0, :, :2], axis=-1)
    assert error(motion.friction_used, sideways / (0.3 * motion.forces[:, 0, :, 2])) < 1e-13
    rows = np.moveaxis(motion.states, 1, 0)
    tau = dyn.inverse_dynamics(model, *rows, wrenches=motion.wrenches, base=motion.base)
    assert error(np.stack(tau, axis=1), motion.torques) < 1e-14
    total = sum(motion.wrenches.values())
    assert error(total[..., 3:], motion.forces.sum(axis=2)) < 1e-13
    assert error(total, dyn.rigid.base_wrench(model, *rows, base=motion.base)) < 1e-11


def test_a_robot_at_rest_carries_its_weight():
    model = quadruped()
    base = dyn.tasks.TaskMotion(np.eye(4)[None])
    motion = stance_motion(model, [Contact(foot) for foot in FEET], [0.0], base, BENT)
    mass = 1.3 + 4 * (0.15 + 0.15 + 0.04)
    assert error(motion.forces[0, 0], np.tile([0.0, 0.0, mass * 9.81 / 4], (4, 1))) < 1e-9
    assert not motion.torques[0, 1:].any()


def test_a_biped_on_its_soles_with_an_arm_at_rest():
    model = biped()
    feet = [Contact(f"body{k}", SOLE, friction=0.7) for k in (6, 12)]
    base = moved(0.0, [0.0, 0.005, 0.02, 0.003, 0.01, -0.04])
    motion = stance_motion(
        model, feet, TIMES, base, CROUCHED, RedundancyResolution(prescribed=["arm"])
    )
    assert (np.abs(motion.residual).max(axis=(0, 2)) < [1e-10, 1e-9, 1e-7]).all()
    assert (motion.states[:, :, 12] == [0.7, 0.0, 0.0, 0.0, 0.0]).all()
    rows = np.moveaxis(motion.states, 1, 0)
    for contact in feet:
        seen = dyn.tasks.task_motion(model, contact.task, *rows, base=motion.base)
        assert np.abs(seen.pose - seen.pose[0]).max() < 1e-12
        assert np.abs(seen.twist).max() < 1e-12
    assert motion.points.positions.shape == (8, 3)
    assert (motion.forces[:, 0] @ [0.0, 0.0, 1.0] > 0.0).all()


def test_redundant_joints_move_as_their_rates_say():
    """On a sole and a point: positions are integrated over the times."""
    middle = Contact("body12", [0.02, 0.0, -0.05], friction=0.7)
    feet = [Contact("body6", SOLE, friction=0.7), middle]
    base = moved(0.0, [0.0, 0.002, 0.02, 0.005, 0.003, -0.04])
    motion = stance_motion(biped(), feet, TIMES, base, CROUCHED)
    assert np.abs(motion.states[:, 1, 12]).max() < 1e-12  # the arm serves no task
    assert np.abs(motion.residual).max() < 1e-7
    slopes = differences(motion.states[:, 0])
    assert np.abs(slopes - motion.states[3:-3, 1]).max() < 1e-6 * np.abs(slopes).max()


def test_what_cannot_be_done_is_refused_with_the_time():
    model = quadruped()
    height = -dyn.frame_pose(model, BENT, FEET[0])[2, 3]
    contacts = [Contact(foot, friction=0.3) for foot in FEET]

    def on(times=TIMES, feet=contacts, way=(0, 0, 0, 0, 0, 0.01), robot=model, q=BENT, **options):
        base = moved(height, np.array(way, dtype=float), TIMES)
        return lambda: stance_motion(robot, feet, times, base, q, **options)

    assert_rejected(
        (on(feet=[]), "contacts Contact"),
        (on(feet=["FL_FOOT"]), "contacts Contact"),
        (on(feet=[Contact("nobody")]), "nobody"),
        (on(feet=[Contact("base_link")]), "base_link"),
        (on(feet=contacts[:2]), "contact points line"),
        (on(times=TIMES[::-1]), "increasing times"),
        (on(times=TIMES[:-1]), "increasing times 299 300"),
        (lambda: stance_motion(model, contacts, TIMES, np.eye(4), BENT), "base TaskMotion sample"),
        (lambda: stance_motion(model, contacts, [], moved(0.4, [0] * 6, []), BENT), "increasing"),
        (on(q=BENT[:-1]), "q 12"),
        (on(barrier=0.0), "barrier positive 0.0"),
        (on(robot=model.with_gravity((0, 0, 0))), "weight"),
        (on(way=(0, 0, 0, 0, 0, 0.3)), "s: FL_FOOT reached", dyn.TrajectoryError),
        (on(way=(0, 0, 0, 0.2, 0, 0)), "s: friction cones slowly", dyn.TrajectoryError),
        (lambda: Contact("foot", [[0, 0, 0], [1, 0, 0]]), "foot three 2"),
        (lambda: Contact("foot", friction=0.0), "foot friction positive 0.0"),
        (lambda: Contact("foot", normal=[0, 0, 0]), "normal nonzero"),
    )
