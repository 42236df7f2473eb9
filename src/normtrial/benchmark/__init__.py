"""What things cost, always as ratios of paired times: `python scripts/benchmark.py`.

`pairs` takes times, `overhead` says whose, `results` prints, keeps and draws them.
"""
