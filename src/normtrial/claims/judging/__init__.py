"""From numbers to verdicts: `evidence` (what is kept of runs), `outcomes`, `gates`, `verdict` (rules), `judge`."""
