from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.learner import Learner
from mirrormask.models.bulk import tokenize
from mirrormask.objectives.label_aware import label_aware
from mirrormask.objectives.sup_con import same_class, sup_con
from mirrormask.training.forward import encode
from mirrormask.training.optimizer import groups_of
from mirrormask.views import Vocabulary
from mirrormask.views.word_deletion import WordDeletion

Tiny = Callable[..., Any]
LABELS = [0, 1, 2, 0, 1, 2, 0, 0]


@pytest.fixture
def batch(tiny: Tiny, sentences: list[str]) -> Batch:
    return Batch((tokenize(tiny(), sentences[:8]),), torch.tensor(LABELS))


def learner(tiny: Tiny, objective: str, **options: Any) -> Learner:
    torch.manual_seed(0)
    shape = {"several": options.pop("several", False)}
    classifier = Classifier(tiny(), ["a", "b", "c"], **shape)
    other = Classifier(tiny(), ["a", "b", "c"]) if objective == "lcl" else None
    return Learner(classifier, objective, weighting=other, **options).eval()  # without dropout


def test_the_losses_are_added_as_the_papers_have_them(tiny: Tiny, batch: Batch) -> None:
    labels = torch.tensor(LABELS)
    made = learner(tiny, "lcl", contrast=0.3, temperature=0.2)
    vectors = encode(made.classifier.encoder, batch.columns[0], pad_id=0)
    certain = F.cross_entropy(made.classifier.logits_of(vectors), labels)
    assert made.weighting is not None
    logits = made.weighting.logits_of(encode(made.weighting.encoder, batch.columns[0], pad_id=0))
    pulled = label_aware(vectors, labels, logits, temperature=0.2)
    expected = 0.7 * certain + 0.3 * pulled + 0.7 * F.cross_entropy(logits, labels)
    assert made(batch).item() == pytest.approx(expected.item(), abs=1e-6)
    contrast = sup_con(vectors, same_class(labels), temperature=0.2)
    plain = learner(tiny, "sup-con", contrast=0.3, temperature=0.2)
    assert plain(batch).item() == pytest.approx((0.7 * certain + 0.3 * contrast).item(), abs=1e-6)
    assert learner(tiny, "cross-entropy")(batch).item() == pytest.approx(certain.item(), abs=1e-6)
    assert learner(tiny, "contrast", temperature=0.2)(batch).item() == pytest.approx(contrast.item(), abs=1e-6)
    assert (learner(tiny, "sup-con").contrast, learner(tiny, "lcl").contrast) == (0.9, 0.5), "the papers' shares"


def test_class_weights_and_several_labels(tiny: Tiny, batch: Batch) -> None:
    weights = torch.tensor([1.0, 2.0, 0.5])
    made = learner(tiny, "cross-entropy", class_weights=weights.numpy())
    logits = made.classifier.logits_of(encode(made.classifier.encoder, batch.columns[0], pad_id=0))
    assert made(batch).item() == pytest.approx(
        F.cross_entropy(logits, torch.tensor(LABELS), weight=weights).item(), abs=1e-6
    )
    hot = F.one_hot(torch.tensor(LABELS), 3)
    many = learner(tiny, "cross-entropy", several=True, class_weights=weights.numpy())
    expected = F.binary_cross_entropy_with_logits(logits, hot.float(), pos_weight=weights)
    assert many(Batch(batch.columns, hot)).item() == pytest.approx(expected.item(), abs=1e-6)


def test_a_view_doubles_the_batch_with_its_labels(tiny: Tiny, batch: Batch) -> None:
    made = learner(tiny, "contrast", view=WordDeletion(rate=0.0), vocabulary=Vocabulary.of(tiny()))
    twice = Batch((batch.columns[0] + batch.columns[0],), torch.tensor(LABELS * 2))
    assert made(batch, 3).item() == pytest.approx(learner(tiny, "contrast")(twice).item(), abs=1e-6)
    other = learner(tiny, "contrast", view=WordDeletion(rate=0.5), vocabulary=Vocabulary.of(tiny()))
    assert other(batch, 3).item() == other(batch, 3).item() != other(batch, 4).item()


@pytest.mark.parametrize("objective", ["cross-entropy", "sup-con", "lcl", "contrast"])
def test_everything_that_is_open_learns(tiny: Tiny, batch: Batch, objective: str) -> None:
    made = learner(tiny, objective, chunk=3)
    made(batch).backward()
    bare = [name for name, p in made.named_parameters() if p.requires_grad and p.grad is None]
    assert bare == []
    assert all(torch.isfinite(p.grad).all() for p in made.parameters() if p.grad is not None)


def test_detached_weights_are_not_trained_by_the_contrast(tiny: Tiny, batch: Batch) -> None:
    gradients = []
    for detach in (False, True):
        made = learner(tiny, "lcl", detach=detach)
        made(batch).backward()
        assert made.weighting is not None
        gradients.append(torch.cat([p.grad.flatten() for p in made.weighting.head.parameters() if p.grad is not None]))
    assert not torch.allclose(gradients[0], gradients[1])


def test_the_head_has_its_rate_and_the_weighting_network_its_clipping(tiny: Tiny) -> None:
    groups = {group.name: group for group in groups_of(learner(tiny, "lcl", head_rate=5.0, clip=0.5))}
    assert groups["head"].rate == 5.0 and groups["weighting network"].clip == 0.5
    assert groups["head of the weighting network"].rate == 5.0
    assert set(groups) == {"the others", "head", "weighting network", "head of the weighting network"}


def test_wrong_values_are_named(tiny: Tiny) -> None:
    with pytest.raises(MirrormaskError, match="'objective' of classification must be one of .* Did you mean 'sup-con'"):
        learner(tiny, "supcon")
    with pytest.raises(MirrormaskError, match="'contrast' of classification"):
        learner(tiny, "sup-con", contrast=1.5)
    with pytest.raises(MirrormaskError, match="'temperature' of classification must be above 0"):
        learner(tiny, "sup-con", temperature=0.0)
    with pytest.raises(MirrormaskError, match="one class each, and these texts have several"):
        learner(tiny, "lcl", several=True)
