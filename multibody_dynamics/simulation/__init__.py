"""Robots and controllers that are computed by other software.

`mujoco_robot` contains the arm in MuJoCo, with the interface of :class:`.Plant`;
`compiled_controller` a generated controller as machine code, to be run with either plant.
"""
