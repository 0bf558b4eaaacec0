"""Tables, figures and a web page from the predictions of runs."""
