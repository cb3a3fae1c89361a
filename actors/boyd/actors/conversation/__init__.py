"""What is said: artifacts and deltas, turns, and when a transcript is valid."""
