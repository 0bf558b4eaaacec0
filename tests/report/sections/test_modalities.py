from lmod_train.report.contents import Figure
from lmod_train.report.results import read_results
from lmod_train.report.sections.modalities import Modalities
from tests.report.make import run


def test_figures_by_the_number_of_modalities(tmp_path, three):
    results = read_results([run(tmp_path / "one", 0.8, n=12, modalities=("CFP", "OCT", "SLO"))])
    assert [p.name for p in Modalities().parts(results) if isinstance(p, Figure)] == ["radar"]
    assert [p.name for p in Modalities().parts(read_results(three[0])) if isinstance(p, Figure)] == ["modalities"]
