"""`mirrormask search`: find passages in an index, by words and by meaning."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mirrormask.cli.output import Json, Output, Quiet

if TYPE_CHECKING:
    from mirrormask.search.hits import Hit
    from mirrormask.search.searching import SearchIndex


def search(
    place: str = typer.Argument(
        ...,
        metavar="INDEX",
        help="The folder that `mirrormask index` wrote, or the postgresql://… it wrote to.",
    ),
    query: str = typer.Argument(None, help="What to look for, in quotes.", show_default=False),
    top: int = typer.Option(10, "--top", "-k", help="How many documents."),
    mode: str = typer.Option("both", "--mode", help="words, vectors, or both."),
    where: str = typer.Option(
        None, "--where", help="Only documents that meet a condition: 'year >= 2020 and lang = \"en\"'."
    ),
    like: str = typer.Option(None, "--like", help="In place of a query: documents like the one with this id."),
    queries: Path = typer.Option(
        None, "--queries", help="In place of a query: a file with one a line, or with columns (id and) query."
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Where the answers to --queries go: .jsonl with passages, anything else a TREC run."
    ),
    weight: float = typer.Option(
        None, "--weight", help="Of words beside vectors, from 0.", show_default="chosen for each query"
    ),
    dev: Path = typer.Option(
        None, "--dev", help="A file with columns query and document (its id, or its text): they choose the weight."
    ),
    rerank: str = typer.Option(None, "--rerank", help="A cross-encoder that orders the first 50 hits anew."),
    model: str = typer.Option(None, "--model", "-m", help="Where the index's encoder is, if it was moved."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Find the documents of an index that answer a query: best passage, matching words, and why it was found.

    [bold]mirrormask search my-index "how do I get my money back"[/bold]

    [bold]mirrormask search my-index "refund" --where 'year >= 2020 and not lang in ("de", "fr")' --top 5[/bold]

    Conditions know = != < <= > >= in contains, and, or, not and parentheses; they are met inside the search.
    """
    from mirrormask.core.errors import MirrormaskError
    from mirrormask.search.generations import read_manifest
    from mirrormask.search.postgres.address import is_address

    given = [each for each in (query, like, queries) if each is not None]
    if len(given) != 1:
        raise MirrormaskError('Give one of: a query in quotes, --like ID, or --queries FILE. For example: "refund".')
    if queries is not None and out is None:
        raise MirrormaskError("Say where the answers to --queries go, such as --out run.trec or --out hits.jsonl.")
    if out is not None and queries is None:
        raise MirrormaskError("--out takes the answers to --queries FILE. Leave it out, or use --json.")
    if query is not None and not query.strip():
        raise MirrormaskError("The query is empty. Say what to look for, in quotes.")
    if not is_address(place):
        read_manifest(Path(place))  # or say what is wrong with it, before anything slow is imported
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.data.text.compression import check_file

    for file in (queries, dev):
        if file is not None:
            check_file(file)
    if out is not None:
        spare_inputs([queries, place, dev], replaced=[out])
    from mirrormask.search.opening import open_index

    output = Output(as_json=as_json, quiet=quiet)
    index = open_index(place, model=model)
    if dev is not None:
        from mirrormask.search.tuning import weight_by

        chosen = weight_by(index, dev, where=where)
        weight = weight if chosen.weight is None else chosen.weight
        output.say(chosen.sentence())
    reranker = None
    if rerank:
        from mirrormask.search.hits import Reranker

        reranker = Reranker(rerank)
    if queries is not None:
        options = {"top": top, "mode": mode, "where": where, "weight": weight}
        _answer_file(output, index, queries, out, options, reranker)
        return
    if like is not None:
        hits = index.like(like, top=top, mode=mode, where=where, weight=weight)
    else:
        hits = index.search(query, top=top, mode=mode, where=where, weight=weight, rerank=reranker)
    content = {"index": index.name, "query": query, "like": like, "mode": mode, "where": where, "weight": weight}
    output.result({**content, "hits": [hit.to_dict() for hit in hits]}, lambda: _show(output, index.name, hits))


def _answer_file(
    output: Output, index: SearchIndex, queries: Path, out: Path, options: dict[str, Any], reranker: Any
) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from mirrormask.core.wording import counted
    from mirrormask.search.run_files import answer_queries

    columns = (TextColumn("searching"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = not output.quiet and output.err.is_terminal
    with Progress(*columns, console=output.err, disable=not shown, transient=True) as bar:
        task = bar.add_task("searching", total=None)
        done = answer_queries(
            index,
            queries,
            out,
            reranker=reranker,
            progress=lambda number, total: bar.update(task, advance=number, total=total),
            **options,
        )
    many = "1 query" if done["queries"] == 1 else f"{done['queries']:,} queries"
    output.result(done, lambda: output.line(f"{many}: {counted(done['hits'], 'hit')} in {out}"))


def _show(output: Output, name: str, hits: list[Hit]) -> None:
    import shlex

    from rich.text import Text

    if not hits:
        output.line("Nothing was found. Try other words, --mode vectors, or a wider --where.")
        return
    for number, hit in enumerate(hits, 1):
        why = (
            " + ".join(f"{share:.0%} {part}" for part, share in hit.shares.items() if share >= 0.005)
            or "little in common"
        )
        title = hit.metadata.get("title")
        head = Text.assemble((f"{number:>2}  ", "dim"), (hit.id, "bold"), f"  {hit.score:.3f}  ", (why, "dim"))
        output.out.print(head, soft_wrap=True)
        passage = Text(hit.passage)
        for begin, end in hit.matches:
            passage.stylize("bold yellow", begin, end)
        lines = Text("\n").join(line for line in passage.split("\n") if line.plain.strip())
        if isinstance(title, str) and title.strip() and not hit.passage.startswith(title.strip()):
            output.out.print(Text(f"    {title}", style="italic"), soft_wrap=True)
        shown = _around(lines, hit.matches)
        for line in shown.wrap(output.out, max(20, min(output.out.width, 110) - 4)):
            output.out.print(Text("    ") + line, soft_wrap=True)
    output.line("")
    output.say(f"More like one of these: mirrormask search {shlex.quote(name)} --like {shlex.quote(hits[0].id)}")


def _around(text: Any, matches: list[tuple[int, int]], most: int = 420) -> Any:
    """Return a passage, or where it is long the part of it with the first matching word."""
    if len(text) <= most:
        return text
    first = matches[0][0] if matches else 0
    begin = max(0, min(first - most // 4, len(text) - most))
    if begin:
        begin = text.plain.find(" ", begin) + 1 or begin
    shown = text[begin : begin + most]
    before, after = "… " if begin else "", " …" if begin + most < len(text) else ""
    return type(text)(before) + shown + type(text)(after)
