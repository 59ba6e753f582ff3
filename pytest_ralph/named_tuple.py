"""A `NamedTuple` whose annotations are not compiled.

`typing.NamedTuple` compiles the annotation of every field. With some fifty tuples of three hundred
fields, that took a twentieth of the start of a run. Type checkers see the class of `typing`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple  # noqa: PLC0414 - exported
else:
    _OF_CLASS_STATEMENT = ("__module__", "__qualname__", "__annotations__")

    class _Meta(type):
        """Turns a class statement into a call of `namedtuple`."""

        def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, namespace)

            fields = namespace["__annotations__"]
            defaults = [namespace[field] for field in fields if field in namespace]
            module = namespace["__module__"]
            made = namedtuple(  # noqa: PYI024
                name, fields, defaults=defaults, module=module
            )

            for key, value in namespace.items():
                if key not in fields and key not in _OF_CLASS_STATEMENT:
                    setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Meta):
        """The base of a class statement with annotated fields, as in `typing`."""
