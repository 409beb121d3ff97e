"""The numbers of SimCSE's tables (Gao et al. 2021, its first edition) that ours stand beside, and names of ours."""

from __future__ import annotations

PAPER_STS = {
    "BERT-base, first-last": (39.70, 59.38, 49.67, 66.03, 53.87),
    "BERT-base-flow": (58.40, 67.10, 60.85, 75.16, 68.66),
    "BERT-base-whitening": (57.83, 66.90, 60.90, 75.08, 68.24),
    "SimCSE-BERT-base": (66.68, 81.43, 71.38, 78.43, 75.49),
    "supervised SimCSE-BERT-base": (75.30, 84.67, 80.19, 85.40, 84.25),
}
PAPER_TRANSFER = {
    "Avg. BERT embeddings": (78.66, 86.25, 94.37, 88.66, 84.40, 69.54),
    "BERT-[CLS] embedding": (78.68, 84.85, 94.21, 88.23, 84.13, 71.13),
    "SimCSE-BERT-base": (80.41, 85.30, 94.46, 88.43, 85.39, 71.13),
    "SimCSE-BERT-base w/ MLM": (80.74, 85.67, 94.68, 87.21, 84.95, 74.38),
    "supervised SimCSE-BERT-base": (82.69, 89.25, 94.81, 89.59, 87.31, 73.51),
    "supervised SimCSE-BERT-base w/ MLM": (82.68, 88.88, 94.52, 89.82, 88.41, 76.12),
}

AUGMENTATION = {
    "none": ("None (dropout alone)", 79.1),
    "crop-10": ("Crop 10 %", 75.4),
    "crop-20": ("Crop 20 %", 70.1),
    "crop-30": ("Crop 30 %", 63.7),
    "word-deletion-10": ("Word deletion 10 %", 74.7),
    "word-deletion-20": ("Word deletion 20 %", 71.2),
    "word-deletion-30": ("Word deletion 30 %", 70.2),
    "delete-one-word": ("Delete one word", 74.8),
    "delete-one-word-no-dropout": ("… w/o dropout", 71.4),
    "mlm-15": ("MLM 15 %", 66.8),
    "crop-10-mlm-15": ("Crop 10 % + MLM 15 %", 70.8),
}
"""Table 2: row, and Spearman on STS-B dev."""

OBJECTIVES = {
    "next-sentence": ("Next sentence", 66.8, 67.7),
    "next-3-sentences": ("Next 3 sentences", 68.7, 69.7),
    "delete-one-word": ("Delete one word", 74.8, 70.4),
    "dropout": ("Unsupervised SimCSE", 79.1, 70.7),
}
"""Table 3: one encoder, two encoders."""

DROPOUT = {
    "rate-0.0": ("p = 0.0", 64.9),
    "rate-0.01": ("p = 0.01", 69.5),
    "rate-0.05": ("p = 0.05", 78.0),
    "rate-0.1": ("p = 0.1", 79.1),
    "rate-0.15": ("p = 0.15", 78.6),
    "rate-0.2": ("p = 0.2", 78.2),
    "rate-0.5": ("p = 0.5", 67.4),
    "fixed-0.1": ("Fixed 0.1", 45.2),
}
"""Table 4."""

POSITIVES = {
    "qqp": ("QQP", "81.8", "81.8"),
    "paws": ("Flickr30k; here PAWS-Wiki", "81.5", "81.4"),
    "paranmt": ("ParaNMT", "79.7", "78.7"),
    "entailment": ("SNLI+MNLI entailment", "84.1", "84.9"),
    "neutral": ("SNLI+MNLI neutral", "82.6", "82.9"),
    "contradiction": ("SNLI+MNLI contradiction", "77.5", "77.6"),
    "hard-negatives": ("entailment + hard negatives", "–", "86.2"),
    "hard-negatives-anli": ("… + ANLI", "–", "85.0"),
}
"""Table 5: a sample of 134k pairs, and all."""

AUXILIARY = {
    "cls": ("[CLS] with the MLP", "86.2", "85.8"),
    "first-last": ("First-last avg.", "86.1", "86.1"),
    "mean": ("mean (not in the table), w/o MLM", "–", "–"),
    "mlm-0.01": ("w/ MLM, λ = 0.01", "85.7", "86.1"),
    "mlm-0.1": ("w/ MLM, λ = 0.1", "85.7", "86.2"),
    "mlm-1.0": ("w/ MLM, λ = 1", "85.1", "85.8"),
}
"""Table 9: STS-B dev, and the average of the transfer tasks."""

MODELS = {
    ("main", "untrained-cls"): "`mini`, untrained, [CLS]",
    ("main", "untrained-first-last"): "`mini`, untrained, first-last",
    ("main", "untrained-mean"): "`mini`, untrained, mean",
    ("main", "whitening"): "`mini`, mean, whitening",
    ("main", "flow"): "`mini`, mean, flow",
    ("main", "simcse"): "unsupervised SimCSE",
    ("main", "simcse-mlm"): "unsupervised SimCSE w/ MLM",
    ("claim", "unsupervised"): "the default, keyword-passages",
    ("claim", "supervised"): "supervised SimCSE",
    ("main", "supervised-mlm"): "supervised SimCSE w/ MLM",
}
"""Our rows of the main tables: group and row of the records, and what they are called."""

TRANSFER = {"mr": "MR", "cr": "CR", "subj": "SUBJ", "mpqa": "MPQA", "sst2": "SST-2", "sst5": "SST-5", "mrpc": "MRPC"}
TITLES = {"sts12": "STS12", "sts13": "STS13", "sts14": "STS14", "sts15": "STS15", "stsb": "STS-B"}
GROUPS = {
    "tune": "the tuning",
    "rates": "the rate of SimCSE without labels",
    "claim": "the comparison on top",
    "main": "the main tables",
    "positives": "Table 5 (kinds of positives)",
    "auxiliary": "Table 9 (pooling and the masked-LM auxiliary)",
    "dropout": "Table 4 (dropout rates and the fixed mask)",
    "objectives": "Table 3 (next sentence, dual encoder)",
    "augmentation": "Table 2 (data augmentation)",
}
"""The groups of the records, and what is made of them."""
