"""The grade of a photograph."""

from lmod_train import Question, Task, classification_scores, items_of, parse_choice, prompt, read


class Grade(Task):
    """NONE, MILD or SEVERE: one question a photograph with a grade."""

    name = "clinic_grade"
    version = 1
    choices = ("NONE", "MILD", "SEVERE")

    def ask(self, sample):
        if grade := sample.labels.get("clinic_grade"):
            words = prompt("Which grade is this photograph? Answer NONE, MILD or SEVERE.")
            yield Question(self.name, words, self.choices, answer=grade.upper())

    def parse(self, reply, record):
        return read(reply, parse_choice, self.choices)

    def score(self, predictions):
        return classification_scores(self.name, items_of(predictions, self.truth), self.choices)
