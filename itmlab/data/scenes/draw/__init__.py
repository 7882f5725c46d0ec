"""Drawing scenes: one file a family of things, all through the same pen."""
