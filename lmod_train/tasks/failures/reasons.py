"""Find answers without a reason where the prompt asks for one."""

from __future__ import annotations

import re
from functools import lru_cache

from lmod_train.core.vocabulary.explaining import FILLERS_EN, FILLERS_ZH
from lmod_train.core.vocabulary.findings import FINDINGS
from lmod_train.core.vocabulary.scales import SCALES
from lmod_train.tasks.failures.case import Case, Span
from lmod_train.tasks.failures.contradiction import contradiction
from lmod_train.tasks.failures.form import template
from lmod_train.tasks.failures.loop import loop
from lmod_train.tasks.failures.tokens import TOKEN
from lmod_train.tasks.parsing.forms import forms_of, pattern_of

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_FILLER_HAN = re.compile(FILLERS_ZH)
_MARKUP = re.compile(
    r"\\(?:boxed|text(?:bf)?|frac)|</?(?:answer|think|b|i|br|p)\s?/?>|<\|(?:begin|end)_of_box\|>", re.IGNORECASE
)


def unexplained(case: Case) -> Span | None:
    """Return the span of the whole reply if it answers and gives no reason, where the prompt asks for one.

    What only says the answer again, in any words of the question, is no reason. A reply that was cut off, fell into a
    loop, contradicts itself or has the prompt's form in place of the reason is not counted here.
    """
    wanted = case.asks_for_reasons and not case.record.regions and (case.answered or case.reason == "out_of_range")
    if not wanted or (case.cut and case.labelled) or case.of(template) or case.of(loop) or case.of(contradiction):
        return None
    text = _MARKUP.sub(" ", TOKEN.sub(" ", case.text))
    text = _subject(case.record.choices).sub(" ", text)
    words = [word for word in _WORD.findall(text.casefold()) if word not in FILLERS_EN and not _HAN.search(word)]
    han = "".join(_HAN.findall(_FILLER_HAN.sub("", text)))
    return None if words or len(han) >= 2 else case.stripped(0, len(case.text))


@lru_cache(maxsize=64)
def _subject(choices: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of the choices, the diseases that can be asked about, and the names of the tasks."""
    words = [form for choice in choices for form in forms_of(choice)]
    if {choice.upper() for choice in choices} == {"TRUE", "FALSE"}:
        words += [form for finding in FINDINGS for form in (finding.short, *forms_of(finding.condition))]
    words += [form for scale in SCALES for form in forms_of(scale.disease)]
    words += [form for choice in choices if "glaucoma" in choice.casefold() for form in forms_of("glaucoma")]
    return re.compile(r"(?i:non[- ]?(?=glaucoma))|非(?=青光眼)|" + pattern_of(words), re.IGNORECASE)
