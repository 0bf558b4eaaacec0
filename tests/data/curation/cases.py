"""A source of the tests' own whose samples bring ready questions, chains and shared images."""

import csv

from lmod_train.core.errors import SourceNotFound
from lmod_train.core.types import ImageFile, Message, Need, Part, Question, Sample
from lmod_train.data.sources.base import Source
from lmod_train.tasks.base import Task
from tests.data.curation.world import photograph

N = 12


def words(text, images=1):
    return (Message("user", (*[Part("image")] * images, Part("text", text))),)


class Staged(Task):
    """Asks the ready questions of its name."""

    version, choices = 1, ("yes", "no")

    def __init__(self, name="staged", language="en"):
        self.name, self.language = name, language

    def ask(self, sample):
        yield from self.ready_questions(sample)

    def parse(self, reply, record):
        return reply.reply

    def score(self, predictions):
        return []


def chain(key):
    """Three steps in two languages; the last one needs both earlier ones."""
    for language in ("en", "zh"):
        fields = {"language": language, "chain": key, "tags": {"level": "R"}}
        yield Question("staged", words("Good?"), ("yes", "no"), "yes", chain_step="IQA", **fields)
        one = Need("IQA")
        yield Question("staged", words("{answer 1}?"), (), "no", chain_step="AL", needs=(one,), variant="1", **fields)
        both = one, Need("AL", "", "1")
        yield Question("staged", words("{answer 1} {answer 2}?"), (), "no", chain_step="LC", needs=both, **fields)


class Cases(Source):
    """Photographs with chains, and every third with a case of that photograph, a scan of its own and a common one."""

    name, modality, licence, redistributable, reference = "cases", "CFP+OCT", "CC0", True, "https://example.org"

    @classmethod
    def found_in(cls, folder):
        return (folder / "cases").is_dir()

    @classmethod
    def write(cls, root):
        for n in range(N):
            photograph(root / "cfp" / f"{n}.png", n)
        for n in range(0, N, 3):
            photograph(root / "cases" / f"{n}.png", 100 + n, size=(200, 100))
        photograph(root / "common.png", 999)
        return cls(root)

    def verify(self):
        if not self.found_in(self.root):
            raise SourceNotFound(self.name, self.root, "cases/", "  <root>/cases/*.png")

    def samples(self):
        self.verify()
        for n in range(N):
            key, file = f"cfp/{n}", self.root / "cfp" / f"{n}.png"
            yield Sample(self.name, key, "CFP", file, f"eye {n}", self.licence, asked=tuple(chain(key)))
        for n in range(0, N, 3):
            images = (
                ImageFile(self.root / "cfp" / f"{n}.png", f"cfp/{n}", "CFP"),
                ImageFile(self.root / "cases" / f"{n}.png", f"scan {n}", "OCT"),
                *((ImageFile(self.root / "common.png", "common", "OCT"),) if n < 6 else ()),
            )
            asked = (
                Question("staged", words("Both?", 2), (), "all"),
                Question("staged", words("Scan?"), (), "scan", variant="scan", images=(1,)),
                Question("staged", words("Turned?", 2), (), "turned", variant="turned", images=(1, 0)),
                Question("staged", words("Blind?", 0), (), "none", variant="blind"),
            )
            yield Sample(
                self.name, f"case {n}", "OCT+CFP", None, f"case {n}", self.licence, shared_images=images, asked=asked
            )


SETTINGS = {"longest_side": 100, "workers": 1, "progress": False, "ratios": (0.5, 0.25, 0.25)}


class Changed(Cases):
    """The same with one change."""

    def __init__(self, root, change):
        super().__init__(root)
        self.change = change

    def samples(self):
        yield from (self.change(s) for s in super().samples())


def drops(out):
    with (out / "dropped.csv").open(newline="") as file:
        return sorted((r["key"], r["reason"], r["extent"]) for r in csv.DictReader(file))
