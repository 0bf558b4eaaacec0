"""The tables that a section shows of runs, as Markdown."""

from lmod_train.core.tables import Table, markdown
from lmod_train.report.results import read_results


def shown(section, runs):
    return tables(section, read_results(runs))


def tables(section, results):
    return "\n\n".join(markdown(part) for part in section.parts(results) if isinstance(part, Table))
