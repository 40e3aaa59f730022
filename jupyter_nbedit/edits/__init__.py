"""The write side: plan a change, carry it out, undo it, accept proposals."""
