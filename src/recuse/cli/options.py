"""The options that commands share, one alias each: its type, its panel and its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

_JUDGE, _WHAT, _RUN, _COST, _OUT = "The judge", "What it is asked", "The run", "Cost", "Output"
_RECORDED, _TRUST, _BIASES, _CONTROLS = "Recorded verdicts", "Trust", "Known biases", "Controls"


def option(*names: str, group: str, help: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=group, help=help, show_default=more.pop("show_default", False), **more)


Judge = Annotated[
    str | None,
    option(
        "--judge",
        group=_JUDGE,
        help="provider/model, e.g. openai/gpt-4o-mini, vllm/ORG/NAME, llamacpp/FILE.gguf, python/pkg.module:function.",
    ),
]
JudgeConfig = Annotated[
    Path | None,
    option(
        "--judge-config", group=_JUDGE, metavar="FOLDER", help="A judge that `recuse harden` chose, with its prompt."
    ),
]
BaseUrl = Annotated[
    str | None,
    option(
        "--base-url",
        group=_JUDGE,
        help="An OpenAI- or Anthropic-compatible server (vLLM, llama.cpp, Ollama, LM Studio).",
    ),
]
Probed = Annotated[
    str | None, option("--model", group="The model", help="provider/model, e.g. openai/gpt-4o-mini: ask it.")
]
Pairs = Annotated[
    str | None,
    option("--pairs", group=_WHAT, help="JSONL, CSV or Parquet file, hf:org/name[:config][:split], or demo."),
]
Preset = Annotated[
    str | None, option("--preset", group=_WHAT, help="The form of the pairs; found from the columns when not given.")
]
Column = Annotated[
    list[str] | None,
    option(
        "--column",
        group=_WHAT,
        help="ROLE=COLUMN, repeatable: prompt, chosen, rejected, or a, b, label; group, domain, reference.",
    ),
]
Group = Annotated[
    str | None,
    option(
        "--group", group=_WHAT, help="Column that names pairs of one source question. Default: the normalised question."
    ),
]
SkipBad = Annotated[
    bool, option("--skip-bad", group=_WHAT, help="Leave out unusable rows and count them, instead of stopping.")
]
Limit = Annotated[
    int | None, option("--limit", group=_WHAT, min=1, help="A seeded sample of whole groups, about this many pairs.")
]
Prompt = Annotated[
    str, option("--prompt", group=_WHAT, help="A prompt that ships with recuse, or a file.", show_default=True)
]
Repeats = Annotated[
    int, option("--repeats", group=_RUN, min=1, help="Fresh calls for each pair and order.", show_default=True)
]
Temperature = Annotated[
    str, option("--temperature", group=_RUN, help="A number, or 'default' for the provider's own.", show_default=True)
]
MaxTokens = Annotated[
    int | None,
    option(
        "--max-tokens",
        group=_RUN,
        min=1,
        help="Default: 1 for a label on an engine here, 2048 for a provider (it may think), else as the prompt says.",
    ),
]
Choice = Annotated[bool, option("--choice", group=_RUN, help="Restrict replies to the labels, where the engine can.")]
RoomToReply = Annotated[
    int | None, option("--max-tokens", group=_RUN, min=1, help="Room for every reply, where a model thinks.")
]
Seed = Annotated[int, option("--seed", group=_RUN, help="For the sample of pairs and for sampling.", show_default=True)]
Concurrency = Annotated[int | None, option("--concurrency", group=_RUN, min=1, help="Calls in flight at most.")]
Rpm = Annotated[float | None, option("--rpm", group=_RUN, min=0.001, help="Requests a minute at most.")]
Tpm = Annotated[float | None, option("--tpm", group=_RUN, min=1, help="Tokens a minute at most.")]
Timeout = Annotated[float, option("--timeout", group=_RUN, min=0.01, help="Seconds for one call.", show_default=True)]
Attempts = Annotated[int, option("--attempts", group=_RUN, min=1, help="Tries of one ask.", show_default=True)]
MaxContext = Annotated[
    int | None, option("--max-context", group=_RUN, min=64, help="Tokens of context for a local engine.")
]
TensorParallel = Annotated[
    int | None, option("--tensor-parallel", group=_RUN, min=1, help="GPUs over which vLLM splits a model.")
]
MemoryShare = Annotated[
    float | None,
    option("--memory-share", group=_RUN, min=0.01, max=1.0, help="Share of a GPU's memory that vLLM may take."),
]
Device = Annotated[str | None, option("--device", group=_RUN, help="Device of the hf backends, e.g. cuda:0.")]
MaxCost = Annotated[
    float | None,
    option("--max-cost", group=_COST, min=0.0, help="Stop cleanly before the run costs more; it can be resumed."),
]
Batch = Annotated[
    bool,
    option(
        "--batch",
        group=_COST,
        help="Send calls in batch files, at half the price. Each step of a run may then take a day. "
        "For openai/… and anthropic/….",
    ),
]
Prices = Annotated[
    Path | None, option("--prices", group=_COST, help="A TOML file of prices that go before the shipped ones.")
]
Cache = Annotated[Path | None, option("--cache", group=_COST, help="A ledger file that several runs share.")]
DryRun = Annotated[bool, option("--dry-run", group=_COST, help="Say calls, tokens and money, and ask nothing.")]
Names = Annotated[
    str | None,
    option("--names", group=_CONTROLS, help="Column with a list of the names in a pair: the judge sees blinded texts."),
]
NamesFile = Annotated[
    Path | None, option("--names-file", group=_CONTROLS, help="Names for all pairs, one a line; also without --names.")
]
Signals = Annotated[
    Path | None,
    option("--signals", group=_CONTROLS, help="TOML: further words that give a group away (schools)."),
]
Swap = Annotated[
    Path | None,
    option("--swap", group=_CONTROLS, help="TOML plan of texts that differ only in who they are about: swap test."),
]
Human = Annotated[
    Path | None,
    option("--human", group=_CONTROLS, help="People's labels: metrics of a judge that disagrees are withheld."),
]
Key = Annotated[
    str | None,
    option("--key", group=_CONTROLS, help="Column that labels and pairs share. Default: pair ids, else the texts."),
]
Label = Annotated[
    str | None,
    option("--label", group=_CONTROLS, help="Columns of labels, by commas: one, one a person, or ratings."),
]
Annotator = Annotated[str | None, option("--annotator", group=_CONTROLS, help="Column that names the person.")]
Means = Annotated[
    list[str] | None,
    option("--means", group=_CONTROLS, metavar="WORD=LABEL", help="What a word of the labels means, such as 0=tie."),
]
Biases = Annotated[
    str | None,
    option("--biases", group=_BIASES, help="Put these biases into wrong answers and test them: ids by commas, or all."),
]
Library = Annotated[
    Path | None, option("--library", group=_BIASES, help="A folder of bias files. Default: the one that ships.")
]
Teacher = Annotated[
    str | None,
    option("--teacher", group=_BIASES, help="provider/model that rewrites. Without one biases are put in by rule."),
]
TeacherBaseUrl = Annotated[
    str | None, option("--teacher-base-url", group=_BIASES, help="As --base-url, for the teacher.")
]
Shams = Annotated[
    int, option("--shams", group=_BIASES, help="Meaningless changes beside the biases.", show_default=True)
]
RunCode = Annotated[
    bool,
    option(
        "--run-code",
        group=_TRUST,
        help="Run the tests that pairs bring (columns test, tests or test_list; setup, entry_point) on the code of "
        "their answers. Model output is then executed, under limits of time, memory and output, but with your rights "
        "to read files.",
    ),
]
Verdicts = Annotated[
    Path | None,
    option("--verdicts", group=_RECORDED, help="Audit recorded verdicts instead of a judge; nothing is asked."),
]
Form = Annotated[
    str | None,
    option(
        "--format",
        group=_RECORDED,
        help="Form: judgebench-outputs, judgebench-scores, llmbar, amel, pandalm, alpaca-eval, mt-bench, promptfoo, "
        "deepeval, inspect or plain.",
    ),
]
Where = Annotated[list[str] | None, option("--where", group=_RECORDED, help="KEY=VALUE, repeatable: only these rows.")]
Recorded = Annotated[
    bool,
    option(
        "--recorded/--reread",
        group=_RECORDED,
        help="Take the recorded decision, or read the text again.",
        show_default=True,
    ),
]
TextFormat = Annotated[
    str, option("--text-format", group=_RECORDED, help="Verdict format of the text in plain files.", show_default=True)
]
Gate = Annotated[
    Path | None, option("--gate", group=_OUT, help="Tolerances, a gate.toml. Default: the one that ships.")
]
Out = Annotated[
    Path | None,
    option("--out", group=_OUT, help="Run folder. Default: one under recuse-runs/ that the same command finds again."),
]
Level = Annotated[float, option("--level", group=_OUT, min=0.5, max=0.999, help="Of the intervals.", show_default=True)]
OneObject = Annotated[bool, option("--json", group=_OUT, help="Print one JSON object and nothing else.")]
AsJson = Annotated[bool, option("--json", group=_OUT, help="Print findings.json on standard output and nothing else.")]
Quiet = Annotated[bool, option("--quiet", "-q", group=_OUT, help="Print the outcome line only.")]
TrustRemoteCode = Annotated[
    bool, option("--trust-remote-code", group=_TRUST, help="Let a downloaded model run its own Python code.")
]
AllowPickle = Annotated[bool, option("--allow-pickle", group=_TRUST, help="Load pickled weights, which can run code.")]
