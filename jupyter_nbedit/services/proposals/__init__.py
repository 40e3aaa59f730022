"""Proposals: changes that wait for the decision of a person.

`models` says what a proposal has, `store` is the SQL, `service` adds, lists and decides. When a
proposal expires: the setting `proposal_hours`; what happens then: `store`.
"""
