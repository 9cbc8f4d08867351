# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Makes docs/images/view.png: the Panda with its meshes in `multibody_dynamics view`, in Chromium.

    pip install example-robot-data
    python scripts/view_picture.py .../panda_description/urdf/panda.urdf --meshes .../share

Robot and meshes are those of franka_description (Apache-2.0); springs are those of the demo.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.motion import rest_to_rest_motion
from multibody_dynamics.tools.view.scene import Look
from multibody_dynamics.tools.view.shapes import robot_shapes
from multibody_dynamics.tools.view.sources import Playback
from multibody_dynamics.tools.view.viewed_motion import planned
from multibody_dynamics.tools.view.viewer_page import ViewerPage

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test"))
SIZE = 1320, 860
FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
HOME = (0.0, -0.6, 0.0, -2.1, 0.0, 1.7, 0.8)  # rad
REACH = (0.9, 0.7, -0.4, -1.0, 0.6, 2.3, 0.2)


def main() -> None:
    from browser import browser

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("urdf", type=Path, help="URDF of the Panda with hand and meshes")
    parser.add_argument("--meshes", type=Path, action="append", default=[], help="folder of meshes")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images" / "view.png")
    options = parser.parse_args()
    model = dyn.load_urdf(options.urdf, lock=dict.fromkeys(FINGERS, 0.02))
    springs = ROOT / "config" / "elastic_joints" / "panda.yaml"
    actuators = dyn.load_actuators(springs, model.joint_names, model.joint_types)
    shapes = robot_shapes(model, options.urdf.read_bytes(), options.urdf.parent, options.meshes)
    points = np.concatenate([HOME, REACH, HOME]).tolist()
    path = rest_to_rest_motion(model, duration=3.0, waypoints=points)
    motion = planned("there and back", path, model, actuators)
    source = Playback(motion, 1.35, plays=False)
    page = ViewerPage(model, shapes, source, look=Look(magnification=10.0), port=0)
    leave = threading.Event()
    thread = threading.Thread(target=page.run, args=(leave.is_set,))
    thread.start()
    try:
        with tempfile.TemporaryDirectory() as folder, browser(Path(folder), *SIZE) as b:
            b.send(
                "Emulation.setDeviceMetricsOverride",
                width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False,
            )  # fmt: skip
            b.open(page.url)
            b.until("document.querySelectorAll('.uplot').length > 2", 120)
            b.run("document.querySelector('.mantine-Notification-root')?.remove()")
            time.sleep(5.0)  # until all meshes are drawn
            b.screenshot(options.output)
    finally:
        leave.set()
        thread.join()
        page.close()


if __name__ == "__main__":
    main()
