"""How often each grade was right."""

from lmod_train.report.contents import Text
from lmod_train.report.section import Section


class Grades(Section):
    """A sentence for each run that was asked about grades."""

    title = "Grades of the clinic"
    name = "clinic_grades"

    def parts(self, results):
        for run, items in results.items.items():
            if own := items.get("clinic_grade"):
                yield Text(f"{run}: {sum(item.answer == item.truth for item in own)} of {len(own)} grades are right.")
