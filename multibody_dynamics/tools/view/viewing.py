# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The command `view`: chooses the source of states by what the user names, and shows it."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...dynamics.core import InputError
from ...dynamics.elastic import Actuators, load_actuators
from ...dynamics.mechanisms import close_loops, load_robot
from ...dynamics.model import MultibodyModel, load_couplings, parse_urdf
from ...parent_process import child_environment
from ..base.arguments import selection_of
from ..base.ros_settings import ros_environment, ros_node
from .shapes import RobotShapes, robot_shapes
from .viewed_motion import CUTOFF, ViewedMotion, read_view

EXTRA = "pip install 'multibody_dynamics[view]'"


def require_viser() -> None:
    """Raise InputError, with the remedy, if the packages of the extra `view` are missing."""
    missing = [name for name in ("viser", "trimesh") if find_spec(name) is None]
    if missing:
        raise InputError(f"the view requires {' and '.join(missing)}: {EXTRA}")


def view(options: argparse.Namespace) -> int:
    """Show what `options` name until Ctrl-C, or write a page."""
    require_viser()
    source: Path | None = options.source
    if source is None:
        return _view_nodes(options)
    if source.suffix in (".urdf", ".xml"):
        return _view_pose(options, source)
    return _view_motion(options, source)


def _view_pose(options: argparse.Namespace, urdf: Path) -> int:
    from .sources import PoseSliders

    if options.page:
        raise InputError("--page writes a motion: name a recording, and the robot by --urdf")
    model, actuators, shapes = _robot(options, urdf)
    q = None if options.configuration is None else np.array(options.configuration)
    if q is not None and q.shape != (model.n,):
        raise InputError(f"--configuration: {len(q)} numbers, but {model.n} joints")
    return _serve(options, model, shapes, PoseSliders(model, actuators, q))


def _view_motion(options: argparse.Namespace, path: Path) -> int:
    from .scene import Look
    from .sources import Playback
    from .viewer_page import write_page

    model, motion, shapes = _motion(options, path)
    for note in motion.notes:
        print(f"{motion.name}: {note}", flush=True)  # before a page that takes long
    if options.page:
        look = Look(magnification=options.magnify)
        print(f"written: {write_page(model, shapes, motion, options.page, look=look)}")
        return 0
    return _serve(options, model, shapes, Playback(motion))


def _motion(
    options: argparse.Namespace, path: Path
) -> tuple[MultibodyModel, ViewedMotion, RobotShapes]:
    from ..base.node_parameters import PARAMETERS, read_parameters

    folder = path if path.is_dir() else path.parent
    if (folder / PARAMETERS).is_file() and (path.is_dir() or path.suffix == ".npz"):
        from .demo_runs import viewed_run

        run, motion = viewed_run(path)
        urdf = Path(next(iter(read_parameters(folder / PARAMETERS).values()))["robot_file"])
        shapes = robot_shapes(run.model, urdf.read_bytes(), urdf.parent, options.meshes)
        return run.model, motion, shapes
    if options.urdf is None:
        raise InputError(f"{path}: which robot? --urdf names its file")
    model, actuators, shapes = _robot(options, options.urdf)
    return model, _read(options, path, model, actuators), shapes


def _read(
    options: argparse.Namespace, path: Path, model: MultibodyModel, actuators: Actuators | None
) -> ViewedMotion:
    return read_view(path, model, actuators, selection_of(options), options.cutoff or CUTOFF)


def _view_nodes(options: argparse.Namespace) -> int:
    from .live_topics import LiveTopics, wait_for_description

    with ros_node("multibody_dynamics_view", options.namespace) as node:
        if options.urdf is not None:
            model, actuators, shapes = _robot(options, options.urdf)
        else:
            text = wait_for_description(node, options.timeout)
            gravity, springs = (0.0, 0.0, -options.gravity), options.elastic_joints
            couplings = load_couplings(springs) if springs else None
            model = parse_urdf(text, gravity, couplings=couplings)
            model = close_loops(springs, model) if springs else model
            actuators = _actuators(options, model)
            shapes = _reported(robot_shapes(model, text, None, options.meshes))
        return _serve(options, model, shapes, LiveTopics(node, model, actuators))


def _robot(
    options: argparse.Namespace, urdf: Path
) -> tuple[MultibodyModel, Actuators | None, RobotShapes]:
    model = load_robot(urdf, options.elastic_joints, (0.0, 0.0, -options.gravity))
    shapes = robot_shapes(model, urdf.read_bytes(), urdf.parent, getattr(options, "meshes", ()))
    return model, _actuators(options, model), _reported(shapes)


def _actuators(options: argparse.Namespace, model: MultibodyModel) -> Actuators | None:
    if options.elastic_joints is None:
        return None
    return load_actuators(options.elastic_joints, model.joint_names, model.joint_types)


def _reported(shapes: RobotShapes) -> RobotShapes:
    if shapes.missing:
        more = f" and {len(shapes.missing) - 1} more" if len(shapes.missing) > 1 else ""
        print(f"no mesh {shapes.missing[0]}{more}: capsules instead; --meshes names a folder")
    return shapes


def _serve(
    options: argparse.Namespace, model: MultibodyModel, shapes: RobotShapes, source: Any
) -> int:
    from .scene import Look
    from .viewer_page import ViewerPage

    look = Look(magnification=options.magnify)
    page = ViewerPage(model, shapes, source, look=look, host=options.host, port=options.port)
    page.serve(
        lambda url: print(f"{model.name}: {url} (Ctrl-C ends)", flush=True), options.duration
    )
    return 0


def write_recordings(options: argparse.Namespace) -> None:
    """Write a page for every recording of `validate`, into its output folder."""
    from .viewer_page import write_page

    model, actuators, shapes = _robot(options, options.urdf)
    for path in options.recordings:
        motion = _read(options, path, model, actuators)
        file = options.output / f"{path.stem}_motion.html"
        print(f"motion: {write_page(model, shapes, motion, file)}")


@contextmanager
def live_view(
    urdf: Path | str = "",
    elastic_joints: Path | str = "",
    namespace: str = "",
    *,
    domain_id: int | None = None,
) -> Iterator[None]:
    """A view of running nodes, in a process of its own, during a block.

    domain_id : the ROS domain of a demo; None: that of the environment, or the demos' own.
    """
    require_viser()
    words = ["view", "--namespace", namespace]
    for option, value in (("--urdf", urdf), ("--elastic-joints", elastic_joints)):
        words += [option, str(value)] if value else []
    process = subprocess.Popen(
        [sys.executable, "-m", "multibody_dynamics", *words],
        env=child_environment(None if domain_id is None else ros_environment(domain_id)),
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait()
