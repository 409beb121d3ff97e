"""How good is an encoder: STS, the user's own data, and the geometry of the vectors."""
