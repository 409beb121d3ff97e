"""A masked LM that answers a cloze question: the LM head runs at masks alone, all questions of a batch in one forward.

Papers: Schick and Schütze 2021, "Exploiting Cloze Questions for Few Shot Text Classification and Natural Language
    Inference"; Schick and Schütze 2021, "It's Not Just Size That Matters" (words of several tokens, Section 3.1)

The score of a word is the sum of its tokens' log probabilities, that of a label the mean over its words. Words of one
token have the same denominator, so a softmax over labels is the one over the raw scores. A word of k tokens is read
from k masks, the most confident first and put in before the next is read; in training all masks are read at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Tokens
from mirrormask.core.transfer import to_device
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.models.precision import best_precision, varied_shapes
from mirrormask.prompting.pattern import Pattern, Prompted
from mirrormask.prompting.verbalizer import Verbalizer, Words, word_ids
from mirrormask.training.forward import shards_for

Fields = Sequence[Mapping[str, str]]
Choices = Sequence[Sequence[str]]

_ROWS = 512  # whose scores of the whole vocabulary are held at a time


class Cloze(nn.Module):
    """One pattern, its label words and the model that reads them.

    Args:
        lm: the masked LM.
        pattern: the cloze question.
        verbalizer: the labels' words; None where every text brings its own choices.
        soft: gives the embeddings of soft tokens (m, d), where the pattern has any.
    """

    def __init__(
        self, lm: MaskedLM, pattern: Pattern, verbalizer: Verbalizer | None = None, soft: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.lm, self.pattern, self.verbalizer, self.soft = lm, pattern, verbalizer, soft
        self.words: tuple[Words, ...] = ()
        if verbalizer is not None:
            template = pattern.template
            self.words = verbalizer.tokens(lm.tokenizer, masks=template.masks, spaced=template.spaced)

    def states(self, prompted: Prompted) -> Tensor:
        """Return the last layer's states at the masks, row by row (total, d), with gradients."""
        return mask_states(self.lm, prompted, None if self.soft is None else self.soft())

    def token_scores(self, prompted: Prompted) -> Tensor:
        """Return log probabilities of the vocabulary at every mask (total, vocabulary)."""
        return self.lm.head(self.states(prompted)).float().log_softmax(-1)

    def at_once(self, prompted: Prompted, words: Tensor) -> Tensor:
        """Return the scores of words, all masks being read at once (n, words), with gradients.

        Args:
            prompted: rows with the same number of masks m each.
            words: token ids (n or 1, words, m), -1 after the end of a word.
        """
        masks = words.shape[-1]
        scores = self.token_scores(prompted).unflatten(0, (-1, masks))  # (n, m, vocabulary)
        index = words.clamp(min=0).expand(len(prompted), -1, -1).transpose(1, 2)  # (n, m, words)
        found: Tensor = scores.gather(2, index).transpose(1, 2).masked_fill(words < 0, 0.0).sum(-1)
        return found

    def label_scores(self, scores: Tensor) -> Tensor:
        """Return the mean score of every label's words (n, labels)."""
        sizes = [len(words) for words in self.words]
        return torch.stack([part.mean(-1) for part in scores.split(sizes, -1)], -1) if sizes else scores

    def word_table(self) -> Tensor:
        """Return the token ids of all label words (1, words, m), -1 after the end of a word."""
        return padded_words([[ids for words in self.words for ids in words]]).to(self.lm.device)

    def choice_ids(self, choices: Choices) -> list[list[tuple[int, ...]]]:
        """Return the token ids of the choices that texts bring with them."""
        spaced = self.pattern.template.spaced
        return [[word_ids(self.lm.tokenizer, word, spaced) for word in row] for row in choices]

    @torch.inference_mode()
    def word_scores(self, fields: Fields, choices: Choices | None = None) -> NDArray[np.float64]:
        """Return the log probability of every word, or of every text's own choices (n, words); -inf where none is.

        Args:
            fields: the texts.
            choices: of each text, where the labels have no words.
        """
        given = None if choices is None else self.choice_ids(choices)
        flat = [ids for words in self.words for ids in words]
        if given is None and all(len(ids) == 1 for ids in flat):
            return word_scores([self], fields)[0]
        rows = given or [flat] * len(fields)
        width = max(map(len, rows))
        found = np.full((len(fields), width), -np.inf)
        pairs = [(i, j) for i, words in enumerate(rows) for j in range(len(words))]
        for start in range(0, len(pairs), _ROWS):
            part = pairs[start : start + _ROWS]
            words = [rows[i][j] for i, j in part]
            prompted = self.pattern.rows([fields[i] for i, _ in part], [len(word) for word in words])
            for (i, j), score in zip(part, self._filled(prompted, words), strict=True):
                found[i, j] = score
        return found

    def _filled(self, prompted: Prompted, words: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """Return the log probability of a word for each row, its most confident token put in first."""
        total = np.zeros(len(words))
        rows = [row.copy() for row in prompted.tokens.rows]
        left = [
            dict(zip(places.tolist(), word, strict=True)) for places, word in zip(prompted.masks, words, strict=True)
        ]
        while open_rows := [i for i, tokens in enumerate(left) if tokens]:
            now = Prompted(
                Tokens.of([rows[i] for i in open_rows]),
                tuple(np.array(list(left[i]), dtype=np.int64) for i in open_rows),
                tuple(prompted.soft[i] for i in open_rows),
            )
            wanted = torch.tensor([token for i in open_rows for token in left[i].values()], device=self.lm.device)
            with best_precision(self.lm.device).autocast(self.lm.device):
                scores = self.token_scores(now).gather(1, wanted[:, None])[:, 0].double().cpu().numpy()
            ends = np.cumsum([len(left[i]) for i in open_rows])
            for i, part in zip(open_rows, np.split(scores, ends[:-1]), strict=True):
                best = int(part.argmax())
                place = list(left[i])[best]
                rows[i][place] = left[i].pop(place)
                total[i] += part[best]
        return total


@torch.inference_mode()
def word_scores(patterns: Sequence[Cloze], fields: Fields) -> list[NDArray[np.float64]]:
    """Return the log probabilities of label words of one token (n, words) for every pattern of one model.

    All patterns of a batch of texts go through the model in one forward.
    """
    lm = patterns[0].lm
    found: list[list[NDArray[np.float64]]] = [[] for _ in patterns]
    tables = [each.word_table()[0, :, 0] for each in patterns]
    soft = None if patterns[0].soft is None else patterns[0].soft()
    for start in range(0, len(fields), _ROWS):
        part = fields[start : start + _ROWS]
        rows = Prompted.joined([each.pattern.rows(part) for each in patterns])
        with best_precision(lm.device).autocast(lm.device):
            states = mask_states(lm, rows, soft)
            for number, table in enumerate(tables):
                scores = lm.head(states[number * len(part) : (number + 1) * len(part)]).float().log_softmax(-1)
                found[number].append(scores[:, table].double().cpu().numpy())
    return [np.concatenate(parts) for parts in found]


def mask_states(lm: MaskedLM, prompted: Prompted, soft: Tensor | None = None) -> Tensor:
    """Return the last layer's states at the masks of all rows, end to end (total, d), with gradients.

    Args:
        lm: the masked LM.
        prompted: the rows; shards of similar length keep padding small.
        soft: the embeddings of the soft tokens (m, d).
    """
    counts = np.array([len(places) for places in prompted.masks])
    starts = np.concatenate([[0], np.cumsum(counts)])
    pad = lm.tokenizer.pad_token_id or 0
    found: list[Tensor] = []
    order: list[NDArray[np.int64]] = []
    for shard in shards_for(prompted.tokens, lm.device, None):
        ids, mask = (to_device(t, lm.device) for t in prompted.tokens.padded(pad, shard))
        given: dict[str, Tensor] = {"input_ids": ids}
        if soft is not None:
            at = [np.concatenate([np.full(len(prompted.soft[i]), n) for n, i in enumerate(shard)])]
            at += [np.concatenate([prompted.soft[i] for i in shard])]
            embedded = lm.model.get_input_embeddings()(ids)
            index = tuple(to_device(torch.from_numpy(each.astype(np.int64)), lm.device) for each in at)
            embedded = embedded.index_put(index, soft.to(embedded.dtype).repeat(len(shard), 1))
            given = {"inputs_embeds": embedded}
        with varied_shapes():
            run = lm.model.base_model(**given, attention_mask=mask)
        rows = np.repeat(np.arange(len(shard)), counts[shard])
        places = np.concatenate([prompted.masks[i] for i in shard])
        order.append(np.concatenate([np.arange(starts[i], starts[i + 1]) for i in shard]))
        picked = [to_device(torch.from_numpy(each.astype(np.int64)), lm.device) for each in (rows, places)]
        found.append(run.last_hidden_state[picked[0], picked[1]])
    back = to_device(torch.from_numpy(np.argsort(np.concatenate(order))), lm.device)
    return torch.cat(found)[back]


def padded_words(rows: Sequence[Sequence[tuple[int, ...]]], masks: int = 0) -> Tensor:
    """Return words of rows as one table (n, words, masks), -1 after the end of a word and where a row has no more."""
    masks = masks or max(len(word) for words in rows for word in words)
    table = np.full((len(rows), max(map(len, rows)), masks), -1, dtype=np.int64)
    for i, words in enumerate(rows):
        for j, word in enumerate(words):
            table[i, j, : len(word)] = word
    return torch.from_numpy(table)
