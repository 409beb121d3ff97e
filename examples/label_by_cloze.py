"""Put labels on texts by a cloze question: without training, then from a few examples.

python examples/label_by_cloze.py --model mini --words boat,bread

The words of the labels must be ones that the model knows whole.
"""

from __future__ import annotations

import argparse

from mirrormask.models.masked_lm import MaskedLM
from mirrormask.prompting.cloze_rows import Examples
from mirrormask.prompting.cloze_task import ClozeTask, Question
from mirrormask.prompting.pattern_tuning import Tuning
from mirrormask.prompting.pet import PromptTraining, train_prompt
from mirrormask.prompting.prompt_score import open_clozes
from mirrormask.prompting.zero_shot import zero_shot

FEW = (
    ("The sail tore before sunrise.", "sea"),
    ("We waited for flour and butter.", "kitchen"),
    ("Rope and anchor lay in the harbor.", "sea"),
    ("The oven was still warm after the storm.", "kitchen"),
)
NEW = ("The crew crossed the river in the storm.", "She carries two red apples and some butter.")


def main() -> None:
    """Score new texts with the model as it is, then tune it on four examples and score them again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="mini", help="name or folder of a masked LM")
    parser.add_argument("--words", default="boat,bread", help="a word for the sea and one for the kitchen")
    parser.add_argument("--steps", type=int, default=40)
    arguments = parser.parse_args()

    sea, kitchen = arguments.words.split(",")
    task = ClozeTask("places", (Question("{text} This means [MASK]."),), {"sea": [sea], "kitchen": [kitchen]})
    few = Examples([{"text": text} for text, _ in FEW], [label for _, label in FEW])
    new = Examples([{"text": text} for text in NEW])
    lm = MaskedLM.load(arguments.model)

    shot = zero_shot(open_clozes(lm, task), new.fields, unlabelled=[*few.fields, *new.fields])
    tuned = train_prompt(task, few, PromptTraining(tuning=Tuning(steps=arguments.steps, batch_size=4)), base=lm)
    learned = tuned.answers(new)
    for text, before, after in zip(NEW, shot.scores.argmax(1), learned.predicted, strict=True):
        print(f"{text}  without training: {task.labels[before]}; after four examples: {task.labels[after]}")


if __name__ == "__main__":
    main()
