from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Batch, Tokens
from mirrormask.models.bulk import tokenize
from mirrormask.training import forward
from mirrormask.training.forward import encode
from mirrormask.training.method import Method


def gradients(method: Method, batch: Batch, seed: int = 0) -> tuple[Tensor, dict[str, Tensor]]:
    method.zero_grad()
    torch.manual_seed(seed)
    loss = method(batch, seed)
    loss.backward()
    return loss.detach(), {n: p.grad.clone() for n, p in method.named_parameters() if p.grad is not None}


def assert_same(
    left: tuple[Tensor, dict[str, Tensor]], right: tuple[Tensor, dict[str, Tensor]], atol: float = 1e-5
) -> None:
    torch.testing.assert_close(left[0], right[0], atol=atol, rtol=1e-4)
    assert left[1].keys() == right[1].keys()
    for name in left[1]:
        torch.testing.assert_close(left[1][name], right[1][name], atol=atol, rtol=1e-3, msg=name)


def one_shard(tokens: Tokens, device: torch.device, chunk: int | None, whole: bool = False) -> list[np.ndarray]:
    return [np.arange(len(tokens))]


def test_shards_give_the_loss_and_gradients_of_the_padded_batch(
    method: Callable[..., Method], batch_of: Callable[..., Batch], mixed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of(mixed)
    trained = method(dropout=False)
    shards = forward.shards_for(batch.columns[0] + batch.columns[0], torch.device("cpu"), None)
    assert len(shards) > 2
    assert sorted(np.concatenate(shards).tolist()) == list(range(2 * len(mixed)))
    sharded = gradients(trained, batch)
    monkeypatch.setattr(forward, "shards_for", one_shard)
    padded = gradients(trained, batch)
    assert_same(sharded, padded)
    assert len(sharded[1]) > 20


def test_two_dropout_views_run_as_one_forward(
    method: Callable[..., Method], batch_of: Callable[..., Batch], mixed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forward, "shards_for", one_shard)
    trained = method()
    rows: list[int] = []
    trained.encoder[0].register_forward_pre_hook(lambda _m, inputs: rows.append(len(inputs[0]["input_ids"])))
    trained(batch_of(mixed), 0)
    assert rows == [2 * len(mixed)]


def test_large_batch_gives_the_plain_gradient(
    method: Callable[..., Method], batch_of: Callable[..., Batch], mixed: list[str]
) -> None:
    batch = batch_of(mixed)
    assert_same(gradients(method(dropout=False, chunk=6), batch), gradients(method(dropout=False), batch))


def test_large_batch_replays_dropout(
    method: Callable[..., Method], batch_of: Callable[..., Batch], mixed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With dropout on, caching must equal the same shards held in memory; a redrawn mask would differ widely."""
    batch = batch_of(mixed)
    cached = gradients(method(chunk=6), batch, seed=5)
    kept = forward.shards_for
    monkeypatch.setattr(forward, "shards_for", lambda tokens, device, chunk, whole=False: kept(tokens, device, 6))
    plain = gradients(method(), batch, seed=5)
    assert_same(cached, plain)
    other = gradients(method(), batch, seed=6)
    assert max(float((plain[1][n] - other[1][n]).abs().max()) for n in plain[1]) > 1e-3


def test_large_batch_holds_few_activations(
    method: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str]
) -> None:
    def held(chunk: int | None) -> int:
        total = 0

        def pack(tensor: Tensor) -> Tensor:
            nonlocal total
            total += tensor.numel() * tensor.element_size()
            return tensor

        trained = method(chunk=chunk)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            trained(batch_of(sentences[:128]), 0)
        return total

    assert held(8) < held(None) / 20


def test_rows_come_back_in_order(tiny: Callable[..., Any], mixed: list[str]) -> None:
    encoder = tiny()
    found = encode(encoder.eval(), tokenize(encoder, mixed), pad_id=0)
    np.testing.assert_allclose(found.detach().numpy(), encoder.encode(mixed), atol=1e-5)


def test_embedding_changes_reach_the_input_only_inside(tiny: Callable[..., Any], mixed: list[str]) -> None:
    encoder = tiny().eval()
    tokens = tokenize(encoder, mixed)
    plain = encode(encoder, tokens, pad_id=0)
    seen: list[tuple[int, ...]] = []

    def zero(x: Tensor, mask: Tensor) -> Tensor:
        seen.append((*x.shape[:2], *mask.shape))
        return x * 0

    changed = encode(encoder, tokens, pad_id=0, embed=zero)
    assert all(a == c and b == d for a, b, c, d in seen)
    assert (changed - plain).abs().max() > 1e-3
    torch.testing.assert_close(encode(encoder, tokens, pad_id=0), plain)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert"])
@pytest.mark.parametrize("pooling", ["cls", "mean", "first-last", "mask-prompt"])
def test_word_embeddings_handed_in_unchanged_give_the_same_vectors(
    kind: str, pooling: str, tiny_of_kind: Callable[[str], Any], mixed: list[str]
) -> None:
    from mirrormask.models.encoder import build_encoder

    encoder = build_encoder(tiny_of_kind(kind), pooling=pooling, device="cpu").eval()
    tokens = tokenize(encoder, mixed[:12])
    plain = encode(encoder, tokens, pad_id=encoder.tokenizer.pad_token_id)
    seen: list[Tensor] = []

    def same(x: Tensor, mask: Tensor) -> Tensor:
        seen.append(x)
        return x

    handed = encode(encoder, tokens, pad_id=encoder.tokenizer.pad_token_id, words=same)
    torch.testing.assert_close(handed, plain, atol=1e-5, rtol=1e-4)
    moved = encode(encoder, tokens, pad_id=encoder.tokenizer.pad_token_id, words=lambda x, mask: -x)
    assert (moved - plain).abs().max() > 1e-3
    handed.sum().backward()  # type: ignore[no-untyped-call]
    table = encoder[0].model.get_input_embeddings().weight
    assert seen
    assert table.grad is not None, "the table learns through the embeddings it gave"


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_columns_become_roles(
    method: Callable[..., Method], batch_of: Callable[..., Batch], sentences: list[str], columns: int
) -> None:
    from mirrormask.objectives.info_nce import info_nce

    texts = [sentences[i * 8 : (i + 1) * 8] for i in range(columns)]
    trained = method("simcse-sup", dropout=False)
    encoder = trained.encoder
    z = [torch.from_numpy(encoder.encode(column)) for column in texts]
    hard = torch.stack(z[2:], dim=1) if columns > 2 else None
    expected = info_nce(z[0], z[1], temperature=0.05, hard=hard)
    torch.testing.assert_close(trained.train()(batch_of(*texts), 0).detach(), expected, atol=1e-4, rtol=1e-4)


def test_a_gpu_takes_a_small_batch_in_one_pass_and_cuts_a_large_one_by_length() -> None:
    gpu = torch.device("cuda")
    small = Tokens.of([np.arange(n) for n in (4, 30, 9, 2)])
    assert [shard.tolist() for shard in forward.shards_for(small, gpu, None)] == [[1, 2, 0, 3]]
    large = Tokens.of([np.zeros(400, np.int64), np.zeros(100, np.int64)] * 100)
    assert [len(shard) for shard in forward.shards_for(large, gpu, None)] == [100, 100]
