"""X-PCR: tables of questions, cases in archives, images in folders."""
