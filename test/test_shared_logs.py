# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Real arms: published parameters leave the residuals that their authors report.

The recordings are written to a temporary folder as bags.
"""

import json

import numpy as np
import pytest
import yaml
from rosbags.rosbag2 import StoragePlugin

from bag_files import messages_of, write_bag
from multibody_dynamics.validation.comparison import validate
from multibody_dynamics.validation.identify import identify
from multibody_dynamics.validation.settings import Settings
from robots import CONFIG

# rms in N m of predicted minus measured torque, with the parameters as printed
GAZ = [0.257, 0.578, 0.240, 0.296, 0.148, 0.096, 0.067]
UNISA = [0.376, 0.303, 0.297, 0.618, 0.178, 0.206, 0.070]
GRAVITY = (0.0, 0.0, -9.80665)


@pytest.fixture(scope="module")
def robot_files(shared_cases, tmp_path_factory):
    """URDF and friction of the Panda as printed, with joints called panda_... and fer_..."""
    folder = tmp_path_factory.mktemp("robots")
    text = (CONFIG / "robots" / "panda.urdf").read_text()
    assert text.count('-0.01924"') == 1
    printed = text.replace('-0.01924"', '-0.010517"')
    given = json.loads((shared_cases / "panda.json").read_text())["friction_logistic"]
    rows = [given[key] for key in ("phi1_Nm", "phi2_s_per_rad", "phi3_rad_per_s")]
    for arm in ("panda", "fer"):
        (folder / f"{arm}.urdf").write_text(printed.replace("panda_", f"{arm}_"))
        friction = {
            f"{arm}_joint{j + 1}": {"logistic": list(numbers)}
            for j, numbers in enumerate(zip(*rows, strict=True))
        }
        (folder / f"{arm}.yaml").write_text(yaml.safe_dump({"friction": friction}))
    return folder


def settings(robot_files, arm, **options):
    return Settings(
        robot_files / f"{arm}.urdf", robot_files / f"{arm}.yaml", gravity=GRAVITY, **options
    )


@pytest.fixture(scope="module")
def gaz(shared_logs, tmp_path_factory):
    data = np.load(shared_logs / "panda_log_gaz2019_100Hz.npz")
    rows = np.stack([data["q"], data["qd"], data["tau_filtered"]], axis=1)
    names = [f"panda_joint{j}" for j in range(1, 8)]
    path = tmp_path_factory.mktemp("gaz") / "bag"
    return write_bag(path, messages_of(data["time"], rows, names))


@pytest.fixture(scope="module")
def unisa(shared_logs, tmp_path_factory):
    data = np.load(shared_logs / "panda_log_unisa2025.npz")
    rows = np.stack([data["q"], data["qd"], data["tau_measured"]], axis=1)
    path = tmp_path_factory.mktemp("unisa") / "bag"
    messages = messages_of(data["time"], rows, data["names"].tolist(), "/fer/joint_states")
    return write_bag(path, messages, plugin=StoragePlugin.MCAP)


def test_gaz(gaz, robot_files):
    # The reference's differentiation is unknown; with 5 Hz, the rms errors are up to 10 % smaller.
    found = validate(gaz, settings(robot_files, "panda", cutoff=15.0))
    assert found.residuals[0].rms == pytest.approx(GAZ, rel=0.015, abs=5e-4)
    assert found.velocity
    assert not found.notes


def test_gaz_with_the_cut_off_from_the_data(gaz, robot_files):
    found = validate(gaz, settings(robot_files, "panda"))
    assert found.residuals[0].rms == pytest.approx(GAZ, rel=0.015, abs=5e-4)
    assert found.cutoff == pytest.approx(20.0)  # the recording is filtered, without noise


def test_unisa(unisa, robot_files):
    found = validate(unisa, settings(robot_files, "fer", cutoff=3.0))
    assert found.residuals[0].rms == pytest.approx(UNISA, rel=0.03, abs=5e-4)
    assert found.rate == pytest.approx(30.0, rel=1e-3)


def test_unisa_with_the_cut_off_from_the_data(unisa, robot_files):
    found = validate(unisa, settings(robot_files, "fer"))
    assert 1.0 < found.cutoff < 3.0
    assert found.residuals[0].rms == pytest.approx(UNISA, rel=0.05)


def test_without_friction_the_residuals_are_larger(gaz, robot_files):
    bare = validate(gaz, Settings(robot_files / "panda.urdf", gravity=GRAVITY))
    assert (bare.residuals[0].rms > np.array(GAZ) * [1.1, 0.9, 1.1, 1.5, 1.5, 1.2, 2.0]).all()


def test_identification_on_the_first_half_improves_the_second(gaz, robot_files):
    chosen = settings(robot_files, "panda", identify=("friction", "inertia"))
    found = identify(validate(gaz, chosen), chosen.robot(), chosen)
    assert found.after.rms.sum() < 0.8 * found.before.rms.sum()
