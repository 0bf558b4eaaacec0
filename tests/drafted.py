"""A small curated folder with the truths of six stages, good drafts of them, and faults to plant in drafts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase

from lmod_train.core.artifacts.records import write_run_records
from lmod_train.core.artifacts.replies import ReplyFile
from lmod_train.core.artifacts.run import Run
from lmod_train.core.files import sha256_of
from lmod_train.core.types import Box, Patient, Record, Region, Reply
from lmod_train.extensions.drafting.drafts import Draft, Facts, facts_in
from lmod_train.extensions.drafting.review import Drafting
from lmod_train.tasks.prompt import question_text
from lmod_train.tasks.rescore import rescore
from tests.tiny import record, write_curated

SIDE = 16
CHAIN = "lmod_train.extensions.xpcr.tasks.Chain"
TRUTHS = {
    "IQA": "Yes, clearly visible",
    "AL": "upper right of the image",
    "LC": "hard exudates",
    "DD": "diabetic retinopathy",
    "SG": "moderate NPDR",
    "CD": "Refer within 3 months",
}
WRONG = {
    "IQA": ("No, too blurred", "No, overexposed", "No, severe shadowing"),
    "AL": ("lower left of the image", "lower right of the image", "upper left of the image"),
    "LC": ("microaneurysms", "soft exudates", "haemorrhages"),
    "DD": ("glaucoma", "cataract", "age-related macular degeneration"),
    "SG": ("mild NPDR", "severe NPDR", "proliferative retinopathy"),
    "CD": ("Review in 12 months", "Emergency surgery", "Discharge without follow-up"),
}
QUESTIONS = {
    "IQA": "Is this fundus photograph of sufficient quality for an assessment?",
    "AL": "Where in this image is the optic disc?",
    "LC": "Which lesions are seen in this image?",
    "DD": "Based on the imaging findings, what is the most likely diagnosis?",
    "SG": "Based on current findings, how advanced is the disease?",
    "CD": "What is recommended based on the diagnosis and severity?",
}
LONG = {
    "IQA": "YES. The macula and the optic disc of image {n} are sharp.",
    "AL": "PRESENT. The optic disc of image {n} is in the upper right of the image.",
    "LC": "Size: small, image {n}.\nShape: irregular.\nColor / reflectivity: yellow.\nBorders: well-defined.\n"
    "Texture: waxy.\nAssociated features: hard exudates alone.",
    "DD": "Primary diagnosis: diabetic retinopathy, image {n}.\nSupporting evidence from LC: hard exudates.\n"
    "Differential considerations: hypertensive retinopathy.",
    "SG": "Risk category: moderate, image {n}.\nContributing factors: hard exudates.\n"
    "Recommended monitoring: examination in 6 months.",
    "CD": "Primary intervention: referral, image {n}.\nRationale: moderate diabetic retinopathy.\n"
    "Alternative options: closer review.\nContraindications: pregnancy for angiography.",
}


def curated(folder: Path, images: int) -> Path:
    """Write a curated folder of chains, with the box of a disc in the upper right of each image."""
    return write_curated(folder, [one for n in range(images) for one in chain(n)], side=SIDE)


def chain(n: int) -> list[Record]:
    """Return the records of one image's chain."""
    region = Region("optic disc", Box(10, 2, 14, 6), 1)
    common = {
        "task": "chain",
        "task_class": CHAIN,
        "key": f"eye{n}",
        "group": f"p{n}",
        "regions": (region,),
        "chain": f"phantom/eye{n}",
        "patient": Patient(laterality="right"),
        "licence": "CC0-1.0",
    }
    return [
        record(
            f"chain/phantom/eye{n}/{stage}",
            QUESTIONS[stage],
            (f"eye{n}.png",),
            answer="Answer: B",
            choices=(WRONG[stage][0], truth, *WRONG[stage][1:]),
            chain_step=stage,
            split=("train", "val", "test")[n % 3],
            tags={"stage": stage, "level": "R"},
            **common,
        )
        for stage, truth in TRUTHS.items()
    ]


def drafting_records(images: int) -> list[Record]:
    """Return the records that ask for drafts about `curated`."""
    return Drafting().records([one for n in range(images) for one in chain(n)], lambda _: (SIDE, SIDE))


def make_drafts(
    folder: Path, curated_folder: Path, images: int, texts: Mapping[str, str] | None = None
) -> list[Record]:
    """Write the folder that `draft ask` writes, with good drafts but for the given replies; return its records."""
    run = Run(folder)
    records = [
        replace(r, image_sha256=tuple(sha256_of(curated_folder / name) for name in r.image))
        for r in drafting_records(images)
    ]
    write_run_records(run.records, records, {r.id: f"asked {r.id}" for r in records})
    file = ReplyFile(run.replies_of(0))
    replies = {r.id: good(r).text for r in records} | dict(texts or {})
    file.append(Reply(id, text, asked=f"asked {id}", model="m") for id, text in replies.items())
    file.close()
    rescore(folder)
    return records


def facts_of(one: Record) -> Facts:
    """Return the facts of a record."""
    facts = facts_in(question_text(one.messages))
    assert facts is not None
    return facts


def good(one: Record, letter: str = "") -> Draft:
    """Return a draft without faults; its right option has the letter that the prompt names."""
    stage = one.chain_step
    letter = letter or question_text(one.messages).partition("Right letter: ")[2][0]
    options = list(WRONG[stage])
    options.insert(ascii_uppercase.index(letter), TRUTHS[stage])
    return Draft(QUESTIONS[stage], tuple(options), letter, LONG[stage].format(n=one.key))


def with_wrong(draft: Draft, text: str) -> Draft:
    """Return a draft with one of its wrong options replaced."""
    place = next(i for i, letter in enumerate("ABCD") if letter != draft.letter)
    return replace(draft, options=tuple(text if i == place else o for i, o in enumerate(draft.options)))


Fault = Callable[[Draft], Draft]
FAULTS: Mapping[str, Sequence[tuple[str, Fault]]] = {
    "place": [
        ("AL", lambda d: replace(d, answer="PRESENT. The optic disc is in the lower left of the image.")),
        ("AL", lambda d: replace(d, answer="PRESENT. The ONH lies superior and temporal in the fundus.")),
        ("CD", lambda d: replace(d, answer=d.answer.replace("referral", "laser, as the disc is inferior"))),
    ],
    "vocabulary": [("DD", lambda d: with_wrong(d, "Florbitis")), ("CD", lambda d: with_wrong(d, "Take tea"))],
    "coherence": [
        ("CD", lambda d: replace(d, answer=d.answer.replace("diabetic retinopathy", "glaucoma"))),
        ("CD", lambda d: replace(d, answer=d.answer.replace("moderate", "severe"))),
        ("SG", lambda d: replace(d, answer=d.answer.replace("hard exudates", "macular degeneration"))),
        ("DD", lambda d: replace(d, answer=d.answer.replace("LC: hard exudates", "LC: cotton wool spots"))),
    ],
    "numbers": [
        ("AL", lambda d: replace(d, answer=f"{d.answer} It takes 40 % of the width.")),
        ("LC", lambda d: replace(d, answer=d.answer.replace("small", "0.3 mm"))),
        ("DD", lambda d: replace(d, answer=d.answer.replace("LC: hard", "LC: two optic discs, hard"))),
    ],
    "parts": [
        ("LC", lambda d: replace(d, answer=d.answer.replace("Borders: well-defined.\n", ""))),
        ("SG", lambda d: replace(d, answer=d.answer.replace("examination in 6 months.", "N/A"))),
        ("IQA", lambda d: replace(d, answer="The photograph is sharp enough.")),
        ("IQA", lambda d: replace(d, question="Is this <MODALITY> image of sufficient quality for screening?")),
    ],
    "one_right": [
        ("DD", lambda d: replace(d, options=d.options[:3], letter="ABC"[d.options[:3].index(d.wrong[0])])),
        ("LC", lambda d: replace(d, letter="ABCD"[d.options.index(d.wrong[0])])),
        ("SG", lambda d: replace(d, letter="F")),
        ("CD", lambda d: with_wrong(d, f"{d.wrong[0]} (Correct)")),
        ("DD", lambda d: replace(d, question="Which sign of diabetic retinopathy is most likely the diagnosis here?")),
    ],
    "truth_in_other_words": [
        ("DD", lambda d: with_wrong(d, "DR")),
        ("AL", lambda d: with_wrong(d, "supero-nasal quadrant")),
        ("LC", lambda d: with_wrong(d, "EX")),
        ("CD", lambda d: with_wrong(d, "Referral within three months")),
    ],
    "equal_options": [("DD", lambda d: with_wrong(replace(d), "CATARACT!") if "cataract" in d.wrong[1:] else d)],
    "readability": [
        (
            "IQA",
            lambda d: replace(
                d,
                question="Considering interpretability characteristics, is photographic dissemination of "
                "ophthalmological abnormalities diagnostically representative?",
            ),
        )
    ],
    "length": [
        ("IQA", lambda d: replace(d, question="Quality?")),
        ("SG", lambda d: replace(d, question=f"Considering {'all that can be seen in it, ' * 6} and more, "
                                 f"{'and again all that can be seen, ' * 5} how advanced is the disease now?")),
        ("CD", lambda d: replace(d, options=tuple(
            f"{o} to a specialist, who then decides, after a full examination, on treatment" if o == d.right else o
            for o in d.options))),
    ],
    "repetition": [
        ("LC", lambda d: replace(d, answer=d.answer + " yellow spots" * 12)),
        ("CD", lambda d: replace(d, answer=d.answer.replace("closer review", "a review may do. A review may do"))),
    ],
    "marks": [
        ("DD", lambda d: replace(d, question=f"<image> {d.question}")),
        ("CD", lambda d: with_wrong(d, "Review \u202e in 12 months")),
        ("LC", lambda d: replace(d, answer=d.answer.replace("waxy", "see https://example.org"))),
        ("SG", lambda d: with_wrong(d, "severe NPDR {answer 1}")),
    ],
}  # fmt: skip
"""Check -> stage and change that plants a fault which this check must find."""
