"""Parts of the eye, and phrases that keep an adjective about the whole eye.

"Normal" as an attribute of a part is no diagnosis: "normal cup-to-disc ratio", "the vessels look healthy".
"""

from __future__ import annotations

EYE_PARTS = (
    r"dis[ck]s?|cups?|cup-to-dis[ck]|macula|macular|fovea|foveal|vessels?|vasculature|vascular|nerves?|"
    r"lens|margins?|ratio|"
    r"pressure|iop|colou?r|cornea|rim|retinal layers|background|arter(?:y|ies)|veins?|periphery|contours?|"
    r"boundar(?:y|ies)|"
    r"视盘|视杯|杯盘比|黄斑|血管|晶状体|角膜|神经|边界|颜色|眼压"
)
WHOLE_EYE_AFTER = (
    r"(?:(?:retinal|human|ocular|colou?r|looking|appearing) ){0,4}(?:fundus|retina|eyes?|images?|photos?|photographs?|"
    r"scan|"
    r"appearance|appearing|findings?|results?|case|subject|condition|patient|person|limits|眼|图像)|"
    r"(?:is|are|was|were) (?:visible|seen|detected|present|found|noted|evident|observed)|"
    r"with|without|and|or|in|for|at|on|of|as|overall|based|because|since|given|no|there|which|that|it|to"
    r"|here|now|then|instead|rather|therefore|so|among|from|by|after|fits|is the (?:best|most)"
)
"""Phrases behind an adjective that keep it about the whole eye or image: "normal retinal fundus"."""
