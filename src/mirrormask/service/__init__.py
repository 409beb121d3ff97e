"""HTTP: what the command line does, behind an address, for many at once."""
