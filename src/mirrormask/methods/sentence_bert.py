"""Sentence-BERT: two sentences through one encoder, and their relation, score or order learned from the vectors.

Paper: Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks"
"""

from __future__ import annotations

from mirrormask.methods import methods
from mirrormask.objectives import Objective
from mirrormask.objectives.cosine_regression import CosineRegression
from mirrormask.objectives.pair_classification import PairClassification
from mirrormask.objectives.triplet_margin import TripletMargin
from mirrormask.training.method import Composition
from mirrormask.views.dropout import Dropout


@methods.register("sentence-bert-classification")
def sentence_bert_classification(classes: int = 3, product: bool = False) -> Composition:
    """Learn which relation two sentences have, from rows of two texts and a label.

    Args:
        classes: how many labels there are (natural language inference has three).
        product: u * v beside u, v and |u - v|, as in InferSent (Table 6: without it is better).
    """
    return _siamese(PairClassification(classes=classes, product=product), "labelled-pairs", classes=classes)


@methods.register("sentence-bert-regression")
def sentence_bert_regression(highest: float = 0.0) -> Composition:
    """Learn how alike two sentences are, from rows of two texts and a score.

    Args:
        highest: what scores are divided by (5 for STS); 0 takes the highest of the file.
    """
    # 4 epochs, as in sentence-transformers' example on STS-B
    return _siamese(CosineRegression(), "scored-pairs", epochs=4.0, highest=highest)


@methods.register("sentence-bert-triplet")
def sentence_bert_triplet(margin: float = 1.0) -> Composition:
    """Learn which of two sentences is nearer, from rows of anchor, positive and negative.

    Args:
        margin: "we set epsilon = 1 in our experiments" (Section 3).
    """
    return _siamese(TripletMargin(margin=margin), "columns")


def _siamese(objective: Objective, pairing: str, epochs: float = 1.0, **parameters: float) -> Composition:
    return Composition(
        views=(Dropout(), Dropout()),
        objective=objective,
        pairing=(pairing, dict(parameters)),
        pooling="mean",  # "the default configuration is MEAN" (Section 3)
        # "one epoch", "a batch-size of 16, Adam optimizer with learning rate 2e-5, and a linear learning rate warm-up
        # over 10% of the training data" (Section 3.1)
        training={"batch_size": 16, "learning_rate": 2e-5, "epochs": epochs, "warmup": 0.1, "max_length": 128},
    )
