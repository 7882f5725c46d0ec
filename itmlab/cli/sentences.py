"""Commands on captions alone: what they say, and how they are made wrong."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ItmlabError
from ..storage import atomic_file
from .options import (
    DataName,
    DataOptions,
    DataRoot,
    SkipFaults,
    load_data,
    one_split,
    pairs,
    read_lines,
)


def parse(
    captions: Annotated[list[str] | None, typer.Argument(metavar="[CAPTION]...", help="Sentences.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="A text file, a caption a line (- is standard input).")
    ] = None,
    parser: Annotated[str, typer.Option(help="english, a spaCy pipeline, or factual[:NAME_OR_FOLDER].")] = "english",
    out: Annotated[
        Path | None, typer.Option("--out", help="Write whole graphs, with token spans, as JSON lines.")
    ] = None,
) -> None:
    """What captions say: their objects, attributes and relations."""
    from ..text import parse as parse_captions

    sentences = [*(captions or []), *(read_lines(file) if file else [])]
    if not sentences:
        raise ItmlabError("no caption to parse", remedy='python -m itmlab parse "a dog on a sofa", or --file')
    graphs = parse_captions(sentences, parser=parser, progress=len(sentences) > 1000)
    if out is None:
        for sentence, graph in zip(sentences, graphs, strict=True):
            said = ", ".join(
                f"({', '.join(words)})" for words in sorted(graph.tuples(), key=lambda words: (len(words), words))
            )
            print(f"{sentence}\n    {said or 'no object'}")
        return
    with atomic_file(out) as written:
        for sentence, graph in zip(sentences, graphs, strict=True):
            written.write(json.dumps({"caption": sentence, "graph": graph.to_dict()}).encode() + b"\n")
    print(f"{out}: {len(graphs)} graphs")


def negatives(
    out: Annotated[Path, typer.Option("--out", help="A .jsonl, .tsv or .parquet file.")],
    generator: Annotated[str, typer.Option(help="vse_c: swaps by rule; tags: maskings refilled by --model.")] = "vse_c",
    model: Annotated[
        str | None,
        typer.Option(help="A one-tower model that refills (tags) and scores: a shipped name or a folder [tags: tags]."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="NAME=VALUE: maskings, samples, temperature, keep, words, implied (tags); number (vse_c)."
        ),
    ] = None,
    fluency: Annotated[
        str | None, typer.Option(help="A causal language model (scenes, gpt2): its perplexities.")
    ] = None,
    file_format: Annotated[str | None, typer.Option("--format", help="jsonl, tsv, parquet; else by --out.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random draws.")] = 0,
    truth: Annotated[bool, typer.Option(help="The world's verdict on each, where there is one (scenes).")] = True,
    resume: Annotated[bool, typer.Option(help="Go on where an earlier export was stopped.")] = True,
    split: Annotated[str, typer.Option(help="train, val, test, or all.")] = "all",
    data: DataName = "scenes",
    root: DataRoot = None,
    option: DataOptions = None,
    skip_faults: SkipFaults = False,
) -> None:
    """Write wrong sentences of every caption, with what was changed, as extra negatives for training."""
    from ..training.negative_files import read_by, write_negatives

    reader = read_by(model or "tags") if model or generator == "tags" else None
    captions = one_split(load_data(data, root, option, skip_faults, read_by=reader), split)
    options = pairs(setting, "--set")
    made = dict(model=model, options=options, fluency=fluency, format=file_format, seed=seed)
    print(write_negatives(captions, out, generator, **made, truth=truth, resume=resume, progress=True))
