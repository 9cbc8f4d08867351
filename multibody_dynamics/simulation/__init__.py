"""Simulated robots whose dynamics this package does not compute.

Each class has the interface of :class:`.Plant`; `mujoco_robot` has the arm on MuJoCo.
"""
