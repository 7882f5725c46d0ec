"""What captions say: scene graphs over their tokens, and how captions are cut into tokens."""
