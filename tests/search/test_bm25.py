"""BM25 against a loop, another way to write its formula, and itself in parts."""

from __future__ import annotations

import math
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import mirrormask.search.postings as postings_module
from mirrormask.core.errors import MirrormaskError
from mirrormask.search.analysis import Analyzer
from mirrormask.search.bm25 import BM25, highest
from mirrormask.search.postings import Postings, PostingsWriter, merge, postings_of

_WORDS = "amber basin cedar delta ember fjord glade heath islet knoll lagoon marsh oasis prairie quarry ridge"


@pytest.fixture(scope="module")
def texts() -> list[str]:
    draw = random.Random(5)
    made = [" ".join(draw.choices(_WORDS.split(), weights=range(1, 17), k=draw.randint(0, 30))) for _ in range(60)]
    return [*made, "", "amber " * 400]


QUERIES = ["amber ridge", "ridge ridge marsh", "nowhere", "oasis the prairie", ""]


def by_loops(query: list[str], texts: list[list[str]], k1: float, b: float) -> list[float]:
    mean = sum(map(len, texts)) / len(texts)
    scores = []
    for text in texts:
        score = 0.0
        for term in query:
            holding = sum(term in other for other in texts)
            if term in text:
                idf = math.log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
                count = text.count(term)
                score += idf * count * (k1 + 1) / (count + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize(("k1", "b"), [(0.9, 0.4), (1.5, 0.75), (2.0, 0.0), (0.0, 0.5)])
def test_scores_are_those_of_a_loop(texts: list[str], k1: float, b: float) -> None:
    analyzer = Analyzer(stem=False)
    scores = BM25.of(texts, analyzer, k1=k1, b=b).scores(QUERIES)
    tokens = [analyzer.terms(text) for text in texts]
    expected = [by_loops(analyzer.query(query), tokens, k1, b) for query in QUERIES]
    np.testing.assert_allclose(scores, expected, rtol=1e-5, atol=1e-6)


def test_scores_rank_as_the_formula_of_rank_bm25(texts: list[str]) -> None:
    # Okapi as that package writes it, idf = ln(n − n_t + ½) − ln(n_t + ½), log odds; Lucene's is ln(1 + odds)
    tokens = [text.split() for text in texts]
    lengths = np.array([len(text) for text in tokens])
    counted = [Counter(text) for text in tokens]
    query = ["amber", "basin", "cedar"]
    expected = np.zeros(len(texts))
    for term in query:
        frequency = np.array([counts[term] for counts in counted])
        holding = int((frequency > 0).sum())
        odds = math.exp(math.log(len(texts) - holding + 0.5) - math.log(holding + 0.5))
        expected += math.log1p(odds) * (
            frequency * 2.5 / (frequency + 1.5 * (1 - 0.75 + 0.75 * lengths / lengths.mean()))
        )
    (scores,) = BM25.of(texts, Analyzer(stem=False), k1=1.5, b=0.75).scores([" ".join(query)])
    np.testing.assert_allclose(scores, expected, rtol=1e-5)


def test_parts_score_as_one(texts: list[str]) -> None:
    analyzer = Analyzer()
    whole = BM25.of(texts, analyzer).scores(QUERIES)
    parts = [postings_of(texts[start : start + 20], analyzer) for start in range(0, len(texts), 20)]
    np.testing.assert_array_equal(BM25(parts, analyzer).scores(QUERIES), whole)


def test_a_writer_in_many_runs_writes_what_one_makes(
    texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyzer = Analyzer()
    expected = postings_of(texts, analyzer)
    monkeypatch.setattr(postings_module, "_BLOCK", 50)  # also merges term after term
    writer = PostingsWriter(tmp_path / "words", analyzer)
    for text in texts:
        writer.add(text)
    found = writer.finish()
    assert found.vocabulary() == expected.vocabulary()
    for name in ("starts", "passages", "counts", "lengths"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    same_by_passage(found, expected)
    assert sorted(path.suffix for path in (tmp_path / "words").iterdir()) == [".npy"] * 10
    for name in ("begins", "terms", "times"):  # as the first version left it
        (tmp_path / "words" / f"{name}.npy").unlink()
    same_by_passage(Postings.open(tmp_path / "words"), expected)


def same_by_passage(found: Postings, expected: Postings) -> None:
    for name in ("begins", "terms", "times"):
        np.testing.assert_array_equal(getattr(found.by_passage, name), getattr(expected.by_passage, name))


def test_a_passage_holds_the_terms_of_its_text(texts: list[str]) -> None:
    analyzer = Analyzer()
    postings = postings_of(texts, analyzer)
    for row, text in enumerate(texts):
        places, _ = postings.by_passage.places(np.array([row]))
        names = postings.names(postings.by_passage.terms[places])
        held = dict(zip(names, postings.by_passage.times[places].tolist(), strict=True))
        assert held == Counter(analyzer.terms(text))


def test_merging_leaves_out_what_was_deleted(texts: list[str], tmp_path: Path) -> None:
    analyzer = Analyzer()
    parts = [postings_of(texts[:25], analyzer), postings_of(["walrus", *texts[25:]], analyzer)]
    kept = [np.arange(25) % 3 > 0, np.arange(len(texts) - 24) % 2 > 0]
    merge(parts, tmp_path, kept)
    left = [
        text
        for part, mask in ((texts[:25], kept[0]), (["walrus", *texts[25:]], kept[1]))
        for text, stays in zip(part, mask, strict=True)
        if stays
    ]
    found, expected = Postings.open(tmp_path), postings_of(left, analyzer)
    assert found.vocabulary() == expected.vocabulary()
    assert b"walrus" not in found.vocabulary()
    np.testing.assert_array_equal(found.passages, expected.passages)
    assert found.turned is not None
    same_by_passage(found, expected)
    np.testing.assert_array_equal(BM25([found], analyzer).scores(QUERIES), BM25([expected], analyzer).scores(QUERIES))


def test_nothing_can_be_kept_and_searched(tmp_path: Path) -> None:
    writer = PostingsWriter(tmp_path / "none", Analyzer())
    assert len(writer.finish()) == 0
    assert BM25([Postings.open(tmp_path / "none")], Analyzer()).scores(["any"]).shape == (1, 0)


def test_a_file_that_is_cut_short_is_named(texts: list[str], tmp_path: Path) -> None:
    postings_of(texts, Analyzer()).save(tmp_path)
    file = tmp_path / "counts.npy"
    file.write_bytes(file.read_bytes()[:-10])
    with pytest.raises(MirrormaskError, match="cannot be read.*Build the index again"):
        Postings.open(tmp_path)
    np.save(file, np.zeros(3, dtype=np.uint16))
    with pytest.raises(MirrormaskError, match="belong to different indexes"):
        Postings.open(tmp_path)
    postings_of(texts[:-1], Analyzer()).by_passage.save(tmp_path)
    np.save(file, postings_of(texts, Analyzer()).counts)
    with pytest.raises(MirrormaskError, match="belong to different indexes"):
        Postings.open(tmp_path)


def test_a_query_of_many_words_keeps_those_it_names_most() -> None:
    words = BM25.of(["one two three"])
    long = "three three " + " ".join(f"w{number}" for number in range(5000))
    counts = words.counts(long)
    assert len(counts) == 512
    assert counts["three"] == 2


def test_terms_are_found_by_their_first_letters_and_the_rest() -> None:
    terms = ["a", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghij", "zebra", "图书"]
    postings = postings_of([" ".join(terms), "abcdefghi zebra"], Analyzer(stem=False))
    found = postings.numbers([*terms, "", "b", "abcdefghx", "abcdefghijk", "zz"])
    assert [postings.term(number).decode() for number in found[: len(terms)].tolist()] == terms
    assert found[len(terms) :].tolist() == [-1] * 5
    assert postings.sizes(found).tolist() == [1, 1, 1, 1, 2, 1, 2, 1, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("size", [20, 62])
def test_some_passages_score_as_they_do_among_all(texts: list[str], size: int) -> None:
    analyzer = Analyzer()
    words = BM25([postings_of(texts[start : start + size], analyzer) for start in range(0, len(texts), size)], analyzer)
    rows = np.array([0, 3, 19, 20, 41, 60, 61])
    for query in QUERIES:
        some = words.scores_of(words.counts(query), rows)
        np.testing.assert_allclose(some, words.scores([query])[0][rows], rtol=1e-6)


def test_telling_terms_are_those_of_idf_and_of_what_each_adds_to_a_score(texts: list[str]) -> None:
    analyzer = Analyzer()
    rows, shares = np.array([41, 3]), np.array([0.6, 0.4], dtype=np.float32)
    lengths = [len(analyzer.terms(text)) for text in texts]
    mean = sum(lengths) / len(texts)
    whole = BM25.of(texts, analyzer)
    expected: Counter[str] = Counter()
    for row, share in zip(rows.tolist(), shares.tolist(), strict=True):
        for term, count in Counter(analyzer.terms(texts[row])).items():
            norm = 1.2 * (1 - 0.6 + 0.6 * lengths[row] / mean)
            expected[term] += share * count / (count + norm) * float(whole.idf([term])[0])
    parts = BM25([postings_of(texts[start : start + 20], analyzer) for start in range(0, len(texts), 20)], analyzer)
    for words in (whole, parts):
        assert words.telling(rows, shares, 50) == pytest.approx(dict(expected), rel=1e-5)
    assert list(whole.telling(rows, shares, 3)) == [term for term, _ in expected.most_common(3)]


@pytest.mark.parametrize("depth", [1, 7, 100, 4000])
@pytest.mark.parametrize("share", [0.001, 0.3, 1.0])
def test_the_highest_are_found_whatever_the_sample_says(depth: int, share: float) -> None:
    draw = np.random.default_rng(2)
    scores = np.where(draw.random(3000) < share, draw.random(3000), 0).astype(np.float32)
    scores[::64] += 5 * (depth == 7)  # a sample that is no sample
    allowed = draw.random(3000) < 0.5
    for mask in (None, allowed):
        there = scores if mask is None else np.where(mask, scores, 0)
        expected = np.sort(there[there > 0])[::-1][:depth]
        np.testing.assert_array_equal(np.sort(there[highest(scores, depth, mask)])[::-1], expected)
