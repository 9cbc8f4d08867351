"""Following a tool motion: targets and paths in, joint motions out."""
