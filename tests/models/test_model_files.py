from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import ModelError
from mirrormask.models.model_files import readable


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory. Tried …")])
def test_a_model_that_finds_no_memory_is_not_called_damaged(error: Exception) -> None:
    with pytest.raises(ModelError, match="no memory left to load a-model"), readable("a-model"):
        raise error


def test_what_else_goes_wrong_is_damage() -> None:
    with pytest.raises(ModelError, match="damaged or incomplete"), readable("a-model"):
        raise KeyError("hidden_size")
