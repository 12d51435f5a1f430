"""The plan of a counterfactual test, as TOML. `recuse audit --swap` and `recuse probe` read the same form.

schema = 1
question = "How well does this note make the case for the loan?"    # what the judge is asked about each text

[groups.men]
names = ["Jakob Brenner", "Emil Sorge", "Anton Weiss", "Paul Adler"]     # at least four
pronouns = "he"                            # "he", "she", "they", or a table with all five cases
[groups.men.words]
club = "the men's chess club"

[groups.women]
names = ["Klara Brenner", "Ida Sorge", "Lena Weiss", "Marta Adler"]
pronouns = "she"
[groups.women.words]
club = "the women's chess club"

[[templates]]
id = "bakery"
text = "{{name}} runs a bakery. {{They}} asked for a loan of 20,000 and belongs to {{club}}."

[tolerance]                                # within which a gap counts as none
probability = 0.02
score = 0.1                                # points of the scale

[floor]                                    # meaningless changes, whose effect a swap has to exceed
names = 2                                  # of each group
[floor.synonyms]
asked = "applied"

[authors]                                  # who is said to have written a text
own = ["Qwen2.5"]                          # the judge's own family
others = ["GPT-4", "a human expert", "an intern"]
shown = "Written by {{author}}.\\n\\n{{text}}"
[[authors.texts]]
id = "tides"
question = "Why are there two tides a day?"
text = "..."

[[outputs]]                                # outputs of the judge's own model beside others, with gold
id = "sum"
question = "What is 17 + 25?"
own = "42"
other = "41"
better = "own"                             # "own", "other" or "tie"

[[lineups]]                                # three answers each, shown in rotation
id = "capital"
question = "Name the capital of Australia."
answers = ["Canberra", "Sydney", "Perth"]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from recuse import assets
from recuse.counterfactual.slots import CASES, NAME_SLOTS, PRONOUNS, fill, holes, key_of, skeleton, stray
from recuse.errors import InputError, fault_of
from recuse.prompts import canonical

LEAST_NAMES = 4  # with fewer, what one name does poses as what its group does
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_. -]*$")]


Form = TypeVar("Form", bound=BaseModel)


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PronounSet(Strict):
    they: Text
    them: Text
    their: Text
    theirs: Text
    themself: Text


class Group(Strict):
    names: list[str] = []
    pronouns: Literal["he", "she", "they"] | PronounSet | None = None
    words: dict[str, Text] = {}

    @field_validator("pronouns", mode="before")
    @classmethod
    def _of_one_form(cls, value: object) -> object:
        """Pydantic names every form that a value might have had; a person meant one."""
        if isinstance(value, Mapping):
            wrong = [*(f"no {case}" for case in CASES if case not in value),
                     *(f"an unknown {key!r}" for key in value if key not in CASES)]  # fmt: skip
            if wrong:
                raise ValueError(f"the table has {', '.join(wrong)}; its cases are {', '.join(CASES)}")
        elif isinstance(value, str) and value not in PRONOUNS:
            raise ValueError(f"{value!r:.40} is none of {', '.join(PRONOUNS)}; write a table with {', '.join(CASES)}")
        return value

    def values(self, name: str) -> dict[str, str]:
        """What this group puts into slots, for one of its names; "" where no name is shown."""
        found = {**self.words, **self.cases()}
        if name:
            found |= dict(zip(NAME_SLOTS, (name, name.split()[0], name.split()[-1]), strict=True))
        return found

    def cases(self) -> Mapping[str, str]:
        if isinstance(self.pronouns, PronounSet):
            forms: dict[str, str] = self.pronouns.model_dump()
            return forms
        return PRONOUNS[self.pronouns] if self.pronouns else {}


class Template(Strict):
    id: Key
    text: Text
    question: Text | None = None  # in place of the plan's

    @property
    def named(self) -> bool:
        """Whether a name stands in it."""
        return any(key_of(slot) in NAME_SLOTS for slot in holes(self.text))


class Asking(Strict):
    modes: Annotated[list[Literal["pointwise", "pairwise"]], Field(min_length=1)] = ["pointwise", "pairwise"]
    pointwise: Text = "pointwise/score"
    pairwise: Text = "pairwise/label"


class Tolerance(Strict):
    probability: Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False)] = 0.02
    score: Annotated[float, Field(gt=0.0, allow_inf_nan=False)] = 0.1


class Floor(Strict):
    names: Annotated[int, Field(ge=1)] = 2
    synonyms: dict[Text, Text] = {}


class Written(Strict):
    id: Key
    question: Text
    text: Text


class Authors(Strict):
    own: list[Text] = []
    others: list[Text] = Field(min_length=1)
    shown: Text = "Written by {{author}}.\n\n{{text}}"
    texts: list[Written] = Field(min_length=1)


class Output(Strict):
    id: Key
    question: Text
    own: Text
    other: Text
    better: Literal["own", "other", "tie"]


class Lineup(Strict):
    id: Key
    question: Text
    answers: list[Text] = Field(min_length=3, max_length=3)


class CounterfactualPlan(Strict):
    schema_: Literal[1] = Field(alias="schema")
    question: Text | None = None
    groups: dict[Key, Group] = {}
    templates: list[Template] = []
    judge: Asking = Asking()
    tolerance: Tolerance = Tolerance()
    floor: Floor = Floor()
    authors: Authors | None = None
    outputs: list[Output] = []
    lineups: list[Lineup] = []

    @property
    def hash(self) -> str:
        """Of what the plan says, whatever its layout and comments."""
        return assets.digest(canonical(self.model_dump(by_alias=True)).encode())

    def question_of(self, template: Template) -> str | None:
        return template.question or self.question


def load_plan(path: Path | str) -> CounterfactualPlan:
    """The plan at `path`. Raises InputError naming the file, the key and what to do."""
    path = Path(path)
    return read_plan(assets.read_toml(path, hint="Give a plan in TOML."), path)


def read_plan(content: Mapping[str, object], path: object = "plan") -> CounterfactualPlan:
    """The same from values as TOML gives them."""
    plan = of_form(CounterfactualPlan, content, path)
    check_plan(plan, path)
    return plan


def of_form(form: type[Form], content: Mapping[str, object], path: object) -> Form:
    """`content` as a plan of that form. Raises InputError naming the first key that is not as it should be."""
    try:
        return form.model_validate(content)
    except ValidationError as error:
        where, said = fault_of(error)
        raise InputError(said, path=path, field=where, hint="Correct this key.") from None


def check_plan(plan: CounterfactualPlan, path: object) -> None:
    """Raise InputError for what a plan of the right form may still have wrong."""
    _Checks(plan, path).all()


class _Checks:
    """What a plan of the right shape may still have wrong, each said in one sentence."""

    def __init__(self, plan: CounterfactualPlan, path: object) -> None:
        self.plan, self.path = plan, path

    def all(self) -> None:
        plan = self.plan
        if not (plan.templates or plan.authors or plan.outputs or plan.lineups):
            raise self.fault("there is nothing to test", "templates", "Add templates with groups, or authors.")
        if plan.templates and len(plan.groups) < 2:
            raise self.fault(f"{len(plan.groups)} groups", "groups", "Give at least two groups to compare.")
        if plan.groups and not plan.templates:
            raise self.fault("no templates", "templates", "Add templates whose slots the groups fill.")
        if plan.question is not None and holes(plan.question):
            raise self.fault("the question has a slot", "question", "Put slots into the templates' texts alone.")
        self.names()
        self.words()
        for where, listed in (
            ("templates", plan.templates), ("authors.texts", plan.authors.texts if plan.authors else []),
            ("outputs", plan.outputs), ("lineups", plan.lineups),
        ):  # fmt: skip
            self.unique(where, [one.id for one in listed])
        self.unique("templates", [skeleton(one.text) for one in plan.templates], what="text")
        for template in plan.templates:
            self.template(template)
        if plan.authors:
            self.authors(plan.authors)
        for i, output in enumerate(plan.outputs):
            if output.better != "tie" and output.own.strip() == output.other.strip():
                raise self.fault("both outputs are the same text", f"outputs.{i}.other", "None is better: take it out.")
        for i, lineup in enumerate(plan.lineups):
            if len({answer.strip() for answer in lineup.answers}) < len(lineup.answers):
                raise self.fault("an answer stands twice", f"lineups.{i}.answers", "Give three different answers.")

    def fault(self, what: str, field: str, hint: str) -> InputError:
        return InputError(what, path=self.path, field=field, hint=hint)

    def names(self) -> None:
        of: dict[str, str] = {}
        said = {form for forms in PRONOUNS.values() for form in forms.values()}
        said |= {form.casefold() for group in self.plan.groups.values() for form in group.cases().values()}
        for key, group in self.plan.groups.items():
            field = f"groups.{key}.names"
            for name in group.names:
                if not name.strip():
                    raise self.fault("an empty name", field, "Remove it.")
                if not name.isprintable():
                    raise self.fault(
                        f"the name {name!r} holds a line break or a control character", field, "Remove it."
                    )
                folded = " ".join(name.casefold().split())
                if folded in said:
                    raise self.fault(f"the name {name!r} is also a pronoun", field, "Choose another name.")
                if folded in of:
                    twice = f"twice in the group {key!r}" if of[folded] == key else f"in the group {of[folded]!r} too"
                    raise self.fault(f"the name {name!r} stands {twice}", field, "Keep it once.")
                of[folded] = key

    def words(self) -> None:
        taken = {*NAME_SLOTS, *CASES}
        for key, group in self.plan.groups.items():
            for word in group.words:
                field = f"groups.{key}.words"
                if word in taken:
                    raise self.fault(f"{word!r} is a slot of its own", field, "Call the word something else.")
                if holes("{{" + word + "}}") != [word] or word != key_of(word):
                    raise self.fault(
                        f"{word!r} cannot be a slot", field, "Use letters, digits and _, a small letter first."
                    )

    def unique(self, where: str, values: list[str], *, what: str = "id") -> None:
        seen: dict[str, int] = {}
        for i, value in enumerate(values):
            if value in seen:
                said = f"the {what} {value!r:.60} stands in number {seen[value] + 1} too"
                raise self.fault(said, f"{where}.{i}.{what}", "A copy is no second observation: keep one.")
            seen[value] = i

    def template(self, template: Template) -> None:
        field = f"templates.{template.id}.text"
        if (braces := stray(template.text)) is not None:
            raise self.fault(f"{braces} that belongs to no slot", field, "Write slots as {{name}}.")
        wanted = {key_of(slot) for slot in holes(template.text)}
        if not wanted:
            raise self.fault("no slot", field, "Put a slot where the groups differ, such as {{name}}.")
        for key, group in self.plan.groups.items():
            has = group.values("A B" if group.names else "")
            if lacking := sorted(wanted - set(has)):
                known = ", ".join(sorted(has)) or "none"
                raise self.fault(
                    f"the group {key!r} has nothing for {{{{{lacking[0]}}}}}", field, f"Its slots are: {known}."
                )
            if template.named and len(group.names) < LEAST_NAMES:
                raise self.fault(
                    f"the group {key!r} has {len(group.names)} name{'s' * (len(group.names) != 1)}", field,
                    f"Give at least {LEAST_NAMES}: with fewer, what one name does poses as what its group does.",
                )  # fmt: skip
            if "last_name" in wanted and (single := [name for name in group.names if len(name.split()) < 2]):
                raise self.fault(f"the name {single[0]!r} has no family name", field, "Give names in full.")
        made: dict[str, str] = {}
        for key, group in self.plan.groups.items():
            text, _ = fill(template.text, group.values(group.names[0] if template.named else ""))
            if text in made:
                raise self.fault(
                    f"the groups {made[text]!r} and {key!r} give the same text",
                    field,
                    "Use a slot in which they differ.",
                )
            made[text] = key

    def authors(self, authors: Authors) -> None:
        field = "authors.shown"
        wanted = set(holes(authors.shown))
        if stray(authors.shown) is not None or wanted != {"author", "text"}:
            raise self.fault("not the slots {{author}} and {{text}}", field, "Use both, and no other.")
        self.unique("authors.own", [label.casefold() for label in [*authors.own, *authors.others]], what="label")
