"""The house rules that a machine can count: each a function over one file, proved on planted violations."""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAX_FILE_LINES = 250
MAX_FUNCTION_LINES = 60
# In brackets, or this file would break its own rule.
MARKER = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b")
TORCH_NORMS = re.compile(
    r"(native_)?(layer_norm|batch_norm|group_norm|instance_norm|rms_norm)"
    r"|LayerNorm|RMSNorm|GroupNorm|(Lazy)?(BatchNorm|InstanceNorm)[123]d|SyncBatchNorm"
)
TEXT_SUFFIXES = {".py", ".md", ".yaml", ".toml", ".txt"}
TEXT_NAMES = {"Makefile", "run", ".pre-commit-config.yaml", ".gitignore"}
MADE_FOLDERS = {("results", "runs"), ("results", "cache"), ("results", "sweeps")}
OWN_FOLDERS = ("src", "conf", "experiments", "scripts", "tests", "results", ".ci")


def long_file(path: Path) -> list[str]:
    """A file of more than 250 lines."""
    count = len(path.read_bytes().splitlines())
    return [f"{path}: {count} lines, {MAX_FILE_LINES} allowed"] if count > MAX_FILE_LINES else []


def long_functions(path: Path) -> list[str]:
    """Functions of more than 60 lines, from the first decorator to the last statement, docstring included."""
    found = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            count = node.end_lineno - first + 1
            if count > MAX_FUNCTION_LINES:
                found.append(f"{path}:{first}: {node.name}: {count} lines, {MAX_FUNCTION_LINES} allowed")
    return found


def markers(path: Path) -> list[str]:
    """Promises to do it later."""
    return _matching_lines(path, MARKER)


def loop_called_train(path: Path) -> list[str]:
    """A train.py inside the package, which readers would take for the entry point."""
    return [f"{path}: the entry point alone is called train.py"] if path.name == "train.py" else []


def torch_norms(path: Path) -> list[str]:
    """Norms of torch by name: as an attribute (`nn.LayerNorm`) or imported from torch."""
    found = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Attribute):
            named = [node.attr]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "torch":
            named = [alias.name for alias in node.names]
        else:
            continue
        found += [
            f"{path}:{node.lineno}: {name} is named outside norms/"
            for name in named
            if TORCH_NORMS.fullmatch(name)
        ]
    return found


def targets(path: Path) -> list[str]:
    """Classes named in YAML, which no schema can check."""
    return _matching_lines(path, re.compile(r"\b_target_\b"))


def soft_reads(path: Path) -> list[str]:
    """Reads of the configuration that turn a missing key into a silent default."""
    return _matching_lines(path, re.compile(r"\bcfg\.get\("))


def _matching_lines(path: Path, pattern: re.Pattern[str]) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [f"{path}:{at}: {line.strip()}" for at, line in enumerate(lines, 1) if pattern.search(line)]


def _package() -> Iterator[Path]:
    yield from (ROOT / "src").rglob("*.py")


def _shipped() -> Iterator[Path]:
    yield from (ROOT / "train.py", *(ROOT / "scripts").rglob("*.py"), *_package())


def _python() -> Iterator[Path]:
    yield from (*_shipped(), *(ROOT / "tests").rglob("*.py"))


def _text() -> Iterator[Path]:
    """Every text file of ours; never what a run or an installer left in a git-ignored folder."""
    inner = (path for name in OWN_FOLDERS for path in (ROOT / name).rglob("*"))
    for path in (*ROOT.iterdir(), *inner):
        parts = path.relative_to(ROOT).parts
        made = parts[:2] in MADE_FOLDERS or any(part.endswith(".egg-info") for part in parts)
        ours = path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES
        if ours and not made and path.is_file():
            yield path


def _outside_norms() -> Iterator[Path]:
    package = ROOT / "src" / "normtrial"
    free = package / "norms", package / "benchmark"  # which compares with what others would write
    yield from (path for path in _shipped() if not any(path.is_relative_to(folder) for folder in free))


def _values() -> Iterator[Path]:
    """Configuration files, apart from conf/hydra: Hydra's own plugins are chosen by `_target_`."""
    conf = ROOT / "conf"
    yield from (path for path in conf.rglob("*.yaml") if path.relative_to(conf).parts[0] != "hydra")


@dataclass(frozen=True)
class Rule:
    """A check, the files it holds for, texts that break it and texts that come as near as is allowed."""

    check: Callable[[Path], list[str]]
    files: Callable[[], Iterator[Path]]
    broken: tuple[str, ...]
    kept: tuple[str, ...]
    broken_name: str = "planted.py"
    kept_name: str = "planted.py"


def _function(num_lines: int, define: str = "def") -> str:
    """A decorated function with a docstring that fills exactly this many lines."""
    return f'@decorate\n{define} planted():\n    """Doc."""\n' + "    pass\n" * (num_lines - 3)


RULES = [
    Rule(long_file, _python, ("pass\n" * (MAX_FILE_LINES + 1),), ("pass\n" * MAX_FILE_LINES,)),
    Rule(
        long_functions,
        _python,
        (_function(MAX_FUNCTION_LINES + 1), _function(MAX_FUNCTION_LINES + 1, "async def")),
        (_function(MAX_FUNCTION_LINES), "x = 1\n" * 100),
    ),
    Rule(markers, _text, ("# FIX" + "ME: later\n",), ("todo = 'XXXX'\n",)),
    Rule(loop_called_train, _package, ("",), ("",), broken_name="train.py", kept_name="loop.py"),
    Rule(
        torch_norms,
        _outside_norms,
        (
            "norm = nn.LayerNorm(8)\n",
            "y = torch.nn.functional.layer_norm(x, (8,))\n",
            "from torch.nn import RMSNorm\n",
            "import torch.nn as t\nt.BatchNorm1d(8)\n",
        ),
        ('"""Never nn.LayerNorm."""\n', "from torch.nn import Linear\n", "block.norm1(x)\n"),
    ),
    Rule(targets, _values, ("_target_: torch.nn.Linear\n",), ("target: 1\n",), broken_name="planted.yaml"),
    Rule(soft_reads, _shipped, ('eps = cfg.get("eps", 1e-5)\n',), ("eps = cfg.eps\n",)),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.check.__name__)
def test_repository_keeps(rule: Rule) -> None:
    paths = sorted(rule.files())
    assert paths, "a rule over no file proves nothing"
    found = [line for path in paths for line in rule.check(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.check.__name__)
def test_rule_catches_a_violation_and_nothing_less(rule: Rule, tmp_path: Path) -> None:
    planted, kept = tmp_path / rule.broken_name, tmp_path / rule.kept_name
    for text in rule.broken:
        planted.write_text(text, encoding="utf-8")
        assert len(rule.check(planted)) == 1, text
    for text in rule.kept:
        kept.write_text(text, encoding="utf-8")
        assert rule.check(kept) == [], text
