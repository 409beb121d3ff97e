from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.evaluation.selection import check_dev, choose_selection, judge_by_labels


def test_without_labels_and_without_text_the_last_is_kept_and_said() -> None:
    chosen = choose_selection(SimpleNamespace(encoder=None), "", None)
    assert chosen.score is None
    assert "last checkpoint is kept" in chosen.explanation


def test_without_labels_it_says_so() -> None:
    chosen = choose_selection(SimpleNamespace(encoder=None), "", SimpleNamespace())  # type: ignore[arg-type]
    assert chosen.score is not None
    assert "without labels" in chosen.explanation


def test_a_file_of_pairs_scores_the_encoder(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    file = tmp_path / "dev.csv"
    rows = [f"{a},{b},{i % 5}" for i, (a, b) in enumerate(zip(sentences[:30], sentences[30:60], strict=True))]
    file.write_text("sentence1,sentence2,score\n" + "\n".join(rows))
    chosen = choose_selection(SimpleNamespace(encoder=tiny()), str(file), None)
    assert str(file) in chosen.explanation
    assert chosen.score is not None
    first, second = chosen.score(), chosen.score()
    assert -100 <= first.value <= 100
    assert first == second


def test_a_dev_set_that_is_not_there_is_said_before_anything_begins(tmp_path: Path) -> None:
    check_dev("")
    check_dev("stsb-dev")
    (tmp_path / "dev.csv").touch()
    check_dev(str(tmp_path / "dev.csv"))
    for name in ("dev.csv", "folder/dev"):
        with pytest.raises(DataError, match=f"There is no dev file {name}"):
            check_dev(name)
    with pytest.raises(MirrormaskError, match="Did you mean 'stsb-dev'"):
        check_dev("stsb-de")


def test_queries_with_documents_score_the_encoder(
    tiny: Callable[..., Any], sentences: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "dev.jsonl"
    rows = [{"question": text, "answer": f"{text} {text}"} for text in sentences[:20]]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    judge = judge_by_labels(tiny(), str(file))
    assert judge.name == f"nDCG@10 on {file}"
    easy = judge.scores()
    assert easy.shape == (20,)
    assert 50 < easy.mean() <= 100, "each document is its query twice"
    harder = judge_by_labels(tiny(), str(file), sentences[:20]).scores()
    assert harder.mean() < easy.mean(), "the queries themselves are nearer"
    chosen = choose_selection(SimpleNamespace(encoder=tiny()), str(file), None)
    assert chosen.score is not None
    assert chosen.score().value == pytest.approx(easy.mean())


def test_a_folder_with_judged_queries_scores_the_encoder(
    tiny: Callable[..., Any], sentences: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "judged"
    folder.mkdir()
    documents = [{"id": f"d{i}", "text": f"{text} {text}"} for i, text in enumerate(sentences[:15])]
    queries = [{"id": f"q{i}", "text": text} for i, text in enumerate(sentences[:12])]
    for name, rows in (("docs", documents), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "qrels.tsv").write_text("".join(f"q{i}\td{i}\t2\nq{i}\td14\t0\n" for i in range(12)))
    check_dev(str(folder))
    judge = judge_by_labels(tiny(), str(folder))
    assert judge.scores().shape == (12,)
    assert 50 < judge.scores().mean() <= 100


def test_scored_pairs_are_taken_before_queries(tiny: Callable[..., Any], sentences: list[str], tmp_path: Path) -> None:
    file = tmp_path / "dev.csv"
    rows = [f"{a},{b},{i % 5},x,y" for i, (a, b) in enumerate(zip(sentences[:30], sentences[30:60], strict=True))]
    file.write_text("sentence1,sentence2,score,query,document\n" + "\n".join(rows))
    assert judge_by_labels(tiny(), str(file)).name == f"spearman on {file}"
