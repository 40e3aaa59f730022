"""Proposals: changes that wait for the decision of a person.

`models` says what a proposal has, `store` is the SQL, `service` adds, lists and decides. The
setting `proposal_hours` says when a proposal expires; `store` finds and changes expired proposals.
"""
