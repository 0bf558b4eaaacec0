"""From answers to numbers, intervals and tests: the definitions, once."""
