"""Springs and motors: the flat relations both ways, the rigid limit, and the YAML schema."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from multibody_dynamics.dynamics.elastic_joints import (
    VARIANTS,
    MotorFeedforward,
    SeriesElasticJoints,
    load_elastic_joints,
    refuse_counting_twice,
)
from multibody_dynamics.dynamics.errors import InputError

PANDA = Path(__file__).parents[1] / "config" / "elastic_joints" / "panda.yaml"
NAMES = ("shoulder", "elbow", "wrist")


def make_joints(**changes: object) -> SeriesElasticJoints:
    """An elastic shoulder and wrist, a rigid elbow, everything non-zero."""
    data: dict[str, object] = {
        "stiffness": [900.0, np.inf, 150.0],
        "motor_inertia": [0.4, 0.3, 0.05],
        "gear_ratio": [100.0, 80.0, 50.0],
        "viscous": [1.1, 0.7, 0.2],
        "coulomb": [0.9, 0.6, 0.1],
        "coulomb_velocity": [0.05, 0.04, 0.03],
    }
    return SeriesElasticJoints(NAMES, **(data | changes))


finite = st.floats(-50.0, 50.0, allow_subnormal=False)


@given(arrays(np.float64, (5, 3), elements=finite), arrays(np.float64, (3, 3), elements=finite))
@settings(max_examples=40, deadline=None)
def test_the_reverse_map_undoes_the_feedforward(state, Q):
    joints = make_joints()
    elastic = ~joints.is_rigid
    theta, thetad, thetadd, tau = joints.feedforward(state, Q)
    spring, spring_rate = joints.joint_torque(state[0], state[1], theta, thetad)
    scale = np.abs(joints.stiffness[elastic]) * 50.0  # deflection is a difference of two angles
    np.testing.assert_array_less(np.abs(spring - Q[0])[elastic], 1e-14 * scale)
    np.testing.assert_array_less(np.abs(spring_rate - Q[1])[elastic], 1e-14 * scale)
    assert np.isnan(spring[joints.is_rigid]).all()
    assert np.isnan(spring_rate[joints.is_rigid]).all()
    np.testing.assert_allclose(joints.torque_behind_motor(thetad, thetadd, tau), Q[0], atol=1e-12)
    found = joints.motor_acceleration(thetad, Q[0], tau)
    np.testing.assert_allclose(found[elastic], thetadd[elastic], rtol=1e-13, atol=1e-11)
    assert np.isnan(found[joints.is_rigid]).all()


def test_feedforward_is_the_derivative_of_itself():
    """theta', theta'' are the time derivatives of theta; the motor equation gives tau_m."""
    joints = make_joints(viscous=0.0, coulomb=0.0)
    rng = np.random.default_rng(1)
    path, torque = rng.normal(size=(7, 3)), rng.normal(size=(7, 3)) * 30.0

    def at(t: float) -> tuple[np.ndarray, np.ndarray]:
        def rows(c: np.ndarray, count: int) -> np.ndarray:
            columns = [np.polynomial.Polynomial(c[:, i]) for i in range(3)]
            return np.array([[p.deriv(k)(t) if k else p(t) for p in columns] for k in range(count)])

        return rows(path, 5), rows(torque, 3)

    t, h = 0.3, 1e-3
    before, now, after = (joints.feedforward(*at(t + k * h)) for k in (-1, 0, 1))
    np.testing.assert_allclose(
        (after.position - before.position) / (2 * h), now.velocity, rtol=0, atol=1e-4
    )
    np.testing.assert_allclose(
        (after.velocity - before.velocity) / (2 * h), now.acceleration, rtol=0, atol=1e-3
    )
    np.testing.assert_allclose(
        now.torque, joints.motor_inertia * now.acceleration + at(t)[1][0], rtol=1e-15
    )


def test_a_rigid_joint_is_the_limit_of_a_stiff_one():
    rng = np.random.default_rng(2)
    state, Q = rng.normal(size=(5, 3)), 30.0 * rng.normal(size=(3, 3))
    rigid = make_joints(stiffness=[np.inf] * 3).feedforward(state, Q)
    errors = []
    for stiffness in (1e6, 1e8):
        stiff = make_joints(stiffness=[stiffness] * 3).feedforward(state, Q)
        errors.append(max(np.abs(a - b).max() for a, b in zip(stiff, rigid, strict=True)))
    assert errors[1] == pytest.approx(errors[0] / 100, rel=0.02)
    np.testing.assert_array_equal(rigid[:3], state[:3])
    joints = make_joints()
    wanted = joints.motor_inertia * state[2] + Q[0] + joints.friction(state[1])
    np.testing.assert_allclose(rigid.torque, wanted, rtol=1e-15)


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_drop_exactly_their_terms(variant):
    joints = make_joints()
    rng = np.random.default_rng(3)
    state, Q = rng.normal(size=(5, 3)), 30.0 * rng.normal(size=(3, 3))
    kept = Q * np.array(VARIANTS[variant])[:, None]
    wanted = state[:3] + kept / joints.stiffness
    command = joints.feedforward(state, Q, variant=variant)
    np.testing.assert_allclose(command[:3], wanted, rtol=1e-15)
    np.testing.assert_allclose(
        command.torque,
        joints.motor_inertia * wanted[2] + Q[0] + joints.friction(wanted[1]),
        rtol=1e-14,
    )


@pytest.mark.parametrize(
    ("field", "row"),
    [("stiffness", 0), ("stiffness", 1), ("stiffness", 2), ("motor_inertia", 3), ("viscous", 3),
     ("coulomb", 3), ("coulomb_velocity", 3)],
)  # fmt: skip
def test_every_parameter_acts_and_on_its_own_joint_only(field, row):
    rng = np.random.default_rng(4)
    state, Q = rng.normal(size=(5, 3)), 30.0 * rng.normal(size=(3, 3))
    changed = np.array(getattr(make_joints(), field))
    changed[2] *= 1.5
    before = make_joints().feedforward(state, Q)[row]
    after = make_joints(**{field: changed}).feedforward(state, Q)[row]
    assert (before != after).tolist() == [False, False, True]


def test_friction_is_odd_smooth_and_saturates():
    joints = make_joints()
    v = np.array([0.3, -0.2, 0.1])
    np.testing.assert_array_equal(joints.friction(-v), -joints.friction(v))
    np.testing.assert_allclose(
        joints.friction(1e6 * v), 1e6 * joints.viscous * v + joints.coulomb * np.sign(v)
    )
    slope = joints.viscous + joints.coulomb / joints.coulomb_velocity
    np.testing.assert_allclose(joints.friction(1e-7 * v) / (1e-7 * v), slope, rtol=1e-9)


def test_motor_shaft_keeps_the_power():
    joints = make_joints()
    rng = np.random.default_rng(5)
    command = joints.feedforward(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)))
    shaft = joints.at_motor_shaft(command)
    np.testing.assert_allclose(shaft.torque * shaft.velocity, command.torque * command.velocity)
    np.testing.assert_allclose(shaft.position, joints.gear_ratio * command.position)
    np.testing.assert_allclose(shaft.acceleration, joints.gear_ratio * command.acceleration)


def test_a_batch_is_its_elements():
    joints = make_joints()
    rng = np.random.default_rng(6)
    state, Q = rng.normal(size=(4, 2, 5, 3)), rng.normal(size=(2, 3, 3))
    state_before, Q_before = state.copy(), Q.copy()
    command = joints.feedforward(state, Q)
    assert all(row.shape == (4, 2, 3) for row in command)
    for i, j in np.ndindex(4, 2):
        single = joints.feedforward(state[i, j], Q[j])
        np.testing.assert_array_equal([row[i, j] for row in command], single)
    np.testing.assert_array_equal(state, state_before)
    np.testing.assert_array_equal(Q, Q_before)


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_cycle_object_works_in_place_on_the_callers_arrays(variant):
    joints = make_joints()
    rng = np.random.default_rng(7)
    state, Q = np.zeros((5, 3)), np.zeros((3, 3))
    cycle = MotorFeedforward(joints, state, Q, variant=variant)
    for _ in range(3):
        state[:], Q[:] = rng.normal(size=(5, 3)), rng.normal(size=(3, 3))
        command = cycle.update()
        assert command is cycle.command
        assert all(row.base is cycle.result for row in command)
        np.testing.assert_array_equal(cycle.result, joints.feedforward(state, Q, variant=variant))


def test_torque_may_be_the_tuple_that_inverse_dynamics_returns():
    joints = make_joints()
    rng = np.random.default_rng(8)
    state, Q = rng.normal(size=(4, 5, 3)), rng.normal(size=(4, 3, 3))
    rows = (Q[:, 0], Q[:, 1], Q[:, 2])
    for a, b in zip(joints.feedforward(state, rows), joints.feedforward(state, Q), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(InputError, match=r"Q' or Q''.*qddd and qdddd"):
        joints.feedforward(state, (Q[:, 0], Q[:, 1], None))


def test_bad_states_are_refused_by_name():
    joints = make_joints()
    with pytest.raises(InputError, match=r"state.*\(4, 3\)"):
        joints.feedforward(np.zeros((4, 3)), np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"torque.*\(3,\)"):
        joints.feedforward(np.zeros((5, 3)), np.zeros(3))
    bad = np.zeros((5, 3))
    bad[1, 2] = np.nan
    with pytest.raises(InputError, match=r"state.*wrist"):
        joints.feedforward(bad, np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"fast.*full, quasi_static, rigid"):
        joints.feedforward(np.zeros((5, 3)), np.zeros((3, 3)), variant="fast")


def test_joints_are_immutable_and_keep_their_own_copies():
    stiffness = np.array([900.0, np.inf, 150.0])
    joints = make_joints(stiffness=stiffness)
    stiffness[0] = 1.0
    assert joints.stiffness[0] == 900.0
    with pytest.raises(ValueError, match="read-only"):
        joints.stiffness[0] = 1.0
    with pytest.raises(AttributeError):
        joints.stiffness = stiffness


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"stiffness": [900.0, 0.0, 150.0]}, "elbow.*stiffness is 0.*greater than zero"),
        ({"stiffness": [900.0, 1.0, -150.0]}, "wrist.*stiffness is -150"),
        ({"stiffness": [900.0, np.nan, 150.0]}, "elbow.*stiffness is NaN"),
        ({"motor_inertia": [0.0, 0.0, 0.1]}, "shoulder.*motor_inertia.*elastic"),
        ({"motor_inertia": [-1.0, 0.0, 0.1]}, "shoulder.*motor_inertia is -1"),
        ({"motor_inertia": [np.inf, 0.0, 0.1]}, "shoulder.*motor_inertia is inf.*finite"),
        ({"gear_ratio": [0.0, 1.0, 1.0]}, "shoulder.*gear_ratio is 0"),
        ({"viscous": [0.0, 0.0, -0.1]}, "wrist.*viscous is -0.1"),
        ({"coulomb_velocity": [0.0, 1.0, 1.0]}, "shoulder.*coulomb_velocity is 0"),
        ({"torque_limit": [1.0, 0.0, 1.0]}, "elbow.*torque_limit is 0"),
        ({"stiffness": [1.0, 2.0]}, "stiffness.*3 joints"),
        ({"stiffness": "soft"}, "stiffness.*numbers"),
    ],
)
def test_values_that_no_hardware_has_are_refused_by_joint(changes, message):
    with pytest.raises(InputError, match=message):
        make_joints(**changes)


def test_double_joint_names_are_refused():
    with pytest.raises(InputError, match="different"):
        SeriesElasticJoints(("a", "a"), np.ones(2), np.ones(2))


def test_the_rotor_counts_once():
    joints = make_joints(motor_inertia=[0.4, 0.0, 0.05])
    refuse_counting_twice(joints, np.array([0.0, 0.3, 0.0]))  # the model's, of a rigid joint
    with pytest.raises(InputError, match=r"wrist.*once"):
        refuse_counting_twice(joints, np.array([0.0, 0.0, 0.01]))
    with pytest.raises(InputError, match=r"elbow.*once"):
        refuse_counting_twice(make_joints(), np.array([0.0, 0.3, 0.0]))


# The YAML schema


PANDA_NAMES = tuple(f"panda_joint{i}" for i in range(1, 8))


def test_the_shipped_panda_is_as_its_comments_say():
    joints = load_elastic_joints(PANDA, PANDA_NAMES, ["revolute"] * 7)
    assert joints.joint_names == PANDA_NAMES
    large, small = [1.0] * 4 + [0.0] * 3, [0.0] * 4 + [1.0] * 3
    for field, (a, b) in {
        "motor_inertia": (0.45, 0.1),
        "viscous": (1.0, 0.3),
        "coulomb": (0.8, 0.3),
        "coulomb_velocity": (0.05, 0.05),
        "torque_limit": (150.0, 40.0),
        "speed_limit": (3500 * np.pi / 3000, 4500 * np.pi / 3000),
    }.items():
        np.testing.assert_allclose(
            getattr(joints, field), a * np.array(large) + b * np.array(small), rtol=1e-14
        )
    np.testing.assert_array_equal(joints.stiffness, [3e3, 3e3, 2e3, 2e3, 500.0, 500.0, 300.0])


def test_the_order_is_the_robots():
    names = PANDA_NAMES[::-1]
    assert load_elastic_joints(PANDA, names).stiffness[0] == 300.0


def quantity(value: object, unit: str, side: str = "link") -> dict[str, object]:
    return {"value": value, "unit": unit, "side": side}


def description() -> dict[str, object]:
    """An elastic joint with a data sheet of the motor side, and a rigid slide on a ball screw."""
    return {
        "joints": {
            "arm": {
                "spring": {"law": "linear", "stiffness": quantity(0.2, "N m/rad", "motor")},
                "motor": {
                    "gear_ratio": 50,
                    "inertia": quantity(200.0, "g cm^2", "motor"),
                    "viscous_friction": quantity(0.04, "mN m s/rad", "motor"),
                    "coulomb_friction": quantity(2.0, "N cm", "motor"),
                    "coulomb_velocity": quantity(30.0, "rpm", "motor"),
                    "torque_limit": quantity(0.5, "N m", "motor"),
                    "speed_limit": quantity(180.0, "deg/s"),
                },
            },
            "slide": {
                "motion": "prismatic",
                "spring": "rigid",
                "motor": {
                    "gear_ratio": {"value": 0.1, "unit": "turn/mm"},
                    "inertia": quantity(1e-5, "kg m^2", "motor"),
                    "torque_limit": quantity(2.0, "kN"),
                },
            },
        }
    }


def test_units_and_sides_are_brought_to_si_on_the_link_side():
    joints = load_elastic_joints(description(), ("arm", "slide"), ("revolute", "prismatic"))
    screw = 2 * np.pi * 100  # rad/m
    np.testing.assert_allclose(joints.stiffness, [0.2 * 2500, np.inf])
    np.testing.assert_allclose(joints.gear_ratio, [50, screw])
    np.testing.assert_allclose(joints.motor_inertia, [200e-7 * 2500, 1e-5 * screw**2])
    np.testing.assert_allclose(joints.viscous, [4e-5 * 2500, 0.0])
    np.testing.assert_allclose(joints.coulomb, [0.02 * 50, 0.0])
    np.testing.assert_allclose(joints.coulomb_velocity, [np.pi / 50, 1.0])
    np.testing.assert_allclose(joints.torque_limit, [25.0, 2000.0])
    np.testing.assert_allclose(joints.speed_limit, [np.pi, np.inf])


@pytest.mark.parametrize(
    ("unit", "value"), [("N m/rad", 100.0), ("Nm/rad", 100.0), ("N·m/rad", 100.0),
                        ("kN*m/rad", 1e5), ("N m/deg", 18000 / np.pi),
                        ("N m/arcmin", 60 * 18000 / np.pi)],
)  # fmt: skip
def test_units_may_be_written_as_data_sheets_do(unit, value):
    data = description()
    data["joints"]["arm"]["spring"]["stiffness"] = quantity(100, unit)
    stiffness = load_elastic_joints(data, ("arm", "slide")).stiffness[0]
    assert stiffness == pytest.approx(value, rel=1e-15)


def test_a_number_without_a_point_is_a_number(tmp_path):
    """YAML 1.1 reads 1e4 as a string."""
    path = tmp_path / "arm.yaml"
    data = description()
    data["joints"]["arm"]["spring"]["stiffness"]["value"] = "LATER"
    path.write_text(yaml.safe_dump(data).replace("LATER", "1e4"))
    assert load_elastic_joints(path, ("arm", "slide")).stiffness[0] == 1e4 * 2500


def at(data: dict, path: str) -> tuple[dict, str]:
    *parents, last = path.split("/")
    for key in parents:
        data = data[key]
    return data, last


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("joints/arm/spring/stiffness/value", -3.0, "arm.*stiffness is .*greater than zero"),
        ("joints/arm/spring/stiffness/value", 0, "arm.*stiffness is 0.*greater than zero"),
        ("joints/arm/spring/stiffness/value", float("nan"), "arm.*spring.stiffness.*NaN"),
        ("joints/arm/spring/stiffness/value", "soft", "arm.*spring.stiffness.*'soft'"),
        ("joints/arm/spring/stiffness/value", True, "arm.*spring.stiffness.*True"),
        ("joints/arm/spring/stiffness/unit", "N/m", "arm.*stiffness.*'N/m'.*N m/rad"),
        ("joints/arm/spring/stiffness/side", "gear", "arm.*stiffness.*'gear'.*motor or link"),
        ("joints/arm/spring/stiffness", 300.0, "arm.*stiffness.*300.*value, unit, side"),
        ("joints/arm/spring/law", "cubic", "arm.*spring.law 'cubic'.*linear"),
        ("joints/arm/spring/damping", 1.0, "arm.*spring.*'damping'.*law, stiffness"),
        ("joints/arm/spring", "stiff", "arm.*spring 'stiff'.*rigid"),
        ("joints/arm/motor/gear_ratio", 0.0, "arm.*gear_ratio.*greater than zero"),
        ("joints/arm/motor/gear_ratio", {"value": 1, "unit": "rad/m"}, "arm.*ratio.*plain number"),
        ("joints/arm/motor/inertia/unit", "kg", "arm.*inertia.*'kg'.*g cm\\^2"),
        ("joints/arm/motor/inertia/value", -1.0, "arm.*motor_inertia.*zero or greater"),
        ("joints/arm/motor/armature", 1.0, "arm.*motor.*'armature'.*inertia"),
        ("joints/arm/colour", "red", "arm.*'colour'.*spring, motor, motion"),
        ("joints/arm/motion", "helical", "arm.*'helical'.*revolute.*prismatic"),
        ("joints/arm/motion", "prismatic", "arm.*motion is prismatic.*robot's joint is revolute"),
        ("joints/arm", None, "arm.*None.*spring, motor"),
        ("joints/slide/motor/gear_ratio/unit", "mm", "slide.*gear_ratio.*'mm'.*rad/m"),
        ("joints/leg", {}, "'leg'.*no such joint.*arm, slide"),
        ("joints/1", {}, "'1'.*no such joint.*arm, slide"),
        ("springs", {}, "'springs'.*joints"),
    ],
)
def test_a_wrong_entry_is_named_with_what_would_be_right(tmp_path, path, value, message):
    data = description()
    entry, key = at(data, path)
    entry[key] = value
    file = tmp_path / "robot.yaml"
    file.write_text(yaml.safe_dump(data))
    with pytest.raises(InputError, match=r"robot.yaml.*" + message):
        load_elastic_joints(file, ("arm", "slide"), ("revolute", "prismatic"))


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("joints", "key 'joints' is missing"),
        ("joints/slide", "joint 'slide' of the robot is missing.*spring: rigid"),
        ("joints/arm/spring", "arm.*'spring' is missing"),
        ("joints/arm/motor", "arm.*'motor' is missing"),
        ("joints/arm/motor/gear_ratio", "arm.*motor.*'gear_ratio' is missing"),
        ("joints/arm/motor/inertia", "arm.*motor.*'inertia' is missing"),
        ("joints/arm/motor/inertia/side", "arm.*motor.inertia.*'side' is missing"),
        ("joints/arm/motor/inertia/unit", "arm.*motor.inertia.*'unit' is missing"),
        ("joints/arm/motor/coulomb_velocity", "arm.*coulomb_velocity.*together"),
        ("joints/arm/spring/law", "arm.*spring.*'law' is missing"),
    ],
)
def test_a_missing_entry_is_named(path, message):
    data = description()
    entry, key = at(data, path)
    del entry[key]
    with pytest.raises(InputError, match=message):
        load_elastic_joints(data, ("arm", "slide"))


def test_files_that_cannot_be_a_description(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.yaml.*cannot be read"):
        load_elastic_joints(tmp_path / "nowhere.yaml", ("arm",))
    file = tmp_path / "robot.yaml"
    for text, message in {
        "": "robot.yaml.*None.*joints",
        "joints: [": "robot.yaml.*not a valid description",
        "joints: {arm: {}, arm: {}}": "robot.yaml.*'arm' is given twice",
        "joints: {}\njoints: {}": "robot.yaml.*'joints' is given twice .line 2",
        "joints: {[1]: 2}": "robot.yaml.*not a valid description",
    }.items():
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            load_elastic_joints(file, ("arm",))


def test_the_mapping_handed_in_is_not_written_to():
    data = description()
    before = copy.deepcopy(data)
    load_elastic_joints(data, ("arm", "slide"))
    assert data == before


def test_a_ratio_with_a_colon_is_not_taken_for_sexagesimal(tmp_path):
    text = PANDA.read_text()
    file = tmp_path / "springs.yaml"
    file.write_text(text.replace("gear_ratio: 100.0", "gear_ratio: 100:1", 1))
    with pytest.raises(InputError, match=r"springs\.yaml.*100:1 is no plain number \(line \d+\)"):
        load_elastic_joints(file, [f"panda_joint{i}" for i in range(1, 8)])
