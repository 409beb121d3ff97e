"""What reaches a terminal: no control character of the data's, no number lost, no path broken, no traceback."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mirrormask.cli.output import Output
from mirrormask.cli.terminal import Terminal, clean, clean_json
from mirrormask.cli.terminal_tables import draw
from mirrormask.reporting.tables import Table

START = shlex.join([sys.executable, "-c", "from mirrormask.cli import main; main()"])
HOSTILE = "a\x1b[31mred\x9b2J\x07\u202e\r\x7f\udcff"


def printed(output: Output, stream: str = "out") -> io.StringIO:
    """Catch what is printed."""
    caught = io.StringIO()
    getattr(output, stream).file = caught
    return caught


def no_controls(text: str) -> bool:
    return clean(text) == text


def test_everything_printed_is_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    out, err = printed(output), printed(output, "err")
    output.say(HOSTILE)
    output.line(HOSTILE, style="bold")
    output.table(HOSTILE, [HOSTILE, "n"], [[HOSTILE, "1.0"]])
    output.report(Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, "2"),), note=HOSTILE))
    output.err.print(f"[bold]{HOSTILE}[/bold]")
    for text in (out.getvalue(), err.getvalue()):
        assert no_controls(text)
        assert "a\\x1b[31mred\\x9b2J" in text
    Output(as_json=True).result({HOSTILE: HOSTILE}, lambda: None)
    said = capsys.readouterr().out
    assert no_controls(said)
    assert json.loads(said) == {HOSTILE: HOSTILE}, "JSON reads back as it was"


def test_clean_keeps_text() -> None:
    text = "Grüße\t股票 ± 3\n:cat: [bold]"
    assert clean(text) == text == clean_json(text)


ROWS = [["a model with a rather long name", "12.34", "56.78", "90.12"], ["short", "1.00", "2.00", "3.00"]]
HEADER = ["model", "first", "second", "third"]


def drawn(width: int, rows: Any = ROWS, header: Any = HEADER, texts: Any = (0,)) -> list[str]:
    terminal = Terminal()
    terminal.file, terminal.width = io.StringIO(), width
    draw(terminal, "Scores", header, rows, texts=texts)
    return terminal.file.getvalue().splitlines()


def test_a_table_that_fits() -> None:
    assert drawn(100) == [
        "Scores",
        "model                            first  second  third",
        "a model with a rather long name  12.34   56.78  90.12",
        "short                             1.00    2.00   3.00",
    ]


def test_a_narrow_table_folds_its_texts_and_keeps_its_numbers() -> None:
    lines = drawn(36)
    assert max(map(len, lines)) <= 36
    assert lines[2:4] == ["a model with a  12.34   56.78  90.12", "rather long"]


def test_of_several_texts_none_is_squeezed_for_another() -> None:
    row = ["awp", "gamma=0.01, epsilon=0.0, redraw=False", "a perturbation of weights " * 5]
    lines = drawn(60, [row], ["name", "parameters", "paper"], texts={0, 1, 2})
    assert any("perturbation of weights" in line for line in lines), "not a word or less in each line"
    assert max(map(len, lines)) <= 60


def test_a_very_narrow_table_is_turned() -> None:
    assert drawn(20) == [
        "Scores",
        *["a model with a rather long name", "  first: 12.34", "  second: 56.78", "  third: 90.12"],
        *["short", "  first: 1.00", "  second: 2.00", "  third: 3.00"],
    ]


@pytest.mark.parametrize("width", range(1, 80, 3))
def test_no_width_loses_a_number_or_a_letter(width: int) -> None:
    text = "".join("".join(drawn(width)).split())
    for row in ROWS:
        for cell in row[1:]:
            assert cell in text
        assert all(word in text for word in row[0].split() if len(word) < 12)


def test_what_is_no_terminal_gets_whole_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    output = Output()
    out = printed(output)
    path = "/a/path/of/many/folders" * 20
    output.table("", ["what", "n"], [[path, "1"]])
    output.report(Table(path, ("what", "n"), (("x", "2"),), note=path))
    assert out.getvalue().count(path) == 3


def in_a_shell(line: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, timeout=120, env={**os.environ, **environment}, check=False
    )
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


@pytest.mark.parametrize("arguments", ["list", "list --json", "--help", "--version"])
def test_a_reader_that_leaves_at_once_is_no_error(arguments: str) -> None:
    code, _, complained = in_a_shell(f"{START} {arguments} | true; exit ${{PIPESTATUS[0]}}")
    assert (code, complained) == (0, "")


@pytest.mark.parametrize("arguments", ["list", "list --json", "--version", "list nothing --json"])
def test_a_full_stdout(arguments: str) -> None:
    code, _, complained = in_a_shell(f"{START} {arguments} > /dev/full")
    assert code == (2 if "nothing" in arguments else 5)
    assert complained.count("\n") == 1 and complained.startswith("Error: ")


@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        (">&-", "list", 0),
        ("2>&-", "list", 0),
        ("2>&-", "list nothing", 2),
        (">&- 2>&-", "list", 0),
        ("2>/dev/full", "list nothing", 2),
    ],
)
def test_streams_that_are_not_there(closed: str, arguments: str, code: int) -> None:
    ran = in_a_shell(f"{START} {arguments} {closed}")
    assert ran[0] == code
    assert "Traceback" not in ran[2]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_of_few_characters(encoding: str, tmp_path: Path) -> None:
    code, out, err = in_a_shell(f"{START} list view", PYTHONIOENCODING=encoding)
    assert (code, err) == (0, "") and "gaussian-noise" in out
    code, _, err = in_a_shell(f"{START} list 股票…", PYTHONIOENCODING=encoding)
    assert code == 2 and "Got '\\u80a1\\u7968...'" in err
    code, out, _ = in_a_shell(f"{START} list 股票 --json", PYTHONIOENCODING=encoding)
    assert "股票" in json.loads(out)["error"], "escaped as JSON escapes"


def test_arguments_that_are_not_utf8(tmp_path: Path) -> None:
    code, _, err = in_a_shell(f"{START} list $'caf\\xe9'")
    assert code == 2 and "caf\\udce9" in err and "Traceback" not in err
    code, out, _ = in_a_shell(f"{START} list $'caf\\xe9' --json")
    assert "caf\\udce9" in json.loads(out)["error"]


def test_wrong_usage_is_one_sentence_and_cleaned() -> None:
    code, out, err = in_a_shell(f"{START} list $'--\\x1b[31mred'")
    assert (code, out) == (2, "")
    assert "Try 'mirrormask list --help' for help.\nError: No such option: --\\x1b[31mred" in err
    code, out, err = in_a_shell(f"{START} list --nonsense --json")
    assert (code, err) == (2, "") and "--nonsense" in json.loads(out)["error"]
