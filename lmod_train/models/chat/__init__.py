"""Vision-language models: dialects, encoding, shared prefixes, generation, adapters and checkpoints."""

import logging

logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # on a CPU it warns at import and in every 8-bit layer
