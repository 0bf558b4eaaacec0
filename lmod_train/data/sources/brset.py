"""BRSET (Nakayama et al. 2024): Brazilian fundus photographs with conditions, retinopathy grades and demographics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.package_data import package_data
from lmod_train.core.types import Patient, SampleStream
from lmod_train.data.sources.base import Source
from lmod_train.data.sources.clutter import entries, files_below, folders_below
from lmod_train.data.sources.sheets import UnreadableSheet, misfit, read_header, read_sheet
from lmod_train.data.sources.spelling import composed, plain_name, plain_stem, years_of

IMAGE, PATIENT = "imageid", "patientid"
_TABLES = ("labels_brset.csv", "labels.csv", "labels_brset.xlsx", "labels.xlsx")
_MARKERS = {IMAGE, PATIENT, "dricdr", "drsdrg"}
_KINDS = {".jpg", ".jpeg", ".png"}
_PAPERS = {"license.txt", "sha256sums.txt", "readme.md", "readme.txt", "robots.txt"}
_PHOTOGRAPHS = "fundus_photos"
_NAME = "brazilian-ophthalmological"
_TREE = """\
  <root>/{labels_brset.csv|labels.csv}           (or .xlsx)
  <root>/fundus_photos/img00001.jpg          (or images/, or beside the table)
  as wget leaves it:
    <root>/physionet.org/files/brazilian-ophthalmological/1.0.1/{labels_brset.csv,fundus_photos/img00001.jpg}"""


class Brset(Source):
    """The 16,266 rows of the Brazilian Multilabel Ophthalmological Dataset; keys are the table's ``img00001``.

    Labels are yes or no for each of the table's conditions and for macula, vessels and optic disc (``abnormal ...``),
    and the grades icdr and sdrg. They are taken unchanged: in about 15 rows the flag of diabetic retinopathy and the
    ICDR grade contradict each other. A value that is not among its column's codes (one ``bv`` in optic_disc, two zeros
    in focus) is dropped and listed with its row. The group is the patient.

    Version 1.0.1 lacks the images of seven rows (img04414 to img04419, img06900), which are listed.

    The licence is the PhysioNet Credentialed Health Data License 1.5.0: images must not be redistributed.

    References:
        Nakayama et al., BRSET: A Brazilian Multilabel Ophthalmological Dataset of Retina Fundus Photos, PLOS Digital
        Health 3(7) (2024) e0000454.
    """

    name = "brset"
    modality = "CFP"
    licence = "PhysioNet Credentialed Health Data License 1.5.0"
    redistributable = False
    reference = "https://physionet.org/content/brazilian-ophthalmological/1.0.1/"

    @classmethod
    def found_in(cls, folder: Path) -> bool:
        """Return whether the table or its photographs are in this folder or in PhysioNet's subfolders."""
        if _table_in(folder) is not None or any(plain_name(p.name) == _PHOTOGRAPHS for p in entries(folder)):
            return True
        inner = folder / "files" / _NAME if folder.name == "physionet.org" else folder
        return inner.name == _NAME and any(version.is_dir() and cls.found_in(version) for version in entries(inner))

    def verify(self) -> None:
        """Check that the table exists, with photographs beside or below it.

        Raises:
            SourceNotFound: Something is missing; the message prints the expected trees.
        """
        table = self._table()
        if next((file for file in files_below(table.parent) if file.suffix.lower() in _KINDS), None) is None:
            raise SourceNotFound(self.name, self.root, "every photograph (img00001.jpg, ...)", _TREE)

    def samples(self) -> SampleStream:
        """Yield one sample per row with a photograph, in the table's order, and a `Dropped` for each loss.

        Raises:
            SourceNotFound: As `verify`.
        """
        self.verify()
        table = self._table()
        try:
            rows = read_sheet(table)
        except UnreadableSheet as error:  # without patients the photographs cannot be split
            yield self._drop(table, "unreadable sheet", str(error), table.name)
            return
        for column in missing_columns(list(rows[0]) if rows else []):
            detail = f"no column {column}; its labels are unknown"
            yield self._drop(table, "missing column", detail, f"{table.name}: {column}", "part")
        below = list(files_below(table.parent))
        photographs: dict[str, Path] = {}
        for file in (file for file in below if file.suffix.lower() in _KINDS):
            taken = photographs.setdefault(plain_stem(file), file)
            if taken != file:
                yield self._twice(file, taken)
        met: set[str] = set()
        for row in rows:
            yield from self._row(row, table, photographs, met)
        for stem, file in photographs.items():
            if stem not in met:
                yield self._drop(file, "no row in the table")
        for file in below:
            if file != table and file.suffix.lower() not in _KINDS and file.name.lower() not in _PAPERS:
                yield self._drop(file, "stray file")

    def _row(self, row: dict[str, str], table: Path, photographs: dict[str, Path], met: set[str]) -> SampleStream:
        """Yield the problems and the sample of one row; `met` collects the ids of the rows read so far."""
        named = Path(row[IMAGE])
        key = named.stem if named.suffix.lower() in _KINDS else row[IMAGE]
        file = photographs.get(composed(key.casefold()))
        problem = _problem(row, key, again=composed(key.casefold()) in met)
        met.add(composed(key.casefold()))
        if problem is not None:
            yield self._drop(table, *problem, key=key)
            return
        if file is None:
            detail = f"the table has a row for it, but {key}.jpg does not exist"
            yield self._drop(table, "missing photograph", detail, key)
            return
        reading = read_row(row)
        if reading.problems:
            yield self._cost(table, "unreadable label", "; ".join(reading.problems), key)
        group = row[PATIENT].removesuffix(".0")
        yield self._taken(key, file, group, labels=reading.labels, patient=reading.patient)

    def _table(self) -> Path:
        """Return the table nearest to the root, at most five levels below it."""
        for folder in folders_below(self.root, 5):
            if (table := _table_in(folder)) is not None:
                return table
        raise SourceNotFound(self.name, self.root, f"the table ({' or '.join(_TABLES[:2])})", _TREE)


def _table_in(folder: Path) -> Path | None:
    """Return the table of a folder, recognised by name and header; only its first line is read."""
    named = {plain_name(p.name): p for p in entries(folder)}
    for table in (named[name] for name in _TABLES if name in named):
        with suppress(UnreadableSheet):
            if set(read_header(table)) >= _MARKERS:
                return table
    return None


def _problem(row: dict[str, str], key: str, *, again: bool) -> tuple[str, str] | None:
    """Return reason and detail if a row cannot give a sample, else None."""
    if misfit(row):
        return "unreadable row", misfit(row)
    if not key:
        return "no image id", f"a row of patient {row[PATIENT]!r}"
    if again:
        return "same key twice", "the table has an earlier row for it"
    if not row[PATIENT]:
        return "no patient", "without a patient number, images of one patient could be in several splits"
    return None


CONDITION_OF: dict[str, str] = package_data(__file__, "names.yaml")["brset_conditions"]
"""Condition by column; values 0 and 1. The column ``other`` names no condition and is not read."""

ANATOMY = {"opticdisc": "abnormal optic disc", "vessels": "abnormal vessels", "macula": "abnormal macula"}
"""Label by column; values 1 (normal) and 2 (abnormal)."""

GRADES = {"drsdrg": "sdrg", "dricdr": "icdr"}
"""Grade by column; values 0 to 4."""

EXPOSURE = {"focus": "focus", "illuminaton": "illumination", "imagefield": "image field", "artifacts": "artifacts"}
"""Quality criterion by column; values 1 (normal) and 2 (abnormal). ``Illuminaton`` is the table's spelling."""

DEMOGRAPHICS = ("camera", "patientage", "patientsex", "exameye", "quality")

_RESPELLED = {"illuminaton": "illumination", "insuline": "insulin"}
_FLAG, _NORMAL = {"0": "no", "1": "yes"}, {"1": "no", "2": "yes"}
_LEVEL = {level: level for level in "01234"}
_SEX, _SIDE = {"1": "male", "2": "female"}, {"1": "right", "2": "left"}
_QUALITY = {"adequate": "Adequate", "inadequate": "Inadequate"}


@dataclass(slots=True)
class Reading:
    """Content of one row; `problems` has one message for each value that could not be read."""

    labels: dict[str, str] = field(default_factory=dict)
    patient: Patient = field(default_factory=Patient)
    problems: list[str] = field(default_factory=list)


def missing_columns(header: Sequence[str]) -> list[str]:
    """Return the columns that are read but missing in a table's header (names as returned by `plain_header`).

    Example:
        >>> columns = [*CONDITION_OF, *ANATOMY, *GRADES, *EXPOSURE, *DEMOGRAPHICS]
        >>> missing_columns(columns), missing_columns([c for c in columns if c != "macula"])
        ([], ['macula'])
        >>> missing_columns([_RESPELLED.get(c, c) for c in columns])
        []
    """
    known = {*header, *(wrong for wrong, right in _RESPELLED.items() if right in header)}
    return [c for c in (*CONDITION_OF, *ANATOMY, *GRADES, *EXPOSURE, *DEMOGRAPHICS) if c not in known]


def read_row(row: Mapping[str, str]) -> Reading:
    """Return labels and patient of one row of the table, as returned by `lmod_train.data.sources.sheets.read_sheet`.

    A value that is not among its column's codes gives no label and a message in `problems`; so does an empty value,
    except for an empty age, which is common. Missing columns give no message here.

    Example:
        >>> reading = read_row({"scar": "1", "macula": "2", "dricdr": "3", "opticdisc": "bv", "patientage": "61.0"})
        >>> reading.labels, reading.problems, reading.patient.age
        ({'scar': 'yes', 'icdr': '3', 'abnormal macula': 'yes'}, ["opticdisc 'bv' is not one of 1, 2"], 61.0)
    """
    row = {**row, **{wrong: row[right] for wrong, right in _RESPELLED.items() if right in row and wrong not in row}}
    reading = Reading()
    for columns, codes in ((CONDITION_OF, _FLAG), (GRADES, _LEVEL), (ANATOMY, _NORMAL)):
        for column, concept in columns.items():
            word = _code(row, column, codes, reading.problems)
            if word is not None:
                reading.labels[concept] = word
    reading.patient = Patient(
        age=_age(row.get("patientage", ""), reading.problems),
        sex=_code(row, "patientsex", _SEX, reading.problems),
        laterality=_code(row, "exameye", _SIDE, reading.problems),
        camera=row.get("camera") or None,
        quality=_quality(row, reading.problems),
    )
    return reading


def _code(row: Mapping[str, str], column: str, codes: Mapping[str, str], problems: list[str]) -> str | None:
    """Return the meaning of a coded value, None without one; a table saved by another program may have 1.0 for 1."""
    value = row.get(column)
    if value is None:
        return None
    word = codes.get(value.removesuffix(".0").casefold())
    if word is None:
        problems.append(f"{column} {value!r} is not one of {', '.join(codes)}")
    return word


def _age(text: str, problems: list[str]) -> float | None:
    """Return the age in years, None for an empty cell or one that is no age."""
    age = years_of(text)
    if text and age is None:
        problems.append(f"patientage {text!r} is not an age in years")
    return age


def _quality(row: Mapping[str, str], problems: list[str]) -> str | None:
    """Return the table's word for the quality, followed by the abnormal quality criteria in brackets."""
    word = _code(row, "quality", _QUALITY, problems)
    poor = [name for column, name in EXPOSURE.items() if _code(row, column, _NORMAL, problems) == "yes"]
    if word is None or not poor:
        return word
    return f"{word} ({', '.join(poor)})"
