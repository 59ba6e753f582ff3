"""Text from outside made safe for where it goes: one function a sink, secrets masked, size bounded."""
