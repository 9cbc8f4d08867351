"""The command line: `multibody_dynamics COMMAND`, and the programs started with `python -m`."""
