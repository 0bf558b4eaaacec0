"""Phrases of generic statements, about a disease or its patients and not about the eye in question."""

from __future__ import annotations

SUBJECTS_EN = (
    "eye", "patient", "subject", "individual", "person", "case", "(?:optic )?dis[ck]", "(?:optic )?nerve(?: head)?",
    "fundus", "retina", "image", "photograph", "scan", "macula",
)  # fmt: skip
"""Nouns that can have a disease."""
QUANTIFIERS_EN = (
    "most", "many", "some", "all", "early", "late", "advanced", "mild", "moderate", "severe", "chronic", "typical",
    "true", "established", "healthy", "normal", "human", "classic", "such", "(?:the )?cases? of", "people with(?:out)?",
    "those with(?:out)?", "someone with(?:out)?",
)  # fmt: skip
"""Quantifiers and attributes in front of a disease."""
HABITUALS_EN = (
    "typically", "usually", "often", "generally", "commonly", "normally", "tends? to", "frequently", "always",
)  # fmt: skip
"""Adverbs and verbs of habit."""
GENERIC_VERBS_EN = (
    *HABITUALS_EN, "shows?", "has", "have", "would", "will", "can", "exhibits?", "displays?", "looks?", "appears?",
    "is", "are", "keeps?", "lacks?",
)  # fmt: skip
"""Verbs of a generic statement."""
GENERIC_AFTER_ZH = (
    "(?:患者|者|病人)(?:的|通常|常|往往|一般|多|中|眼)", "的(?:人眼?|眼睛?|患者)(?!底)",
    "眼(?:的|通常|常|往往|一般|中)", "(?:中|时|患者中)[,的]",
    "的(?:典型|常见|主要|早期|晚期)?(?:表现|特征|特点|症状|体征|病因|定义|危险因素|诊断)(?:是|为|有|包括)",
    "(?:的)?(?:通常|往往|一般|常(?:见于|表现|有|伴|会|导致|引起)|多(?:见于|表现为))",
)  # fmt: skip
"""Generic statements behind the name of a disease."""
