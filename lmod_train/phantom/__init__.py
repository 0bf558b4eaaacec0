"""Eyes drawn from known truth, written in a source's own folder shape."""
