# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The data sheet and the identified robot, from the files of the road."""

import numpy as np
import pytest

from identified_arms import HEAVIER, JOINTS, SPRINGS, STIFFER, URDF, planar_arm, sheet
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.tools.proof.known_robots import RobotFiles, load_known


def test_both_robots_are_those_of_the_files():
    known = load_known(planar_arm().files)
    _, drawn = sheet()
    written = planar_arm().files.identified.parent / "new"
    model = dyn.load_urdf(written / URDF.name)
    again = dyn.load_actuators(written / SPRINGS.name, model.joint_names)
    for j in range(len(JOINTS)):
        assert known.before[1].actuators[j].spring.K == drawn.actuators[j].spring.K
        assert known.after[1].actuators[j].spring.K == again.actuators[j].spring.K
        ratio = again.actuators[j].spring.K / drawn.actuators[j].spring.K
        assert ratio == pytest.approx(STIFFER, rel=2e-3)
        ratio = again.actuators[j].motor.inertia / drawn.actuators[j].motor.inertia
        assert ratio == pytest.approx(HEAVIER, rel=0.02)
    np.testing.assert_allclose(known.after[0].link_inertias, model.link_inertias, atol=1e-12)
    assert known.is_elastic
    assert {each.name for each in known.changes} >= set(JOINTS)


def test_missing_files_are_refused_by_name(tmp_path):
    with pytest.raises(dyn.InputError, match=r"covariance.npz: cannot be read"):
        load_known(RobotFiles(URDF, SPRINGS, tmp_path))
    with pytest.raises(dyn.DynamicsError, match=r"none\.urdf"):
        load_known(RobotFiles(tmp_path / "none.urdf", SPRINGS, planar_arm().files.identified))
