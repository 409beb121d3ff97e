"""The page of the probing results, written from measured runs alone: tables in the shape of the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from probing_trees import last_layer

from mirrormask.models.encoder import facts_of
from mirrormask.models.names import SHIPPED
from mirrormask.probing.constituency import SUBSETS as SENTENCES
from mirrormask.probing.dependency import SUBSETS as ARCS
from mirrormask.probing.discourse import DISTANCES
from mirrormask.probing.span_scores import LABELS

Run = Mapping[str, Any]

FIGURE = "probing-layers.svg"

_HEAD = """\
# Probing: results

What `{model}`{edition} knows about structure, read out by masking alone. Every number on this page was measured by
`python benchmarks/probing_results.py` and written by it; none was filled in by hand.
"""


def page(runs: Mapping[str, Run], *, model: str, figure: str | None = FIGURE) -> str:
    """Return the page for the runs there are; a table whose runs are missing is left out.

    Args:
        runs: name of the run → what it returned, as `probing_results.run_all` keeps them.
        model: the name of the model that was probed.
        figure: where the figure by layer lies, seen from the page.
    """
    edition = facts_of(SHIPPED / model).get("edition")
    parts = [_HEAD.format(model=model, edition=f", edition {edition}," if edition else "")]
    for section in (_dependency, _constituency, _discourse, _segmentation, _aspect):
        text = section(runs)
        if text:
            parts.append(text)
    if figure is not None and any("layers" in run for run in runs.values()):
        why = "The embeddings are left out: a mask moves nothing there but its own place."
        parts.append(f"## By layer\n\n![Scores by layer]({figure})\n\n{why}")
    parts.append(_footer(runs))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table, first column left, others right."""
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join(["---", *["---:"] * (len(head) - 1)]) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _dependency(runs: Mapping[str, Run]) -> str:
    pud, wsj, dev = runs.get("dependency-pud"), runs.get("dependency-wsj10"), runs.get("dependency-dev")
    if pud is None or dev is None:
        return ""
    chosen = dev["chosen"]
    whole, short = ARCS[0], ARCS[0]  # WSJ10 comes without punctuation, so all its arcs count
    name, layer = chosen["parser"], chosen["layer"]
    shown: list[tuple[str, Any]] = [
        ("right-chain", lambda run: run["baselines"]["right-chain"]),
        ("left-chain", lambda run: run["baselines"]["left-chain"]),
        ("all words on the root", lambda run: run["baselines"]["all on the root"]),
        ("all arcs between neighbors", lambda run: run["baselines"]["both chains"]),
        ("random projective tree", lambda run: run["baselines"]["random"]),
        ("random weights, Eisner + Dist", lambda run: run["random weights"]),
        ("Eisner + Dist, last layer", lambda run: last_layer(run["layers"]["eisner"])),
        (f"**Eisner + Dist, layer {layer}** ({name}; chosen on dev)", lambda run: run["layers"][name][str(layer)]),
        ("Eisner + Dist, last layer, as the published code", lambda run: last_layer(run["layers"]["eisner, faithful"])),
        (
            f"Eisner + Dist, layer {layer}, as the published code",
            lambda run: run["layers"]["eisner, faithful"][str(layer)],
        ),
        ("Eisner + Prob", lambda run: run["probability"]["eisner"]),
        ("CLE + Dist, last layer", lambda run: last_layer(run["layers"]["cle"])),
        ("CLE + Dist, last layer, as the published code", lambda run: last_layer(run["layers"]["cle, faithful"])),
    ]

    def cell(run: Run | None, pick: Any, subset: str, score: str) -> str:
        try:
            return "–" if run is None else _number(pick(run)[subset][score])
        except KeyError:
            return "–"

    first = [
        [label, cell(wsj, pick, short, "uas_percent"), cell(pud, pick, whole, "uas_percent")] for label, pick in shown
    ]
    scores = ("uas_percent", "uuas_percent", "ned_percent")
    second = [
        [label, *(cell(pud, pick, ARCS[0], s) for s in scores), *(cell(pud, pick, ARCS[1], s) for s in scores)]
        for label, pick in shown
    ]
    induced, chain = pud["layers"][name][str(layer)][ARCS[0]], pud["baselines"]["right-chain"][ARCS[0]]
    gap = induced["uuas_percent"] - chain["uuas_percent"]
    return "\n\n".join(
        [
            "## Table 1: dependency, UAS",
            f"The gold root is given to every row. Layer and normalization were chosen on {dev['items']:,} sentences "
            f"of EWT dev by UUAS, PUD and WSJ being left alone: layer {layer}, {name}. WSJ10 is the sentences of the "
            "WSJ sample of at most ten words, punctuation taken out before the model reads them. The published code "
            "divides each column by the wrong sum, which also draws words towards the gold root; the rows *as the "
            "published code* do the same.",
            table(["trees", "WSJ10", "PUD"], first),
            "## Table 2: dependency on PUD, three scores",
            f"All arcs, punctuation and that of the root included, then without punctuation. On UUAS the chosen "
            f"setting is {abs(gap):.1f} points {'above' if gap >= 0 else 'below'} the right chain.",
            table(["trees", "UAS", "UUAS", "NED", "UAS, no punct.", "UUAS", "NED"], second),
        ]
    )


def _constituency(runs: Mapping[str, Run]) -> str:
    run, dev = runs.get("constituency-wsj"), runs.get("constituency-dev")
    if run is None or dev is None:
        return ""
    chosen = dev["chosen"]
    shown = {
        "right-branching": run["baselines"]["right-branching"],
        "left-branching": run["baselines"]["left-branching"],
        "random": run["baselines"]["random"],
    }
    if "random weights" in run:
        shown["random weights, MART"] = run["random weights"]
    for name in run["layers"]:
        shown[f"{name}, last layer"] = last_layer(run["layers"][name])
    shown[f"**{chosen['parser']}, layer {chosen['layer']}** (chosen on dev)"] = run["layers"][chosen["parser"]][
        str(chosen["layer"])
    ]
    rows = []
    for label, scores in shown.items():
        short, whole = scores.get(SENTENCES[1]), scores[SENTENCES[0]]
        rows.append(
            [
                label,
                _number(short["sentence_f1_percent"] if short else None),
                _number(whole["sentence_f1_percent"]),
                _number(whole["corpus_f1_percent"]),
                *(_number(whole[f"recall_{tag}_percent"]) for tag in LABELS),
            ]
        )
    return "\n\n".join(
        [
            "## Table 3: constituency, unlabelled F1",
            f"{run['items']:,} sentences of the WSJ sample without punctuation; the first {dev['items']:,} chose form "
            "and layer and are not among them. Spans of one word and of the whole sentence do not count, a sentence "
            "without others scores 1; recall by label includes the whole sentence. *mart-paper* always sets word k "
            "apart and so leans to the right; *mart-released* is what the published code does.",
            table(["trees", "F1, ≤ 10 words", "F1, all", "corpus F1", *LABELS], rows),
        ]
    )


def _discourse(runs: Mapping[str, Run]) -> str:
    run, dev = runs.get("discourse-test"), runs.get("discourse-dev")
    if run is None or dev is None:
        return ""
    chosen = dev["chosen"]
    shown = {name: run["baselines"][name] for name in ("right-chain", "left-chain", "random")}
    if "random weights" in run:
        shown["random weights, Eisner"] = run["random weights"]
    for name in run["layers"]:
        shown[f"{name}, last layer"] = last_layer(run["layers"][name])
    shown[f"**{chosen['parser']}, layer {chosen['layer']}** (chosen on dev)"] = run["layers"][chosen["parser"]][
        str(chosen["layer"])
    ]
    rows = [
        [
            label,
            _number(scores["uas_percent"]),
            _number(scores["uas_without_root_percent"]),
            *(_number(scores["accuracy_by_distance_percent"][str(d)]) for d in DISTANCES),
        ]
        for label, scores in shown.items()
    ]
    return "\n\n".join(
        [
            "## Table 4: discourse",
            f"{run['items']:,} abstracts of SciDTB's test part, units masked as spans; {dev['items']:,} of its dev "
            "part chose decoder and layer. The gold root is given. Distance is the number of units between head and "
            "dependent. The published code loses the last unit of every document; so does its row.",
            table(["trees", "UAS", "UAS, no root", *(f"at {d}" for d in DISTANCES)], rows),
        ]
    )


def _segmentation(runs: Mapping[str, Run]) -> str:
    run = runs.get("segmentation-pku")
    if run is None:
        return ""
    chosen = run["chosen"]
    shown = dict(run["baselines"])
    for name, layers in run["layers"].items():
        shown[f"induced, layer {chosen}, {name}"] = layers[str(chosen)]
    rows = [
        [
            label,
            *(_number(scores[f"{s}_percent"]) for s in ("precision", "recall", "f1")),
            f"{scores['mean_length']:.2f}",
        ]
        for label, scores in shown.items()
    ]
    parts = [
        "## Word segmentation: SIGHAN 2005 PKU",
        f"{run['items']:,} lines, model `{run['model']}`, no label used: the layer is the one whose neighbors fall "
        "most clearly into two heaps, the threshold the one that gives words of 1.6 characters, Otsu's, or a "
        "mixture's. *Typography* sets punctuation apart and keeps numbers and Latin words whole.",
        table(["words", "precision", "recall", "F1", "characters per word"], rows),
    ]
    if run.get("examples"):
        parts.append("\n".join(f"- {' / '.join(each['words'])}" for each in run["examples"]))
    return "\n\n".join(parts)


def _aspect(runs: Mapping[str, Run]) -> str:
    sets = {name: runs[f"aspect-{name}"] for name in ("laptop", "restaurant") if f"aspect-{name}" in runs}
    if not sets:
        return ""
    first = next(iter(sets.values()))
    labels = {
        "none": "no weights",
        "position": "position",
        "parser": "a parser's trees",
        "induced": "**induced trees**",
        "right-chain": "right-chain",
        "left-chain": "left-chain",
    }
    rows = []
    for kind, label in labels.items():
        cells = []
        for run in sets.values():
            for score in ("accuracy_percent", "macro_f1_percent"):
                values = run["scores"][kind][score]
                spread = stdev(values) if len(values) > 1 else 0.0
                cells.append(f"{mean(values):.1f} ± {spread:.1f}")
        rows.append([label, *cells])
    head = [f"{name} {score}" for name in sets for score in ("accuracy", "macro-F1")]
    return "\n\n".join(
        [
            "## Table 5: aspect-based sentiment with the trees",
            f"SemEval 2014; a convolution over frozen states weighted by each word's distance to the aspect, mean and "
            f"deviation over {len(first['seeds'])} seeds, nothing chosen on the test part. These sentences have no "
            "gold trees; *a parser's trees* come from a small biaffine parser trained on EWT dev, which gives "
            f"{first['parser_uas_percent']:.1f} % of held-out words their head. Along a chain the distance is that in "
            "the text, so both chains equal position by construction.",
            table(["weights", *head], rows),
        ]
    )


def _footer(runs: Mapping[str, Run]) -> str:
    rows = [
        [name, f"{run.get('items', run.get('test', 0)):,}", f"{run['seconds']:.0f} s", str(run.get("precision", ""))]
        for name, run in sorted(runs.items())
        if "seconds" in run
    ]
    return "## The runs\n\n" + table(["run", "items", "time", "precision"], rows)


def draw_layers(runs: Mapping[str, Run], path: Path | str) -> None:
    """Draw the scores by layer, each with its strongest baseline as a dashed line."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    panels = [
        ("dependency-pud", "PUD: UUAS", "eisner", lambda s: s[ARCS[0]]["uuas_percent"], "right-chain"),
        (
            "constituency-wsj",
            "WSJ: sentence F1",
            "mart",
            lambda s: s[SENTENCES[0]]["sentence_f1_percent"],
            "right-branching",
        ),
        ("discourse-test", "SciDTB: UAS", "eisner", lambda s: s["uas_percent"], "left-chain"),
        ("segmentation-pku", "PKU: F1", "mean length 1.6", lambda s: s["f1_percent"], "single characters, typography"),
    ]
    there = [panel for panel in panels if panel[0] in runs]
    figure = Figure(figsize=(3.2 * max(len(there), 1), 2.8), layout="constrained")
    for number, (name, title, parser, pick, baseline) in enumerate(there, 1):
        axes = figure.add_subplot(1, len(there), number)
        values = {int(layer): pick(scores) for layer, scores in runs[name]["layers"][parser].items()}
        axes.plot(list(values), list(values.values()), marker="o", label="induced")
        axes.axhline(pick(runs[name]["baselines"][baseline]), linestyle="--", color="gray", label=baseline)
        if "random weights" in runs[name]:
            axes.axhline(pick(runs[name]["random weights"]), linestyle=":", color="gray", label="random weights")
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("layer")
        axes.legend(fontsize=7, frameon=False)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
