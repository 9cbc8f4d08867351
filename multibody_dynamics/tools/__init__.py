"""What has a command line: the demo, its report, and the command `multibody_dynamics`."""
