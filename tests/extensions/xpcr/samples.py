"""Samples with what the stages read, without files."""

from pathlib import Path

from lmod_train.core.types import Box, Patient, Region, Sample


def sample(key="k", modality="CFP", boxes=(), labels=None, quality=None, **fields):
    """Return a sample of 400 x 300 pixels; `boxes` are (structure, x0, y0, x1, y1)."""
    regions = tuple(Region(name, Box(*box), i) for i, (name, *box) in enumerate(boxes, 1))
    fields = {
        "size": (400, 300),
        "regions": regions,
        "labels": labels or {},
        "patient": Patient(quality=quality),
    } | fields
    fields = {"image": Path("a.jpg")} | fields
    return Sample("s", key, modality, group=key, licence="CC0", **fields)


def scan(hole=(180, 100, 200, 160), cysts=False, stage="3", **fields):
    boxes = [("retina", 0, 80, 400, 170), ("choroid", 0, 170, 400, 220)]
    boxes += [("macular hole", *hole)] if hole else []
    boxes += [("intraretinal cysts", 150, 110, 170, 130)] if cysts else []
    return sample(modality="OCT", boxes=boxes, labels={"macular_hole_stage": stage} if stage else {}, **fields)


def cupped(ratio, glaucoma="yes", disc=(50, 60, 150, 160), **fields):
    """Return a photograph with disc and cup, the cup `ratio` of the disc's 100 pixels high; None for no cup."""
    boxes = [("optic disc", *disc)]
    boxes += [("optic cup", disc[0] + 20, disc[1], disc[2] - 20, disc[1] + round(100 * ratio))] if ratio else []
    return sample(boxes=boxes, labels={"glaucoma": glaucoma} if glaucoma else {}, **fields)


def frame(instruments=(), pupil=(150, 60, 250, 160), **fields):
    """Return a frame of surgery with outlines of cornea, pupil and instruments."""
    boxes = [("cornea", 100, 20, 300, 200), ("pupil", *pupil), *((name, 10, 10, 60, 60) for name in instruments)]
    return sample(modality="SS", boxes=boxes, **fields)


def lens(cataract="yes", eye=(50, 40, 350, 200), **fields):
    """Return a photograph of an eye from outside, labelled by the state of its lens."""
    labels = {"diagnosis": "cataract" if cataract == "yes" else "normal", "cataract": cataract}
    return sample(modality="LP", boxes=[("eye", *eye)], labels=labels, **fields)


def flagged(icdr="0", key="k", quality=None, **labels):
    """Return a photograph with the labels of BRSET, all ``no`` but those given."""
    names = [
        *("diabetic retinopathy", "macular edema", "retinal detachment", "hemorrhage", "drusen", "nevus", "scar"),
        *("increased cup-to-disc ratio", "age-related macular degeneration", "vascular occlusion"),
        *("hypertensive retinopathy", "myopic fundus", "abnormal optic disc", "abnormal macula", "abnormal vessels"),
    ]
    found = dict.fromkeys(names, "no") | {"icdr": icdr, "sdrg": icdr}
    found |= {"diabetic retinopathy": "no" if icdr == "0" else "yes"}
    return sample(
        key, quality=quality, labels=found | {name.replace("_", " "): value for name, value in labels.items()}
    )
