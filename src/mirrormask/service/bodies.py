"""What requests hold, with their limits and examples."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

LONGEST_QUERY = 10_000
LONGEST_TEXT = 200_000
MOST_TEXTS = 2048
MOST_HITS = 1000
MOST_WORDS = 64
"""Words of a sentence that is probed: every two of them are masked."""

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="What to look for.")]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Top = Annotated[int, Field(ge=1, le=MOST_HITS, description="How many documents.")]
Mode = Annotated[Literal["both", "words", "vectors"], Field(description="What to search by.")]
Where = Annotated[str | None, Field(max_length=10_000, description="A condition on metadata.")]
Name = Annotated[str | None, Field(max_length=300, description="Which of those served; by default the first.")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", protected_namespaces=())


class SearchBody(_Body):
    """A query."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"query": "how do I get my money back", "mode": "both", "top": 5, "where": "year >= 2020"}]
        }
    )
    query: Query
    mode: Mode = "both"
    top: Top = 10
    where: Where = None
    index: Name = None


class SimilarBody(_Body):
    """A document of which others like it are wanted."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "d3", "top": 5}]})
    id: str = Field(min_length=1, max_length=10_000, description="Of the document.")
    mode: Mode = "both"
    top: Top = 10
    where: Where = None
    index: Name = None


class CompareBody(_Body):
    """A query that every index answers."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "how do I get my money back", "top": 5}]})
    query: Query
    mode: Mode = "both"
    top: Top = 10
    where: Where = None


class ProbeBody(_Body):
    """A sentence whose words are masked, two by two."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"sentence": "the old boat crossed the river"}]})
    sentence: str = Field(min_length=1, max_length=2000)


class EncodeBody(_Body):
    """Texts that become vectors."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"texts": ["tea is hot", "ice is cold"]}]})
    texts: list[Text] = Field(min_length=1, max_length=MOST_TEXTS)
    normalize: bool = Field(False, description="Scale every vector to length 1.")
    model: Name = None


class SimilarityBody(_Body):
    """Two texts, or many pairs of texts."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"a": "tea is hot", "b": "ice is cold"}, {"pairs": [["tea is hot", "coffee is hot"]]}]
        }
    )
    a: Text | None = None
    b: Text | None = None
    pairs: list[tuple[Text, Text]] | None = Field(None, min_length=1, max_length=MOST_TEXTS // 2)
    model: Name = None


class EmbeddingsBody(BaseModel):
    """As OpenAI's clients send it; what else they send is passed over."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"input": ["tea is hot"], "model": "mini-sentence", "encoding_format": "float"}]
        }
    )
    input: Text | list[Text] | list[int] | list[list[int]] = Field(
        description=f"A text, or up to {MOST_TEXTS:,} texts. Token numbers are refused: they are of another tokenizer."
    )
    model: str = Field("", max_length=300)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
