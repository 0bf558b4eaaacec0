"""OphthalWeChat: tables of questions in two languages, and their images."""
