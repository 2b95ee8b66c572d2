"""What is counted of a turn: small values that are kept beside it, so that nobody has to read whole traces again."""
