"""Clinical words with synonyms in English and Chinese and their references: tables only."""
