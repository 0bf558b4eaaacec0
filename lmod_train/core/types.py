"""Data classes of the package, and its protocols.

Imports neither other modules of the package nor torch. All are frozen dataclasses except `Batch`, as Lightning fails on
frozen dataclasses in batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from lmod_train.core.curated import Curated

Answer = str | float | Mapping[int, str]
"""A parsed answer: a word, a number, or region id -> structure."""

Split = Literal["train", "val", "test"]
Status = Literal["answered", "unparsed", "refused", "truncated", "failed"]
Reason = Literal[
    "empty", "no_match", "ambiguous", "out_of_range", "repetition", "parser_error", "refused", "truncated", "failed"
]
REGIME = "regime"
"""Tag of the records that are asked with answers to earlier questions: the regime in which they are."""

Extent = Literal["gone", "part"]
Ending = Literal["stop", "length", "content_filter", "refusal", "error"]
Likelihoods = Literal["none", "sum", "mean"]
Constrain = Literal["choices"]
"""Log-likelihood of a choice: ``sum`` of its tokens' log-probabilities; their ``mean``, by which long choices lose
less; ``none``."""


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
        """Width in pixels."""
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        """Height in pixels."""
        return self.y1 - self.y0

    @property
    def area(self) -> int:
        """Area in pixels."""
        return self.width * self.height


@dataclass(frozen=True, slots=True)
class Region:
    """A structure and its box; `id` is the number drawn on the image, 0 if none is assigned yet."""

    structure: str
    box: Box
    id: int = 0


FACTS_VERSION = 1
"""Version of the definitions of facts (`lmod_train.data.curation.facts`)."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of one image that its annotation decides.

    Attributes:
        name: E.g. ``vcdr``, ``rim.inferior``, ``lesion.hard exudates``, ``lesion.hard exudates.fovea``, ``hole.width``.
        value: A number, or a word: yes, no, or a sector of the rim.
        unit: Unit of a number: ``ratio``, ``px`` of the original image, ``disc diameters``, ``disc areas``,
            ``components``; empty for a word.
        error: Half the difference that two measures of one image have; 0 for words and counts.
        origin: What it was measured from, or ``label NAME`` for a fact that a label states.
        version: Of its definition.
    """

    name: str
    value: float | str
    unit: str = ""
    error: float = 0.0
    origin: str = ""
    version: int = FACTS_VERSION


Page = int | Literal["", "middle"]
"""A picture of a file of several, from 1; by its empty default such a file is refused."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The part of a file that contains the pixels; by default a whole image file.

    Attributes:
        half: ``left`` or ``right`` half of an image file with image and mask side by side, split at width // 2.
        arrays: Possible names of the array in an ``.npz`` or ``.mat`` file, of which the first present one is used;
            empty for an image file.
        pickled: Whether the user permits reading pickled arrays (see `lmod_train.core.arrays`).
        column: Column of a Parquet file whose rows hold image files; empty for other files.
        row: Row of the Parquet file, from 0.
        page: Picture of an image file of several.
    """

    half: Literal["", "left", "right"] = ""
    arrays: tuple[str, ...] = ()
    pickled: bool = False
    column: str = ""
    row: int = 0
    page: Page = ""


OTHER: tuple[int, ...] = ()
"""In a coding: all pixel values that no other name has."""


@dataclass(frozen=True, slots=True)
class MaskFile:
    """A mask file and its possible codings.

    A coding maps each name to its pixel values; the name ``background`` is required. Structures may share values (a
    disc is rim and cup), and one name may have `OTHER`. Values are grey values, palette indices or signed array values;
    colours are numbers 0xRRGGBB. The coding is selected by the values in the file, and other values are an error (of
    REFUGE, three codings are in circulation).
    """

    path: Path
    codings: tuple[Mapping[str, tuple[int, ...]], ...]
    cut: Cut = Cut()


@dataclass(frozen=True, slots=True)
class Outline:
    """A structure's outline as annotated in a source: a polygon, or two opposite corners of a box.

    Attributes:
        structure: Name of the structure in the vocabulary.
        points: (x, y) of every corner, at least two; x to the right and y down from the image's upper left corner.
        unit: ``pixel`` for pixels of the raw image, ``side`` for fractions of its width and height.
        parts: Number of points of each polygon if there are several; empty for one.
        drawn_on: Width and height of the image as the annotation states them; None if it does not. They show whether
            a photograph with an EXIF orientation was annotated as stored or upright.
    """

    structure: str
    points: tuple[tuple[float, float], ...]
    unit: Literal["pixel", "side"] = "pixel"
    parts: tuple[int, ...] = field(default=(), compare=False)
    drawn_on: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Patient:
    """Patient and exposure as stated by a source; None if not stated.

    `visit` is the time of the image, in days or by number: larger is later. It orders the images of a patient at
    curation, and is in no record.
    """

    age: float | None = None
    sex: str | None = None
    laterality: str | None = None
    camera: str | None = None
    quality: str | None = None
    visit: float | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a message: text, or a placeholder of an image (with empty `text`)."""

    type: Literal["text", "image"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """Reference to an earlier question about the same sample and in the same language, whose answer a prompt contains.

    Attributes:
        chain_step: Step of the earlier question.
        task: Task of the earlier question; empty if it is the same.
        variant: Variant of the earlier question.
    """

    chain_step: str
    task: str = ""
    variant: str = ""


OTHERS_IMAGES = ("another", "foreign", "same_answer", "other_answer", "blank")
"""What a question shows in place of its sample's own image (`Question.shows`), and the end of its variant's name."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question of a task about a sample.

    Samples of question-answering datasets contain ready questions (`Sample.asked`) with wording, choices and answer of
    the dataset; the task with that name puts them into its prompt.

    Attributes:
        task: Name of the task.
        messages: The prompt; its last turn is the user's.
        choices: Words that a reply may choose from, spelled as in the prompt.
        answer: Reference reply in the requested format, and training target; `parse` returns the true answer from it.
        language: ISO 639-1 code.
        marked: Whether the image with numbered boxes is shown instead of the plain one.
        regions: The numbered boxes, if the question is about them.
        variant: Name of the variant, if the task has several questions about a sample; otherwise empty.
        stratum: Class for balanced sampling, usually that of the answer; empty if not balanced.
        shows: Which image is shown: the sample's ``own``; ``none``; that of ``another`` sample of the same modality
            and a different stratum; ``foreign``, a photograph that does not show an eye (the probes of LMOD, figure
            6); that of another patient with the ``same_answer`` or an ``other_answer``, which becomes the question's;
            or ``blank``, the mean image of source and modality.
        images: Index of the sample's image (see `Sample.image_keys`) for each image placeholder of the messages; empty
            for the first images in order.
        chain: Name of the chain of questions it belongs to, unique within its source; empty for none. All records of a
            chain are in one split.
        chain_step: Step of the chain; unique within task, sample, language and variant.
        needs: Earlier questions whose answers are inserted in the prompt by `lmod_train.tasks.filled`, the first at the
            placeholder ``{answer 1}``.
        tags: Key -> value for additional subsets of the scores (level, impact, condition, subspecialty); those of every
            record are modality, source, split, language, sex and age.
        perturbation: How the sample's own image is changed; empty for not. A defect, e.g. ``blur-3`` (see
            `lmod_train.core.perturbations`; its record has the tags ``perturbation`` and ``grade``), a removal (see
            `lmod_train.core.removal`), or ``counterfactual``, a phantom drawn again.
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
    shows: Literal["own", "none", "another", "foreign", "same_answer", "other_answer", "blank"] = "own"
    images: tuple[int, ...] = ()
    chain: str = ""
    chain_step: str = ""
    needs: tuple[Need, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)
    perturbation: str = ""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file that several samples may show, curated only once.

    Attributes:
        path: The raw file.
        key: Key within the source, which determines the path ``images/<source>/<key>.jpg``. A key belongs to one file;
            it may be that of a sample with this image.
        modality: Modality of the image; empty for that of the sample.
        cut: Part of the file that is the image.
    """

    path: Path
    key: str
    modality: str = ""
    cut: Cut = Cut()


@dataclass(frozen=True, slots=True)
class Sample:
    """One or several images with annotations and ready questions, as returned by a source.

    Attributes:
        source: Name of the source.
        key: Key ``part/split/id`` with the names of the source; unique within the source.
        modality: A name in `lmod_train.core.vocabulary.modalities`, or a combination for several images, e.g.
            ``CFP+OCT``; empty if the source does not state it.
        image: The raw image file with the masks, outlines and regions; None if there are only `shared_images`, or no
            image.
        group: Patient or augmentation family, whose samples are in one split.
        licence: Licence as stated by the source.
        labels: Concept -> word; unknown concepts are absent. ``diagnosis``: a name in `CONDITIONS`; ``glaucoma`` and
            every name in `CONDITIONS`: ``yes`` or ``no``; every name in `SCALES`: one of its levels, e.g. ``"2"``; a
            lesion of `STRUCTURES`: ``yes`` or ``no``, whether it is outlined; other names are those of a user's own
            task, and ``table/...`` of a column of a user's table, in its words.
        masks: Mask files; their pixels are read by curation, not by the source.
        outlines: Polygons and boxes of the source; curation converts them to boxes in pixels.
        regions: Known boxes; curation adds those of masks and outlines.
        cut: Part of the image file that is the image.
        patient: Demographics and exposure.
        size: Width and height of the raw image in pixels, (0, 0) until curation has opened it.
        too_small: Structures whose boxes curation left out as too small; they are in the image all the same.
        sha256: SHA-256 of the raw image file, empty until curation has read it.
        phantom: Whether the image is a phantom, drawn by this project.
        shared_images: Further image files, numbered after `image` in questions; other samples may show them too.
            Samples that share an image are in one split.
        asked: Ready questions of the sample, each asked by the task of its name.
        split: Split that the source states, in which its whole group is put; empty if curation divides.
        facts: Measures of the own image that the source states (``vcdr``, ``fovea.x``, ``fovea.y``); curation adds
            those of masks, outlines and labels.
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
    too_small: tuple[str, ...] = ()
    sha256: str = ""
    phantom: bool = False
    shared_images: tuple[ImageFile, ...] = ()
    asked: tuple[Question, ...] = ()
    split: Literal["", "train", "val", "test"] = ""
    facts: tuple[Fact, ...] = ()

    @property
    def own_image(self) -> Path:
        """Raw file of the sample's own image.

        Raises:
            ValueError: The sample has none.
        """
        if self.image is None:
            raise ValueError(f"sample {self.source}/{self.key} has no image of its own")
        return self.image

    @property
    def image_keys(self) -> tuple[str, ...]:
        """Keys of the images in the order of their indices in questions: first its own, with the sample's key."""
        return (*((self.key,) if self.image is not None else ()), *(shared.key for shared in self.shared_images))


@dataclass(frozen=True, slots=True)
class Dropped:
    """A sample or file that curation leaves out; counted by `reason` and listed with `detail`.

    `extent` is ``gone`` if the whole sample or file is left out, ``part`` if only some of its regions or labels are.
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
        """Return the entry of a sample, with the path of its own image if it has one."""
        return cls(sample.source, sample.key, str(sample.image or ""), step, reason, detail, extent)


@dataclass(frozen=True, slots=True)
class Record:
    """A question with id, split and image files: one row of ``records/<task>.parquet``.

    Paths are relative to the curated folder, with forward slashes. `regions` are in pixels of the original image;
    `scale` is curated pixels per original pixel of the first image. `image`, `image_plain` and `image_sha256` have one
    entry per image placeholder of the messages, in order. `chain` is ``source/chain``, `chain_step` the step of the
    chain, and `needs` are the ids of the records whose answers are inserted in the prompt (see
    `lmod_train.tasks.filled`). `variant` is the name of one of several questions of a task about a sample. Each key of
    `tags` is a subset of the scores. `phantom` marks images drawn by this project. `facts` are those of the image that
    is shown, without the label that is asked for; `target` is what tuning teaches, empty for `answer`. Neither is part
    of what is asked.
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
    facts: tuple[Fact, ...] = ()
    target: str = ""

    @property
    def taught(self) -> str:
        """What tuning teaches as the reply: the target, which begins with the answer, or the answer."""
        return self.target or self.answer


def class_path(kind: type) -> str:
    """Return the path of a class, by which configs and files name it.

    Example:
        >>> class_path(Box)
        'lmod_train.core.types.Box'
    """
    return f"{kind.__module__}.{kind.__qualname__}"


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, not copied; as `default` of `json.dumps` it does what `asdict` would.

    Example:
        >>> fields_of(Region("fovea", Box(0, 0, 2, 3)))
        {'structure': 'fovea', 'box': Box(x0=0, y0=0, x1=2, y1=3), 'id': 0}
    """
    return {one.name: getattr(value, one.name) for one in fields(value)}


def own_part(answer: str, choices: Sequence[str]) -> str:
    """Return the part of a reference reply that belongs to one task; the whole reply if it has one part.

    A prompt with two questions has one reply for both ("MALE / 60–69", LMOD v1, section 3.1.2). Of the parts separated
    by slashes, the one among the choices belongs to the task.

    Example:
        >>> own_part("Sex/Age group: MALE / 60–69", ("MALE", "FEMALE")), own_part("DRUSEN TRUE", ("TRUE", "FALSE"))
        ('Sex/Age group: MALE', 'DRUSEN TRUE')
    """
    label, colon, value = answer.rpartition(": ")
    own = [part for part in value.split(" / ") if part in choices]
    return f"{label}{colon}{own[0]}" if len(own) == 1 else answer


NOT_ASKED = "not asked: "
"""Beginning of the error of a reply to a record that no request was sent for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to a record with its finish reason: one line of ``replies/rank-<r>.jsonl``.

    Attributes:
        id: Record id.
        reply: Generated text without special tokens.
        finish_reason: ``stop``; ``length`` (truncated); ``content_filter`` (blocked or cut off by a service's filter);
            ``refusal`` (declined by the service with `reply`); ``error``.
        error: Description of the failure if there is no reply; otherwise empty.
        rendered: The complete input of the model, including its template.
        step: Optimiser step of the checkpoint; 0 for an untuned model.
        tokens_in: Number of prompt tokens, including image tokens.
        tokens_out: Number of generated tokens.
        seconds: Time of the batch divided by its number of records.
        model: Name of the model.
        settings: Generation settings as sorted JSON.
        likelihoods: Choice -> log-likelihood, if requested.
        asked: Hash of everything that determines the reply (weights, template, prompt, images, choices, decoding).
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

    @property
    def not_asked(self) -> bool:
        """Whether no request was sent for the record, as the command had stopped asking; no file holds such a reply."""
        return self.error.startswith(NOT_ASKED)

    @property
    def constrained(self) -> bool:
        """Whether its decoding could only give one of the choices, as its settings state."""
        return '"constrain": "choices"' in self.settings


@dataclass(frozen=True, slots=True)
class Unparsed:
    """The reason why a reply has no answer; a value of its own, neither a guess nor a class."""

    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A record, its reply, and the answer parsed by its task.

    `confidence` is the confidence stated in the reply, from 0 to 1; None if it was not stated or not requested.

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
        """Status: answered, unparsed, refused, truncated or failed."""
        return status_of(self.answer)


def status_of(answer: Answer | Unparsed) -> Status:
    """Return the status of an answer."""
    if not isinstance(answer, Unparsed):
        return "answered"
    if answer.reason in ("refused", "truncated", "failed"):
        return answer.reason
    return "unparsed"


@dataclass(frozen=True, slots=True)
class Score:
    """The value of a metric: one row of ``scores.csv`` without run and model.

    `subset` is ``all`` or ``key=value[;key=value]``. `value` is None if there are no items (`n` is 0); `low` and `high`
    are None if no interval is defined. `settings` states how the value was computed where the metric leaves it open:
    the signature of sacrebleu, or the encoder of BERTScore.
    """

    task: str
    subset: str
    metric: str
    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    settings: str = ""


class Batch:
    """A batch of records; subclasses add the inputs of a model.

    Not a dataclass, as Lightning converts the fields of dataclasses and fails on frozen ones under bf16-true, FSDP and
    DeepSpeed. Modules cast to other data types themselves.

    Attributes:
        records: The records, one per question.
        rounds_left: Number of later batches that ask about the same images; 0 but in a cascade.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = list(records)
        self.rounds_left = 0

    def __len__(self) -> int:
        """Return the number of questions."""
        return len(self.records)

    def to(self, device: Any, *args: Any, **kwargs: Any) -> Self:
        """Return a copy with every attribute that has a method `to` on `device`; all others are shared."""
        moved = copy(self)
        for name, value in vars(self).items():
            if hasattr(value, "to"):
                setattr(moved, name, value.to(device, *args, **kwargs))
        return moved

    @classmethod
    def of(cls, batch: Batch) -> Self:
        """Return the batch after checking that it is of this class.

        Raises:
            TypeError: It is of another class, made by another model's `collate`.
        """
        if not isinstance(batch, cls):
            found, expected = map(class_path, (type(batch), cls))
            raise TypeError(
                f"batch={found}: expected a {expected}.\nNext: collate the records with the `collate` of the module "
                "or backend that is called, as RecordsDataModule does"
            )
        return batch


@dataclass(frozen=True, slots=True)
class Identity:
    """Everything that determines a responder's replies; responders with equal identities give the same replies.

    Attributes:
        weights: Files and folders of the weights, compared by content; for remote models a text, e.g. the URL of an
            endpoint and the name of its model. Empty for random weights.
        template: Chat template, tokenizer and processor, as a text or its hash.
        settings: Decoding and other settings that affect the replies, as JSON values.
    """

    weights: tuple[Path | str, ...] = ()
    template: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def constrained(self, to: Constrain | None) -> Identity:
        """Return the identity of the same responder whose replies are constrained to the choices; None for free."""
        return replace(self, settings={**self.settings, "constrain": to}) if to else self


@runtime_checkable
class StreamResponder(Protocol):
    """A responder with concurrent requests, which reads batches ahead of its replies."""

    def respond_stream(self, batches: Iterator[Batch]) -> Iterator[Reply]:
        """Yield one reply per record of all batches, with its id, as soon as it arrives.

        On failure, the reply has `error` set. A reply is on the disk when the next one is fetched. Closing the iterator
        cancels requests in flight.

        Args:
            batches: Batches, none of them empty; read when requests can be sent, in the thread that takes the replies.
        """


class Collate(Protocol):
    """Collate function of a model, called by the datamodule."""

    def __call__(self, records: Sequence[Record], root: Path | Curated) -> Batch:
        """Return a batch of the records; `Curated.of(root)` reads their images."""


Parser = Callable[[str, Sequence[str]], Answer | Unparsed]
"""Function from a reply without its thinking and choices to an answer or the reason why there is none.

Its text still has its markup: braces, tags and tables (`lmod_train.tasks.parsing.structure`). It never raises or
guesses."""

SampleStream = Iterator[Sample | Dropped]
"""Samples of a source, and the files it left out."""
