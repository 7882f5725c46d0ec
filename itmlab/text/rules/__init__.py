"""Rules that read a caption's scene graph off its dependency tree."""
