"""The verbalizer: which words stand for which label.

Paper: Schick and Schütze 2021, "Exploiting Cloze Questions for Few Shot Text Classification and Natural Language
    Inference"

The score of a label is the mean of the raw scores of its words at the mask, and a softmax runs over the labels, not
over the vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mirrormask.core.errors import MirrormaskError

Words = tuple[tuple[int, ...], ...]
"""The token ids of each word of a label."""


class Verbalizer:
    """Labels and their words.

    Args:
        words: of each label, one or several.

    Example:
        >>> Verbalizer({"positive": ["good", "great"], "negative": ["bad"]}).labels
        ('positive', 'negative')
    """

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self.words = {str(label): tuple(str(word).strip() for word in found) for label, found in words.items()}
        taken: dict[str, str] = {}
        for label, found in self.words.items():
            if not found or not all(found):
                raise MirrormaskError(
                    f"The label {label!r} has no word. Give it one, as in --labels {label}=word, or as "
                    f'{label} = ["word"] in the table of words.'
                )
            for word in found:
                if taken.setdefault(word, label) != label:
                    raise MirrormaskError(
                        f"The word {word!r} stands for the labels {taken[word]!r} and {label!r}. Give each its own."
                    )
        if len(self.words) < 2:
            raise MirrormaskError(f"At least two labels are needed. Got {', '.join(self.words) or 'none'}.")

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels in their order."""
        return tuple(self.words)

    def tokens(self, tokenizer: Any, *, masks: int, spaced: bool = True) -> tuple[Words, ...]:
        """Return the token ids of every label's words.

        Args:
            tokenizer: a Hugging Face tokenizer.
            masks: of the template; 0 takes words of any length.
            spaced: whether the mask stands after a space.

        Raises:
            MirrormaskError: a word is unknown, or its tokens do not fit the masks.
        """
        found = tuple(tuple(word_ids(tokenizer, word, spaced) for word in words) for words in self.words.values())
        longest = max(len(ids) for words in found for ids in words)
        if masks and longest > masks:
            word, ids = next(
                (word, ids)
                for words, tokens in zip(self.words.values(), found, strict=True)
                for word, ids in zip(words, tokens, strict=True)
                if len(ids) > masks
            )
            pieces = ", ".join(tokenizer.convert_ids_to_tokens(list(ids)))
            raise MirrormaskError(
                f"The word {word!r} is {len(ids)} tokens ({pieces}), and the template has {masks} "
                f"mask{'s' * (masks > 1)}. Take a word that the model knows whole, or write [MASK*{longest}] or "
                "[MASKS]."
            )
        if masks > longest:
            raise MirrormaskError(
                f"The template has {masks} masks, and the longest word has {longest} "
                f"token{'s' * (longest > 1)}. Write [MASK*{longest}]."
            )
        return found


def word_ids(tokenizer: Any, word: str, spaced: bool = True) -> tuple[int, ...]:
    """Return the token ids of a word as they stand inside a sentence.

    Raises:
        MirrormaskError: the tokenizer has no piece for it.
    """
    ids = tuple(int(each) for each in tokenizer(" " * spaced + word, add_special_tokens=False)["input_ids"])
    if not ids or tokenizer.unk_token_id in ids:
        raise MirrormaskError(f"The tokenizer does not know the word {word!r}. Take another.")
    return ids


def parse_labels(text: str) -> dict[str, tuple[str, ...]]:
    """Return labels with their words from the command line.

    Example:
        >>> parse_labels("good,bad")
        {'good': ('good',), 'bad': ('bad',)}
        >>> parse_labels("1=good|great,0=bad")
        {'1': ('good', 'great'), '0': ('bad',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for each in text.split(","):
        label, _, words = (part.strip() for part in each.partition("="))
        if not label:
            raise MirrormaskError(f"--labels must be like good,bad or 1=good|great,0=bad. Got {text!r}.")
        if label in found:
            raise MirrormaskError(f"--labels names {label!r} twice. Write its words once, as in {label}=one|two.")
        found[label] = tuple(word.strip() for word in words.split("|")) if "=" in each else (label,)
    return found
