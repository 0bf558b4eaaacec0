"""Training and evaluation: callbacks, the doctor, the lab."""
