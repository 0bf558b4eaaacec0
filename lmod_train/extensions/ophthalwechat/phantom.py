"""Phantoms in the layout of OphthalWeChat: drawn eyes beside two workbooks with questions in Chinese and English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np
from PIL import Image

from lmod_train.core.errors import BadArgument
from lmod_train.core.package_data import package_data
from lmod_train.core.vocabulary.conditions import CONDITIONS
from lmod_train.core.vocabulary.structures import STRUCTURES
from lmod_train.phantom.eye import DIAGNOSES, Eye, draw_eye
from lmod_train.phantom.fundus import render as render_fundus
from lmod_train.phantom.oct import STAGES, Scan, draw_oct_eye, draw_scan
from lmod_train.phantom.oct import render as render_oct
from lmod_train.phantom.pair import SPOTS, TwoImages, draw_pair, photograph, section
from lmod_train.phantom.shots import Files, draw_all, eye_seed, note, save, write_workbook
from lmod_train.phantom.truth import Truth

_WORDS = package_data(__file__, "words.yaml")["phantom"]


_SOURCE, _FOLDER = "ophthalwechat", "OphthalWeChat"

QUESTIONS, IMAGES = "OphthalWeChat_QA.xlsx", "OphthalWeChat_image_information.xlsx"

Headers = Literal["en", "zh", "mixed"]

_SUBSPECIALTIES: Mapping[str, dict[str, str]] = _WORDS["subspecialties"]

_RETINA = {"en": "Retina/Vitreous", "zh": "眼底病"}

_MODALITIES: Mapping[str, Mapping[str, str]] = _WORDS["modalities"]

_EVERY = 8  # one image of so many has two rows, and there is another row without a file


@dataclass(frozen=True, slots=True)
class Shown:
    """One image.

    Attributes:
        id: From 1, its name in the workbooks.
        drawn: What is drawn: a fundus photograph, a B-scan, or both beside each other.
        seed: Seed of its questions.
    """

    id: int
    drawn: Eye | Scan | TwoImages
    seed: int

    @property
    def questions(self) -> list[Drawn]:
        """Questions with their truth."""
        return list(questions_about(self.drawn, self.id - 1, self.seed))

    @property
    def modality(self) -> str:
        """Modality, a combination for a composite image."""
        return "CFP" if isinstance(self.drawn, Eye) else "OCT" if isinstance(self.drawn, Scan) else "CFP+OCT"

    @property
    def file(self) -> str:
        """Name of the image file."""
        return f"{self.id}.{'png' if isinstance(self.drawn, Scan) else 'jpg'}"

    @property
    def article(self) -> str:
        """Post with the image; two images after each other are of one post."""
        return f"A{(self.id + 1) // 2:04d}"

    @property
    def subspecialty(self) -> dict[str, str]:
        """Subspecialty in both languages."""
        return _SUBSPECIALTIES.get(self.drawn.diagnosis, _RETINA) if isinstance(self.drawn, Eye) else _RETINA


def truths(n: int, seed: int) -> list[Truth]:
    """Return the truth of each image that `write` draws with the same options, without its questions.

    Raises:
        BadArgument: `n` is negative.

    Example:
        >>> [(t.key, t.group) for t in truths(3, seed=0)]
        [('1', 'post A0001'), ('2', 'post A0001'), ('3', 'post A0002')]
    """
    return [Truth(str(shown.id), f"post {shown.article}") for shown in images(n, seed)]


def images(n: int, seed: int) -> list[Shown]:
    """Return `n` images: of each four two fundus photographs, a B-scan, and both beside each other.

    Raises:
        BadArgument: `n` is negative.
    """
    if n < 0:
        raise BadArgument("n", n, "0 or more images", "give a number from 0")
    return [Shown(place + 1, _drawn(place, seed), seed) for place in range(n)]


def _drawn(place: int, seed: int) -> Eye | Scan | TwoImages:
    own = eye_seed(_SOURCE, seed, place)
    rng = np.random.default_rng([seed, 33, place])
    if place % 4 in (0, 2):
        return draw_eye(own, DIAGNOSES[int(rng.integers(4))])
    if place % 4 == 1:
        eye = draw_oct_eye(own, STAGES[int(rng.integers(4))], "left")
        return draw_scan(own, eye, 0.0 if rng.random() < 0.7 else None)
    sick, hole = (bool(draw < 0.5) for draw in rng.random(2))
    return draw_pair(own, [*SPOTS][int(rng.integers(len(SPOTS)))], retinopathy=sick, hole=hole)


def write(out: Path, n: int, seed: int, size: int = 384, headers: Headers = "mixed", workers: int = 2) -> None:
    """Draw `n` phantoms and two workbooks below ``out/OphthalWeChat``; existing files are kept.

    One image of each eight has a second row with the same address, of which two questions are asked; and for each
    eight images there is a further row, with two questions, whose file is missing.

    Args:
        out: Folder to write below.
        n: Number of images, from 0.
        seed: Seed, from 0; the same seed draws the same images and questions.
        size: Side of an image in pixels, from 16; a composite image is twice as wide.
        headers: Language of the headers; ``mixed`` has questions in English and images in Chinese.
        workers: Number of processes to start; 0 works in this one.

    Raises:
        BadArgument: A number is out of range, or the folder contains phantoms drawn with other options.
    """
    drawn = images(n, seed)
    if size < 16:
        raise BadArgument("size", size, "at least 16 pixels", "use 120 or more to recognise anything")
    root = Path(out) / _FOLDER
    note(root, {"source": _SOURCE, "n": n, "seed": seed, "size": size, "headers": headers})
    files = [(root / "images" / shown.file,) for shown in drawn]
    draw_all(files, [shown.drawn for shown in drawn], partial(_draw, size=size), _SOURCE, workers)
    for name, kind, rows, own in ((QUESTIONS, "questions", question_rows, "en"), (IMAGES, "images", image_rows, "zh")):
        language = own if headers == "mixed" else headers
        write_workbook(root / name, HEADERS[kind][language], rows(drawn, language))


def _draw(files: Files, drawn: Eye | Scan | TwoImages, size: int) -> None:
    save(picture_of(drawn, size), files[0])


def picture_of(drawn: Eye | Scan | TwoImages, size: int) -> Image.Image:
    """Return an image; a pair as a photograph and a scan beside each other."""
    if isinstance(drawn, Eye):
        return render_fundus(drawn, size)
    if isinstance(drawn, Scan):
        return render_oct(drawn, size)
    both = Image.new("RGB", (2 * size, size))
    both.paste(photograph(drawn, size), (0, 0))
    both.paste(section(drawn, size).convert("RGB"), (size, 0))
    return both


def second_id(shown: Shown, n: int) -> int | None:
    """Return the id of an image's second row, which has the same address; None for an image with one row."""
    return n + shown.id // _EVERY if shown.id % _EVERY == 0 else None


def missing_ids(n: int) -> range:
    """Return the ids of rows whose file is missing."""
    return range(n + n // _EVERY + 1, n + 2 * (n // _EVERY) + 1)


def question_rows(drawn: Sequence[Shown], headers: str) -> Iterator[Sequence[object]]:
    """Yield the rows of the workbook of questions, a question and its translation after each other."""
    pair = 0
    for shown in drawn:
        for place, question in enumerate(shown.questions):
            pair += 1
            image = (second_id(shown, len(drawn)) if place == 0 else None) or shown.id
            for language in LANGUAGES:
                yield question_cells(question, language, pair, image, headers, shown.seed)
    for place, image in enumerate(missing_ids(len(drawn))):
        pair += 1
        for language in LANGUAGES:
            yield question_cells(drawn[place].questions[0], language, pair, image, headers, drawn[place].seed)


def image_rows(drawn: Sequence[Shown], headers: str) -> Iterator[Sequence[object]]:
    """Yield the rows of the workbook of images: all of them, then second rows, then those without a file."""
    yield from (_image_row(shown, shown.id, shown.id, headers) for shown in drawn)
    for shown in drawn:
        again = second_id(shown, len(drawn))
        if again is not None:
            yield _image_row(shown, again, shown.id, headers)
    for place, image in enumerate(missing_ids(len(drawn))):
        yield _image_row(drawn[place], image, image, headers)


def _image_row(shown: Shown, image: int, address: int, headers: str) -> Sequence[object]:
    words = shown.questions[-1]
    right = next(q.answer for q in shown.questions if q.task == "single_choice_question")
    condition = name_of(shown.drawn.diagnosis)[headers] if isinstance(shown.drawn, Eye) else right[headers]
    caption = " ".join(f"{words.words[language]} {words.answer[language]}" for language in LANGUAGES)
    url = f"https://mmbiz.qpic.cn/phantom/{address}/640?wx_fmt=jpeg"
    modality, subspecialty = _MODALITIES[shown.modality][headers], shown.subspecialty[headers]
    return [image, url, shown.article, modality, subspecialty, condition, caption]


T = TypeVar("T")

LETTERS, NEWLINE = "ABCD", "\n"

HEADERS: Mapping[str, Mapping[str, Sequence[str]]] = package_data(__file__, "words.yaml")["phantom"]["headers"]
"""Workbook -> language -> its headers; without a column of the language, the type names it."""

TYPES: Mapping[str, Mapping[str, str]] = _WORDS["types"]

_LANGUAGES = {"zh": "中文", "en": "英文"}

_SUFFIXES = {"zh": "CN", "en": "EN"}

_MARKS: Mapping[str, list[list[str]]] = _WORDS["marks"]
"""Language -> what may stand behind a letter, and behind an option."""

_FULL = str.maketrans(LETTERS, "ＡＢＣＤ")

_ENDS = {"zh": ("", "。", " "), "en": ("", ".", " ")}


def question_cells(drawn: Drawn, language: str, pair: int, image: int, headers: str, seed: int) -> list[object]:
    """Return a row of the workbook of questions.

    Args:
        drawn: The question.
        language: ``zh`` or ``en``.
        pair: Number of the question, shared with its translation.
        image: Id of the image.
        headers: Language of the headers.
        seed: Seed of marks and forms.
    """
    rng = np.random.default_rng([seed, 32, pair, language == "zh"])
    kind = TYPES[drawn.task][headers]
    named = [_LANGUAGES[language]] if headers == "zh" else []
    kind = kind if named else f"{kind}_{_SUFFIXES[language]}"
    return [pair, image, kind, *named, _words(drawn, language, rng), _answer(drawn, language, rng)]


def _words(drawn: Drawn, language: str, rng: np.random.Generator) -> str:
    """Return what is asked; options follow with letters in half or full width."""
    words = drawn.words[language]
    if drawn.task != "single_choice_question":
        return words + (_one(rng, _ENDS[language]) if drawn.task == "binary_question" else "")
    mark, between = _one(rng, _MARKS[language])
    letters = LETTERS.translate(_FULL) if language == "zh" and rng.random() < 0.3 else LETTERS
    options = zip(letters, drawn.options[language], strict=True)
    listed = between.join(f"{letter}{mark}{text}" for letter, text in options)
    return f"{words}{between if between == NEWLINE else ' '}{listed}"


def _answer(drawn: Drawn, language: str, rng: np.random.Generator) -> object:
    answer = drawn.answer[language]
    if drawn.task == "open_question":
        return answer
    if drawn.task == "single_choice_question":
        letter = LETTERS[drawn.options[language].index(answer)]
        return _one(rng, (letter, letter, f"{letter}.", letter.translate(_FULL), f"{letter}: {answer}", f" {letter} "))
    forms: Mapping[str, Sequence[object]] = {
        "对": ("对", "对", "对。", "正确"),
        "错": ("错", "错", "错。", "错误"),
        "True": ("True", "True", "TRUE", True),
        "False": ("False", "False", "FALSE", False),
    }
    return _one(rng, forms[answer])


def _one(rng: np.random.Generator, several: Sequence[T]) -> T:
    return several[int(rng.integers(len(several)))]


# Questions of OphthalWeChat about phantoms in Chinese and English, with the truth of what is drawn.
LANGUAGES = ("zh", "en")

Both = Mapping[str, str]
"""Language -> the same in it."""

CHINESE = {term.name: term.chinese[0] for term in (*CONDITIONS, *STRUCTURES) if term.chinese}
"""Name of the vocabulary -> its first Chinese synonym."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A question about a phantom.

    Attributes:
        task: Task that asks it.
        words: Language -> the question, without options.
        options: Language -> the options in the order of their letters; the two answers of a statement; or none.
        answer: Language -> one of the options, or the open answer.
    """

    task: str
    words: Both
    options: Mapping[str, tuple[str, ...]]
    answer: Both


def name_of(finding: str) -> Both:
    """Return a finding in both languages.

    Example:
        >>> name_of("macular hole")
        {'zh': '黄斑裂孔', 'en': 'macular hole'}
    """
    return {"zh": CHINESE[finding], "en": finding}


def findings_of(drawn: Eye | Scan | TwoImages) -> dict[str, bool]:
    """Return finding -> whether it is drawn, of all findings that an image of this kind can show."""
    if isinstance(drawn, Eye):
        kinds = {lesion.kind for lesion in drawn.lesions}
        diagnoses = {name: drawn.diagnosis == name for name in DIAGNOSES if name != "normal"}
        return diagnoses | {
            "increased cup-to-disc ratio": drawn.cup_to_disc > 0.6,
            "haemorrhages": "haemorrhage" in kinds,
            "hard exudates": "hard exudate" in kinds,
            "soft exudates": "cotton-wool spot" in kinds,
        }
    if isinstance(drawn, Scan):
        return {"macular hole": drawn.width > 0, "intraretinal cysts": bool(drawn.cysts)}
    return {"diabetic retinopathy": drawn.retinopathy, "macular hole": drawn.hole}


def questions_about(drawn: Eye | Scan | TwoImages, number: int, seed: int) -> Iterator[Drawn]:
    """Yield two statements, a single-choice question and an open question about an image.

    Args:
        drawn: What the image shows.
        number: Number of the image; statements are true and false by turns, and so are kinds of open questions.
        seed: Seed of the findings and of the order of options.
    """
    rng = np.random.default_rng([seed, 31, number])
    findings = findings_of(drawn)
    first, is_true, also_true = str(rng.choice([*findings])), number % 8 < 4, number % 8 in (0, 1, 6, 7)
    others = {name: there for name, there in findings.items() if name != first}
    yield _statement(rng, {first: findings[first]}, is_true=is_true)
    yield _statement(rng, others, is_true=also_true)
    options, right = _options(drawn, findings)
    order = rng.permutation(len(options))
    yield Drawn(
        "single_choice_question",
        _WHICH,
        {language: tuple(options[n][language] for n in order) for language in LANGUAGES},
        options[right],
    )
    yield _open(drawn, options[right], number)


_WHICH: Both = {"zh": "下列哪一项最符合图像所见？", "en": "Which of the following best describes the image?"}


def _statement(rng: np.random.Generator, findings: Mapping[str, bool], *, is_true: bool) -> Drawn:
    """Return a statement that one of the findings is there, or that it is not."""
    name = str(rng.choice([*findings]))
    affirms, words = findings[name] == is_true, name_of(name)
    zh = f"图中可见{words['zh']}" if affirms else f"图中未见{words['zh']}"
    en = f"Signs of {words['en']} are visible" if affirms else f"No signs of {words['en']} are visible"
    place = 0 if is_true else 1
    options = {"zh": ("对", "错"), "en": ("True", "False")}
    answer = {language: options[language][place] for language in LANGUAGES}
    return Drawn("binary_question", {"zh": zh, "en": en}, options, answer)


def _options(drawn: Eye | Scan | TwoImages, findings: Mapping[str, bool]) -> tuple[Sequence[Both], int]:
    """Return four options, and the place of the right one."""
    if isinstance(drawn, Eye):
        return [name_of(name) for name in DIAGNOSES], DIAGNOSES.index(drawn.diagnosis)
    (first, first_there), (second, second_there) = findings.items()
    one, other = name_of(first), name_of(second)
    options = [
        {"zh": f"{one['zh']}和{other['zh']}", "en": f"{first} and {second}"},
        {"zh": f"仅{one['zh']}", "en": f"{first} only"},
        {"zh": f"仅{other['zh']}", "en": f"{second} only"},
        {"zh": f"无{one['zh']}，亦无{other['zh']}", "en": f"neither {first} nor {second}"},
    ]
    return options, 2 * (not first_there) + (not second_there)


_STAGES = {"1": "一期", "2": "二期", "3": "三期", "4": "四期"}


def _open(drawn: Eye | Scan | TwoImages, diagnosis: Both, number: int) -> Drawn:
    """Return the open question of an image: side of the disc, diagnosis, stage of a hole or findings."""
    if isinstance(drawn, Eye) and number // 4 % 2 == 0:
        words = {"zh": "视盘位于图像的哪一侧？", "en": "On which side of the image is the optic disc?"}
        answer = {"zh": "左侧", "en": "left"} if drawn.disc[0] < 0.5 else {"zh": "右侧", "en": "right"}
    elif isinstance(drawn, Scan):
        words = {"zh": "黄斑裂孔处于哪一期？", "en": "What is the stage of the macular hole?"}
        stage = drawn.eye.stage
        hole = {"zh": _STAGES[stage], "en": f"stage {stage}"}
        answer = hole if drawn.width > 0 else {"zh": "无黄斑裂孔", "en": "no macular hole"}
    else:
        words = {"zh": "图像所见的诊断是什么？", "en": "What is the diagnosis of the image?"}
        answer = dict(diagnosis)
    return Drawn("open_question", words, dict.fromkeys(LANGUAGES, ()), answer)
