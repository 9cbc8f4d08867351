# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Validation: compares the recorded motion of a robot with its model, without ROS.

A recording is compared in one pass, as a stream. The modules, in the order of the data flow:

    settings       robot, filter and joints of a comparison, from files and plain numbers
    recordings/    joint states from bags (MCAP, sqlite3) and tables (CSV, NumPy), uncorrected
    alignment      which messages carry which joints; samples of all joints on a uniform grid
    survey         a first look at a recording: sources, rate, cut-off frequency
    measured_motors  torques of motors that the links alone do not determine
    comparison     filtered and differentiated motion, predicted and measured torques, residuals
    state_stream   the same comparison for states that arrive one at a time
    identify       friction, payload and inertias fitted to a part of the recording
    fleet          many recordings, in parallel processes or on a Dask cluster
    report         the results as HTML, Markdown, JSON and pictures
    output_bag     the results as a bag for PlotJuggler
    trajectory_files  desired motions from files (CSV, YAML, bags), and back

A robot that runs for days is watched for drift:

    drift_statistics  residuals of torques and springs as linear equations in changes of the model,
                      their sums, and the noise that is learned from them
    drift_causes      which change explains the difference of two periods
    drift_watch       reference, blocks and days, at each level of warmth; memory on disk

    validation = validate(Path("bag"), Settings(urdf=Path("robot.urdf")))

with `validate` from `comparison` and `Settings` from `settings`.
"""
