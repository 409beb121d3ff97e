from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attack.conftest import bag_vectors, score

from mirrormask.attack import attack_texts as whole
from mirrormask.attack.attack_report import AttackReport, check_format, transfer_of
from mirrormask.attack.attack_texts import AttackPlan, Opened, attack_texts, check_english
from mirrormask.attack.hardening import harden
from mirrormask.attack.labeled_texts import LabeledTexts
from mirrormask.attack.outcome import TURNED, Outcome, recheck
from mirrormask.attack.rating_sheet import key_of, score_sheet, table_of, write_sheet
from mirrormask.attack.victims import Victim
from mirrormask.core.errors import DataError, MirrormaskError

TEXTS = LabeledTexts(
    "mine",
    [
        "a lovely film about the river",
        "a clever story of the old baker",
        "a dull song",
        "the gray cat finds some bread",
    ],
    ["good", "good", "bad", "bad"],
)


@pytest.fixture
def plan(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> AttackPlan:
    monkeypatch.setattr(whole, "open_encoder", lambda name: bag_vectors)
    return AttackPlan(("R", "R+I"), model=tiny_folder, vectors=tiny_folder, threshold=0.3, counted="words")


@pytest.fixture
def report(plan: AttackPlan, victim: Victim) -> AttackReport:
    return attack_texts(victim, TEXTS, plan, transfer=[victim])


def test_a_report_says_what_was_done(report: AttackReport, tmp_path: Path, victim: Victim) -> None:
    assert list(report.outcomes) == ["R", "R+I"]
    assert report.summaries["R"].accuracy == 100.0
    found = report.outcomes["R+I"]
    assert any(each.result == TURNED for each in found)
    assert all(each.perplexity for each in found if each.result == TURNED)
    assert {each.turned for each in report.transfers} <= {100.0, 0.0}, "the same classifier is turned by all of them"
    assert max(each.turned for each in report.transfers) == 100.0
    titles = [table.title for table in report.tables()]
    assert titles[0] == "The classifier under attack" and "Do the texts turn other classifiers?" in titles
    assert "accuracy falls from 100.0 to" in report.verdict()[0]
    report.save(tmp_path / "r.json")
    saved = json.loads((tmp_path / "r.json").read_text())
    again = [Outcome.from_dict(row) for row in saved["outcomes"]["R+I"]]
    assert again == found and recheck(again, victim) == []
    report.save(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "<ins" in page and "word counter under attack" in page
    with pytest.raises(MirrormaskError, match="written as .html or .json"):
        check_format(tmp_path / "r.pdf")


def test_damaged_outcomes_are_refused(report: AttackReport) -> None:
    row = next(each for each in report.outcomes["R+I"] if each.edits).to_dict()
    changes: tuple[dict[str, Any], ...] = (
        {"edits": [{"kind": "replace", "place": 99, "word": "x"}]},
        {"edits": [{}]},
        {"unknown": 1},
    )
    for change in changes:
        with pytest.raises(DataError, match="Give a file that --out wrote"):
            Outcome.from_dict({**row, **change})


def test_labels_and_words_are_checked_first(plan: AttackPlan, victim: Victim) -> None:
    with pytest.raises(MirrormaskError, match="The label 'fine' is none of word counter"):
        attack_texts(victim, LabeledTexts("mine", ["a film"], ["fine"]), plan)
    with pytest.raises(DataError, match="mine, text 1, has no words: '!!!'"):
        attack_texts(victim, LabeledTexts("mine", ["!!!"], ["good"]), plan)


def test_textfooler_only_replaces(plan: AttackPlan, victim: Victim) -> None:
    from dataclasses import replace

    report = attack_texts(victim, TEXTS, replace(plan, attacks=("TextFooler",), perplexity=False))
    kinds = {edit.kind for each in report.outcomes["TextFooler"] for edit in each.edits}
    assert kinds <= {"replace"}
    assert report.summaries["TextFooler"].queries > 1


def test_a_plan_is_checked() -> None:
    for wrong, said in (
        ({"attacks": ("R-I",)}, "The 'attack' of a plan must be one of"),
        ({"attacks": ()}, "No attack is named"),
        ({"reading": "mine"}, "The 'reading' of similarity must be one of"),
        ({"threshold": -2.0}, "The 'threshold' of similarity must be above"),
    ):
        with pytest.raises(MirrormaskError, match=said):
            AttackPlan(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "老面包师在河边画了一条木船。",
        "Der alte Bäcker malt am Fluss ein hölzernes Boot, und seine Nachbarin trägt zwei rote Äpfel nach Hause. "
        "Niemand sieht die Katze, die unter dem Tisch schläft, weil alle zum Fenster schauen, wo ein Vogel singt.",
        "Le vieux boulanger peint un bateau en bois près de la rivière et sa voisine porte deux pommes rouges vers sa "
        "maison. Personne ne voit le chat qui dort sous la table, car tous regardent la fenêtre où chante un oiseau.",
    ],
)
def test_other_languages_need_another_way(text: str) -> None:
    with pytest.raises(DataError, match="The texts do not look English.*--no-tags"):
        check_english([text])


def test_english_looks_english(sentences: list[str]) -> None:
    check_english(sentences)
    check_english(TEXTS.texts)
    check_english(["Baker sells bread"])


def test_transfer_counts_what_the_other_had_right() -> None:
    outcome = Outcome("a lovely film", 1, TURNED, 0.7, 0.4, 5, found="a dull film", predicted=0)
    never = Victim(lambda texts: np.tile([0.9, 0.1], (len(texts), 1)), name="never")
    same = Victim(score, name="same")
    assert [(each.texts, each.turned) for each in transfer_of({"R": [outcome]}, [never, same])] == [
        (0, 0.0),
        (1, 100.0),
    ]


def test_a_sheet_is_blind_and_scored_when_filled(report: AttackReport, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    count = write_sheet(path, report.outcomes, report.labels, seed=3)
    text = path.read_text()
    assert "R+I" not in text and "original" not in text
    key = json.loads(key_of(path).read_text())["rows"]
    assert len(key) == count and {row["from"] for row in key} >= {"original", "R+I"}
    with pytest.raises(DataError, match="has no ratings yet"):
        score_sheet(path)
    lines = text.splitlines()
    filled = [
        f"{line[:-1]}good,{4 if row['from'] == 'original' else 3}" for line, row in zip(lines[1:], key, strict=True)
    ]
    path.write_text("\n".join([lines[0], *filled]) + "\n")
    rated = score_sheet(path)
    assert rated[0].name == "original" and rated[0].naturalness == 4.0
    assert rated[0].accuracy == pytest.approx(
        100 * np.mean([r["label"] == "good" for r in key if r["from"] == "original"])
    )
    assert table_of(rated).rows[0][0] == "original"
    path.write_text("\n".join([lines[0], filled[0].replace("good,", "fine,"), *filled[1:]]) + "\n")
    with pytest.raises(DataError, match="row 1: the label is one of bad, good and naturalness 1 to 5"):
        score_sheet(path)
    key_of(path).unlink()
    with pytest.raises(DataError, match="nobody knows which text is whose"):
        score_sheet(path)


def test_found_texts_are_learned_and_measured_on_others(
    plan: AttackPlan, reviews: LabeledTexts, tiny_folder: Path, tmp_path: Path, victim: Victim
) -> None:
    opened = Opened(plan, TEXTS.texts)
    before = opened.attack(victim, "R+I")(TEXTS.texts, [victim.label_of(each) for each in TEXTS.labels])
    trained, told, after = harden(
        victim,
        reviews + TEXTS,
        TEXTS,
        before,
        opened,
        "R+I",
        tmp_path / "hard",
        kind="word-cnn",
        model=tiny_folder,
        share=0.5,
    )
    assert told["texts"] == len(reviews) - 1, "what is measured on is not learned"
    assert told["added"] > 0 and trained.texts > 54
    assert told["before"]["accuracy"] == 100.0 and len(after) == len(TEXTS)
    with pytest.raises(DataError, match="All texts of mine are measured on"):
        harden(victim, TEXTS, TEXTS, before, opened, "R", tmp_path / "x", kind="word-cnn", model=tiny_folder)


def test_any_encoder_has_a_threshold_of_its_own(
    plan: AttackPlan, tiny_folder: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    opened: Any = Opened(replace(plan, threshold=None, similarity="mine"), sentences)
    assert 0.3 < opened.meaning.reading.threshold < 1.0
    assert opened.meaning.reading.name == "calibrated"
    named = Opened(replace(plan, threshold=None, reading="openattack"), sentences)
    assert named.meaning.reading.threshold == 0.936
