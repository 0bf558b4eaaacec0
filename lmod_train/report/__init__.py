"""Predictions in; tables, figures and pages out."""
