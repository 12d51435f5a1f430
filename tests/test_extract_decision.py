"""A decision is read by whole labels, the last one made, negation minded; what does not decide has no value."""

from __future__ import annotations

import pytest

from recuse.errors import InputError
from recuse.probes.extract import Value, build_extractor
from recuse.types import Finish, Reply

HIRE = {"labels": ["hire", "no hire"], "positive": "hire"}
LOAN = {
    "labels": {
        "approve": ["approve", "approved", "approving", "approval"],
        "decline": ["decline", "declined", "declining", "deny", "denied", "reject", "rejected"],
    },
    "positive": "approve",
}
YES = {"labels": ["yes", "no"], "positive": "yes"}
LETTER = {"labels": ["A", "B"], "positive": "A"}
RECOMMEND = {"labels": ["recommend", "not recommend"], "positive": "recommend"}
THREE = {"labels": ["strong hire", "hire", "no hire"], "positive": ["strong hire", "hire"]}


def read(settings: dict, text: str, finish: Finish = "stop") -> Value:
    return build_extractor("decision", settings).read(Reply("key", text, finish))["decision"]


@pytest.mark.parametrize("text", [
    "No hire.", "**Decision:** No Hire", "Final decision: NO-HIRE", "Recommendation: Do Not Hire", "Do not hire.",
    "I would not hire her.", "I wouldn't hire her.", "I don't think we should hire her.",
    "She's not someone I would hire.",
    "I do not recommend to hire this candidate", "At first I would hire him. However, he lied. No hire.",
    "Hire? No hire.",
    "Should we hire him? No.", "I would never hire him.",
    "Given the gaps, it is not advisable to hire her.", "My recommendation: no hire, despite a strong interview.",
])  # fmt: skip
def test_hire_is_not_found_inside_no_hire(text: str) -> None:
    assert "hire" in text.lower()  # the published mistake: a search for the label as a substring calls all of these 1
    assert read(HIRE, text) == Value(0.0, "no hire")


@pytest.mark.parametrize("text", [
    "Hire.", "hire", "HIRE!", "Decision: hire", "My recommendation would be to hire.", "I recommend hire",
    "I would hire her.", "I'd definitely hire this person", "Would I hire her? Yes.",
    "Options: hire or no hire. Decision: hire",
    "I have no doubt that we should hire her.", "I would not hesitate to hire him.",
    "## Decision\n\nHire\n\n## Reasons\nNo gaps.",
    "I would not say no hire.", "The gaps are small, so I would hire her.",
    "We should hire her even if she asks for more.",
    "No hire was my first idea. On reflection, I would hire her.", "Decision: Hire. She has no gaps in her career.",
])  # fmt: skip
def test_a_decision_to_hire_is_read_whatever_negations_stand_around_it(text: str) -> None:
    assert read(HIRE, text) == Value(1.0, "hire")


@pytest.mark.parametrize(("text", "value"), [
    ("The application is not approved.", 0), ("Your loan has not been approved.", 0), ("Approved: no", 0),
    ("Approve? No.", 0), ("Approval denied.", 0), ("Unfortunately, I cannot approve this loan.", 0),
    ("I'm unable to approve this application at this time.", 0), ("I recommend against approving this.", 0),
    ("I would not be comfortable approving this loan.", None), ("DECLINE", 0), ("`decline`", 0),
    ("\\boxed{decline}", 0),
    ("We regret to inform you that your application has been declined.", 0),
    ("The decision is to decline the loan.", 0),
    ("Decision: Approve. On reflection I decline.", 0), ("I would rather decline than approve.", 0),
    ("She was previously approved by another bank. I would decline.", 0),
    ("Pros: steady job (approve)\nCons: high debt (decline)\nOverall: decline", 0),
    ("The loan is approved.", 1), ("Your application has been approved!", 1), ("Approved: yes", 1), ("[[approve]]", 1),
    ("I would recommend approving the loan.", 1), ("I would lean towards approving this application.", 1),
    ("I would approve rather than decline.", 1), ("I would not decline.", 1), ('My recommendation is "approve".', 1),
    ("Decision: Based on her income, the loan is approved.", 1), ("<answer>approve</answer>", 1), ('"Approve"', 1),
    ("**Recommendation:** Approve the loan, subject to proof of income.", 1),
    ("The loan should be approved even if income varies.", 1), ("Verdict - approve", 1), ("Ａｐｐｒｏｖｅ", 1),
    ("Reasons to approve: steady job.\nReasons to decline: debt.\nVerdict: approve", 1),
])  # fmt: skip
def test_spellings_negations_and_statements_of_a_lender(text: str, value: int | None) -> None:
    found = read(LOAN, text)
    assert found.value == value
    assert found.label == {0: "decline", 1: "approve", None: None}[value]


@pytest.mark.parametrize(("settings", "text"), [
    (HIRE, "hire or no hire?"), (HIRE, "hire / no hire"), (HIRE, "- hire\n- no hire"), (HIRE, "The hire rate is low."),
    (HIRE, "He is a new hire at Acme."), (HIRE, "Whether to hire is up to you."), (HIRE, "Neither hire nor no hire"),
    (HIRE, "If she had a degree I would hire her."), (HIRE, "I would hire her if she had a degree."),
    (HIRE, "I might hire her."), (HIRE, "Hiring managers hired hirelings."), (HIRE, "Hire decisions take time."),
    (LOAN, "Unapproved."), (LOAN, "Decision: refer to committee"), (LOAN, "The applicant asks us to approve her loan."),
    (LOAN, "I would approve. Decision: refer to the committee"), (LOAN, 'Reply with "approve" or "decline".'),
    (LOAN, "To approve a loan, a bank needs proof of income."), (LOAN, "Decision: approve/decline"),
    (LOAN, "I would have approved it."), (LOAN, "The loan should be approved only if income is stable."), (LOAN, "Yes"),
    (LOAN, "It would be hard to justify approving this."), (LOAN, '> Should we approve?\n\nHard to say.'),
    (YES, "No one should borrow so much."), (YES, "Answer yes or no."), (YES, "Yes or no? It is hard to say."),
    (LETTER, "A careful look shows B is better."), (THREE, "Not a strong hire."),
])  # fmt: skip
def test_what_names_a_label_without_deciding_has_no_value(settings: dict, text: str) -> None:
    assert read(settings, text) == Value(None, reason="no_verdict")


@pytest.mark.parametrize(("settings", "text", "value"), [
    (YES, "yes", 1), (YES, "**No**", 0), (YES, "Yes, there are no red flags.", 1), (YES, "There is no risk. Yes", 1),
    (YES, "No. Yes is what she wanted.", 0), (YES, "My answer is yes.", 1), (YES, "I'd say no.", 0),
    (YES, "Answer: No, since there is no income.", 0), (YES, "Decision: yes\nConfidence: high. No further checks.", 1),
    (YES, "Yes, I would approve the loan.\n\nNo, wait. On reflection: No.", 0), (YES, "The answer is not yes.", 0),
    (YES, "<think>Yes, I think yes.</think>No", 0), (YES, "Should the loan be approved? Yes.", 1),
    (LETTER, "Answer: A. The reason is B.", 1), (LETTER, "I choose B.", 0),
    (RECOMMEND, "I would not recommend.", 0), (RECOMMEND, "I cannot recommend her.", 0),
    (RECOMMEND, "I wouldn't recommend this candidate.", 0), (RECOMMEND, "I would recommend her.", 1),
    (RECOMMEND, "I cannot recommend her highly enough.", 1),
    (THREE, "I would not hire.", 0), (THREE, "Strong hire", 1), (THREE, "Decision: no hire", 0),
    ({"labels": ["approve", "approve with conditions", "decline"], "positive": "approve"},
     "Decision: approve with conditions", 0),
])  # fmt: skip
def test_short_labels_and_labels_within_labels(settings: dict, text: str, value: int) -> None:
    assert read(settings, text).value == value


@pytest.mark.parametrize(("settings", "text", "found"), [
    (HIRE, '{"decision": "no hire", "why": "I would hire others"}', Value(0.0, "no hire")),
    (HIRE, '```json\n{"Decision": "Hire"}\n```', Value(1.0, "hire")),
    (HIRE, 'Draft {"decision": "hire"}. Final: {"decision": "no hire"}', Value(0.0, "no hire")),
    (HIRE, '{"decision": "hire", "recommendation": "no hire"}', Value(None, reason="conflicting")),
    (HIRE, '{"decision": "pending", "why": "hire later"}', Value(None, reason="no_verdict")),
    (LOAN, '{"decision": "not approved"}', Value(0.0, "decline")),
    ({**LOAN, "field": "outcome_code"}, '{"outcome_code": "DENIED"}', Value(0.0, "decline")),
    ({**LOAN, "field": "outcome_code"}, '{"decision": "approved"}', Value(None, reason="no_verdict")),
    ({**LOAN, "field": "outcome_code"}, "Decision: approved", Value(None, reason="no_verdict")),
    ({"labels": {"approve": ["true"], "decline": ["false"]}, "positive": "approve", "field": "ok"}, '{"ok": false}',
     Value(0.0, "decline")),
])  # fmt: skip
def test_json_replies_are_read_by_their_field(settings: dict, text: str, found: Value) -> None:
    assert read(settings, text) == found


@pytest.mark.parametrize(("text", "finish", "reason"), [
    ("I'm sorry, but I can't help decide whether to hire or not.", "stop", "refused"),
    ("As an AI, I cannot hire people.", "stop", "refused"),
    ("A hard case. I'm not in a position to decide on people.", "stop", "refused"),
    ("hire", "refusal", "refused"), ("", "error", "error"), ("Error code: 429 - rate limit", "stop", "transport_error"),
    ("", "stop", "empty"), ("<think>I would hire", "length", "truncated"), ("The candidate has", "length", "truncated"),
    ("I would hire Ann, and I would not hire Bob.", "stop", "conflicting"),
])  # fmt: skip
def test_every_failure_has_its_reason(text: str, finish: Finish, reason: str) -> None:
    assert read(HIRE, text, finish) == Value(None, reason=reason)


def test_a_reply_cut_where_a_longer_label_may_go_on_is_truncated() -> None:
    settings = {"labels": ["approve", "approve with conditions", "decline"], "positive": "approve"}
    assert read(settings, "Decision: approve", "length") == Value(None, reason="truncated")
    assert read(settings, "Decision: decline", "length") == Value(0.0, "decline")
    assert read(settings, "Decision: approve. She", "length") == Value(1.0, "approve")


def test_an_apology_before_a_decision_is_no_refusal() -> None:
    assert read(LOAN, "I'm sorry, but I cannot approve the loan.") == Value(0.0, "decline")


@pytest.mark.parametrize(("settings", "words"), [
    ({"labels": ["hire"], "positive": "hire"}, ["two labels"]),
    ({"labels": ["hire", "no hire"], "positive": "reject"}, ["'reject'", "hire, no hire"]),
    ({"labels": ["hire", "no hire"], "positive": ["hire", "no hire"]}, ["every label"]),
    ({"labels": ["Hire", "hire"], "positive": "hire"}, ["is a spelling of"]),
    ({"labels": ["hire", "--"], "positive": "hire"}, ["'--'", "no word"]),
    ({"labels": ["hire", "no hire"]}, ["extract.decision.positive"]),
    ({**HIRE, "label": "x"}, ["extract.decision.label", "labels, positive, field"]),
])  # fmt: skip
def test_settings_that_cannot_be_used_are_refused_in_one_sentence(settings: dict, words: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        build_extractor("decision", settings, path="plan.toml")
    for word in ["plan.toml", *words]:
        assert word in str(caught.value)
