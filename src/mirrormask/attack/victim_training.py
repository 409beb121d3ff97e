"""Victims made here: a word LSTM, a word CNN, or a masked LM with a head for classes, from labeled texts."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mirrormask.attack.labeled_texts import LabeledTexts
from mirrormask.attack.victims import SequenceClassifier, Victim, open_victim
from mirrormask.attack.word_classifiers import PAD, WORD_KINDS, WordClassifier, vocabulary_of
from mirrormask.core.batch import Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import DataError, at_least, one_of
from mirrormask.core.seeding import Seeds, derive, generator
from mirrormask.core.storage import atomic_folder
from mirrormask.data.batching import prefetch
from mirrormask.models.loading import opening, quiet_loading
from mirrormask.models.names import DEFAULT_MODEL, resolve
from mirrormask.training.loop import Interrupted, Reporter, Score, fit
from mirrormask.training.settings import Settings

BERT = "bert"
VICTIMS = (*WORD_KINDS, BERT)
_RATES = {"word-lstm": 1e-3, "word-cnn": 1e-3, BERT: 1e-4}
_EPOCHS = {"word-lstm": 5.0, "word-cnn": 5.0, BERT: 4.0}
_WIDTH = 128  # of word vectors
_LONGEST = 256  # tokens that a BERT victim reads
_HELD_OUT = 0.1  # of the texts, for choosing the epoch
_SPREAD = 0.1  # of the first word vectors
_KNOWN_BY = 100  # letters and digits
_TAG = re.compile(r"<[^<>]{1,40}>")


@dataclass(frozen=True)
class Trained:
    """A victim, and how good it is.

    Args:
        victim: as it was saved.
        folder: where.
        accuracy: percent right of the texts set aside, by which the epoch was chosen.
        texts: that it was trained on.
        left_out: that are among those to be attacked.
    """

    victim: Victim
    folder: Path
    accuracy: float
    texts: int
    left_out: int


def normalized(text: str) -> str:
    """Return the first letters and digits of a text, by which copies of it are known however they are tokenized or cut.

    Example:
        >>> normalized("It 's <br />good .") == normalized("it's good!")
        True
    """
    return re.sub(r"[\W_]+", "", _TAG.sub("", text).lower())[:_KNOWN_BY]


def train_victim(
    texts: LabeledTexts,
    out: Path | str,
    *,
    kind: str = "word-cnn",
    model: str | Path = DEFAULT_MODEL,
    apart_from: Iterable[str] = (),
    more: LabeledTexts | None = None,
    epochs: float = 0.0,
    learning_rate: float = 0.0,
    batch_size: int = 32,
    seed: int = 42,
    reporter: Reporter | None = None,
) -> Trained:
    """Train a classifier to attack and save it; what is to be attacked is never trained on.

    Args:
        texts: to learn from.
        out: the folder to write.
        kind: `word-lstm`, `word-cnn` or `bert`.
        model: the masked LM that `bert` starts from, and that first word vectors come from.
        apart_from: texts that will be attacked; copies of them, however tokenized, are left out.
        more: further texts that are trained on and never set aside, such as found by an attack.
        epochs: passes over the texts; 0 takes the kind's own.
        learning_rate: the highest; 0 takes the kind's own.
        batch_size: texts of an update.
        seed: of everything.
        reporter: is told how it goes.

    Raises:
        DataError: too few texts or classes are left.
    """
    one_of("kind", kind, VICTIMS, of="a victim")
    at_least("epochs", epochs, 0, of="a victim")
    at_least("learning_rate", learning_rate, 0, of="a victim")
    at_least("batch_size", batch_size, 1, of="a victim")
    kept, left_out = _apart(texts, apart_from)
    labels = texts.names
    held = max(1, round(_HELD_OUT * len(kept)))
    if len(kept) < 10 or len({kept.labels[i] for i in range(len(kept))}) < 2:
        raise DataError(
            f"{texts.name} has {len(kept)} texts to learn from, and at least 10 of two classes are needed. Give more."
        )
    order = generator(seed, "held out").permutation(len(kept))
    dev, rest = kept.take(order[:held]), kept.take(order[held:])
    learned = rest if more is None else rest + more
    torch.manual_seed(derive(seed, "initialization") % 2**63)
    built = _built(kind, learned.texts, labels, model)
    dev_numbers = np.array([labels.index(each) for each in dev.labels])

    def accuracy() -> Score:
        with torch.inference_mode():
            found = built.probabilities(dev.texts).argmax(axis=1)
        return Score(100 * float((found == dev_numbers).mean()))

    settings = Settings(
        batch_size=batch_size,
        epochs=epochs or _EPOCHS[kind],
        learning_rate=learning_rate or _RATES[kind],
        weight_decay=0.01,
        warmup=0.1,
        precision="fp32" if kind != BERT else "auto",
        seeds=Seeds.all(seed),
    )
    numbers = np.array([labels.index(each) for each in learned.labels])
    source = _Batches(built.rows(learned.texts), numbers, batch_size, seed)
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = fit(built.module, source, settings, Path(folder), evaluate=accuracy, reporter=reporter)
        except Interrupted:
            raise Interrupted("Stopped before the victim was trained; nothing was written.") from None
    with atomic_folder(out) as place:
        built.save(place)
    return Trained(open_victim(out), Path(out), float(result.best_score or 0.0), len(learned), left_out)


def _apart(texts: LabeledTexts, others: Iterable[str]) -> tuple[LabeledTexts, int]:
    taken = {normalized(each) for each in others}
    kept = [number for number, text in enumerate(texts.texts) if normalized(text) not in taken]
    return texts.take(kept), len(texts) - len(kept)


class _Batches:
    """Batches of tokenized texts and their classes in a new order each epoch."""

    def __init__(self, rows: Tokens, labels: Any, size: int, seed: int) -> None:
        self.rows, self.labels, self.size, self.seed = rows, labels, size, seed

    def __len__(self) -> int:
        return -(-len(self.rows) // self.size)

    def at(self, step: int, *, rank: int = 0, world: int = 1) -> tuple[Tensor, Tensor, Tensor]:
        """Return ids, mask and labels of a step; each process has its share."""
        epoch, place = divmod(step, len(self))
        order = generator(self.seed, "epoch", epoch).permutation(len(self.rows))
        chosen = order[place * self.size : (place + 1) * self.size]
        own = chosen[rank::world] if len(chosen) >= world else chosen
        return (*self.rows.padded(PAD, own), torch.from_numpy(self.labels[own]))

    def stream(self, start: int, stop: int, rank: int = 0, world: int = 1) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Yield the batches of steps `start` to `stop`."""
        return prefetch(self, start, stop, rank, world)


class _Loss(nn.Module):
    """The cross-entropy of a classifier's logits."""

    def __init__(self, model: nn.Module, logits: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.model, self._logits = model, (logits,)

    def forward(self, batch: tuple[Tensor, Tensor, Tensor], seed: int) -> Tensor:
        device = next(self.parameters()).device
        ids, mask, labels = (each.to(device) for each in batch)
        return nn.functional.cross_entropy(self._logits[0](ids, mask).float(), labels)


@dataclass(frozen=True)
class _Built:
    """What training needs of a new classifier."""

    module: nn.Module
    rows: Callable[[list[str]], Tokens]
    probabilities: Callable[[list[str]], Any]
    save: Callable[[Path], object]


def _built(kind: str, texts: list[str], labels: Sequence[str], model: str | Path) -> _Built:
    if kind == BERT:
        return _bert(labels, model)
    table, width = _word_table(model)
    words = WordClassifier(kind, vocabulary_of(texts), labels, width=width)
    with torch.no_grad():
        words.table.weight[2:] = table(words.vocabulary)
        words.table.weight[PAD] = 0
    return _Built(_Loss(words, words), words.rows, words.probabilities, words.save)


def _bert(labels: Sequence[str], model: str | Path) -> _Built:
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    folder = resolve(model)
    with opening(model, folder):
        config = AutoConfig.from_pretrained(folder, num_labels=len(labels))
        config.id2label, config.label2id = dict(enumerate(labels)), {name: i for i, name in enumerate(labels)}
        network = AutoModelForSequenceClassification.from_pretrained(folder, config=config, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.model_max_length = min(_LONGEST, tokenizer.model_max_length)
    classifier = SequenceClassifier(network, tokenizer)

    def save(place: Path) -> None:
        with quiet_loading():
            network.save_pretrained(place)
            tokenizer.save_pretrained(place)

    def logits(ids: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = network(input_ids=ids, attention_mask=mask).logits
        return found

    return _Built(_Loss(network, logits), classifier.rows, classifier, save)


def _word_table(model: str | Path) -> tuple[Callable[[Sequence[str]], Tensor], int]:
    """Return what gives words their first vectors: the main directions of their pieces' mean in a masked LM."""
    from transformers import AutoModel, AutoTokenizer

    folder = resolve(model)
    with opening(model, folder):
        pieces = AutoModel.from_pretrained(folder, dtype=torch.float32).get_input_embeddings().weight.detach().cpu()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    encode = Encoder(tokenizer, enough=1 << 60)  # rare words are no sign of a foreign text here

    def table(words: Sequence[str]) -> Tensor:
        rows = [np.frombuffer(row, dtype=encode.dtype).astype(np.int64) for row in encode(list(words))]
        found = torch.stack([pieces[torch.from_numpy(row)].mean(0) if len(row) else pieces[0] * 0 for row in rows])
        main = torch.linalg.eigh(torch.cov(found.T)).eigenvectors[:, -width:]  # (d, width), the largest last
        found = (found - found.mean(0)) @ main
        return found * (_SPREAD / found.std().clamp_min(1e-6))

    width = min(_WIDTH, pieces.shape[1])
    return table, width
