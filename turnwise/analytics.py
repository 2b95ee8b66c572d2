"""What the turns of a library say of it: how people ask, where they get stuck, and what the library lacks."""
