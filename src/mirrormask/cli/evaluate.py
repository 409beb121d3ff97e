"""placeholder"""
def evaluate() -> None:
    """Placeholder."""
