"""The demo of the task space node, with real processes over DDS: the simulated arm gets there."""

from __future__ import annotations

import json

import numpy as np

from multibody_dynamics.tools.environment import ros_settings
from multibody_dynamics.tools.task_demo import POSES, run_task_demo


def test_an_elastic_arm_follows_the_path_of_its_hand(tmp_path, ros_domain_id, monkeypatch):
    for key, value in ros_settings(ros_domain_id).items():
        monkeypatch.setenv(key, value)
    figures = run_task_demo(tmp_path, poses=0.5 * np.array(POSES[:2]), domain_id=ros_domain_id)
    assert json.loads((tmp_path / "task_space.json").read_text()) == figures
    assert (tmp_path / "task_space.png").stat().st_size > 10_000
    assert figures["from the poses on the way [um]"] < 1.0
    assert figures["greatest error of the hand [um]"] < 10.0
    assert figures["greatest error of its orientation [urad]"] < 20.0
    assert figures["from the goal at last [um]"] < 10.0
