"""Simulated robots whose dynamics are computed by other software.

Each class has the interface of :class:`.Plant`; `mujoco_robot` contains the arm in MuJoCo.
"""
