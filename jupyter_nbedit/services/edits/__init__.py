"""The write side: plan a change, carry it out, publish it.

`service` is the pipeline of every change. A kind of change is a planner that returns a
`planned_edit.PlannedEdit`: a `batch`, `undo` of edits, `accept` of proposals.
"""
