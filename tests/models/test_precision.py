from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.precision import Precision, best_precision


@pytest.mark.parametrize("asked", ["fp32", "bf16", "fp16"])
def test_what_is_asked_for_is_taken(asked: str) -> None:
    chosen = best_precision("cpu", asked)
    assert (chosen.name, chosen.reason, chosen.low) == (asked, "as asked", asked != "fp32")


@pytest.mark.parametrize(("tiles", "name"), [(True, "bf16"), (False, "fp32")])
def test_a_cpu_takes_what_it_is_good_at_and_says_why(monkeypatch: pytest.MonkeyPatch, tiles: bool, name: str) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: tiles)
    chosen = best_precision("cpu")
    assert chosen.name == name
    assert "bfloat16" in chosen.reason


@pytest.mark.parametrize(("native", "name"), [(True, "bf16"), (False, "fp32")])
def test_a_gpu_too(monkeypatch: pytest.MonkeyPatch, native: bool, name: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: native)
    assert best_precision("cuda").name == name


def test_autocast_is_in_that_precision() -> None:
    left, right = torch.randn(4, 4), torch.randn(4, 4)
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        with Precision(name, "").autocast("cpu"):
            assert (left @ right).dtype == dtype


def test_an_unknown_one() -> None:
    with pytest.raises(MirrormaskError, match="Did you mean 'bf16'"):
        best_precision("cpu", "bf-16")
