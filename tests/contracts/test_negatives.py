"""What holds for every source of negatives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from mirrormask.core.batch import Step
from mirrormask.core.registry import Part
from mirrormask.negatives import NegativeSource, negatives
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.checkpoint import load_weights, weights_of

EVERY = pytest.mark.parametrize("part", list(negatives), ids=negatives.names())
CRITERION = InfoNCE()


def step(number: int, rows: int = 6) -> Step:
    drawn = torch.Generator().manual_seed(number)
    anchor, noise = torch.randn(2, rows, 8, generator=drawn)
    return Step(anchor, anchor + 0.1 * noise)


def played(source: NegativeSource, first: int, last: int) -> list[Tensor | None]:
    """Let a source go through steps as the loop does, seeded at each, and return what it drew."""
    found = []
    for number in range(first, last):
        torch.manual_seed(1000 + number)
        found.append(source.draw(step(number), CRITERION))
        source.observe(step(number))
    return found


@EVERY
def test_draws_are_vectors_of_the_same_width(part: Part[NegativeSource]) -> None:
    source = part.build()
    first, *rest = played(source, 0, 4)
    for drawn in rest:
        assert drawn is not None
        assert drawn.ndim == 2
        assert drawn.shape[1] == 8
        assert len(drawn) == 6, "as many as the batch by default"
        assert torch.isfinite(drawn).all()
        assert drawn.dtype == torch.float32
    assert first is None or first.shape == (6, 8)


@EVERY
def test_the_seed_decides_and_a_second_pass_draws_the_same(part: Part[NegativeSource]) -> None:
    source = part.build()
    played(source, 0, 3)
    before = {name: value.clone() for name, value in source.state_dict().items()}
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(source.draw(step(3), CRITERION))
    assert drawn[0] is not None
    assert torch.equal(drawn[0], drawn[1])  # type: ignore[arg-type]
    assert part.name == "memory-bank" or not torch.equal(drawn[0], drawn[2])  # type: ignore[arg-type]
    assert all(torch.equal(value, before[name]) for name, value in source.state_dict().items()), (
        "drawing learns nothing"
    )


@EVERY
@pytest.mark.parametrize("stop", [0, 1, 3, 12])
def test_a_checkpoint_goes_on_to_the_bit(part: Part[NegativeSource], stop: int, tmp_path: Path) -> None:
    """Into a fresh source, and into one that has seen something else."""
    from safetensors.torch import save_file

    whole = nn.ModuleDict({"negatives": part.build()})
    source: Any = whole["negatives"]
    played(source, 0, stop)
    save_file(weights_of(whole), tmp_path / "weights.safetensors")
    expected = played(source, stop, stop + 3)
    for before in (0, 2):
        other = nn.ModuleDict({"negatives": part.build()})
        again: Any = other["negatives"]
        played(again, 50, 50 + before)
        load_weights(tmp_path / "weights.safetensors", other)
        for mine, theirs in zip(played(again, stop, stop + 3), expected, strict=True):
            assert (mine is None) == (theirs is None)
            assert mine is None or torch.equal(mine, theirs)  # type: ignore[arg-type]
        assert all(torch.equal(a, b) for a, b in zip(source.buffers(), again.buffers(), strict=True))


@EVERY
def test_what_is_drawn_teaches_the_anchors_only_as_negatives(part: Part[NegativeSource]) -> None:
    source = part.build()
    played(source, 0, 2)
    seen = step(2)
    anchor = seen.anchor.clone().requires_grad_()
    drawn = source.draw(Step(anchor, seen.positive), CRITERION)
    assert drawn is not None
    assert not drawn.requires_grad


class NoWaiting(TorchDispatchMode):
    """Refuses what makes a GPU wait for the host: reading a number, or a shape that depends on values."""

    def __torch_dispatch__(self, function: Any, kinds: Any, arguments: Any = (), named: Any = None) -> Any:
        assert function.overloadpacket.__name__ not in (
            "_local_scalar_dense",
            "nonzero",
            "masked_select",
            "multinomial",
        )
        return function(*arguments, **(named or {}))


@EVERY
def test_a_gpu_need_not_wait_for_the_host(part: Part[NegativeSource]) -> None:
    source = part.build()
    with NoWaiting():
        for number in range(3):
            source.draw(step(number), CRITERION)
            source.observe(step(number))


@EVERY
def test_batches_may_differ_in_size(part: Part[NegativeSource]) -> None:
    source = part.build()
    for number, rows in enumerate((6, 3, 8, 2)):
        source.observe(step(number, rows))
        drawn = source.draw(step(number, rows), CRITERION)
        assert drawn is not None
        assert torch.isfinite(drawn).all()
