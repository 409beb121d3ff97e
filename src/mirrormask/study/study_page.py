"""The page of a study: all on it is computed from runs or their record, but for what is marked as its author's."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Container, Sequence
from pathlib import Path

from mirrormask.core.storage import atomic_file, write_json
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.reporting.drawing import write_png
from mirrormask.reporting.tables import Table, markdown, minus
from mirrormask.study.compare import AVERAGE, compare_rows
from mirrormask.study.gathering import Direction, Found, direction
from mirrormask.study.rows import Row
from mirrormask.study.seed_figures import (
    alignment_uniformity,
    cosines_of,
    negatives_against_score,
    seed_strips,
    training_cosines,
)
from mirrormask.study.seed_tables import comparison_table
from mirrormask.study.study_file import StudyTable
from mirrormask.study.study_record import study_record

MISSING = "–"


def write_study(found: Found, out: Path, *, command: str) -> list[Path]:
    """Write the page, its figures and its record, and return where they are.

    Args:
        found: the study with its runs.
        out: the folder of the page; figures go into a folder of its name beside it.
        command: that makes the page, for the reader.
    """
    study = found.study
    pictures = out / study.name
    written: list[Path] = []
    parts = [
        f"# {study.title}",
        f"<!-- Written by: {command} -->",
        _authors(study.text),
        _summary(found),
        _setting(found),
    ]
    for table in study.tables:
        parts.append(_section(found, table, pictures, written))
    parts += [_geometry(found, pictures, written), _cosines(found, pictures, written), _directions(found)]
    page = out / f"{study.name}.md"
    with atomic_file(page) as stream:
        stream.write("\n\n".join(part for part in parts if part) + "\n")
    numbers = out / f"{study.name}.json"
    if numbers.resolve() in found.records:  # what the page was written from stays as it is
        return [page, *written]
    logged = study.cosines.rows if study.cosines is not None else ()
    write_json(numbers, study_record(found.rows, found.comparisons, logged=logged, kept=found.kept))
    return [page, numbers, *written]


def _authors(text: str) -> str:
    """Return what the description says in words, marked as its author's: nothing here was computed."""
    lines = text.strip().splitlines()
    return "\n".join(["> **In the author's words.**", ">", *(f"> {line}".rstrip() for line in lines)]) if lines else ""


def _summary(found: Found) -> str:
    study = found.study
    seeds = sorted({len(row.runs) for row in found.rows.values()})
    counted = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    each = "seed" if seeds == [1] else "seeds"
    lines = [f"{len(found.rows)} of {len(study.rows)} rows are here, with {counted} {each} each."]
    if found.missing:
        lines.append(f"**Missing, because no runs were found:** {'; '.join(map(study.called, found.missing))}.")
    clear: dict[int, list[str]] = {1: [], -1: [], 0: []}
    for comparison in found.comparisons.values():
        for row, test in zip(comparison.rows[1:], comparison.tests.get(AVERAGE, ()), strict=False):
            clear[test.direction].append(study.called(row.name))
    for sign, word in ((1, "better"), (-1, "worse")):
        named = "; ".join(dict.fromkeys(clear[sign])) or "none"
        lines.append(f"Shown by the seeds to be {word} than {study.called(study.baseline)}: {named}.")
    told = set(clear[1]) | set(clear[-1])
    lines.append(f"Not to be told from it with so many seeds: {len(set(clear[0]) - told)} rows.")
    kept = [study.called(row.name) for row in found.rows.values() if row.kept_start == len(row.runs)]
    if kept:
        lines.append(f"Training did not help, every seed kept its start: {'; '.join(kept)}.")
    answers = [each.answer for each in _all_directions(found).values()]
    if answers:
        agree, against, open_ = (answers.count(word) for word in ("agrees", "contradicts", "cannot be told"))
        lines.append(
            f"Of {len(answers)} rows with published numbers {agree} agree with {study.source}, {against} contradict "
            f"it, and for {open_} it cannot be told."
        )
    return "## In short\n\n" + "\n".join(f"- {line}" for line in lines)


def _setting(found: Found) -> str:
    """Return how the baseline was run, read back from its record."""
    row = found.rows[found.study.baseline]
    record, settings = row.record, row.record.get("settings", {})
    recipe, versions = record.get("recipe", {}), record.get("versions", {})
    model, data = recipe.get("model", {}), recipe.get("data", {})
    pooling = (record.get("parts") or {}).get("pooling", model.get("pooling", MISSING))
    facts = [
        f"model `{model.get('name', MISSING)}`, pooling `{pooling}`",
        f"corpus `{', '.join(data.get('corpus', [MISSING]))}` (fingerprint `{record.get('data', MISSING)}`)",
        ", ".join(
            f"{key} {settings[key]}"
            for key in ("batch_size", "steps", "learning_rate", "max_length")
            if key in settings
        ),
        f"device {record.get('device', MISSING)}, precision {record.get('precision', MISSING)}",
        f"torch {versions.get('torch', MISSING)}, transformers {versions.get('transformers', MISSING)}",
        f"seeds {', '.join(str(run.seeds[0]) for run in row.runs)}",
    ]
    seconds, scoring = (
        [run.record[key] for run in row.runs if key in run.record] for key in ("training_seconds", "scoring_seconds")
    )
    if seconds and scoring:
        took = f"a run of the baseline took {statistics.median(seconds):.0f} s of training"
        facts.append(f"{took} and {statistics.median(scoring):.1f} s of scoring")
    widest = max(found.comparisons.values(), key=lambda each: len(each.rows), default=None)
    read = [] if widest is None else widest.notes()
    if len(found.comparisons) > 1:
        read.append("Each table is corrected for its own number of rows.")
    recipes = found.study.recipes
    how = f"Every row is a recipe in `{recipes}/`; all parameters are in the run folders.\n\n" if recipes else ""
    return (
        f"## How it was run\n\n{how}"
        + "\n".join(f"- {fact}" for fact in facts if fact)
        + ("\n\n## How to read the tables\n\n" + " ".join(read) if read else "")
    )


def _section(found: Found, table: StudyTable, pictures: Path, written: list[Path]) -> str:
    study = found.study
    lines = [_heading(table), _authors(table.text)]
    comparison = found.comparisons.get(table.label)
    if comparison is not None:
        shown = comparison_table(comparison, names=study.names)
        lines.append(markdown(dataclasses.replace(shown, note="")).strip())
        path = pictures / f"{_slug(table.label)}.png"
        figure = seed_strips(comparison, names=study.names, title=f"{table.label}: every seed")
        written.append(write_png(figure, path))
        lines.append(_image(path, f"{table.label}: the average of every seed of every row"))
        lines += _number_of_negatives(found, table, pictures, written)
    lines.append(_missing(found, table, found.rows))
    return "\n\n".join(line for line in lines if line)


def _heading(part: StudyTable) -> str:
    return f"## {part.label}: {part.title}" if part.title else f"## {part.label}"


def _missing(found: Found, part: StudyTable, there: Container[str]) -> str:
    """Return which rows are not there, or what an earlier page said of them where its record does not hold them."""
    named = "; ".join(found.study.called(name) for name in part.rows if name not in there)
    if named and part.label in found.kept:
        return f"*As an earlier page had it; its numbers are not in the record.*\n\n{found.kept[part.label]}"
    return f"**Missing:** {named}." if named else ""


def _number_of_negatives(found: Found, table: StudyTable, pictures: Path, written: list[Path]) -> list[str]:
    part = found.study.negatives
    if part is None or part.label != table.label:
        return []
    rows = [found.rows[name] for name in part.rows if name in found.rows]
    if len(rows) < 2:
        return []
    shown = compare_rows(rows, resamples=0)
    batch = int(rows[0].record.get("settings", {}).get("batch_size", 1))
    series = [
        (((row.record.get("parts") or {}).get("negatives") or {}).get("multiple", 0.0), shown.values(row, AVERAGE))
        for row in rows
    ]
    figure = negatives_against_score(series, batch=batch, what="average Spearman × 100")
    path = write_png(figure, pictures / "negatives.png")
    written.append(path)
    return [_image(path, "the number of generated negatives against the average")]


def _geometry(found: Found, pictures: Path, written: list[Path]) -> str:
    part = found.study.geometry
    if part is None:
        return ""
    there = {name: found.rows[name] for name in part.rows if name in found.rows and found.rows[name].is_shaped}
    lines = [_heading(part), _authors(part.text)]
    if there:
        rows = list(there.values())
        task = part.task or rows[0].tasks[0]
        title = STS_TASKS[task].title
        lines.append(markdown(_geometry_table(found, rows, task, title)).strip())
        scores = [row.scores([task])[:, 0] for row in rows]
        figure = alignment_uniformity(rows, scores, names=found.study.names, what=f"{title}, Spearman × 100")
        written.append(write_png(figure, pictures / "alignment-uniformity.png"))
        lines.append(_image(written[-1], "alignment and uniformity of every seed"))
    lines.append(_missing(found, part, there))
    return "\n\n".join(line for line in lines if line)


def _geometry_table(found: Found, rows: Sequence[Row], task: str, title: str) -> Table:
    body = []
    for row in rows:
        name = found.study.called(row.name)
        shapes = [(run.record["geometry"]["alignment"], run.record["geometry"]["uniformity"]) for run in row.runs]
        columns = [[a for a, _ in shapes], [u for _, u in shapes], row.scores([task])[:, 0].tolist()]
        for place, run in enumerate(row.runs):
            a, u, score = (column[place] for column in columns)
            body.append((name, str(run.seeds[0]), f"{a:.3f}", minus(f"{u:.2f}"), f"{score:.2f}"))
        means = [statistics.fmean(column) for column in columns]
        spreads = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
        for word, (a, u, score) in (("mean", means), ("deviation", spreads)):
            body.append((name, word, f"{a:.3f}", minus(f"{u:.2f}"), f"{score:.2f}"))
    note = f"On the pairs of {rows[0].record['geometry']['on']}; lower is better for both."
    return Table("", ("row", "seed", "alignment", "uniformity", title), tuple(body), note=note)


def _cosines(found: Found, pictures: Path, written: list[Path]) -> str:
    part = found.study.cosines
    if part is None:
        return ""
    rows = [found.rows[name] for name in part.rows if name in found.rows]
    logged = {row.name: (row, measured) for row in rows if (measured := cosines_of(row)) is not None}
    lines = [_heading(part), _authors(part.text)]
    if logged:
        drawn = training_cosines([row for row, _ in logged.values()], names=found.study.names)
        written.append(write_png(drawn, pictures / "cosines.png"))
        for name, (_, (steps, positive, negative)) in logged.items():
            low = next((int(s) for s, v in zip(steps, negative.mean(axis=0), strict=True) if v < 0.1), None)
            reached = "never falls below 0.1" if low is None else f"falls below 0.1 at step {low}"
            first, last = ([float(side[:, at].mean()) for side in (positive, negative)] for at in (0, -1))
            lines.append(
                f"{found.study.called(name)}: the mean cosine of positives goes from {first[0]:.2f} to {last[0]:.2f}, "
                f"that of negatives from {first[1]:.2f} to {last[1]:.2f} and {reached}."
            )
        lines.append(_image(written[-1], "mean cosine of positives and negatives during training"))
    lines.append(_missing(found, part, logged))
    return "\n\n".join(line for line in lines if line)


def _all_directions(found: Found) -> dict[str, Direction]:
    """Return how every row goes beside its published numbers, once, in the first table it stands in."""
    every: dict[str, Direction] = {}
    for comparison in found.comparisons.values():
        for place, row in enumerate(comparison.rows[1:], 1):
            each = direction(found, comparison, place)
            if each is not None:
                every.setdefault(row.name, each)
    return every


def _directions(found: Found) -> str:
    every = _all_directions(found)
    if not every:
        return ""
    base = found.published.get(found.study.baseline, {})
    rows = tuple(
        (
            found.study.called(name),
            f"{found.published[name].get('average', float('nan')):.2f}",
            minus(f"{each.theirs:+.2f}"),
            minus(f"{each.ours:+.2f}"),
            each.words(found.study.source),
        )
        for name, each in every.items()
    )
    over = next(iter(found.comparisons.values()))
    note = (
        f"Differences are to the baseline of each side, over {over.average_title}. A difference is clear in "
        f"{found.study.source} where it is larger than the deviation of its baseline over seeds "
        f"({base.get('average_std', 0.0):.2f}), and here where the seeds show it after correction. Whether the two "
        "agree can be told only where it is clear in both."
    )
    table = Table("", ("row", "their average", "theirs", "ours", "together"), rows, note=note, texts=(4,))
    return f"## Where this agrees with {found.study.source}, and where not\n\n{markdown(table).strip()}"


def _image(path: Path, alt: str) -> str:
    return f"![{alt}]({path.parent.name}/{path.name})"


def _slug(label: str) -> str:
    return "-".join(label.lower().split())
