"""Finds the JSON Schemas of the tools in a toolset of Pydantic AI, by the names under which the model calls them. Pure.

A toolset that tells its tools only to a running agent has none here.
"""

from __future__ import annotations

__all__ = ["find_schemas"]

from collections.abc import Mapping
from typing import TypeVar, cast

from pydantic import JsonValue
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    FunctionToolset,
    PrefixedToolset,
    RenamedToolset,
    WrapperToolset,
)

Deps = TypeVar("Deps")
Schema = Mapping[str, JsonValue]


def find_schemas(toolset: AbstractToolset[Deps]) -> dict[str, Schema]:
    """Return the schemas of the arguments of all tools in a toolset."""
    if isinstance(toolset, FunctionToolset):
        return {name: cast("Schema", tool.tool_def.parameters_json_schema) for name, tool in toolset.tools.items()}
    if isinstance(toolset, CombinedToolset):
        return {name: schema for one in toolset.toolsets for name, schema in find_schemas(one).items()}
    if not isinstance(toolset, WrapperToolset):
        return {}
    found = find_schemas(toolset.wrapped)
    if isinstance(toolset, PrefixedToolset):
        return {f"{toolset.prefix}_{name}": schema for name, schema in found.items()}
    if isinstance(toolset, RenamedToolset):
        renamed = {old: new for new, old in toolset.name_map.items()}
        return {renamed.get(name, name): schema for name, schema in found.items()}
    return found
