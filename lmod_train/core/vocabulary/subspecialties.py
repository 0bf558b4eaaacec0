"""Subspecialties of ophthalmology; the nine of OphthalWeChat (figure 2A), after the American Academy of Ophthalmology.

References are the shares of the images that the paper states, in percent.
"""

from __future__ import annotations

from lmod_train.core.vocabulary.term import Term

SUBSPECIALTIES: tuple[Term, ...] = (
    Term(
        "Retina/Vitreous", ("retina", "vitreous", "retina and vitreous", "vitreoretinal", "retinal disease"),
        ("视网膜/玻璃体", "视网膜与玻璃体", "视网膜玻璃体", "玻璃体视网膜", "眼底病", "视网膜"), "68.7",
    ),
    Term(
        "Cornea/External Disease",
        ("cornea", "external disease", "cornea and external disease", "cornea and external eye"),
        ("角膜/外眼病", "角膜与外眼病", "角膜外眼病", "角膜及外眼病", "角膜/眼表", "角膜病", "角膜"), "9.6",
    ),
    Term(
        "Cataract/Anterior Segment", ("cataract", "anterior segment", "cataract and anterior segment", "lens"),
        ("白内障/眼前节", "白内障与眼前节", "白内障眼前节", "白内障及眼前节", "白内障", "眼前节"), "7.2",
    ),
    Term("Uveitis", ("uvea", "ocular inflammation", "uveitis and inflammation"), ("葡萄膜炎", "葡萄膜病"), "3.5"),
    Term(
        "Neuro-Ophthalmology/Orbit", ("neuro-ophthalmology", "neuro-ophthalmology and orbit", "neuroophthalmic"),
        ("神经眼科/眼眶", "神经眼科与眼眶", "神经眼科眼眶", "神经眼科"), "3.1",
    ),
    Term("Glaucoma", (), ("青光眼",), "2.3"),
    Term(
        "Ocular Pathology/Oncology",
        ("ocular pathology", "ocular oncology", "oncology", "pathology and oncology", "ocular pathology and oncology"),
        ("眼病理/肿瘤", "眼病理与肿瘤", "眼肿瘤", "眼部肿瘤", "眼病理", "眼病理肿瘤"), "2.3",
    ),
    Term(
        "Pediatric Ophthalmology/Strabismus",
        ("pediatric ophthalmology", "paediatric ophthalmology", "pediatrics", "strabismus",
         "pediatric ophthalmology and strabismus"),
        ("小儿眼科/斜视", "小儿眼科与斜视", "小儿眼科斜视", "小儿眼科", "儿童眼科", "斜视"), "1.7",
    ),
    Term(
        "Oculoplastics/Orbit", ("oculoplastics", "oculoplastic", "oculoplastics and orbit", "orbit"),
        ("眼整形/眼眶", "眼整形与眼眶", "眼整形眼眶", "眼整形"), "1.6",
    ),
)  # fmt: skip
