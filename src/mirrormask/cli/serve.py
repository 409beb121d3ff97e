"""`mirrormask serve`: an index or an encoder behind an address."""

from __future__ import annotations

import typer

from mirrormask.cli.output import Json, Output, Quiet


def serve(
    what: list[str] = typer.Argument(..., metavar="INDEX_OR_MODEL...", help="Folders of indexes, or models."),
    host: str = typer.Option("127.0.0.1", "--host", help="The address to listen on; 0.0.0.0 is everywhere."),
    port: int = typer.Option(8000, "--port", help="0 takes one that is free."),
    model: str = typer.Option(None, "--model", "-m", help="Where the index's encoder is, if it was moved."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Answer searches, texts to encode and OpenAI's embeddings over HTTP, with a page to search in.

    [bold]mirrormask serve my-index[/bold]

    Two encoders side by side: [bold]mirrormask serve index-one index-other[/bold]
    """
    from mirrormask.service.server import check_installed, listen, run

    check_installed()
    taken = listen(host, port)  # before anything slow is imported
    from mirrormask.service.app import Service, make_app
    from mirrormask.service.served import open_all

    output = Output(as_json=as_json, quiet=quiet)
    served = open_all(what, model=model)
    url = f"http://{host}:{taken.getsockname()[1]}"
    names = [each.name for each in served]
    output.result({"url": url, "served": names}, lambda: output.line(f"{', '.join(names)} on {url}"))
    run(make_app(Service(served)), [taken])
