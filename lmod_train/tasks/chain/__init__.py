"""The tasks of X-PCR: the clinical chain, its stages and regimes, and questions across modalities."""
