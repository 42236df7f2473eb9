"""Claims of the documents on trial: `experiments/<id>.yaml` → runs → evidence → verdicts → report.

    claim/     what a claim is: read strictly, registered by a hash
    exact/     claims about formulas: named checks, seconds in all
    cost/      claims about time and memory: paired timing, bytes that backward keeps
    trials/    claims about training: which runs they need, and the numbers taken from runs
    judging/   numbers → verdicts
    report/    verdicts → results/claims.md, a page, the log

`claim`, `judging` and `report` never import torch.
"""
