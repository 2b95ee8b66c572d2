"""Who may import whom. The table is the rule; the code is walked against it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import turnwise

PACKAGE = Path(turnwise.__file__).parent

CONTRACTS = {"types", "conversation", "errors", "config", "facts", "logs", "text", "english", "sums"}
STAGES = {f"turn.{path.stem}" for path in (PACKAGE / "turn").glob("*.py")}
STAGES -= {"turn.__init__", "turn.examine", "turn.parts", "turn.planner", "turn.receive", "turn.run"}

# A layer covers a module, or a folder with all below it; the longest name that fits a module is its layer. A layer may
# import what stands beside it, the standard library, and, unless it is listed in PURE, any package. A folder may always
# import its own modules, but for the stages: each stands alone.
LAYERS: dict[str, set[str]] = {
    "types": {"plain", "conversation"},
    "errors": set(),
    "logs": set(),
    "facts": {"types", "conversation", "errors", "text", "dialogue"},  # what is counted of a turn
    "analytics": {"types", "conversation", "errors", "facts", "text", "documents.uploads"},  # which were attached
    "conversation": {"types", "errors", "limits"},  # usable without the rest
    "plain": {"errors"},  # what types are read back with
    "text": set(),
    "english": set(),
    "limits": {"errors"},
    "byline": {"types"},
    "works": {"types", "byline"},
    "sums": {"english"},
    "config": {"types", "errors"},
    "sqlite": {"types", "errors"},
    "postgres": {"types", "errors"},
    "models": {*CONTRACTS, "sqlite"},
    "extractive": {*CONTRACTS, "byline", "works", "dialogue"},
    "documents": {*CONTRACTS, "byline"},
    "index": {*CONTRACTS, "sqlite", "postgres"},
    "store": {*CONTRACTS, "plain", "sqlite", "postgres"},
    "guard": {
        *CONTRACTS,
        "sqlite",
        "limits",
        "dialogue.claims",
        "dialogue.follow_up",
        "dialogue.intent",
        "dialogue.language",
        "dialogue.wishes",
    },
    "guard.pipeline": {*CONTRACTS, "limits", "guard", "models.guard"},  # opens the networks
    "tools": CONTRACTS,
    "dialogue": CONTRACTS,
    "citations": CONTRACTS,
    **{stage: {*CONTRACTS, "dialogue"} for stage in STAGES},
    "turn.retrieve": {*CONTRACTS, "byline", "works", "dialogue"},
    "turn.parts": {*CONTRACTS, *STAGES, "turn.planner", "guard"},
    "turn.receive": {*CONTRACTS, "turn.parts", "dialogue", "guard"},
    "turn.planner": {*CONTRACTS, *STAGES, "dialogue"},
    "turn.run": {*CONTRACTS, *STAGES, "turn.parts", "turn.receive", "dialogue", "guard"},
    "turn.examine": {*CONTRACTS, *STAGES, "turn.parts", "turn.receive", "guard"},
    "engine": {
        *CONTRACTS,
        "dialogue.profile",
        "documents",
        "guard",
        "tools.function",
        "turn.examine",
        "turn.generate",
        "turn.parts",
        "turn.retrieve",
        "turn.run",
    },
    "app": {
        *CONTRACTS,
        "sqlite",
        "postgres",
        "models",
        "extractive",
        "index",
        "store",
        "guard",
        "tools",
        "citations",
        "dialogue",
        "turn.parts",
        "turn.understand",
        "turn.condense",
        "turn.planner",
        "engine",
    },
    "server": {*CONTRACTS, "analytics", "app", "citations", "engine", "guard"},
    "transfer": {*CONTRACTS, "sqlite", "postgres", "index", "store", "app"},
    "__main__": {"cli"},
    "cli": {*CONTRACTS, "analytics", "app", "citations", "engine", "guard", "server", "evaluation", "transfer"},
    "evaluation": {
        *CONTRACTS,
        "sqlite",
        "app",
        "engine",
        "documents",
        "index",
        "models",
        "dialogue",
        "guard",
        "turn.understand",
        "turn.condense",
        "turn.retrieve",
        "store",
    },
    "": {
        "conversation",
        "guard.pipeline",
        "types",
        "config",
        "app",
        "citations",
        "engine",
        "models.fake",
        "dialogue",
        "tools.function",
    },  # turnwise itself: the public names
}

# What these may import besides the standard library and Turnwise.
PURE: dict[str, set[str]] = {
    "types": set(),
    "errors": set(),
    "plain": set(),
    "config": set(),
    "conversation": set(),
    "facts": set(),
    "analytics": set(),
    "byline": set(),
    "works": set(),
    "dialogue": set(),
    "logs": set(),
    "sqlite": set(),
    "text": {"Stemmer"},
    "english": set(),
    "limits": set(),
    "sums": set(),
}
PURE |= {each: set() for each in (*STAGES, "turn.examine", "turn.planner", "turn.receive", "turn.run", "engine")}


@dataclass(frozen=True)
class Import:
    """An import of a module by another. `typing`: only for the type checker, which binds nothing at run time."""

    by: str
    of: str
    line: int
    typing: bool


def test_every_import_keeps_to_its_layer() -> None:
    assert [broken(each) for path in sorted(PACKAGE.rglob("*.py")) for each in imports(path) if broken(each)] == []


def test_every_module_has_a_layer_and_every_layer_a_module() -> None:
    modules = {name_of(path) for path in PACKAGE.rglob("*.py")}
    of_layer = {layer: [module for module in modules if layer_of(module) == layer] for layer in LAYERS}
    assert [module for module in modules if not layer_of(module) and module] == ["turn"], "only turn/__init__ has none"
    assert [layer for layer, members in of_layer.items() if not members] == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("types", "import numpy"),
        ("text", "from turnwise.errors import InputError"),
        ("config", "from turnwise.sqlite import Database"),
        *((each, "import numpy") for each in ("dialogue.intent", "works", "byline", "facts", "analytics")),
        ("models.embedder", "from turnwise.index.embedded import EmbeddedIndex"),
        ("models.embedder", "from turnwise.works import named_work"),
        ("store.embedded", "from turnwise import byline"),
        ("turn.plan", "from turnwise.works import named_work"),
        ("store.embedded", "import turnwise.models.fake"),
        ("turn.plan", "from turnwise.turn.condense import condense"),
        ("turn.plan", "from turnwise.turn import condense"),
        ("turn.retrieve", "from turnwise.index.embedded import EmbeddedIndex"),
        ("turn.generate", "import openai"),
        ("turn.run", "from turnwise.store.embedded import EmbeddedStore"),
        ("engine", "from turnwise.index.embedded import EmbeddedIndex"),
        ("app", "from turnwise.server.app import create_app"),
        ("guard.injection", "from turnwise.models.guard import OnnxGuard"),
        ("guard.grounding", "from turnwise.turn.verify import try_verify"),
        ("conversation", "from turnwise.guard.limits import RateLimiter"),
        ("server.native", "def late():\n    from turnwise.store.embedded import EmbeddedStore"),
        ("cli.verbs", "from turnwise.models.weights import PINNED"),
        ("turn.plan", "from .condense import condense"),
    ],
)
def test_a_bad_import_is_caught(module: str, line: str) -> None:
    assert any(broken(each) for each in imports_in(line, module))


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("types", "if TYPE_CHECKING:\n    import numpy as np"),
        ("text", "import re, Stemmer"),
        ("index.embedded", "from turnwise.index.schema import PASSAGES"),
        ("models.embedder", "import onnxruntime"),
        ("engine", "from turnwise.documents import ingest"),
        ("turn.run", "from turnwise.turn.condense import condense"),
        ("cli.verbs", "from turnwise.app import build"),
    ],
)
def test_a_good_import_passes(module: str, line: str) -> None:
    assert [broken(each) for each in imports_in(line, module) if broken(each)] == []


def test_a_library_in_a_file_loads_nothing_of_the_other_database() -> None:
    code = (
        "import sys\nimport turnwise.index.embedded, turnwise.store.embedded\n"
        "print(*(each for each in sys.modules if 'postgres' in each or 'psycopg' in each))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (0, "\n", "")


def broken(each: Import) -> str:
    """What is wrong with an import, or nothing. For the type checker a layer may name any other."""
    layer, where = layer_of(each.by), f"{each.by or 'turnwise'}, line {each.line}"
    if each.typing:
        return ""
    if each.of.partition(".")[0] != "turnwise":
        package = each.of.partition(".")[0]
        pure = layer in PURE and package not in PURE[layer] | sys.stdlib_module_names
        return f"{where}: {package} is neither of the standard library nor allowed here" if pure else ""
    wanted = each.of.removeprefix("turnwise").removeprefix(".")
    same_folder = layer not in STAGES and layer == layer_of(wanted)
    allowed = same_folder or any(wanted == name or wanted.startswith(f"{name}.") for name in LAYERS[layer])
    return "" if allowed or not wanted else f"{where}: {layer or 'turnwise'} may not import {wanted}"


def layer_of(module: str) -> str:
    return max((layer for layer in LAYERS if module == layer or module.startswith(f"{layer}.")), key=len, default="")


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


def imports(path: Path) -> list[Import]:
    return imports_in(path.read_text(encoding="utf-8"), name_of(path))


def imports_in(code: str, module: str) -> list[Import]:
    """Every import of some code, also those inside functions."""
    tree = ast.parse(code)
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    return [
        Import(module, name, node.lineno, id(node) in for_types)
        for node in ast.walk(tree)
        for name in _imported(node, module)
    ]


def _imported(node: ast.AST, module: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        folder = f"turnwise.{module}".split(".")[: -node.level] if node.level else []
        source = ".".join([*folder, *([node.module] if node.module else [])])
        # What is imported from a package may be a module of it: `from turnwise.turn import condense`.
        for alias in node.names:
            inner = f"{source}.{alias.name}"
            yield inner if _is_module(inner) else source


def _is_module(name: str) -> bool:
    path = PACKAGE.parent.joinpath(*name.split("."))
    return name.startswith("turnwise.") and (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file())
