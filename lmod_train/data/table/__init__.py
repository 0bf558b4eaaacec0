"""A user's own table: read, understood column by column, asked about where unsure, and curated as a source."""
