"""The nouns of the project, and the two protocols that everything else meets at.

Level 0: imports nothing of the project and no torch. Every noun is a frozen dataclass but `Batch`, which Lightning
walks into and must therefore find plain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, Self, runtime_checkable

Answer = str | float | Mapping[int, str]
"""What a parser understood: a word, a number, or region id -> structure."""

Split = Literal["train", "val", "test"]
Status = Literal["answered", "unparsed", "refused", "truncated", "failed"]
Reason = Literal[
    "empty", "no_match", "ambiguous", "out_of_range", "repetition", "parser_error", "refused", "truncated", "failed"
]
Extent = Literal["gone", "part"]
Ending = Literal["stop", "length", "content_filter", "refusal", "error"]


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box in pixels, `x1` and `y1` exclusive.

    Example:
        >>> Box(2, 3, 6, 5).width, Box(2, 3, 6, 5).height, Box(2, 3, 6, 5).area
        (4, 2, 8)
    """

    x0: int
    y0: int
    x1: int
    y1: int

    @property
    def width(self) -> int:
        """Columns covered."""
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        """Rows covered."""
        return self.y1 - self.y0

    @property
    def area(self) -> int:
        """Pixels covered."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class Region:
    """A structure and the box around it; `id` is the number drawn on the image, 0 while none has been given."""

    structure: str
    box: Box
    id: int = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part of a file holds the pixels; by default all of a picture.

    Attributes:
        half: ``left`` or ``right`` half of a picture whose image and mask stand side by side, divided at width // 2.
        arrays: Names under which an ``.npz`` or ``.mat`` file may hold the array, the first present one counts; empty
            for a picture.
        pickled: Whether the user allows arrays that only a pickle can give back (see `lmod_train.arrays`).
    """

    half: Literal["", "left", "right"] = ""
    arrays: tuple[str, ...] = ()
    pickled: bool = False


OTHER: tuple[int, ...] = ()
"""In a coding: every pixel value that no other name has."""


@dataclass(frozen=True, slots=True)
class MaskFile:
    """A mask on disk and how it may be coded.

    Each coding maps a name to the pixel values that belong to it; the name ``background`` is required. A structure may
    share values with another (a disc is rim and cup), and one name may have `OTHER`. Values are grey values, palette
    indices or signed array values; a colour is the one number 0xRRGGBB. The coding that holds is decided by the values
    present in the file, and nothing else is accepted (`spec` of REFUGE: three codings circulate).
    """

    path: Path
    codings: tuple[Mapping[str, tuple[int, ...]], ...]
    cut: Cut = Cut()


@dataclass(frozen=True, slots=True)
class Outline:
    """A structure's outline as a source writes it down: a polygon, or two opposite corners of a box.

    Attributes:
        structure: Word of the vocabulary.
        points: (x, y) of every corner, at least two; x to the right, y down, from the image's upper left corner.
        unit: ``pixel`` of the raw image, or ``side``: fractions of its width and height.
    """

    structure: str
    points: tuple[tuple[float, float], ...]
    unit: Literal["pixel", "side"] = "pixel"


@dataclass(frozen=True, slots=True)
class Patient:
    """What a source states about the person and the exposure; None where it states nothing."""

    age: float | None = None
    sex: str | None = None
    laterality: str | None = None
    camera: str | None = None
    quality: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message: text, or the place of an image (`text` then empty)."""

    type: Literal["text", "image"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """An earlier question about the same sample, in the same language, whose answer a question's words hold.

    Attributes:
        chain_step: Step of the earlier question.
        task: Its task; empty for the task of the question that needs it.
        variant: Its variant.
    """

    chain_step: str
    task: str = ""
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a task asks of a sample.

    A sample of a question-answer data set carries ready questions (`Sample.asked`): there the words, the choices and
    the answer are the data set's own, and the task of that name puts them into its prompt.

    Attributes:
        task: Name of the task.
        messages: What is asked, word for word; ends with the user's turn.
        choices: The words a reply may choose from, in the prompt's own spelling.
        answer: The reference reply in the requested format and the training target; `parse` gives the truth back.
        language: ISO 639-1 code.
        marked: Whether the image with drawn, numbered boxes is shown instead of the plain one.
        regions: The numbered boxes, where the question is about them.
        variant: Names one of several questions of the same task about the same sample; empty when there is one.
        stratum: What balanced sampling balances, usually the answer's class; empty is not balanced.
        shows: Which image goes with it: the sample's ``own``; ``none``; ``another`` sample's of the same modality whose
            stratum differs; or ``foreign``, a photograph that is not an eye (the probes of LMOD, figure 6).
        images: For each image place of the messages, which of the sample's images stands there (0 is the first, see
            `Sample.image_keys`); empty for the first ones in their order. A question without an image place shows none.
        chain: Name of the chain of questions it belongs to, unique within its source; empty for none. All records of a
            chain are in one split.
        chain_step: Which step of the chain it is; unique within task, sample, language and variant.
        needs: Earlier questions whose answers its words hold, as `lmod_train.tasks.filled` fills them in; the first
            stands at the placeholder ``{answer 1}``.
        tags: Key -> value; each key is a subset of the scores (level, impact, condition, subspecialty), beside those
            that every record has (modality, source, split, language, sex, age).
    """

    task: str
    messages: tuple[Message, ...]
    choices: tuple[str, ...]
    answer: str
    language: str = "en"
    marked: bool = False
    regions: tuple[Region, ...] = ()
    variant: str = ""
    stratum: str = ""
    shows: Literal["own", "none", "another", "foreign"] = "own"
    images: tuple[int, ...] = ()
    chain: str = ""
    chain_step: str = ""
    needs: tuple[Need, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file that several samples may show; it is curated once.

    Attributes:
        path: The raw file.
        key: Its place in the source, which becomes ``images/<source>/<key>.jpg``. One key is one file; where a sample
            of this key has the same file as its own image, that image is shown.
        modality: Of this image; empty where it is the sample's.
        cut: Which part of the file is the image.
    """

    path: Path
    key: str
    modality: str = ""
    cut: Cut = Cut()


@dataclass(frozen=True, slots=True)
class Sample:
    """One image, or several, with annotation and ready questions, as a source gives it.

    Attributes:
        source: Name of the source.
        key: Place in the source, ``part/split/id`` as the source names it; unique within the source.
        modality: A word of `lmod_train.vocabulary.modalities`; of several images with different ones a combination,
            e.g. ``CFP+OCT``; empty where the source does not state it.
        image: The raw image file that masks, outlines and regions are about; None where there are only
            `shared_images`, or no image at all.
        group: Patient or augmentation family; its samples stay in one split.
        licence: Licence of the source, as the source states it.
        labels: Concept -> word; a concept not known is absent. ``diagnosis``: a name of `CONDITIONS`; ``glaucoma`` and
            every name of `CONDITIONS`: ``yes`` or ``no``; every name of `SCALES`: one of its levels, e.g. ``"2"``.
        masks: Mask files still to be read (pixels are read by curation, never by a source).
        outlines: Polygons and boxes as the source writes them, made boxes by curation, which knows the image's size.
        regions: Boxes known; curation adds those it finds in masks and outlines.
        cut: Which part of the image file is the image.
        patient: Demographics and exposure.
        size: Width and height of the raw image in pixels, (0, 0) until curation has opened it.
        sha256: Of the raw image file, empty until curation has read it.
        phantom: Whether the image was drawn by this project and is no eye.
        shared_images: Further image files, behind `image` in the order in which questions count them; other samples may
            show them too. Samples that share one stay in one split.
        asked: Ready questions that come with the sample; the task of each one's name asks it.
    """

    source: str
    key: str
    modality: str
    image: Path | None
    group: str
    licence: str
    labels: Mapping[str, str] = field(default_factory=dict)
    masks: tuple[MaskFile, ...] = ()
    outlines: tuple[Outline, ...] = ()
    regions: tuple[Region, ...] = ()
    cut: Cut = Cut()
    patient: Patient = Patient()
    size: tuple[int, int] = (0, 0)
    sha256: str = ""
    phantom: bool = False
    shared_images: tuple[ImageFile, ...] = ()
    asked: tuple[Question, ...] = ()

    @property
    def own_image(self) -> Path:
        """The raw file of its own image.

        Raises:
            ValueError: It has none.
        """
        if self.image is None:
            raise ValueError(f"sample {self.source}/{self.key} has no image of its own")
        return self.image

    @property
    def image_keys(self) -> tuple[str, ...]:
        """Keys of its images in the order in which questions count them: its own first, which has the sample's key."""
        return (*((self.key,) if self.image is not None else ()), *(shared.key for shared in self.shared_images))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A sample or file that curation leaves out: counted by `reason`, listed with `detail`.

    `extent` is ``gone`` where the whole sample or file is left out, ``part`` where only some of its regions or labels
    are and the rest of it is used.
    """

    source: str
    key: str
    file: str
    step: str
    reason: str
    detail: str = ""
    extent: Extent = "gone"

    @classmethod
    def of(cls, sample: Sample, step: str, reason: str, detail: str = "", extent: Extent = "gone") -> Dropped:
        """Return the line for a sample, which names its own image file, or no file where it has none."""
        return cls(sample.source, sample.key, str(sample.image or ""), step, reason, detail, extent)


@dataclass(frozen=True, slots=True)
class Record:
    """A question with its place: one row of ``records/<task>.parquet``.

    Paths are relative to the curated folder, with forward slashes. `regions` are in pixels of the original image;
    `scale` is curated pixels per original pixel, of the first image. `image`, `image_plain` and `image_sha256` have one
    entry for each image place of the messages, in their order. `chain` is ``source/chain``, `chain_step` the step of
    the chain, `needs` the ids of the records whose answers its words hold (see `lmod_train.tasks.filled`). `variant`
    names one of several questions of a task about one sample. Each key of `tags` is a subset of the scores. `phantom`
    marks a drawing of the project itself, which is no eye.
    """

    id: str
    task: str
    task_class: str
    task_version: int
    source: str
    key: str
    modality: str
    image: tuple[str, ...]
    image_plain: tuple[str, ...]
    image_sha256: tuple[str, ...]
    split: Split
    group: str
    language: str
    messages: tuple[Message, ...]
    choices: tuple[str, ...]
    answer: str
    regions: tuple[Region, ...] = ()
    scale: float = 1.0
    chain: str = ""
    chain_step: str = ""
    needs: tuple[str, ...] = ()
    variant: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    phantom: bool = False
    patient: Patient = Patient()
    licence: str = ""


def own_part(answer: str, choices: Sequence[str]) -> str:
    """Return the part of a reference reply that is about one task; the reply itself where it has one part.

    A template that asks for two things at once has one reply for both ("MALE / 60–69", LMOD v1, section 3.1.2); of the
    parts between the slashes, the one that is a choice is the task's own.

    Example:
        >>> own_part("Sex/Age group: MALE / 60–69", ("MALE", "FEMALE")), own_part("DRUSEN TRUE", ("TRUE", "FALSE"))
        ('Sex/Age group: MALE', 'DRUSEN TRUE')
    """
    label, colon, value = answer.rpartition(": ")
    own = [part for part in value.split(" / ") if part in choices]
    return f"{label}{colon}{own[0]}" if len(own) == 1 else answer


@dataclass(frozen=True, slots=True)
class Reply:
    """The text a responder returned for one record, and how it ended: one line of ``replies/rank-<r>.jsonl``.

    Attributes:
        id: Record id.
        reply: The new text only, special tokens removed.
        finish_reason: ``stop``; ``length`` (cut off); ``content_filter`` (withheld or cut off by a service's filter);
            ``refusal`` (declined by the service, `reply` is its text); ``error``.
        error: What went wrong where there is no reply; empty otherwise.
        rendered: What the model was really sent, template and all.
        step: Checkpoint step (global optimiser step); 0 for an untuned model.
        tokens_in: Tokens of the prompt, image tokens included.
        tokens_out: Tokens generated.
        seconds: Share of the batch's time.
        model: Which model answered.
        settings: Generation settings as sorted JSON.
        likelihoods: Choice -> log-likelihood, where asked.
        asked: Hash over everything that decides what is asked of whom (weights, template, words, images, choices,
            decoding); empty in replies of schema version 1.
    """

    id: str
    reply: str
    finish_reason: Ending = "stop"
    error: str = ""
    rendered: str = ""
    step: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    model: str = ""
    settings: str = ""
    likelihoods: Mapping[str, float] = field(default_factory=dict)
    asked: str = ""


@dataclass(frozen=True, slots=True)
class Unparsed:
    """Not an answer, and why. A value of its own: never a guess, never a class."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A record, the reply to it, and what the task's parser understood.

    `confidence` is the confidence that the reply states, 0 to 1; None where it states none or was not asked for it.

    Example:
        >>> status_of(Unparsed("ambiguous")), status_of(Unparsed("refused")), status_of("NORMAL")
        ('unparsed', 'refused', 'answered')
    """

    record: Record
    reply: Reply
    answer: Answer | Unparsed
    confidence: float | None = None

    @property
    def status(self) -> Status:
        """answered, unparsed, refused, truncated or failed."""
        return status_of(self.answer)


def status_of(answer: Answer | Unparsed) -> Status:
    """Return the account under which an answer is counted."""
    if not isinstance(answer, Unparsed):
        return "answered"
    if answer.reason in ("refused", "truncated", "failed"):
        return answer.reason
    return "unparsed"


@dataclass(frozen=True, slots=True)
class Score:
    """One figure: one row of ``scores.csv`` before run and model are written beside it.

    `subset` is ``all`` or ``key=value[;key=value]``. `value` is None when there is nothing to score (then `n` is 0);
    `low` and `high` are None where no interval is defined.
    """

    task: str
    subset: str
    metric: str
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None


class Batch:
    """Records that are computed together; a subclass declares what a kind of model takes of them.

    A plain class on purpose: Lightning walks into dataclasses and raises on frozen ones under bf16-true, FSDP and
    DeepSpeed. Casting to another type is the module's business.

    Attributes:
        records: One per question.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = list(records)

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.records)

    def to(self, device: Any, *args: Any, **kwargs: Any) -> Self:
        """Return a copy in which every attribute with a method `to` is on `device`; all others are the same objects."""
        moved = copy(self)
        for name, value in vars(self).items():
            if hasattr(value, "to"):
                setattr(moved, name, value.to(device, *args, **kwargs))
        return moved

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """Return a batch that is of this class.

        Raises:
            TypeError: It is of another class, because another model's `collate` made it.
        """
        if not isinstance(batch, cls):
            found, expected = (f"{kind.__module__}.{kind.__qualname__}" for kind in (type(batch), cls))
            raise TypeError(
                f"batch={found}: expected a {expected}.\nNext: collate the records with the `collate` of the module "
                "or backend that is called, as RecordsDataModule does"
            )
        return batch


@dataclass(frozen=True, slots=True)
class Identity:
    """What of a responder decides its replies: replies of two that are equal in it may stand for one another.

    Attributes:
        weights: Files and folders that hold the weights, known by their content; or texts that name what lies
            elsewhere, e.g. the URL of an endpoint and the name of its model. Empty for what is drawn at random.
        template: What turns messages into input (chat template, tokenizer, processor), as a text or its hash.
        settings: How replies are decoded, and all else in its configuration that decides them; what JSON can hold.
    """

    weights: tuple[Path | str, ...] = ()
    template: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)


class Responder(Protocol):
    """Anything that answers a batch of records, such as a backend or a module."""

    def respond(self, batch: Batch) -> list[Reply]:
        """Return one reply per record, carrying its id, in any order."""
        ...


@runtime_checkable
class StreamResponder(Protocol):
    """A responder with several requests in flight, which reads ahead and answers as replies come."""

    def respond_stream(self, batches: Iterator[Batch]) -> Iterator[Reply]:
        """Yield one reply per record of all batches, carrying its id, as soon as it is there and in any order.

        A failure is a reply with `error` set. Closing the iterator abandons what is in flight.

        Args:
            batches: None of them empty; read as far ahead as requests are sent, in the thread that takes the replies.
        """
        ...


class Collate(Protocol):
    """Turns records into the kind of batch that one model takes; a module has one, and the datamodule calls it."""

    def __call__(self, records: Sequence[Record], root: Path) -> Batch:
        """Return the batch; image paths of the records are relative to `root`, the curated folder."""
        ...


Parser = Callable[[str, Sequence[str]], Answer | Unparsed]
"""Text and the allowed choices in, an answer or the reason why not out. Never raises, never guesses."""

SampleStream = Iterator[Sample | Dropped]
"""What a source yields: samples, and the files it had to leave out."""
