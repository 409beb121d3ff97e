from __future__ import annotations

from mirrormask.core.seeding import Seeds, derive, generator


def test_seeds_are_pinned() -> None:
    """A change here changes every trained model."""
    assert derive(42, "dropout", 1) == 5005696565033842196
    assert derive(1, "a", 2) != derive(1, "a", 3) != derive(2, "a", 3) != derive(2, "b", 3)
    assert derive(1, 23) != derive(12, 3), "the path is not glued together"
    assert all(0 <= derive(seed) < 2**63 for seed in range(50))


def test_generators_repeat() -> None:
    draw = [generator(7, "x").integers(0, 1000, 5).tolist() for _ in range(2)]
    assert draw[0] == draw[1] != generator(8, "x").integers(0, 1000, 5).tolist()


def test_one_seed_for_all() -> None:
    assert Seeds.all(3) == Seeds(3, 3, 3)
    assert Seeds() == Seeds.all(42)
