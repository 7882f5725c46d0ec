"""Where weights come from: fresh ones, those of the hub, public checkpoints of UNITER and OSCAR."""
