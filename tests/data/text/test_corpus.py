"""A corpus holds the rows it should, says what it left out, and is the same whichever way duplicates are found."""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.text.corpus import Corpus, CorpusReport, build_corpus, open_corpus
from mirrormask.data.text.sentences import split_sentences


def everything(corpus: Corpus) -> list[tuple[str | tuple[str, ...], bool]]:
    return [(corpus[i], corpus.starts_document(i)) for i in range(len(corpus))]


def test_lines_and_blank_lines(tmp_path: Path) -> None:
    source = tmp_path / "lines.txt"
    source.write_text("one line\n another line \n\n\nthird line\nONE  line\nlast line\n", encoding="utf-8")
    corpus = build_corpus(source, tmp_path / "corpus")
    assert everything(corpus) == [
        ("one line", True),
        ("another line", False),
        ("third line", True),
        ("last line", True),  # the row before it was removed
    ]
    assert corpus.report == CorpusReport(
        lines=7, empty=2, documents=2, sentences=5, too_short=0, too_long=0, duplicates=1, kept=4
    )
    assert corpus.texts(1, 3) == ["another line", "third line"]
    assert corpus.texts(3, 99) == ["last line"]
    assert corpus.starts(0, 4).tolist() == [True, False, True, True]
    assert sorted(path.name for path in corpus.folder.iterdir()) == [
        "column-0.offsets.npy",
        "column-0.values.npy",
        "corpus.json",
        "starts.npy",
    ]


def test_split_texts_are_documents(tmp_path: Path) -> None:
    texts = [
        "A cat sat. It slept well. Then it ate.",
        "",
        "A dog ran. It slept well. The end came.",
        "今天下雨。我们在家。",
    ]
    corpus = build_corpus(texts, tmp_path / "corpus", split="auto", min_words=3, max_words=4)
    assert everything(corpus) == [
        ("A cat sat.", True),
        ("It slept well.", False),
        ("Then it ate.", False),
        ("A dog ran.", True),
        ("The end came.", True),
        ("今天下雨。", True),
        ("我们在家。", False),
    ]
    assert dataclasses.asdict(corpus.report) == {
        "lines": 4,
        "empty": 1,
        "documents": 3,
        "sentences": 8,
        "too_short": 0,
        "too_long": 0,
        "duplicates": 1,
        "kept": 7,
        "notes": (),
    }


def test_length_filters_are_counted(tmp_path: Path) -> None:
    texts = ["one", "one two", "one two three", "one two three four", "一二三", "一二三四五"]
    corpus = build_corpus(texts, tmp_path / "corpus", min_words=2, max_words=3)
    assert everything(corpus) == [("one two", True), ("one two three", False), ("一二三", True)]
    assert (corpus.report.too_short, corpus.report.too_long) == (1, 2)


@pytest.mark.parametrize("split", ["none", "en"])
def test_memory_and_disk_find_the_same_duplicates(tmp_path: Path, split: str) -> None:
    words = ["Red", "red", "green ", "blue", "Pale  blue", "pale blue"]

    def texts() -> Iterator[str]:
        chance = np.random.default_rng(5)
        for _ in range(4000):
            count = chance.integers(0, 4)
            yield ". ".join(f"{words[chance.integers(6)]} {chance.integers(300)}" for _ in range(count))

    plain = build_corpus(texts(), tmp_path / "plain", split=split)
    for number, in_memory in enumerate([0, 50, 700]):
        other = build_corpus(texts(), tmp_path / str(number), split=split, in_memory=in_memory)
        assert everything(other) == everything(plain)
        assert other.report == plain.report
        assert other.fingerprint == plain.fingerprint
        assert sorted(p.name for p in other.folder.iterdir()) == sorted(p.name for p in plain.folder.iterdir())
    # A loop over the texts, as the definition has it.
    seen: set[str] = set()
    expected = []
    for text in texts():
        for sentence in [text] if split == "none" else split_sentences(text, split):
            key = " ".join(sentence.casefold().split())
            if key and key not in seen:
                seen.add(key)
                expected.append(sentence.strip())
    assert plain.texts(0, len(plain)) == expected
    assert plain.report.duplicates > 100


def test_duplicates_can_stay(tmp_path: Path) -> None:
    corpus = build_corpus(["a", "A", "a"], tmp_path / "corpus", deduplicate=False)
    assert everything(corpus) == [("a", True), ("A", False), ("a", False)]


def test_columns_of_a_table(tmp_path: Path) -> None:
    source = tmp_path / "pairs.jsonl.gz"
    rows = [
        {"id": 1, "left": "a b", "right": "c", "hard": "x"},
        {"id": 2, "left": "a", "right": "b c", "hard": "y"},
        {"id": 3, "left": "A B", "right": "c ", "hard": "X"},
        {"id": 4, "left": "d", "right": None, "hard": "z"},
    ]
    source.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    corpus = build_corpus(source, tmp_path / "three", columns=["left", "right", "hard"])
    assert corpus.width == 3
    assert corpus.texts(0, 2) == [corpus[0], corpus[1]] == [("a b", "c", "x"), ("a", "b c", "y")]
    assert (corpus.report.kept, corpus.report.duplicates, corpus.report.empty) == (2, 1, 1)
    assert build_corpus(source, tmp_path / "one", columns=["left"]).texts(0, 9) == ["a b", "a", "d"]
    with pytest.raises(
        DataError, match=r"columns \(id, left, right, hard\), and left, right, hard may hold the text\. Say which"
    ):
        build_corpus(source, tmp_path / "none")
    with pytest.raises(DataError, match=r"no column 'rigth'.* Did you mean 'right'\?"):
        build_corpus(source, tmp_path / "none", columns=["left", "rigth"])
    with pytest.raises(DataError, match=r"column 'id' in row 1 of .* holds no text but int"):
        build_corpus(source, tmp_path / "none", columns=["id"])
    with pytest.raises(DataError, match=r"Splitting into sentences takes one column\. Got 2"):
        build_corpus(source, tmp_path / "none", columns=["left", "hard"], split="en")
    assert not (tmp_path / "none").exists()


def test_usual_column_is_found(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,sentence\n1,first\n2,second\n")
    assert build_corpus(tmp_path / "rows.csv", tmp_path / "corpus").texts(0, 2) == ["first", "second"]


def test_several_files_are_several_documents(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name} one\n{name} two\n")
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    corpus = build_corpus(paths, tmp_path / "corpus")
    assert everything(corpus) == [("a one", True), ("a two", False), ("b one", True), ("b two", False)]
    assert build_corpus(["a one", "b two"], tmp_path / "texts").texts(0, 2) == ["a one", "b two"]
    with pytest.raises(DataError, match=r"There is no file .*c\.txt"):
        build_corpus([tmp_path / "a.txt", tmp_path / "c.txt"], tmp_path / "none")


def test_long_texts_are_no_paths(tmp_path: Path) -> None:
    texts = ["word " * 2000, "a/" * 300 + "b"]
    assert build_corpus(texts, tmp_path / "corpus").texts(0, 2) == [text.strip() for text in texts]
    with pytest.raises(DataError, match="There is no file and no corpus"):
        build_corpus(texts[0], tmp_path / "none")


def test_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert build_corpus("-", tmp_path / "corpus").texts(0, 2) == ["one", "two"]


def test_names_lead_to_local_roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path / "root"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "root" / "corpus").mkdir(parents=True)
    (tmp_path / "root" / "corpus" / "tiny.txt").write_text("one\ntwo\n")
    (tmp_path / "root" / "some" / "set").mkdir(parents=True)
    for split in ("train", "dev"):
        (tmp_path / "root" / "some" / "set" / f"{split}.jsonl").write_text(
            f'{{"text": "{split} a"}}\n{{"text": "{split} b"}}\n'
        )
    assert build_corpus("tiny", tmp_path / "a").texts(0, 2) == ["one", "two"]
    assert build_corpus("some/set", tmp_path / "b").texts(0, 2) == ["train a", "train b"]
    assert build_corpus("some/set:dev", tmp_path / "c").texts(0, 2) == ["dev a", "dev b"]
    with pytest.raises(DataError, match=r"There is no file and no corpus 'tinny'"):
        build_corpus("tinny", tmp_path / "d")
    with pytest.raises(DataError, match="'other/set'"):
        build_corpus("other/set", tmp_path / "d")


def test_limit_and_progress(tmp_path: Path) -> None:
    calls: list[int] = []
    corpus = build_corpus((f"row {i}" for i in range(30_000)), tmp_path / "c", limit=20_000, progress=calls.append)
    assert len(corpus) == corpus.report.lines == 20_000
    assert calls == [8192, 16_384, 20_000]


def test_same_files_and_settings_are_not_read_again(tmp_path: Path) -> None:
    source = tmp_path / "lines.txt"
    source.write_text("one\ntwo\nthree\n")
    first = build_corpus(source, tmp_path / "corpus")
    made = (tmp_path / "corpus" / "corpus.json").stat().st_mtime_ns
    again = build_corpus(source, tmp_path / "corpus")
    assert (tmp_path / "corpus" / "corpus.json").stat().st_mtime_ns == made
    assert again.fingerprint == first.fingerprint == open_corpus(tmp_path / "corpus").fingerprint
    assert again.report == first.report
    other = build_corpus(source, tmp_path / "corpus", limit=2)
    assert len(other) == 2
    source.write_text("one\ntwo\nthree\nfour\n")
    assert len(build_corpus(source, tmp_path / "corpus", limit=9)) == 4
    assert other.fingerprint != first.fingerprint


def test_a_failure_leaves_the_old_corpus(tmp_path: Path) -> None:
    build_corpus(["one", "two"], tmp_path / "corpus")

    def breaking() -> Iterator[str]:
        yield "three"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_corpus(breaking(), tmp_path / "corpus")
    assert open_corpus(tmp_path / "corpus").texts(0, 2) == ["one", "two"]
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


def test_other_peoples_folders_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    with pytest.raises(DataError, match=r"notes holds something else than a corpus"):
        build_corpus(["one", "two"], tmp_path / "notes")
    assert (tmp_path / "notes" / "mine.txt").read_text() == "keep"


def test_too_few_rows_say_what_was_removed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"leaves one text to train on, and at least 2 are needed: lines read: 1\."):
        build_corpus(["only one"], tmp_path / "corpus")
    with pytest.raises(DataError, match=r"\(1 lines were empty, 1 were shorter than 2 words, 2 were duplicates\)"):
        build_corpus(["one two", "", "one", "One two", "one  two"], tmp_path / "corpus", min_words=2)
    with pytest.raises(DataError, match="leaves no text"):
        build_corpus(["", " "], tmp_path / "corpus")
    with pytest.raises(DataError, match=r"\(3 were longer than 1 words\)"):
        build_corpus(["a b", "c d", "e f"], tmp_path / "corpus", max_words=1)
    assert list(tmp_path.iterdir()) == []


def test_bad_settings_and_rows(tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match=r"The 'split' of a corpus must be one of none, auto, en, zh"):
        build_corpus(["a", "b"], tmp_path / "c", split="english")
    with pytest.raises(MirrormaskError, match="'max_words' of a corpus must be at least 5"):
        build_corpus(["a", "b"], tmp_path / "c", min_words=5, max_words=4)
    with pytest.raises(MirrormaskError, match="'limit' of a corpus must be at least 1"):
        build_corpus(["a", "b"], tmp_path / "c", limit=0)
    with pytest.raises(DataError, match="Row 2 of the given texts is 7"):
        build_corpus(["a", 7], tmp_path / "c")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Row 2 of the given texts has 1 columns, the first 2"):
        build_corpus([("a", "b"), ("a",)], tmp_path / "c")
    with pytest.raises(DataError, match="holds no finished corpus"):
        open_corpus(tmp_path / "c")


def test_text_that_cannot_be_encoded_is_kept_readable(tmp_path: Path) -> None:
    corpus = build_corpus(["lone \ud800 surrogate", "good"], tmp_path / "corpus")
    assert corpus[0] == "lone ? surrogate"


def test_blocks_are_bounded_and_whole(tmp_path: Path) -> None:
    corpus = build_corpus([f"{i} " + "x" * (i % 50) for i in range(1000)], tmp_path / "corpus")
    pieces = list(corpus.blocks(64, 500))
    assert [start for start, _ in pieces] == [0, *[stop for _, stop in pieces[:-1]]]
    assert pieces[-1][1] == 1000
    for start, stop in pieces:
        assert stop - start <= 64
        assert stop - start == 1 or sum(len(text) for text in corpus.texts(start, stop)) <= 500
    assert list(corpus.blocks(10, 1)) == [(i, i + 1) for i in range(1000)]


@pytest.mark.shared
@pytest.mark.skipif("MIRRORMASK_DATA" not in os.environ, reason="needs MIRRORMASK_DATA")
def test_a_real_corpus(tmp_path: Path) -> None:
    corpus = build_corpus("wiki100k", tmp_path / "corpus", limit=5000)
    assert 4900 < len(corpus) <= 5000


def test_conditions_on_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"text": f"text number {n}", "label": n % 3, "source": "ab"[n % 2]} for n in range(12)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus = build_corpus(path, tmp_path / "corpus", columns=["text"], where=["label=1,2", "source=a"])
    assert [corpus[row] for row in range(len(corpus))] == [f"text number {n}" for n in (2, 4, 8, 10)]
    again = build_corpus(path, tmp_path / "corpus", columns=["text"], where=["label=1"])
    assert len(again) == 4, "other conditions, another corpus"
    with pytest.raises(DataError, match=r"has no row with label = 7\. Ask for values that it has\."):
        build_corpus(path, tmp_path / "b", columns=["text"], where=["label=7"])
    with pytest.raises(DataError, match=r"has no column 'labl'.* Did you mean 'label'"):
        build_corpus(path, tmp_path / "b", columns=["text"], where=["labl=1"])
    with pytest.raises(DataError, match=r"A condition is column=value, such as label=entailment\. Got 'label'\."):
        build_corpus(path, tmp_path / "b", columns=["text"], where=["label"])
    with pytest.raises(DataError, match="'where' takes a file or a dataset with columns"):
        build_corpus(["one text", "two texts"], tmp_path / "b", where=["label=1"])
