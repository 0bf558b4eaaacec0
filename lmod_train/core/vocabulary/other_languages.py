"""German, French, Spanish and Portuguese words around the answer to a question, without accents (ae for ä).

Replies to questions of one's own may be in these languages. Each phrase is a regular-expression fragment.
"""

from __future__ import annotations

ANSWERS = (
    "(?:end)?antwort", "diagnose", "befund", "ergebnis", "beurteilung", "klasse", "kategorie", "stadium", "grad",
    "schweregrad", "reponse", "diagnostic", "resultat", "stade", "classe", "categorie", "respuesta", "diagnostico",
    "resultado", "estadio", "grado", "clase", "categoria", "resposta", "estagio", "grau",
    "grade", "stage", "level", "class", "category", "severity",
)  # fmt: skip
"""Names of a field that holds the answer; the English ones are those that only a question with such choices has."""
YES, NO = ("ja", "oui", "si", "sim"), ("nein", "non", "nao")
LISTS = (
    "findings", "lesions", "signs", "conditions", "diseases", "diagnoses", "labels", "choices", "selected", "befunde",
    "diagnosen", "laesionen", "resultats", "diagnostics", "hallazgos", "diagnosticos", "achados",
)  # fmt: skip
"""Names of a field that holds several answers."""
NUMBERS = ("number", "value", "wert", "zahl", "valeur", "valor", "数值")
"""Names of a field that holds a number."""
EXPLANATIONS = (
    "begruendung(?:en)?", "erklaerung(?:en)?", "erlaeuterung(?:en)?", "justification", "explication", "explicacion",
    "justificacion", "explicacao", "justificativa",
)  # fmt: skip
"""Names of a field that holds an explanation."""
ENGLISH = (
    (r"(?:keine?[nmrs]?(?: (?:hinweise? auf|zeichen (?:eine[rs]|von|fuer)))?|ohne|sans|aucune?|ningun[oa]?|sin|sem"
     r"|nenhuma?|pas d[e'])", "no"),
    (r"(?:nicht|n'est pas|ce n'est pas|pas|nao)", "not"),
    (r"weder", "neither"),
    (r"(?:(?:ist|est|esta|foi|wurde|fue) )?(?:ausgeschlossen|exclue?|ecartee?|descartad[oa]|excluid[oa])",
     "is ruled out"),
    (r"(?:unwahrscheinlich|peu probable|poco probable|pouco provavel)", "is unlikely"),
    (r"(?:verdacht auf|suspicion de|sospecha de|suspeita de)", "suspicion of"),
    (r"(?:moeglich(?:e[nrs]?|erweise)?|vielleicht|eventuell|peut-etre|possible(?:ment)?|posible(?:mente)?"
     r"|quizas?|possivel(?:mente)?|talvez)", "possible"),
    (r"oder", "or"), (r"(?:ou|o)(?= \S)", "or"),
)  # fmt: skip
"""Words of negation, doubt and choice -> the English ones that the rules for prose know."""
NOT_BEHIND = "nicht|pas|nao|no (?:se|esta|hay|es)"
"""Negations behind what they deny: "Glaukom liegt nicht vor"."""
JOINS = "und|aber|sondern|et|mais|y|pero|e|mas|sino|senao"
"""Words that open another statement."""
