"""The specs of a run: reading them, their plans, and the places where their options are set."""

from __future__ import annotations

import contextlib
import shutil
from functools import cached_property
from typing import TYPE_CHECKING

import pytest

from pytest_ralph.files import STATE_NAME
from pytest_ralph.options import INI, OPTIONS, Option, ini_value
from pytest_ralph.session.discovery import find_specs, shown_path
from pytest_ralph.settings import RUN_WIDE, SETTINGS, Layer, SettingError, Settings, read_settings
from pytest_ralph.spec.completion import with_progress
from pytest_ralph.spec.document import Spec, SpecError
from pytest_ralph.spec.order import Plan, plan
from pytest_ralph.spec.state import State
from pytest_ralph.spec.state_file import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_ralph.session.xdist.worker_input import WorkerInput


class Specs:
    """Reads specs and answers what holds for each of them.

    settings: The settings of the run, for specs without front matter.
    """

    def __init__(self, config: pytest.Config, root: Path, worker: WorkerInput | None) -> None:
        self._config = config
        self._root = root
        self._worker = worker
        self._collected: dict[str, Spec] = {}
        self._plans: dict[Path, Plan] = {}
        self._states: dict[Path, State | None] = {}
        try:
            self._command_line = command_line_layer(config)
            self._ini = ini_layer(config)
            self.settings = read_settings(self._command_line, self._ini)
        except SettingError as error:
            # Imported here: most settings are valid.
            from pytest_ralph.text.secrets import Masker

            raise pytest.UsageError(Masker().mask(str(error))) from None

    def relative(self, path: Path) -> str:
        """Return a path as users know it: relative to the project root if it is below it."""
        return shown_path(path, self._root)

    def load(self, path: Path) -> Spec:
        """Read a spec; in a worker, as it was when the controller read it.

        Raise SpecError if the file cannot be read, SettingError if its front matter is malformed.
        """
        relative = self.relative(path)
        if self._worker is not None and relative in self.snapshots:
            return self.collected(relative)
        spec = with_progress(Spec.load(path, verify=self.settings.verify))
        spec.require_settings()
        self._require_shell(spec, self.settings_of(spec).shell)
        return spec

    def _require_shell(self, spec: Spec, shell: str | None) -> None:
        """Raise SettingError if the front matter asks for a shell that is not there."""
        if shell and shell == spec.settings.get("shell") and not shutil.which(shell):
            line = spec.setting_lines["shell"]
            raise SettingError(f"{self.relative(spec.path)}:{line}: no such shell: {shell}")

    def collected(self, path: str) -> Spec:
        """Return one of the `snapshots` as a spec."""
        if path not in self._collected:
            source = self.snapshots[path]
            spec = Spec.parse(source, self._root / path, verify=self.settings.verify)
            self._collected[path] = with_progress(spec)
        return self._collected[path]

    def reread(self, path: str) -> Spec | None:
        """Read the spec at a path in the project; None if it cannot be read any more."""
        try:
            return self.load(self._root / path)
        except (SpecError, SettingError):
            return None

    def settings_of(self, spec: Spec, state: State | None = None) -> Settings:
        """Return the settings for one spec, with the limits of its state file if that is given.

        A run that only verifies stays one, whatever the front matter asks for.
        Raise SettingError for a malformed value.
        """
        if not spec.settings and state is None:
            return self.settings
        front_matter = front_matter_layer(spec, self.relative(spec.path))
        layers = [self._command_line, front_matter, self._ini]
        if state is not None:
            layers.append(state_layer(state))
        settings = read_settings(*layers)
        if self.settings.only_verifies:
            settings = settings._replace(recovery=False, execute=False)
        return settings

    def ignored_request(self, spec: Spec) -> str | None:
        """Return which of `execute` and `recovery` the front matter asks for in vain, if any."""
        if not self.settings.only_verifies:
            return None
        asked = read_settings(front_matter_layer(spec, self.relative(spec.path)))
        if asked.execute:
            return "execute"
        if asked.recovery:
            return "recovery"
        return None

    def is_recovered(self, spec: Spec) -> bool:
        """Return whether the spec is run in recovery mode."""
        recovery = self.settings_of(spec).recovery
        if recovery is not False and self.awaits_approval(spec):
            return False
        if recovery is None:
            return self.load_state(spec).recovery_mode
        return recovery

    def load_state(self, spec: Spec) -> State:
        """Read the state file. Raise UsageError if it is broken and not about to be replaced."""
        try:
            return State.load(spec.directory / STATE_NAME)
        except StateError as error:
            if self.settings_of(spec).fresh:
                return State(error.path)
            # pytest adds the "ERROR: " again.
            message = str(error).removeprefix("ERROR: ")
            raise pytest.UsageError(
                f"{message} (it is corrupt: {error.reason}). "
                "Repair or delete it, or add --ralph-fresh to move it aside."
            ) from None

    def is_written(self, spec: Spec) -> bool:
        """Return whether the run may change the spec or its state file."""
        if self.awaits_approval(spec):
            return False
        return self.settings_of(spec).execute or self.is_recovered(spec)

    def awaits_approval(self, spec: Spec) -> bool:
        """Return whether a person has to approve the spec before anything is done about it."""
        state = self._first_state(spec)
        return state is not None and state.awaits_approval

    def ignores_recovery_mode(self, spec: Spec) -> bool:
        """Return whether the state file asks for recovery in vain."""
        if self.settings_of(spec).recovery is not False:
            return False
        state = self._first_state(spec)
        return state is not None and state.recovery_mode

    def _first_state(self, spec: Spec) -> State | None:
        """Return the state file as it was when first asked for; None if it cannot be read.

        That is an error only where the state is needed: see `load_state`.
        """
        if spec.path not in self._states:
            self._states[spec.path] = None
            with contextlib.suppress(StateError):
                self._states[spec.path] = State.load(spec.directory / STATE_NAME)
        return self._states[spec.path]

    def plan(self, spec: Spec) -> Plan:
        """Return the order in which the tasks of a spec run."""
        if spec.path not in self._plans:
            self._plans[spec.path] = plan(spec.tasks)
        return self._plans[spec.path]

    @cached_property
    def snapshots(self) -> Mapping[str, str]:
        """The text of every selected spec that can be read, by its path in the project.

        In a controller and its workers, all texts are as they were at the start of the run.
        """
        if self._worker is not None:
            return self._worker.specs
        found = {}
        for path in map(self.relative, find_specs(self._config)):
            spec = self.reread(path)
            # The worker that collects a spec which cannot be read reports what is wrong.
            if spec is not None:
                found[path] = spec.source
        return found

    @cached_property
    def tell_changes_apart(self) -> bool:
        """Whether another worker may have to know who changed what, by the specs that it has."""
        if self._worker is None:
            return False
        specs = [self.collected(path) for path in self.snapshots]
        return any(self.settings_of(spec).tells_changes_apart for spec in specs)

    def are_others_at_work(self, spec: Spec) -> bool:
        """Return whether other workers may be working on other specs at the same time."""
        if self._worker is None:
            return False
        return any(self._root / path != spec.path for path in self.snapshots)


def command_line_layer(config: pytest.Config) -> Layer:
    """Return what was given on the command line."""
    # Options that only an ini file sets have no value here.
    return Layer({option.name: getattr(config.option, option.key, None) for option in SETTINGS})


def ini_layer(config: pytest.Config) -> Layer:
    """Return what the ini file sets."""
    values = {option.name: ini_value(config, option.key) for option in SETTINGS}
    return Layer(values, lambda option: f"{option.key} (ini file)")


def similar_ini_key(key: str) -> str:
    """Return the key that a user may have meant, or `one or another`; empty for none."""
    # Imported here: few projects have a misspelt key.
    import difflib

    known = [option.key for option in OPTIONS if INI in option.where]
    # `ralph_executer` is as near to `ralph_execute` as to `ralph_executor`.
    nearest = difflib.get_close_matches(key, known, n=2, cutoff=0.92)
    return " or ".join(nearest or difflib.get_close_matches(key, known, n=1))


def front_matter_layer(spec: Spec, path: str) -> Layer:
    """Return what the front matter of a spec sets; `path` is how messages name the spec."""

    def locate(option: Option) -> str:
        line = spec.setting_lines.get(option.name, 1)
        return f"{path}:{line}: `{option.name}` under `ralph:`"

    values = {name: spec.settings[name] for name in spec.settings.keys() - RUN_WIDE}
    return Layer(values, locate)


def state_layer(state: State) -> Layer:
    """Return the limits that a state file sets. They apply where nothing else sets them."""
    values = {}
    for option in SETTINGS:
        if option.state_field:
            values[option.name] = state.data.get(option.state_field)
    return Layer(values, lambda option: str(option.state_field))
