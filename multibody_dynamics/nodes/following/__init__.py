"""Following a desired motion: trajectories and goals in, one reference per cycle out."""
