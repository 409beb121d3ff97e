from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.info_nce import InfoNCE, info_nce


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cos(a: Tensor, b: Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def by_loop(
    anchor: Tensor,
    positive: Tensor,
    hard: Tensor | None,
    extra: Tensor | None,
    temperature: float,
    hard_weight: float,
    smoothing: float,
    texts: list[list[int]] | None = None,
) -> float:
    total = 0.0
    for i in range(len(anchor)):
        mine = texts[i][:2] if texts else []
        logits = []
        for j, p in enumerate(positive):
            again = texts and (texts[j][1] in mine or texts[j][0] == mine[0])
            if i == j or not again:
                logits.append(cos(anchor[i], p) / temperature)
            if i == j:
                place = len(logits) - 1
        if hard is not None:
            for j in range(len(hard)):
                for number, h in enumerate(hard[j]):
                    if not texts or texts[j][2 + number] not in mine:
                        logits.append(cos(anchor[i], h) / temperature + (hard_weight if i == j else 0.0))
        if extra is not None:
            logits += [cos(anchor[i], e) / temperature for e in extra]
        log_sum = math.log(sum(math.exp(x) for x in logits))
        own = log_sum - logits[place]
        spread = sum(log_sum - x for x in logits) / len(logits)
        total += (1 - smoothing) * own + smoothing * spread
    return total / len(anchor)


@pytest.mark.parametrize("hard", [0, 1, 3])
@pytest.mark.parametrize("extra", [0, 4])
@pytest.mark.parametrize(("hard_weight", "smoothing"), [(0.0, 0.0), (0.7, 0.0), (0.0, 0.1), (-0.4, 0.3)])
def test_equals_the_loop(hard: int, extra: int, hard_weight: float, smoothing: float) -> None:
    anchor, positive = vectors(5, 6, seed=1), vectors(5, 6, seed=2)
    h = vectors(5, hard, 6, seed=3) if hard else None
    e = vectors(extra, 6, seed=4) if extra else None
    found = info_nce(
        anchor, positive, temperature=0.3, hard=h, extra=e, hard_weight=hard_weight, label_smoothing=smoothing
    )
    assert found.item() == pytest.approx(by_loop(anchor, positive, h, e, 0.3, hard_weight, smoothing), abs=1e-9)


@pytest.mark.parametrize("hard", [0, 2])
@pytest.mark.parametrize("extra", [0, 4])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_same_text_again_is_no_negative(hard: int, extra: int, smoothing: float) -> None:
    """Neighbors in a document (2, 3), (3, 4); one premise twice (7); a hard negative that is someone's positive."""
    texts = [[2, 3, 60, 61], [3, 4, 62, 11], [7, 8, 63, 64], [7, 9, 65, 66], [10, 11, 67, 68], [12, 13, 69, 12]]
    ids = torch.tensor(texts)[:, : 2 + hard]
    anchor, positive = vectors(6, 5, seed=1), vectors(6, 5, seed=2)
    h = vectors(6, hard, 5, seed=3) if hard else None
    e = vectors(extra, 5, seed=4) if extra else None

    def found(text_ids: Tensor | None) -> float:
        given = {"temperature": 0.3, "hard": h, "extra": e, "hard_weight": 0.2, "label_smoothing": smoothing}
        return info_nce(anchor, positive, text_ids=text_ids, **given).item()  # type: ignore[arg-type]

    assert found(ids) == pytest.approx(by_loop(anchor, positive, h, e, 0.3, 0.2, smoothing, ids.tolist()), abs=1e-9)
    assert found(ids) < found(None)
    assert found(torch.arange(6)[:, None]) == pytest.approx(found(None), abs=1e-12), "where all differ, all count"


def test_masking_can_be_left_off_and_goes_both_ways() -> None:
    anchor, positive = vectors(4, 5, seed=1), vectors(4, 5, seed=2)
    step = Step(anchor, positive, text_ids=torch.tensor([[1, 2], [2, 3], [4, 5], [6, 5]]))
    assert step.text_ids is not None
    assert InfoNCE(0.3, mask_same_text=False)(step).item() == pytest.approx(
        by_loop(anchor, positive, None, None, 0.3, 0.0, 0.0), abs=1e-9
    )
    forth = by_loop(anchor, positive, None, None, 0.3, 0.0, 0.0, step.text_ids.tolist())
    back = by_loop(positive, anchor, None, None, 0.3, 0.0, 0.0, step.text_ids.flip(1).tolist())
    assert InfoNCE(0.3, both_directions=True)(step).item() == pytest.approx((forth + back) / 2, abs=1e-9)


def test_closed_forms() -> None:
    eye = torch.eye(4, dtype=torch.float64)
    # every other positive is orthogonal: loss = log(e^{1/t} + 3) - 1/t
    assert info_nce(eye, eye, temperature=0.5).item() == pytest.approx(math.log(math.e**2 + 3) - 2, abs=1e-12)
    same = torch.ones(4, 3, dtype=torch.float64)
    assert info_nce(same, same, temperature=0.05).item() == pytest.approx(math.log(4), abs=1e-9)
    # one text four times: no negative is left; two texts twice each: one candidate of two others and its own
    texts = torch.zeros(4, 1, dtype=torch.int64)
    assert info_nce(same, same, temperature=0.05, text_ids=texts).item() == pytest.approx(0.0, abs=1e-12)
    texts = torch.tensor([[1], [1], [2], [2]])
    assert info_nce(same, same, temperature=0.05, text_ids=texts).item() == pytest.approx(math.log(3), abs=1e-9)


def test_both_directions_is_the_mean_of_the_two() -> None:
    anchor, positive = vectors(5, 6, seed=1), vectors(5, 6, seed=2)
    forth = info_nce(anchor, positive, temperature=0.1)
    back = info_nce(positive, anchor, temperature=0.1)
    found = InfoNCE(temperature=0.1, both_directions=True)(Step(anchor, positive))
    torch.testing.assert_close(found, (forth + back) / 2)


def test_equals_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    anchor, positive, hard = (vectors(6, 8, seed=s).float() for s in (1, 2, 3))
    model = SentenceTransformer(modules=[torch.nn.Identity()], device="cpu")
    peer = MultipleNegativesRankingLoss(model, scale=20.0)
    ours = InfoNCE(temperature=0.05)
    theirs = peer.compute_loss_from_embeddings([anchor, positive], None)
    torch.testing.assert_close(ours(Step(anchor, positive)), theirs)
    theirs = peer.compute_loss_from_embeddings([anchor, positive, hard], None)
    torch.testing.assert_close(ours(Step(anchor, positive, hard=hard[:, None])), theirs)
    symmetric = MultipleNegativesRankingLoss(
        model, scale=20.0, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"
    )
    theirs = symmetric.compute_loss_from_embeddings([anchor, positive], None)
    torch.testing.assert_close(InfoNCE(0.05, both_directions=True)(Step(anchor, positive)), theirs)


def test_gradients_reach_everything_and_pull_the_right_way() -> None:
    anchor, positive = vectors(4, 5, seed=1).requires_grad_(), vectors(4, 5, seed=2).requires_grad_()
    hard, extra = vectors(4, 1, 5, seed=3).requires_grad_(), vectors(2, 5, seed=4).requires_grad_()
    loss = info_nce(anchor, positive, temperature=0.5, hard=hard, extra=extra)
    loss.backward()
    for tensor in (anchor, positive, hard, extra):
        assert tensor.grad is not None
        assert (tensor.grad.norm(dim=-1) > 0).all()
    with torch.no_grad():
        moved = info_nce(anchor - 0.01 * anchor.grad, positive, temperature=0.5, hard=hard, extra=extra)  # type: ignore[operator]
    assert moved < loss


def test_composition() -> None:
    step = Step(vectors(4, 5, seed=1), vectors(4, 5, seed=2))
    one, two = InfoNCE(0.1), InfoNCE(0.5)
    torch.testing.assert_close((one + 0.1 * two)(step), one(step) + 0.1 * two(step))
    assert (one + 0.1 * two).in_batch


@pytest.mark.parametrize("temperature", [0, -0.1, float("nan")])
def test_a_bad_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(MirrormaskError, match="The 'temperature' of info-nce must be above 0. Got"):
        InfoNCE(temperature=temperature)


def test_bad_smoothing_is_refused() -> None:
    with pytest.raises(MirrormaskError, match="label_smoothing"):
        InfoNCE(label_smoothing=1.0)
