"""placeholder"""
def quickstart() -> None:
    """Placeholder."""
