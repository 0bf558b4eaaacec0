"""Experiments that anyone can repeat on two cores, about what makes a training succeed or collapse."""
