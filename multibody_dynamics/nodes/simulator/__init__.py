# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The simulated arm: plant, sensors, environment, commands and timing.

simulator_plant         plant and initial position from parameters; monitor of limits
simulated_sensors       encoders, torque sensors, and mean motor torques as drives report them
simulated_environment  payload, hit, external wrench, commanded stiffnesses
simulator_commands      the newest motor command of one of three interfaces
simulator_pace          timing of the cycles: steady clock or external /clock
simulator_parameters    parameters of the simulator node
"""
