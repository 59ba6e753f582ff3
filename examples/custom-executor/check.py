"""Check one setting of server.ini."""

import configparser
import sys

config = configparser.ConfigParser()
config.read("server.ini")
name = sys.argv[1]
value = config["server"][name]
if name == "port" and not value.isdigit():
    sys.exit(f"server.ini: {value!r} is not a valid port")
if name == "level" and value not in ("info", "debug"):
    sys.exit(f"server.ini: {value!r} is not a known level")
