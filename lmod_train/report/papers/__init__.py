"""Printed results of five papers as data, and rules on what a score measured here can be compared with."""
