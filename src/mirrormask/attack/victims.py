"""The classifier that is attacked: anything that turns texts into probabilities."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.attack.word_classifiers import WORDS, WordClassifier
from mirrormask.core.batch import Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import MirrormaskError, ModelError
from mirrormask.core.framing import frame_of
from mirrormask.core.shards import length_shards
from mirrormask.models.bulk import encode_texts, token_budget
from mirrormask.models.loading import check_numbers, check_tokenizer, opening
from mirrormask.models.names import resolve
from mirrormask.models.precision import varied_shapes

Classify = Callable[[list[str]], Any]
"""Texts in, probabilities (n, classes) out."""

_SLACK = 1e-3  # by which the probabilities of a text may miss 1


class Victim:
    """A classifier whose every answer is checked.

    Args:
        classify: texts in, probabilities out.
        name: for messages and reports.
        labels: the names of its classes, where it has any.

    Example:
        >>> victim = Victim(lambda texts: [[0.9, 0.1] for _ in texts], name="always the first")
        >>> victim(["a film"]).tolist()
        [[0.9, 0.1]]
    """

    def __init__(self, classify: Classify, *, name: str = "the classifier", labels: Sequence[str] = ()) -> None:
        self.name, self.labels = name, tuple(labels)
        self._classify = classify
        self._classes = len(self.labels)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return the probabilities of the texts (n, classes).

        Raises:
            ModelError: the classifier failed, or returned something else.
        """
        if not texts:
            return np.empty((0, self._classes))
        try:
            found = self._classify(list(texts))
        except MirrormaskError:
            raise
        except Exception as error:  # whatever code of the user's raises
            reason = shorten(f"{type(error).__name__}: {error}", width=200, placeholder=" …").rstrip(".: ")
            raise ModelError(
                f"{self.name} failed on {len(texts)} texts ({reason}). Mend it, or name another."
            ) from error
        return self._checked(found, len(texts))

    def label_of(self, label: str) -> int:
        """Return the number of a class by its name, or by its number.

        Raises:
            MirrormaskError: there is no such class.
        """
        if label in self.labels:
            return self.labels.index(label)
        number = int(label) if label.isdecimal() else -1
        known = all(each.isdecimal() for each in self.labels)  # then a number that is no name means nothing
        if not 0 <= number < self.classes or (self.labels and known):
            named = f" named {', '.join(map(repr, self.labels[:10]))}" if self.labels else f", 0 to {self.classes - 1}"
            raise MirrormaskError(
                f"The label {label!r} is none of {self.name}, which has {self.classes} classes{named}. "
                "Write the labels of the texts as the classifier has them."
            )
        return number

    @property
    def classes(self) -> int:
        """Return the number of classes; a classifier that does not name them is asked once."""
        if not self._classes:
            self(["a text"])
        return self._classes

    def _checked(self, found: Any, count: int) -> NDArray[np.float64]:
        try:
            values = np.asarray(found.detach().cpu() if torch.is_tensor(found) else found, dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                f"{self.name} returns {type(found).__name__} and no numbers. Return probabilities, a row for each text."
            ) from None
        if values.ndim != 2 or len(values) != count or values.shape[1] < 2:
            raise ModelError(
                f"{self.name} returns an array of shape {values.shape} for {count} texts. Return a row of at least two "
                "probabilities for each text."
            )
        if self._classes and values.shape[1] != self._classes:
            raise ModelError(f"{self.name} returns {values.shape[1]} classes where it had {self._classes} before.")
        if not np.isfinite(values).all():
            raise ModelError(f"{self.name} returns NaN or infinity. Its weights are damaged, or it cannot read a text.")
        if (values < -_SLACK).any() or (np.abs(values.sum(axis=1) - 1) > _SLACK).any():
            raise ModelError(
                f"{self.name} returns {shorten(str(values[0].round(3).tolist()), 60)} for a text, which are no "
                "probabilities: they are negative or do not add up to 1. If these are logits, apply a softmax first."
            )
        self._classes = values.shape[1]
        return values


def open_victim(name: str | Path) -> Victim:
    """Return a classifier by its folder, or by the import path of a Python object, as in `my_module:pipeline`.

    Args:
        name: a folder that `train-victim`, `classify train` or transformers' `save_pretrained` wrote, a model of the
            hub, or module and name of a callable or of an object with `predict_proba`, as scikit-learn's pipelines.

    Raises:
        ModelError: there is no classifier of that name, or it cannot be used.
    """
    text = str(name)
    module, colon, attribute = text.partition(":")
    if colon and not Path(text).exists():
        return _imported(module, attribute)
    if Path(text).suffix in (".pkl", ".pickle", ".joblib"):
        raise ModelError(
            f"{text} is a pickle, which can run any code when it is opened, so it is not. Open it in a module of your "
            "own and name that: --victim my_module:pipeline."
        )
    if (Path(text) / WORDS).is_file():
        model = WordClassifier.load(Path(text))
        return Victim(model.probabilities, name=text, labels=model.labels)
    from mirrormask.heads.classifier import FACTS

    folder = resolve(text)
    if (Path(folder) / FACTS).is_file():
        return _own_classifier(text)
    return _sequence_classifier(text, folder)


def _imported(module: str, attribute: str) -> Victim:
    name = f"{module}:{attribute}"
    before = list(sys.path)
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever importing the user's code raises
        reason = shorten(f"{type(error).__name__}: {error}", width=200, placeholder=" …").rstrip(".: ")
        raise ModelError(
            f"{name} could not be imported ({reason}). Give module and name of a classifier, as in my_module:pipeline."
        ) from error
    finally:
        sys.path[:] = before
    labels = tuple(map(str, getattr(found, "classes_", ())))
    classify = getattr(found, "predict_proba", found)
    if not callable(classify):
        raise ModelError(f"{name} is {type(found).__name__} and no classifier. Name a callable or a fitted pipeline.")
    return Victim(classify, name=name, labels=labels)


def _own_classifier(name: str) -> Victim:
    from mirrormask.heads.classifier import Classifier

    model = Classifier.load(name)
    if model.several:
        raise ModelError(
            f"{name} gives a text several classes, and attacks are on classifiers that give one. Name another."
        )

    def probabilities(texts: list[str]) -> NDArray[np.float64]:
        return model.calibrated(model.logits_from(encode_texts(model.encoder, texts, precision="fp32")))

    return Victim(probabilities, name=name, labels=model.labels)


def _sequence_classifier(name: str, folder: str) -> Victim:
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    with opening(name, folder):
        architectures = getattr(AutoConfig.from_pretrained(folder), "architectures", None) or ["none"]
        if not any("SequenceClassification" in each for each in architectures):
            raise ModelError(
                f"{name} is no classifier of texts (its architecture is {architectures[0]}). Train one from it: "
                f"mirrormask train-victim TEXTS --kind bert --model {name} --out victim."
            )
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        check_tokenizer(tokenizer, folder, model)
        check_numbers(model, folder)
    if model.config.num_labels < 2:
        raise ModelError(f"{name} returns one number and no classes. Name a classifier of two classes or more.")
    labels = [str(model.config.id2label[number]) for number in range(model.config.num_labels)]
    if all(label == f"LABEL_{number}" for number, label in enumerate(labels)):
        labels = [str(number) for number in range(len(labels))]
    return Victim(SequenceClassifier(model, tokenizer), name=name, labels=labels)


class SequenceClassifier:
    """A Hugging Face sequence classifier, run over texts of like length together.

    Args:
        model: an `AutoModelForSequenceClassification`.
        tokenizer: its tokenizer.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
        self.tokenizer = tokenizer
        self._encode, self._frame = Encoder(tokenizer, enough=1000), frame_of(tokenizer)
        longest = int(getattr(model.config, "max_position_embeddings", 512) or 512)
        self.limit = min(longest, tokenizer.model_max_length)

    def rows(self, texts: list[str]) -> Tokens:
        """Return the token rows of the texts, cut at the model's limit."""
        rows = (np.frombuffer(row, dtype=self._encode.dtype).astype(np.int64) for row in self._encode(texts))
        return Tokens.of([self._frame.around(row, self.limit) for row in rows])

    @torch.inference_mode()
    def __call__(self, texts: list[str]) -> NDArray[np.float32]:
        """Return the probabilities (n, classes), in float32 wherever they are computed."""
        tokens, device = self.rows(texts), self.model.device
        out = np.empty((len(texts), self.model.config.num_labels), dtype=np.float32)
        with varied_shapes():
            for shard in length_shards(tokens.lengths, token_budget(device), tolerance=0.15):
                ids, mask = (each.to(device) for each in tokens.padded(self.tokenizer.pad_token_id or 0, shard))
                logits = self.model(input_ids=ids, attention_mask=mask).logits
                out[shard] = logits.float().softmax(-1).cpu().numpy()
        return out
