"""Stages of the clinical chain of X-PCR, from image quality to decision."""
