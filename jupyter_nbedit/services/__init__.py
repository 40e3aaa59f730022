"""What the extension does with notebooks; each package is one concern, for all ways of asking.

An edit: `edits/`. Who may do what: `policy.py`. What is stored of it: `history/`, `unseen/`,
`proposals/`. Changes by other programs: `outside/`. What others are told: `events/`.
"""
