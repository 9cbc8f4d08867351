# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Only the numbers that change are replaced in an actuator file."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core.quantities import Gear
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.robot.actuator_text import ActuatorText

PANDA = (share_directory() / "config" / "elastic_joints" / "panda.yaml").read_text()
GEAR = Gear(100.0, {"link": "revolute", "motor": "revolute"})
NAMES = tuple(f"panda_joint{k}" for k in range(1, 8))
BLOCK = """# before
joints:
  a:
    spring:
      law: linear
      stiffness: {value: 2.0, unit: kN m/rad, side: link}  # data sheet
      # the end of the spring
    motor: {gear_ratio: 100, inertia: {value: 1e-1, unit: kg cm^2, side: motor}}
"""


def actuators(text):
    return dyn.load_actuators(yaml.safe_load(text), NAMES)


@given(value=st.floats(1.0, 1e6))
def test_a_stiffness(value):
    text = ActuatorText(BLOCK, "file")
    changed = text.set_quantity("a", ("spring", "stiffness"), value, "stiffness", GEAR)
    new = text.edited()
    assert changed == (new != BLOCK)
    found = dyn.load_actuators(yaml.safe_load(new), ("a",)).actuators[0]
    stiffness = found.spring.K
    assert stiffness == pytest.approx(value, rel=5e-10)  # ten digits
    assert "# data sheet\n      # the end of the spring\n" in new


def test_without_a_change_the_text_is_the_same():
    text = ActuatorText(PANDA, "file")
    known = actuators(PANDA)
    for name, each in zip(NAMES, known.actuators, strict=True):
        assert not text.set_quantity(
            name, ("spring", "stiffness"), each.spring.K, "stiffness", GEAR
        )
        inertia = each.motor.inertia
        assert not text.set_quantity(name, ("motor", "inertia"), inertia, "inertia", GEAR)
    assert text.edited("a comment") == PANDA


def test_joints_that_share_a_motor_are_separated():
    text = ActuatorText(PANDA, "file")
    for k, name in enumerate(NAMES):
        text.set_quantity(name, ("motor", "inertia"), 0.4 + 0.01 * k, "inertia", GEAR)
    new = text.edited("from there")
    assert new.startswith("# from there\n# Springs and motors of an elastic Panda.")
    for k, (old, each) in enumerate(
        zip(actuators(PANDA).actuators, actuators(new).actuators, strict=True)
    ):
        assert each.motor.inertia == pytest.approx(0.4 + 0.01 * k, rel=1e-15)
        assert each.motor.viscous == old.motor.viscous
        assert each.motor.torque_limit == old.motor.torque_limit
        assert each.spring.K == old.spring.K
    comments = [line for line in PANDA.splitlines() if line.startswith("#")]
    assert [line for line in new.splitlines() if line.startswith("#")][1:] == comments


@pytest.mark.parametrize("flow", [None, False, True])
def test_entries_that_are_added(flow):
    """To a text by hand, and as another program writes it, also behind a list in several lines."""
    given_text = BLOCK
    if flow is not None:
        content = yaml.safe_load(BLOCK)
        ends = {"unit": "rad", "side": "link", "values": [-1.0, 1.0]}
        content["joints"]["a"]["spring"]["travel"] = ends
        given_text = yaml.safe_dump(content, default_flow_style=flow, sort_keys=False)
    text = ActuatorText(given_text, "file")
    text.set_quantity("a", ("spring", "damping"), 3.0, "damping", GEAR)
    text.set_quantity("a", ("motor", "viscous_friction"), 0.5, "damping", GEAR)
    found = dyn.load_actuators(yaml.safe_load(text.edited()), ("a",)).actuators[0]
    assert (found.damping, found.motor.viscous) == (3.0, 0.5)


def test_replaced_spring():
    text = ActuatorText(BLOCK, "file")
    cubic = {
        "law": "cubic",
        "stiffness": {"value": 1500.0, "unit": "N m/rad", "side": "link"},
        "cubic_stiffness": {"value": 2e4, "unit": "N m/rad^3", "side": "link"},
    }
    text.replace("a", ("spring",), cubic)
    new = text.edited()
    found = dyn.load_actuators(yaml.safe_load(new), ("a",)).actuators[0]
    assert (found.spring.K, found.spring.K3) == (1500.0, 2e4)
    assert new.startswith("# before\n")
    assert "# the end of the spring" in new


def test_merged_entries_are_refused():
    with pytest.raises(dyn.InputError, match="merges entries with <<"):
        ActuatorText("x: &x {a: 1}\njoints:\n  j:\n    motor:\n      <<: *x\n", "file")
