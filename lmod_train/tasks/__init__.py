"""Ask, parse, score: one file per kind of question."""
