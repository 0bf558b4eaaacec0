"""Measure the steps from captions to questions on phantom captions with planted faults.

    python scripts/benchmarks/captions.py [--captions 500] [--rate 0.02] [--lazy 0.05] [--seed 0]
                                          [--share 0.2] [--sensitivity 0.9] [--specificity 0.98]

A scripted model writes questions of three kinds in two languages from each caption, with the shares of True statements
and of letters that the paper had before it balanced, and 12 kinds of fault, each in `--rate` of the replies that can
have it. It alters statements as asked, and returns `--lazy` of them as they were. For each fault: how often it was
planted, found for its own reason, and missed. A wrong translation of a finding is missed by every check: a scripted
judge compares the languages of a `--share` of the questions that are left, with a known sensitivity and specificity,
and its verdicts must be recovered exactly. Then the shares of True and of the letters, and the blind baseline of
`audit` on the result.

Of 500 captions: of 27 wrong translations of a finding the checks find none, and 25 are among the 1,254 questions that
are left. The judge finds 23 of them with ``--share 1`` (and calls 18 right ones different), and 5 with the default
share, which contains 5.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from lmod_train.core.shuffling import shuffle_key
from lmod_train.core.types import Question, Record, Sample, Split
from lmod_train.extensions.drafting.caption_steps import (
    Drafts,
    Item,
    Settings,
    compared_by,
    comparisons,
    counts,
    counts_of,
    letters,
    paper_keywords,
    sampled,
    share_true,
)
from lmod_train.extensions.drafting.captions import (
    AGREES,
    BINARY,
    DIFFERS,
    OPEN,
    Caption,
    CaptionParity,
    CaptionRewriting,
    worded,
)
from lmod_train.extensions.looking.blind import blind
from lmod_train.tasks.bilingual import BinaryQuestion, SingleChoiceQuestion
from lmod_train.tasks.prompt import prompt

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
from tests.captioned import FAULTS, FOUND_AS, eyes, is_mistranslated, judged, made, predicted


def of_faults(drafts: Drafts, faults: dict[tuple[str, str], str]) -> Iterator[tuple[str, int, int]]:
    """Yield each planted fault with the number of its replies, and of those that are left out for its reason."""
    found = {(*one.id.split("/")[:2], one.step, one.reason) for one in drafts.left}
    for name in FAULTS:
        places = [place for place, fault in faults.items() if fault == name]
        yield name, len(places), sum((*place, *FOUND_AS.get(name, ("", ""))) in found for place in places)


def compare(drafts: Drafts, given: argparse.Namespace) -> bool:
    """Print what a scripted judge of the languages finds; return whether its verdicts are recovered."""
    items, captions = drafts.items, {eye.caption.key: eye.caption for eye in eyes(given.captions, given.seed)}
    chosen = sampled(items, given.share, given.seed)
    same = {item.id: judged(item, given.sensitivity, given.specificity, given.seed) for item in chosen}
    records = comparisons(chosen, captions)
    replies = {record.id: str(same[f"{record.key}/{record.chain_step}"]) for record in records}
    found = compared_by(items, predicted(CaptionParity(), records, replies))
    wrong = {item.id for item in items if is_mistranslated(item)}
    caught = {id for id, one in found.items() if one.outcome == DIFFERS}
    print(f"wrong translations in the {len(items)} questions: {len(wrong)}")
    print(f"  judge of sensitivity {given.sensitivity} and specificity {given.specificity}: {counts(found)}")
    drawn = wrong & found.keys()
    print(f"  wrong ones among these {len(drawn)}, found {len(drawn & caught)}; false alarms {len(caught - wrong)}")
    return {id: one.outcome == AGREES for id, one in found.items()} == same


def records_of(drafts: Drafts) -> Iterator[Record]:
    """Yield the closed questions as records, 70 % of the captions for training."""
    tasks = {task.name: task for task in (BinaryQuestion(), SingleChoiceQuestion())}
    for item in (item for item in drafts.items if item.kind != OPEN):
        split: Split = "train" if int(shuffle_key("split", item.caption)[:8], 16) % 10 < 7 else "test"
        for language in ("en", "zh"):
            sample = Sample("captions", item.caption, "CFP", None, "", "", asked=(_asked(item, language),))
            (asked,) = tasks[item.kind].ask(sample)
            caption = Caption(item.caption, "", "", group=item.caption)
            yield replace(
                CaptionRewriting().record(caption, f"{item.id}-{language}", ""),
                task=f"{item.kind}, {language}",
                split=split,
                language=language,
                messages=asked.messages,
                choices=asked.choices,
                answer=asked.answer,
            )


def _asked(item: Item, language: str) -> Question:
    half = item.pair.halves[language]
    words = half.question if item.kind == BINARY else worded(half, language)
    return Question(item.kind, prompt(words), half.options, half.answer, language)


def main() -> int:
    """Print the figures; return 1 if a check missed a fault, a verdict is not recovered, or the balance not reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=int, default=500)
    parser.add_argument("--rate", type=float, default=0.02)
    parser.add_argument("--lazy", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--sensitivity", type=float, default=0.9)
    parser.add_argument("--specificity", type=float, default=0.98)
    given = parser.parse_args()
    started = time.perf_counter()
    drafts, faults = made(
        given.captions, given.rate, Settings(paper_keywords(), seed=given.seed), given.lazy, given.seed
    )
    print(f"{given.captions} captions, {len(drafts.items)} questions kept, {time.perf_counter() - started:.1f} s")
    print(f"  {dict(Counter(item.kind for item in drafts.items))}")
    print(f"{'fault':<18}{'planted':>9}{'found':>7}{'missed':>8}")
    wrong = 0
    for name, planted, found in of_faults(drafts, faults):
        print(f"{name:<18}{planted:>9}{found:>7}{planted - found:>8}")
        wrong += (planted - found) if name in FOUND_AS else 0
    for step, reason, count in counts_of(drafts):
        print(f"  left out: {step}: {reason} {count}")
    wrong += not compare(drafts, given)
    share, counted = share_true(drafts.items), letters(drafts.items)
    print(f"True {share}, letters {counted}")
    for one in blind([*records_of(drafts)]):
        interval = "" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]"
        print(f"blind {one.task}: n {one.n}, accuracy {one.accuracy:.3f}{interval}, chance {one.chance}, p {one.p:.3f}")
    return int(wrong > 0 or share != 0.5 or max(counted.values()) - min(counted.values()) > 1)


if __name__ == "__main__":
    sys.exit(main())
