"""Controllers of position: from a desired motion and a measured state to motor torques."""
