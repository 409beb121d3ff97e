from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import read_json, write_json
from mirrormask.evaluation.statistics.significance import ALPHA, holm
from mirrormask.reporting.tables import latex, markdown
from mirrormask.study.compare import AVERAGE, SeedComparison, compare_rows, fewest_seeds
from mirrormask.study.rows import Row, Scored, chosen_rows, find_rows
from mirrormask.study.seed_tables import comparison_table

Write = Callable[..., Path]
SEEDS = [11, 12, 13, 14, 15]


@pytest.fixture
def study(tmp_path: Path, write_row: Write) -> Path:
    write_row(tmp_path, "base", SEEDS, noise=2.0, pairs=200)
    write_row(tmp_path, "good", SEEDS, noise=1.0, pairs=200)
    write_row(tmp_path, "same", SEEDS, noise=2.01, pairs=200)
    return tmp_path


def compared(study: Path, **options: object) -> SeedComparison:
    return compare_rows(find_rows([study]), baseline="base", resamples=200, **options)  # type: ignore[arg-type]


def test_numbers_against_their_definitions(study: Path) -> None:
    found = compared(study)
    assert [row.name for row in found.rows] == ["base", "good", "same"]
    assert found.averaged == ("sts12", "sts13", "stsb"), "dev sets are not averaged"
    means = []
    p_values = []
    for place in (1, 2):
        runs = [{run.seeds: run for run in found.rows[at].runs} for at in (0, place)]
        differences = []
        for seed in SEEDS:
            one, two = (
                np.mean([each[seed, seed, seed].record["tasks"][t]["spearman_percent"] for t in found.averaged])
                for each in runs
            )
            differences.append(two - one)
        test = found.tests[AVERAGE][place - 1]
        assert test.mean == pytest.approx(np.mean(differences))
        assert test.deviation == pytest.approx(np.std(differences, ddof=1))
        exact = stats.permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert test.p == pytest.approx(exact.pvalue)
        means.append(test.mean)
        p_values.append(test.p)
    assert [test.corrected for test in found.tests[AVERAGE]] == pytest.approx(holm(p_values))
    assert means[0] > 5
    drawn = found.tests[AVERAGE][0].interval
    assert drawn is not None
    assert drawn.value == pytest.approx(means[0], abs=0.01)
    assert drawn.low < drawn.value < drawn.high
    assert found.tests["stsb"][0].interval is None, "one bootstrap, on the average"


def test_five_seeds_cannot_tell_and_it_is_said(study: Path) -> None:
    found = compared(study)
    assert found.tests[AVERAGE][0].direction == 0
    drawn = found.tests[AVERAGE][0].interval
    assert drawn is not None
    assert drawn.low > 0, "an interval decides nothing"
    assert found.verdict(1) == "no evidence with 5 seeds; about 7 would be needed"
    assert found.verdict(2).startswith("no evidence with 5 seeds; ")
    notes = " ".join(found.notes())
    assert "5 paired seeds cannot show p < 0.05 by sign flips, whatever they show: their smallest p is 0.0625" in notes
    assert "It takes 6 for one row, and 7 for the first of 2." in notes
    assert "1,109 of the 1,500 pairs of STS-B dev" in notes
    assert fewest_seeds(1) == 6
    assert fewest_seeds(2) == 7


def test_notes_name_the_bootstrap_only_where_there_was_one(study: Path) -> None:
    assert "bootstrap" in " ".join(compare_rows(find_rows([study]), resamples=20).notes())
    without = " ".join(compare_rows(find_rows([study]), resamples=0).notes())
    assert "bootstrap" not in without
    assert "1,109 of the 1,500 pairs of STS-B dev" in without


def test_enough_seeds_tell(tmp_path: Path, write_row: Write) -> None:
    seeds = list(range(10))
    write_row(tmp_path, "base", seeds, noise=2.0, pairs=200)
    write_row(tmp_path, "bad", seeds, noise=4.0, pairs=200)
    write_row(tmp_path, "good", seeds, noise=1.0, pairs=200)
    found = compare_rows(find_rows([tmp_path]), baseline="base", resamples=0)
    assert [test.direction for test in found.tests[AVERAGE]] == [-1, 1]
    assert found.verdict(1) == "worse, p = 0.0039"
    assert found.verdict(2) == "better, p = 0.0039"
    assert "cannot show" not in " ".join(found.notes())


def test_the_same_runs_do_not_differ(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path, "a", [1, 2], noise=1.0)
    write_row(tmp_path, "b", [1, 2], noise=1.0)
    found = compare_rows(find_rows([tmp_path]))
    assert found.verdict(1) == "no difference with 2 seeds"


def test_only_seeds_that_both_have_are_paired(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path, "a", [1, 2, 3], noise=1.0)
    write_row(tmp_path, "b", [2, 3, 4], noise=2.0)
    found = compare_rows(find_rows([tmp_path]), resamples=50)
    assert found.tests[AVERAGE][0].pairs == 2
    assert len(found.values(found.rows[1], AVERAGE)) == 3, "the mean is over all its seeds"
    assert "Not all seeds of a were run for b." in found.notes()
    write_row(tmp_path, "c", [9], noise=2.0)
    with pytest.raises(MirrormaskError, match="a and c have no seed in common, so their runs cannot be paired"):
        compare_rows(find_rows([tmp_path]), resamples=0)


def test_names_and_tasks_are_checked(study: Path, write_row: Write) -> None:
    with pytest.raises(MirrormaskError, match=r"There is no row 'bose'. Did you mean 'base'\? There are: base, good"):
        compare_rows(find_rows([study]), baseline="bose")
    with pytest.raises(MirrormaskError, match="Not all rows were measured on 'sts15'"):
        compared(study, tasks=["sts15"])
    only = compared(study, tasks=["stsb-dev"])
    assert only.averaged == ("stsb-dev",)
    write_row(study, "other", SEEDS, noise=1.0, tasks=("sts15",))
    with pytest.raises(MirrormaskError, match="not measured on any task in common"):
        compared(study)


def test_resamples_are_shared_between_comparisons(study: Path) -> None:
    drawn: dict = {}
    one = compared(study, drawn=drawn)
    kept = dict(drawn)
    assert len(kept) == 3
    two = compared(study, drawn=drawn)
    assert all(drawn[key] is value for key, value in kept.items())
    assert one.tests[AVERAGE][0].interval == two.tests[AVERAGE][0].interval


def test_a_table_in_every_form(study: Path) -> None:
    found = compared(study)
    table = comparison_table(found, names={"good": "N(μ, σ) & more"})
    assert table.columns == ("row", "seeds", "STS12", "STS13", "STS-B", "STS-B dev", "average", "difference", "verdict")
    values = found.values(found.rows[0], "stsb")
    assert table.rows[0][4] == f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"
    assert table.rows[0][-1] == "baseline"
    lines = markdown(table).splitlines()
    assert lines[1] == "|---|---:|---:|---:|---:|---:|---:|---:|---|"
    assert all(line.count("|") == 10 for line in lines[:5])
    tex = latex(table)
    assert "N(μ, σ) \\& more & $5$ & $" in tex
    assert tex.count("\\pm") == 15
    assert "%" not in tex.split("\\end{tabular}")[0].replace("\\%", "")


def test_json_holds_everything(study: Path) -> None:
    record = json.loads(json.dumps(compared(study).to_dict()))
    assert record["baseline"] == "base"
    assert record["rows"][0]["tests"] is None
    assert len(record["rows"][1]["scores"]["stsb"]["values"]) == 5
    assert record["rows"][1]["tests"]["average"]["least"] == 0.0625
    assert record["rows"][1]["verdict"]


def null_rows(rows: int, seeds: int, chance: np.random.Generator) -> list[Row]:
    """Return a baseline and rows that are no better or worse: each seed has its luck, and each run some of its own."""
    shared = chance.normal(60, 0.3, size=seeds)
    return [
        Row(
            f"row {number}",
            tuple(
                Scored(
                    None,
                    {
                        "seeds": dict.fromkeys(("data", "dropout", "initialization"), seed),
                        "tasks": {"stsb": {"spearman_percent": luck + chance.normal(0, 0.3)}},
                    },
                )
                for seed, luck in enumerate(shared)
            ),
        )
        for number in range(rows + 1)
    ]


@pytest.mark.parametrize(("rows", "seeds"), [(1, 6), (7, 10), (7, 5)])
def test_rows_without_a_difference_are_seldom_told_apart(rows: int, seeds: int) -> None:
    """A verdict is wrong in no more than 5 % of comparisons, however many rows one has, and never with five seeds."""
    chance = np.random.default_rng(rows + 100 * seeds)
    studies = 400
    wrong = 0
    for _ in range(studies):
        found = compare_rows(null_rows(rows, seeds, chance))
        wrong += any(test.direction != 0 for test in found.tests[AVERAGE])
    assert wrong <= ALPHA * studies
    assert (wrong > 0) == (seeds > 5), "a rule that never says anything would pass too"


def test_an_interval_over_five_seeds_would_say_too_much() -> None:
    """Why intervals decide nothing: those of equal methods leave 0 out far more often than one in twenty."""
    chance = np.random.default_rng(0)
    differences = chance.normal(size=(2000, 5))
    drawn = np.take_along_axis(differences[:, None], chance.integers(0, 5, size=(2000, 500, 5)), axis=2).mean(axis=2)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    assert 0.09 < np.mean((low > 0) | (high < 0)) < 0.2


def test_runs_that_kept_their_start_are_named(tmp_path: Path, write_row: Write) -> None:
    write_row(tmp_path, "base", SEEDS, noise=2.0)
    for seed in SEEDS:
        write_row(tmp_path, "stuck", [seed], noise=2.5)
        file = tmp_path / "stuck" / f"seed-{seed}" / "scores.json"
        start = read_json(tmp_path / "stuck" / "seed-11" / "scores.json")["tasks"]
        write_json(file, {**read_json(file), "best_step": 0, "tasks": start})
    file = tmp_path / "base" / "seed-11" / "scores.json"
    write_json(file, {**read_json(file), "best_step": 0})
    found = compare_rows(find_rows([tmp_path]), resamples=0)
    assert found.verdict(1).startswith("training did not help: this is your start; no evidence with 5 seeds")
    assert (
        "kept step 0, because no later checkpoint was better: base (1 of 5), stuck (5 of 5)."
        in comparison_table(found).note
    )
    base, stuck = comparison_table(found).rows
    assert "±" in base[2], "one seed of five kept its start, and the others differ"
    assert "±" not in "".join(stuck[:-2]), "one model measured five times has no deviation"
    assert found.to_dict()["rows"][1]["kept_start"] == 5


def test_rows_are_chosen_and_ordered(study: Path) -> None:
    rows = find_rows([study])
    assert [row.name for row in chosen_rows(rows, ["same", "base"])] == ["same", "base"]
    assert chosen_rows(rows, []) == rows
    assert compare_rows(chosen_rows(rows, ["same", "good"]), resamples=0).rows[0].name == "same"
    with pytest.raises(MirrormaskError, match="There is no row 'god'. Did you mean 'good'"):
        chosen_rows(rows, ["god"])


def test_one_task_has_no_average_beside_it(study: Path) -> None:
    alone = comparison_table(compared(study, tasks=["sts12"]))
    assert alone.columns[:4] == ("row", "seeds", "STS12", "difference")
    assert "average" in comparison_table(compared(study)).columns
    assert all(len(row) == len(alone.columns) for row in alone.rows)
