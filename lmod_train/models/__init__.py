"""Networks and what answers with them: vision, chat, backends, modules, strategies."""
