from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.models import precision
from mirrormask.models.precision import Precision, best_precision


@pytest.mark.parametrize("asked", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("native", [True, False])
def test_what_is_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch, asked: str, native: bool) -> None:
    monkeypatch.setattr(precision, "_has_bfloat16", lambda: native)
    chosen = best_precision("cpu", asked)
    assert (chosen.name, chosen.low) == (asked, asked != "fp32")
    emulated = asked == "bf16" and not native
    assert chosen.reason.startswith("as asked")
    assert ("emulates" in chosen.reason) == emulated


def test_emulated_products_say_nothing(recwarn: pytest.WarningsRecorder) -> None:
    """On a processor without bfloat16 the library would warn with a stack of C++ calls."""
    Precision("bf16", "as asked")
    (torch.ones(64, 384, dtype=torch.bfloat16) @ torch.ones(384, 384, dtype=torch.bfloat16)).sum()
    assert list(recwarn) == []


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


def test_attention_plans_are_off_only_inside() -> None:
    from mirrormask.models.precision import varied_shapes

    before = torch.backends.cuda.cudnn_sdp_enabled()
    with varied_shapes():
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert torch.backends.cuda.cudnn_sdp_enabled() == before
