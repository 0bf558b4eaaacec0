"""Parsers from the text of a reply to an answer, or to an `Unparsed` with a reason."""
