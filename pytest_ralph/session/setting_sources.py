"""The places where options are set, as layers for `read_settings`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.options import COMMAND_LINE, FRONT_MATTER, INI, OPTIONS, Option, ini_value
from pytest_ralph.settings import SETTINGS, Layer

if TYPE_CHECKING:
    import pytest

    from pytest_ralph.spec.document import Spec
    from pytest_ralph.spec.state import State


def command_line_layer(config: pytest.Config) -> Layer:
    """Return what was given on the command line."""
    values = {}
    for option in SETTINGS:
        if COMMAND_LINE in option.where:
            values[option.name] = getattr(config.option, option.key, None)
    return Layer(values)


def ini_layer(config: pytest.Config) -> Layer:
    """Return what the ini file sets."""
    values = {
        option.name: ini_value(config, option.key) for option in SETTINGS if INI in option.where
    }
    return Layer(values, _ini_name)


def _ini_name(option: Option) -> str:
    return f"{option.key} (ini file)"


def similar_ini_key(key: str) -> str:
    """Return the key that a user may have meant, or an empty string."""
    # Imported here: few projects have a misspelt key.
    import difflib

    known = [option.key for option in OPTIONS if INI in option.where]
    return "".join(difflib.get_close_matches(key, known, n=1))


def front_matter_layer(spec: Spec, path: str) -> Layer:
    """Return what the front matter of a spec sets; `path` is how messages name the spec."""

    def locate(option: Option) -> str:
        line = spec.setting_lines.get(option.name, 1)
        return f"{path}:{line}: `{option.name}` under `ralph:`"

    values = {}
    for option in SETTINGS:
        if FRONT_MATTER in option.where:
            values[option.name] = spec.settings.get(option.name)
    return Layer(values, locate)


def state_layer(state: State) -> Layer:
    """Return the limits that a state file sets. They apply where nothing else sets them."""
    fields = {option.name: option.state_field for option in SETTINGS if option.state_field}
    values = {name: state.data.get(field) for name, field in fields.items()}
    return Layer(values, lambda option: fields[option.name])
