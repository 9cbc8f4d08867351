# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The consecutive recordings of the validation node, each with its report."""

from __future__ import annotations

import shutil
import time
import traceback
from dataclasses import replace
from pathlib import Path

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from ...dynamics.core import BackgroundThread, DynamicsError, InputError
from ...validation.comparison import validate
from ...validation.recordings import JOINT_STATE
from ...validation.recordings.bag_library import message_types, new_bag, require_bags
from ...validation.report import summary, write_report
from ...validation.settings import Robot, Settings
from ...validation.survey import SHORTEST
from ..base.diagnostics import ERROR, OK
from ..base.parameters import ParameterError
from ..base.scheduling import lower_thread_priority


class ReportedRecordings:
    """Records joint states, and writes a report in a separate thread when a recording ends.

    output: folder of the recordings; "": nothing is recorded. robot, settings: the model and the
    settings of the comparison. urdf_text: the robot's URDF if it does not come from a file, or "".
    The constructor raises ParameterError if the folder cannot be created, or rosbags is missing.
    """

    def __init__(
        self,
        output: str,
        topic: str,
        robot: Robot,
        settings: Settings,
        urdf_text: str,
        log: RcutilsLogger,
    ) -> None:
        if output:
            try:
                require_bags()
                Path(output).mkdir(parents=True, exist_ok=True)
            except (InputError, OSError) as error:
                raise ParameterError(f"output: {error}") from None
        self._output, self._topic, self._log = output, topic, log
        self._robot, self._settings, self._urdf_text = robot, settings, urdf_text
        self._recorder: StateRecorder | None = None
        self._failure = ""  # why nothing is recorded any more
        self._reports = BackgroundThread("report", lower_thread_priority)
        self._reported: dict[str, object] = {}  # results of the last report; replaced as a whole

    def add(self, message: JointState) -> None:
        """Record a message; begin a new recording if necessary."""
        if not self._output or self._failure:
            return
        try:
            if self._recorder is None:
                self._recorder = StateRecorder(Path(self._output), self._topic)
            self._recorder.add(message)
        except OSError as error:
            self._give_up(error)

    def is_longer_than(self, seconds: float) -> bool:
        """Whether the current recording is longer than this and long enough for a report."""
        recorder = self._recorder
        if recorder is None or self._failure:
            return False
        return recorder.seconds > seconds and recorder.messages > SHORTEST

    def end(self, cutoff: float | None) -> None:
        """End the current recording and queue its report, with this cut-off frequency (Hz)."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        try:
            if recorder.messages <= SHORTEST:
                recorder.discard()
                self._log.warning(
                    f"removed {recorder.folder}: {recorder.messages} messages, too few for a report"
                )
                return
            recorder.close()
            urdf = self._settings.urdf
            if self._urdf_text:
                urdf = recorder.folder / "robot.urdf"  # for the command that the report names
                urdf.write_text(self._urdf_text, encoding="utf-8")
        except OSError as error:
            self._give_up(error)
            return
        settings = replace(self._settings, urdf=urdf, cutoff=cutoff)
        self._reports.submit(self._write_report, recorder, settings)

    def close(self) -> None:
        """Wait until all reports have been written."""
        self._reports.close(wait=True)

    def status(self) -> tuple[bytes, str, dict[str, object]]:
        """Level, text and values of the diagnostic status."""
        values = dict(self._reported)
        if self._failure:
            return ERROR, self._failure, values
        recorder = self._recorder
        if recorder is None:
            return OK, "none", values
        values |= {"messages": recorder.messages, "seconds": recorder.seconds}
        return OK, str(recorder.folder), values

    def _give_up(self, error: OSError) -> None:
        """Stop recording."""
        self._failure = f"{self._output} cannot be written: {error}"
        self._log.error(f"{self._failure}; recording stopped")

    def _write_report(self, recorder: StateRecorder, settings: Settings) -> None:
        """Write a report; runs in a separate thread, since it may take a minute."""
        log = self._log
        log.info(f"{recorder.messages} messages recorded in {recorder.bag}: writing the report")
        try:
            validation = validate(recorder.bag, settings, robot=self._robot)
            page = write_report(validation, recorder.folder)
        except (DynamicsError, OSError) as error:
            log.error(f"no report: {error}")
            self._reported = {"last report": f"none: {error}"}
        except Exception:  # the future would keep it silently
            log.error(f"no report:\n{traceback.format_exc()}")
            self._reported = {"last report": "none, see the log"}
        else:
            log.info("\n".join([*summary(validation, None, page), *validation.problems]))
            self._reported = {"last report": str(page), "its largest nrms": validation.worst}


class StateRecorder:
    """Creates the next free folder `recording_N` in `output`, and the bag `states` in it.

    Attributes: `folder`, `bag`, and `messages`, their number. Raises OSError if writing fails.
    """

    def __init__(self, output: Path, topic: str) -> None:
        output.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            self.folder = output / f"recording_{number}"
            try:
                self.folder.mkdir()
                break
            except FileExistsError:
                number += 1
        self.bag = self.folder / "states"
        self.messages = 0
        self._begin = time.monotonic()
        self._writer = new_bag(self.bag)
        self._writer.open()
        self._connection = self._writer.add_connection(
            topic, JOINT_STATE, typestore=message_types()
        )

    @property
    def seconds(self) -> float:
        """Seconds since the recording began."""
        return time.monotonic() - self._begin

    def add(self, message: JointState) -> None:
        """Write one message as received now."""
        self._writer.write(self._connection, time.time_ns(), serialize_message(message))
        self.messages += 1

    def close(self) -> None:
        """Complete the bag."""
        self._writer.close()

    def discard(self) -> None:
        """Close the bag and delete the folder."""
        self._writer.close()
        shutil.rmtree(self.folder)
