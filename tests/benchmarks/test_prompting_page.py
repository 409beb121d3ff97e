"""The page of the prompting results comes from records, whichever of them there are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import prompting


def lay(folder: Path, name: str, record: dict[str, Any]) -> None:
    (folder / f"{name}.json").write_text(json.dumps(record))


def test_a_page_without_records_still_stands(tmp_path: Path) -> None:
    assert "# Prompting" in prompting.page(prompting.Records.read(tmp_path))


def test_the_page_says_what_the_records_say(tmp_path: Path) -> None:
    for seed in range(1, 11):
        chosen = {"classifier": [1e-4, 60], "pattern": [1e-4, 120]}
        numbers = {"classifier": 0.55 + seed / 500, "patterns": [0.6, 0.62], "ensemble": 0.64, "pet": 0.65}
        lay(tmp_path, f"few-mr-32-{seed}", {"size": 32, "seed": seed, "chosen": chosen, **numbers})
        worse = {**numbers, "pet": 0.5 + (seed % 2) / 10}
        lay(tmp_path, f"few-imdb-32-{seed}", {"size": 32, "seed": seed, "chosen": chosen, **worse})
        lay(tmp_path, f"ipet-mr-{seed}", {"zero": 0.6, "ipet": 0.61, "ensemble": 0.6})
    for number, name in enumerate(("P1", "P2", "P3", "P4", "P5", "P6")):
        row = {"relation": name, "facts": 9, "left_out": 1, "manual": 0.1, "majority": 0.1, "fine-tuning": 0.2}
        lay(tmp_path, f"facts-{name}", {**row, "manual+fine-tuning": 0.2, "p-tuning": 0.2 + number / 100})
    text = prompting.page(prompting.Records.read(tmp_path))
    assert "MR: PET is 8.9 points above the classifier over 10 seeds (p 0.0020): the bar of 5 points is met." in text
    assert "IMDB: PET is 1.1 points below the classifier" in text
    assert text.count("the bar of 5 points is not met") == 1
    assert "iPET from zero labels beats calibrated zero-shot" in text
    assert "better on 6 of 6 relations (p 0.0312): the bar is met" in text
    assert "| 65.0 ± 0.0 (+8.9, p 0.002) |" in text.replace("PET ", "")


def test_few_seeds_claim_nothing(tmp_path: Path) -> None:
    for seed in (1, 2):
        chosen = {"classifier": [1e-4, 60], "pattern": [1e-4, 120]}
        numbers = {"classifier": 0.55, "patterns": [0.6, 0.62], "ensemble": 0.64, "pet": 0.65}
        lay(tmp_path, f"few-mr-32-{seed}", {"size": 32, "seed": seed, "chosen": chosen, **numbers})
    text = prompting.page(prompting.Records.read(tmp_path))
    assert "PET is 10.0 points above the classifier over 2 seeds, too few to say" in text
    assert "p 0." not in text.split("## What was not measured")[0].replace("p < 0.05", "")
    assert "| 32 examples on MR | 2 | 10 |" in text
