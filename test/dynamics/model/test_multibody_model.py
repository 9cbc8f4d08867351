# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""MultibodyModel: immutable, checked, with payloads that can be removed without a trace."""

import copy
import dataclasses
import pickle

import numpy as np
import pinocchio as pin
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.model import Frame, JointLimits, records
from rejections import assert_rejected
from robots import (
    panda,
    random_inertia,
    random_pose,
    random_screw,
    random_state,
    random_tree,
    to_pinocchio,
)

ARRAYS = (
    "parents", "screws", "poses", "link_inertias", "gravity", "reflected_inertia", "inertias",
    "joint_rows", "body_in_joint",
)  # fmt: skip
LOAD = (1.5, (0.1, -0.2, 0.3), ((0.02, 0.001, 0.002), (0.001, 0.03, -0.003), (0.002, -0.003, 0.04)))


def parts(n=3):
    """The arguments that build a chain of n revolute joints."""
    rng = np.random.default_rng(7)
    return {
        "parents": list(range(-1, n - 1)),
        "screws": np.stack([random_screw(rng, "revolute") for _ in range(n)]),
        "poses": np.stack([random_pose(rng) for _ in range(n)]),
        "inertias": np.stack([random_inertia(rng) for _ in range(n)]),
    }


def build(**changes):
    return dyn.model_from_screws(**{**parts(), **changes})


def rejected(word, **changes):
    with pytest.raises(dyn.ModelError, match=word):
        build(**changes)


# Immutable


def test_the_middle_is_within_the_limits_even_if_one_is_infinite():
    free = [-np.inf, np.inf]
    ranges = np.array([[-1.0, 2.0], [0.5, np.inf], [-np.inf, -0.3], [-np.inf, 0.4], free, free])
    limits = JointLimits.unlimited(6)._replace(lower=ranges[:, 0], upper=ranges[:, 1])
    np.testing.assert_array_equal(limits.middle, [0.5, 0.5, -0.3, 0.0, 0.0, 0.0])


def test_limits_frames_and_payloads_are_read_only():
    model = panda().with_payload("panda_link8", *LOAD)
    for array in (
        *(getattr(model, name) for name in ARRAYS), *model.limits,
        *(frame.pose for frame in model.frames.values()), model.frame(1).pose,
        model.frame(model.base_name).pose, model.payloads["payload"].inertia,
    ):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(TypeError):
        model.frames["x"] = model.frames["panda_link8"]
    with pytest.raises(TypeError):
        model.payloads["x"] = model.payloads["payload"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.name = "other"


def test_arrays_of_the_caller_stay_writable_and_independent():
    given = parts()
    limits = JointLimits(*np.tile(np.array([[-1.0], [1], [2], [3]]), 3))
    frame = np.eye(4)
    gravity, rotor = np.array([0.0, 0, -9]), np.ones(3)
    model = dyn.model_from_screws(
        **given, limits=limits, gravity=gravity, reflected_inertia=rotor,
        frames={"tip": Frame(2, frame)},
    )  # fmt: skip
    before = model.joint_rows.copy()
    for array in (*given.values(), *limits, gravity, rotor, frame):
        if isinstance(array, np.ndarray):
            assert array.flags.writeable
            array += 1
    again = dataclasses.replace(model)
    np.testing.assert_array_equal(again.joint_rows, before)
    assert model.gravity.tolist() == [0, 0, -9]
    assert model.limits.upper.tolist() == [1, 1, 1]
    assert model.frames["tip"].pose[0, 3] == 0


def test_variants_do_not_change_the_original():
    model = random_tree(3, 1)
    gravity, rotor = model.gravity.copy(), model.reflected_inertia.copy()
    other = model.with_gravity((1, 2, 3)).with_reflected_inertia((4, 5, 6))
    assert other.gravity.tolist() == [1, 2, 3]
    assert other.reflected_inertia.tolist() == [4, 5, 6]
    np.testing.assert_array_equal(model.gravity, gravity)
    np.testing.assert_array_equal(model.reflected_inertia, rotor)
    assert other.joint_rows[1, records.ROTOR] == 5


@pytest.mark.parametrize("duplicate", [
    copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model)),
], ids=["copy", "deepcopy", "pickle"])  # fmt: skip
def test_copies_and_pickles_are_the_same_robot(duplicate):
    model = panda().with_payload("panda_link8", *LOAD).with_gravity((1, 2, 3))
    rows = model.joint_rows
    twin = duplicate(model)
    assert "joint_rows" not in vars(twin)  # derived arrays are not copied
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(twin, name), getattr(model, name))
        assert not getattr(twin, name).flags.writeable
        assert not np.shares_memory(getattr(twin, name), getattr(model, name))
    assert twin.describe() == model.describe()
    assert (twin.joint_types, twin.notes) == (model.joint_types, model.notes)
    np.testing.assert_array_equal(twin.limits, model.limits)
    for name, (body, pose) in model.frames.items():
        assert twin.frames[name].body == body
        np.testing.assert_array_equal(twin.frames[name].pose, pose)
    for array in (*twin.limits, twin.frames["panda_link8"].pose, twin.payloads["payload"].inertia):
        assert not array.flags.writeable
    with pytest.raises(TypeError):
        twin.frames["x"] = twin.frames["panda_link8"]
    np.testing.assert_array_equal(twin.without_payload().joint_rows[:-1], rows[:-1])
    state = random_state(model)
    mine, other = (dyn.inverse_dynamics(robot, *state) for robot in (twin, model))
    np.testing.assert_array_equal(mine, other)


# Invalid robots

TURNED = dyn.se3.exp([0.3, -0.4, 0.5, 1, 2, 3])


def limited(**of_second: float) -> JointLimits:
    """Limits of three joints, of which the second has a lower limit of 1 and `of_second`."""
    limits = JointLimits.unlimited(3)._asdict()
    for key, value in {"lower": 1.0, **of_second}.items():
        limits[key] = np.array([limits[key][0], value, limits[key][2]])
    return JointLimits(**limits)


@pytest.mark.parametrize(
    ("word", "changes"),
    [
        ("no moving joint", {"parents": []}),
        ("joint 'joint1': parent 0", {"parents": [0, 0, 1]}),
        ("joint 'joint2': parent 2", {"parents": [-1, 2, 1]}),
        ("joint 'joint3': parent -2", {"parents": [-1, 0, -2]}),
        ("joint 'joint2': parent 0.5", {"parents": [-1, 0.5, 1]}),
        ("screws", {"screws": np.zeros((2, 6))}),
        (r"screws\[0\] \(joint 'joint1'\)", {"screws": np.ones((3, 5))}),
        ("joint 'joint2'.*screw.*zero", {"screws": np.array([[1.0], [0], [1]]) * np.ones(6)}),
        (r"screws\[1\] \(joint 'joint2'\).*nan", {"screws": [np.ones(6), np.full(6, np.nan), 0]}),
        ("poses", {"poses": np.eye(4)}),
        ("body 'body1'.*pose.*rigid", {"poses": np.stack([2 * np.eye(4)] * 3)}),
        ("body 'body1'.*pose.*rigid", {"poses": np.stack([np.diag((1, 1, -1, 1.0))] * 3)}),
        ("inertias", {"inertias": np.zeros((3, 3))}),
        ("body 'body1'.*negative", {"inertias": np.stack([-np.eye(6)] * 3)}),
        ("gravity", {"gravity": (0, 0)}),
        ("gravity", {"gravity": (0, 0, np.inf)}),
        ("expected 3 joint names.*got 2", {"joint_names": ("a", "b")}),
        ("two joint names are 'a'", {"joint_names": ("a", "a", "b")}),
        ("two body names are 'a'", {"body_names": ("b", "a", "a")}),
        ("the base are both named 'base'", {"body_names": ("b", "a", "base")}),
        ("joint types", {"joint_types": ("revolute",)}),
        ("'joint1': its type is 'foo'", {"joint_types": ("foo", "revolute", "revolute")}),
        ("type is 'prismatic', but its screw.* revolute", {"joint_types": ["prismatic"] * 3}),
        ("joint name is ''", {"joint_names": ("", "b", "c")}),
        ("body name is 1", {"body_names": (1, "b", "c")}),
        ("joint_names: expected a sequence of names, got the string", {"joint_names": "abc"}),
        (r"joint_names\[1\]: expected a sequence of names, got 1", {"joint_names": ("a", 1, "b")}),
        ("parents: expected a sequence", {"parents": None}),
        ("screws: expected a sequence", {"screws": None}),
        ("parent -1.0 must be a whole number", {"parents": (-1.0, 0, 1)}),
        ("reflected_inertia.*nan", {"reflected_inertia": (0, np.nan, 0)}),
        ("reflected_inertia: expected shape", {"reflected_inertia": 1.0}),
        ("'body1'.*by 4e-06, more than the 1e-06", {"poses": [np.diag([1 + 2e-6, 1, 1, 1])] * 3}),
        ("limits.lower", {"limits": JointLimits.unlimited(2)}),
        ("joint 'joint2'.*reflected", {"reflected_inertia": (0, -1, 0)}),
        ("joint 'joint2': limits lower 1, upper 0.5.*exceed", {"limits": limited(upper=0.5)}),
        ("joint 'joint2': limits .*velocity -1.*negative", {"limits": limited(velocity=-1.0)}),
        ("joint 'joint2': limits .*effort -1.*negative", {"limits": limited(effort=-1.0)}),
        ("frame 'tip': expected a Frame.*, got 3", {"frames": {"tip": 3}}),
        ("frames: expected a mapping", {"frames": [3]}),
        ("a frame name is 3", {"frames": {3: Frame(0, np.eye(4))}}),
        ("limits: expected JointLimits", {"limits": ([-1] * 3, [1] * 3, [1] * 3, [1] * 3)}),
        ("limits.lower: expected real", {"limits": limited()._replace(lower=["a"] * 3)}),
        (r"inertia of 'joint1': expected shape \(\)", {"reflected_inertia": {"joint1": [1, 2]}}),
    ],
)
def test_impossible_robots_are_rejected(word, changes):
    rejected(word, **changes)


def test_poses_of_single_precision_are_accepted():
    poses = np.stack([TURNED] * 3).astype(np.float32)
    assert np.abs(poses[0, :3, :3] @ poses[0, :3, :3].T - np.eye(3)).max() > 1e-9
    tip = Frame(2, poses[0])
    np.testing.assert_array_equal(build(poses=poses, frames={"tip": tip}).poses, poses)


@pytest.mark.parametrize("bad", [None, "panda"])
def test_anything_but_a_model_is_rejected(bad):
    zero = np.zeros(3)
    for call in (
        lambda: dyn.inverse_dynamics(bad, zero, zero, zero),
        lambda: dyn.forward_dynamics(bad, zero, zero, zero),
        lambda: dyn.forward_kinematics(bad, zero),
        lambda: dyn.mass_matrix(bad, zero),
        lambda: dyn.InverseDynamicsSolver(build()).set_model(bad),
    ):
        with pytest.raises(dyn.InputError, match="model: expected a MultibodyModel, got"):
            call()


SHEARED = np.eye(4) + np.eye(4, k=1)
SHIFTED = dyn.se3.from_rotation_translation(np.eye(3), [0, 0, 1])


@pytest.mark.parametrize(
    ("word", "name", "frame"),
    [
        ("frame 'tip': body 3 .*below 3", "tip", (3, np.eye(4))),
        ("frame 'tip': body -2", "tip", (-2, np.eye(4))),
        ("frame 'tip': body 0.5", "tip", (0.5, np.eye(4))),
        ("frame 'tip'.*rigid", "tip", (2, SHEARED)),
        ("frame 'tip'.*rigid", "tip", (2, np.diag((1, 1, -1, 1.0)))),
        ("frame 'tip'.*rigid", "tip", (2, np.diag((1, 1, 1, 2.0)))),
        ("frame 'tip'.*rigid", "tip", (2, np.full((4, 4), np.nan))),
        ("frame 'tip'.*rigid", "tip", (2, np.eye(3))),
        ("frame 'tip'.*rigid", "tip", (-1, np.eye(4)[None])),
        ("frame 'body1'.*has this name", "body1", (0, SHIFTED)),
        ("frame 'body1'.*has this name", "body1", (1, np.eye(4))),
        ("frame 'base'.*has this name", "base", (0, np.eye(4))),
    ],
)
def test_a_bad_frame_is_rejected(word, name, frame):
    frames = {name: Frame(*frame)}
    rejected(word, frames=frames)
    with pytest.raises(dyn.ModelError, match=word):
        dataclasses.replace(build(), frames=frames)


def test_a_frame_may_be_a_plain_pair():
    assert build(frames={"tip": (1, SHIFTED)}).frames["tip"].body == 1


def test_a_body_may_also_be_listed_as_its_own_frame():
    assert build(frames={"body2": Frame(1, np.eye(4))}).frames.keys() == build().frames.keys()


def test_massless_bodies_may_carry_others():
    M = parts()["inertias"]
    M[:2] = 0
    model = build(inertias=M)
    tau = dyn.inverse_dynamics(model, *np.ones((3, 3))).tau
    assert np.isfinite(tau).all()


def test_joint_types_follow_from_the_screws():
    screws = [dyn.revolute((1, 2, 3), (40, -50, 60)), dyn.prismatic((1, 0, 1))]
    assert build(screws=[*screws, dyn.helical((1, 2, 3), (4, 5, 6), 1e-4)]).joint_types == (
        "revolute", "prismatic", "helical",
    )  # fmt: skip


def test_a_screw_of_another_length_scales_its_coordinate():
    model = random_tree(5, 4, branching=0)
    scale = np.array([2.0, 0.1, 3, 0.5, 7])
    scaled = dyn.model_from_screws(
        model.parents, model.screws * scale[:, None], model.poses, model.inertias,
        gravity=model.gravity,
    )  # fmt: skip
    state = random_state(model)
    poses = dyn.forward_kinematics(scaled, state[0] / scale).pose
    np.testing.assert_allclose(poses, dyn.forward_kinematics(model, state[0]).pose, atol=1e-14)
    a, b = dyn.inverse_dynamics(model, *state), dyn.inverse_dynamics(scaled, *state / scale)
    for tau, other in zip(a, b, strict=True):
        np.testing.assert_allclose(other, tau * scale, rtol=0, atol=1e-12 * np.abs(tau).max())


# Names


def test_names_and_indices():
    model = panda()
    assert model.joint_index("panda_joint3") == model.joint_index(2) == 2
    assert model.body_index("panda_link3") == model.body_index(2) == 2
    assert model.body_index("panda_link8") == 6
    assert model.frame("panda_link8").pose[2, 3] == 0.107
    assert model.frame("panda_link0").body == -1
    assert model.path("panda_link3") == [0, 1, 2]
    assert repr(model) == "<MultibodyModel 'panda' with 7 joints>"


def test_errors_for_unknown_names_list_the_known_ones():
    model = panda()
    assert_rejected(
        (lambda: model.joint_index("elbow"), "'elbow' panda_joint1"),
        (lambda: model.joint_index(-1), "joint must be a name or an index below 7, got -1"),
        (lambda: model.frame("hand"), "'hand' panda_link8"),
        (lambda: model.body_index("panda_link0"), "'panda_link0' belongs to the base"),
    )
    for body in (7, -2, 1.0, None):
        with pytest.raises(dyn.InputError, match="a name or an index"):
            model.frame(body)


# Rotor inertia and payloads


def test_reflected_inertia_by_name():
    model = panda().with_reflected_inertia(np.arange(7.0))
    other = model.with_reflected_inertia({"panda_joint2": 9})
    assert other.reflected_inertia.tolist() == [0, 9, 2, 3, 4, 5, 6]
    with pytest.raises(dyn.InputError, match="'panda_joint9'"):
        model.with_reflected_inertia({"panda_joint9": 1})
    with pytest.raises(dyn.InputError, match="reflected_inertia"):
        model.with_reflected_inertia(np.ones(6))
    with pytest.raises(dyn.ModelError, match=r"'panda_joint2'.*negative"):
        model.with_reflected_inertia({"panda_joint2": -1})


def test_torques_with_a_payload_are_those_of_pinocchio():
    model = panda().with_payload("panda_link8", *LOAD).with_reflected_inertia(np.arange(7.0))
    bare = to_pinocchio(panda().with_reflected_inertia(np.arange(7.0)))
    link7 = bare.model.frames[bare.model.getFrameId("panda_link7")].placement
    placement = link7 * pin.SE3(np.eye(3), np.array([0, 0, 0.107]))
    mass, com, about = LOAD
    bare.model.appendBodyToJoint(7, pin.Inertia(mass, np.array(com), np.array(about)), placement)
    state = random_state(model, 3)[:3]
    expected = pin.rnea(bare.model, bare.model.createData(), *state)
    actual = dyn.inverse_dynamics(model, *state).tau
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("make", [panda, lambda: panda().with_payload("panda_link8", *LOAD)])
def test_scaled_links_are_those_of_a_new_model(make):
    model, rng = make(), np.random.default_rng(3)
    factors = rng.uniform(0.5, 2.0, 7)
    state = random_state(model, 3)
    expected = dataclasses.replace(
        model, link_inertias=factors[:, None, None] * model.link_inertias
    )
    scaled = model.with_scaled_links(factors)
    np.testing.assert_array_equal(scaled.inertias, expected.inertias)
    np.testing.assert_allclose(scaled.joint_rows, expected.joint_rows, rtol=1e-13, atol=1e-15)
    for found, wanted in zip(
        dyn.inverse_dynamics(scaled, *state), dyn.inverse_dynamics(expected, *state), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())
    again = copy.deepcopy(scaled).without_payload() if model.payloads else pickle_of(scaled)
    np.testing.assert_array_equal(again.link_inertias, expected.link_inertias)
    assert again.joint_names == model.joint_names
    with pytest.raises(dyn.InputError, match=r"-1 for joint 'panda_joint7'"):
        model.with_scaled_links([1, 1, 1, 1, 1, 1, -1])


def pickle_of(model):
    return pickle.loads(pickle.dumps(model))


def test_payloads_are_removed_without_a_trace():
    model = panda()
    loaded = model.with_payload("panda_link8", *LOAD).with_payload(2, 0.3, name="camera")
    assert np.abs(loaded.inertias - model.inertias).max() > 0.1
    assert (loaded.frame("payload").body, loaded.frame("camera").body) == (6, 2)
    back = loaded.without_payload("payload").without_payload("camera")
    np.testing.assert_array_equal(back.inertias, model.inertias)
    np.testing.assert_array_equal(back.joint_rows, model.joint_rows)
    assert dict(back.payloads) == {}
    assert set(back.frames) == set(model.frames)


def test_payloads_are_removed_in_any_order():
    one = panda().with_payload("panda_link8", *LOAD)
    both = one.with_payload("panda_link8", 1e-9, name="fly").with_payload(6, 1e9, name="whale")
    np.testing.assert_array_equal(
        both.without_payload("whale").without_payload("fly").inertias, one.inertias
    )


def test_payloads_are_checked():
    model = panda().with_payload("panda_link8", *LOAD)
    assert_rejected(
        (lambda: model.with_payload(6, *LOAD), "'payload' is taken"),
        (lambda: model.with_payload(6, *LOAD, name="panda_link3"), "'panda_link3' is taken"),
        (lambda: model.without_payload("cup"), "no payload 'cup' payload"),
        (lambda: model.with_payload("panda_link0", *LOAD, name="cup"), "base"),
        (lambda: model.with_payload(6, -1, name="cup"), "payload 'cup' negative", dyn.ModelError),
        (
            lambda: model.with_payload(6, 1, inertia_com=np.diag((1, 1, -1)), name="cup"),
            "payload 'cup' principal",
            dyn.ModelError,
        ),
    )


# The arrays that the recursions use
