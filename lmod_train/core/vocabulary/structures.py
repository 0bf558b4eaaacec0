"""Structures of the numbered boxes: anatomy, lesions and instruments; to add a structure, add a row.

Rows follow the masks and classes of the sources named in `reference`, with the source's own name in brackets.
"""

from __future__ import annotations

from lmod_train.core.vocabulary.term import Term

STRUCTURES: tuple[Term, ...] = (
    # Colour fundus photographs and scanning laser ophthalmoscopy
    Term(
        "optic disc",
        ("optic disk", "optic nerve head", "ONH", "disc", "disk", "optic papilla"),
        ("视盘", "视乳头", "视神经乳头", "视神经盘"),
        "CFP, SLO: REFUGE, ORIGA, G1020 (disc), FairSeg, IDRiD (OD)",
    ),
    Term(
        "optic cup",
        ("cup", "optic nerve cup", "physiologic cup", "optic disc cup", "optic disk cup"),
        ("视杯", "视盘杯", "生理凹陷"),
        "CFP, SLO: REFUGE, ORIGA, G1020 (cup), FairSeg",
    ),
    Term(
        "fovea", ("fovea centralis", "foveal center", "foveal centre"), ("黄斑中心凹", "中心凹"), "CFP: IDRiD, REFUGE"
    ),
    Term(
        "macula", ("macula lutea", "macular region", "macular area"), ("黄斑", "黄斑区"), "CFP: anatomy near the fovea"
    ),
    # Lesions of diabetic retinopathy
    Term("microaneurysms", ("microaneurysm", "MA"), ("微动脉瘤", "微血管瘤"), "CFP: IDRiD (MA)"),
    Term("haemorrhages", ("hemorrhages", "HE"), ("出血灶",), "CFP: IDRiD (HE)"),
    Term("hard exudates", ("hard exudate", "EX"), ("硬性渗出",), "CFP: IDRiD (EX)"),
    Term(
        "soft exudates",
        ("soft exudate", "cotton wool spots", "cotton wool spot", "SE"),
        ("软性渗出", "棉绒斑"),
        "CFP: IDRiD (SE)",
    ),
    # Optical coherence tomography
    Term("choroid", ("choroidal layer",), ("脉络膜",), "OCT: OIMHS (Choroid)"),
    Term("retina", ("retinal layer", "retinal layers"), ("视网膜", "视网膜层"), "OCT: OIMHS (Retina)"),
    Term("macular hole", ("MH", "macula hole", "full thickness macular hole"), ("黄斑裂孔",), "OCT: OIMHS (MH)"),
    Term(
        "intraretinal cysts",
        ("IRC", "intraretinal cyst", "intra retinal cysts", "intra retinal cyst", "intraretinal cystoid space"),
        ("视网膜内囊肿", "视网膜内囊腔", "视网膜内囊样腔"),
        "OCT: OIMHS (IRC)",
    ),
    # Lens photographs: the export's own classes in English
    Term("eye", ("whole eye", "eyeball"), ("眼睛", "眼部"), "LP: Cataract Detection 2 (one box around the eye)"),
    Term("iris", (), ("虹膜",), "LP: CAU001 (Iris)"),
    Term("pupil", (), ("瞳孔",), "LP: CAU001 (Pupila), SS: Cataract-1K (Pupil)"),
    Term("right eye", ("OD", "oculus dexter"), ("右眼",), "LP: CAU001 (Ojo Der)"),
    Term("left eye", ("OS", "oculus sinister"), ("左眼",), "LP: CAU001 (Ojo Izq)"),
    # Surgical scenes
    Term("cornea", (), ("角膜",), "SS: Cataract-1K (Cornea)"),
    Term("cornea1", ("cornea 1",), (), "SS: Cataract-1K (cornea1), printed as an option by LMOD+"),
    Term("pupil1", ("pupil 1",), (), "SS: Cataract-1K (pupil1)"),
    Term("lens", ("intraocular lens", "IOL", "artificial lens"), ("晶状体", "人工晶状体"), "SS: Cataract-1K (Lens)"),
    Term("slit knife", (), ("裂隙刀", "穿刺刀"), "SS: Cataract-1K (Slit Knife)"),
    Term("incision knife", (), ("切开刀", "侧切刀"), "SS: Cataract-1K (Incision Knife)"),
    Term("gauge", (), ("灌注针头",), "SS: Cataract-1K (Gauge)"),
    Term("spatula", (), ("铲针", "虹膜铲"), "SS: Cataract-1K (Spatula)"),
    Term("capsulorhexis cystotome", ("cystotome",), ("截囊针",), "SS: Cataract-1K"),
    Term("capsulorhexis forceps", (), ("撕囊镊",), "SS: Cataract-1K"),
    Term("katena forceps", (), (), "SS: Cataract-1K"),
    Term(
        "phacoemulsification tip",
        ("phaco tip", "phacoemulsifier tip", "phacoemulsification handpiece"),
        ("超声乳化头", "超乳针头"),
        "SS: Cataract-1K",
    ),
    Term(
        "irrigation-aspiration", ("irrigation aspiration", "I/A", "irrigation/aspiration"), ("注吸",), "SS: Cataract-1K"
    ),
    Term("lens injector", (), ("人工晶状体推注器", "推注器"), "SS: Cataract-1K (Lens Injector)"),
)

COLOURS = (
    *("red", "green", "blue", "yellow", "orange", "purple", "cyan", "magenta", "pink", "white", "black", "brown"),
    *("红", "绿", "蓝", "黄", "橙", "紫", "青", "粉", "白", "黑", "棕"),
)
"""Colours of boxes, by which a reply may name them besides their number."""
TYPE_SLOT = {
    "optic disc": ("OD",),
    "optic cup": ("OC",),
    "haemorrhages": ("haemorrhage", "hemorrhage", "retinal haemorrhage", "retinal hemorrhage", "出血", "视网膜出血"),
}
"""Structure -> names that are valid in a Type field only; elsewhere OD is the right eye, a haemorrhage a condition."""
FOREIGN = (
    "vitreous", "sclera", "optic nerve", "blood vessels", "blood vessel", "retinal vessels",
    "retinal pigment epithelium", "photoreceptor layer", "ganglion cell layer", "nerve fiber layer", "Bruch's membrane",
    "eyelid", "eyelashes", "conjunctiva", "anterior chamber", "limbus", "face", "nose", "skin", "hand", "glove",
    "scalpel", "needle", "scissors", "background", "artery", "vein", "exudate", "hemorrhage", "drusen", "lesion",
    "tumor", "cataract", "glaucoma", "玻璃体", "巩膜", "视神经", "血管", "眼睑", "结膜", "前房",
)  # fmt: skip
"""Further names that replies give to boxes, which are no structure of any source."""
