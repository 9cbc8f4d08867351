# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tool motions: poses, paths and trajectories of a tool in, joint motions out.

tool_input             the topics of tool motions
path_planning          plans and checks the joint motion through poses; time law
planning_process       runs this planning, for large messages also reading, in another process
tool_motion            the desired motion: holds, paths, streamed points
tool_messages          tool motions in messages, checked and in inertial axes
task_space_parameters  parameters of the task-space node
"""
