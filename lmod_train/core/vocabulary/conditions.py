"""Diagnoses and findings of labels and replies; to add a condition, add a row.

Codes are ICD-10. LMOD+ asks about twelve of these on BRSET and four on the eye-diseases folders.
"""

from __future__ import annotations

from lmod_train.core.vocabulary.term import Term

CONDITIONS: tuple[Term, ...] = (
    Term("cataract", ("cataractous",), ("白内障",), "H25, H26; eye-diseases folders, LMOD+ multi-class"),
    Term(
        "diabetic retinopathy",
        (
            "DR",
            "diabetic retinopathic",
            "diabetic retinal disease",
            "non-proliferative or proliferative diabetic retinopathy",
            "proliferative or non-proliferative diabetic retinopathy",
        ),
        ("糖尿病视网膜病变", "糖尿病性视网膜病变", "糖网"),
        "H36.0; BRSET diabetic_retinopathy, eye-diseases folders, LMOD+ binary and multi-class",
        (
            "NPDR",
            "PDR",
            "proliferative diabetic retinopathy",
            "non-proliferative diabetic retinopathy",
            "nonproliferative diabetic retinopathy",
            *(
                f"{stage}{disease}"
                for stage in ("增殖期", "增殖性", "增殖型", "增生性", "非增殖期", "非增殖性", "非增殖型", "非增生性")
                for disease in ("糖尿病视网膜病变", "糖尿病性视网膜病变", "糖网")
            ),
        ),
    ),
    Term(
        "glaucoma", ("glaucomatous", "glaucomatous optic neuropathy", "glaucomatous optic atrophy"), ("青光眼",),
        "H40; REFUGE, ORIGA, G1020, eye-diseases folders, LMOD and LMOD+ multi-class",
        ("normal tension glaucoma", "normal pressure glaucoma", "primary open angle glaucoma", "open angle glaucoma",
         "angle closure glaucoma", "POAG", "PACG", "NTG", "正常眼压性青光眼", "开角型青光眼", "闭角型青光眼"),
    ),
    Term(
        "normal",
        (
            "healthy",
            "unremarkable",
            "disease free",
            "no disease",
            *(
                f"no {seen}{what}"
                for seen in (
                    "",
                    *("eye ", "ocular ", "visible ", "apparent ", "obvious ", "significant ", "clear ", "evident "),
                    *("signs of ", "sign of ", "evidence of ", "signs of any ", "evidence of any "),
                )
                for what in ("disease", "abnormality", "abnormalities", "pathology")
            ),
        ),
        (
            "正常",
            "健康",
            *(
                f"{no}{clear}{of_eye}{what}"
                for no in ("未见", "未发现", "无", "没有")
                for clear in ("", "明显", "任何")
                for of_eye in ("", "眼底", "眼部", "眼科")
                for what in ("异常", "病变", "疾病")
            ),
            "未见眼病",
            "未见任何眼病",
            "无眼病",
        ),
        "Z01.0 without finding; eye-diseases folders, LMOD+ multi-class",
    ),
    Term(
        "age-related macular degeneration", ("AMD", "ARMD", "age related macular degeneration", "macular degeneration"),
        ("年龄相关性黄斑变性", "老年性黄斑变性", "黄斑变性"), "H35.3; BRSET amd, LMOD+ binary",
        ("dry AMD", "wet AMD", "neovascular AMD", "exudative AMD", "advanced AMD", "late AMD"),
    ),
    Term("drusen", ("drusens",), ("玻璃膜疣", "玻璃疣"), "H35.36 (ICD-10-CM); BRSET drusens, LMOD+ binary"),
    Term(
        "increased cup-to-disc ratio",
        ("increased cup disc", "increased cup disc ratio", "enlarged cup to disc ratio", "large cup to disc ratio"),
        ("杯盘比增大", "杯盘比扩大"), "H47.23 (ICD-10-CM); BRSET increased_cup_disc, LMOD+ binary",
    ),
    Term(
        "vascular occlusion",
        ("retinal vascular occlusion", "retinal vein occlusion", "retinal artery occlusion",
         "retinal vein or artery occlusion", "retinal artery or vein occlusion", "vein occlusion", "artery occlusion",
         "arterial occlusion", "venous occlusion", "vessel occlusion", "RVO", "RAO"),
        ("视网膜血管阻塞", "视网膜静脉阻塞", "视网膜动脉阻塞", "血管阻塞"),
        "H34; BRSET vascular_occlusion, LMOD+ binary",
        ("branch retinal vein occlusion", "central retinal vein occlusion", "branch retinal artery occlusion",
         "central retinal artery occlusion", "BRVO", "CRVO", "BRAO", "CRAO"),
    ),
    Term(
        "myopic fundus", ("myopic", "pathologic myopia", "pathological myopia", "myopic retinopathy"),
        ("近视性眼底", "近视眼底", "近视眼底改变", "近视性眼底改变", "病理性近视", "病理性近视眼底",
         "高度近视眼底改变"),
        "H44.2; BRSET myopic_fundus, LMOD+ binary",
    ),
    Term(
        "hypertensive retinopathy", ("HTR",),
        ("高血压视网膜病变", "高血压性视网膜病变", "高血压眼底病变", "高血压性眼底病变", "高血压眼底改变"),
        "H35.0; BRSET hypertensive_retinopathy, LMOD+ binary",
    ),
    Term(
        "hemorrhage", ("haemorrhage", "retinal hemorrhage", "retinal haemorrhage"), ("出血", "视网膜出血"),
        "H35.6; BRSET hemorrhage, LMOD+ binary",
    ),
    Term(
        "scar", ("chorioretinal scar", "retinal scar"), ("瘢痕", "脉络膜视网膜瘢痕"), "H31.0; BRSET scar, LMOD+ binary",
    ),
    Term(
        "abnormal macula", ("macular abnormality", "macular anomaly"), ("黄斑异常",),
        "BRSET macula (2 = abnormal), LMOD+ binary",
    ),
    Term("nevus", ("naevus", "choroidal nevus", "choroidal naevus"), ("脉络膜痣", "痣"), "D31.3; BRSET nevus, LMOD+"),
    Term(
        "abnormal vessels", ("vascular abnormality", "vessel abnormality", "abnormal retinal vessels"), ("血管异常",),
        "BRSET vessels (2 = abnormal), LMOD+ binary",
    ),
    Term(
        "macular edema", ("macular oedema", "diabetic macular edema", "DME"), ("黄斑水肿", "糖尿病黄斑水肿"),
        "H35.81 (ICD-10-CM); BRSET macular_edema, IDRiD grading",
    ),
    Term("retinal detachment", ("detached retina",), ("视网膜脱离",), "H33; BRSET retinal_detachment"),
    Term(
        "abnormal optic disc", ("optic disc abnormality", "abnormal optic nerve head"), ("视盘异常",),
        "BRSET optic_disc (2 = abnormal)",
    ),
)  # fmt: skip
