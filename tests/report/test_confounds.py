import pytest

from normtrial.report.arms import Run, group
from normtrial.report.confounds import confounds, describe, flops_per_token


def differences(runs) -> dict[str, tuple[str, str, str]]:
    ours, theirs = (describe(arm) for arm in group(runs)[:2])
    return {one.name: (one.ours, one.theirs, one.kind) for one in confounds(ours, theirs)}


def rewrite(folder, before: str, after: str) -> None:
    path = folder.path / "config.yaml"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def test_what_the_name_says_and_what_comes_with_it_is_no_confound(make_run) -> None:
    assert differences([make_run("a"), make_run("b", norm="ln")]) == {
        "norm.name": ("bn", "ln", "named"),
        "norm.momentum": ("0.1", "absent", "brought"),
    }


def test_a_leaf_that_both_have_and_no_name_says_is_one(make_run) -> None:
    runs = [make_run("a"), make_run("b", norm="ln")]
    rewrite(runs[1], "eps: 1e-05", "eps: 1e-06")
    assert differences(runs)["norm.eps"] == ("1e-05", "1e-06", "unsaid")
    runs += [make_run("c", norm="ln")]  # now the names have to say the eps
    assert differences(runs)["norm.eps"][2] == "named"


def test_size_code_machine_and_seeds_are_compared(make_run) -> None:
    runs = [make_run("a"), make_run("b", norm="ln", seed=1)]
    summary = runs[1].read_summary() or {}
    runs[1].write_json("summary.json", {**summary, "model": {"parameters": 412_453, "norm_parameters": 1024}})
    for folder, code, torch in zip(runs, ("aaa", "bbb"), ("2.9", "2.9"), strict=True):
        folder.write_json("meta.json", {"code_hash": code, "versions": {"torch": torch}})
    found = differences(runs)
    assert found["parameters"] == ("312,453", "412,453", "brought")
    assert found["FLOPs a token"][2] == "brought"
    assert found["code"] == ("aaa", "bbb", "unsaid")
    assert found["seeds"] == ("0", "1", "unsaid")
    assert "torch" not in found
    assert "norm parameters" not in found


@pytest.mark.parametrize(("task", "tables"), [("classification", 2048 * 64 + 512 * 64), ("lm", 512 * 64)])
def test_flops_follow_from_matrices_and_attention(make_run, task: str, tables: int) -> None:
    run = Run.read(make_run(task=task))
    assert flops_per_token(run) == 6 * (312_453 - tables) + 12 * 4 * 64 * 512
    run.config["model.mixer"] = "conv1d"
    assert flops_per_token(run) == 6 * (312_453 - tables), "filters are among the matrices"
    run.summary = None
    assert flops_per_token(run) is None
