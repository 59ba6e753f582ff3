"""Room fixing: the package a missing module or command comes from, where its name is another one.

A guess from here is never installed for its own sake: it only counts if the project declares it.
"""

from __future__ import annotations

import re

from pytest_ralph.fixing.repairs.declared import distribution


def _table(text: str) -> dict[str, tuple[str, ...]]:
    rows = (line.split(" = ") for line in text.strip().splitlines())
    return {name.strip(): tuple(packages.split()) for name, packages in rows}


# Import name, in lower case, and the distributions that provide it.
_IMPORTS = _table(
    """
    attr = attrs
    bs4 = beautifulsoup4
    cairo = pycairo
    corsheaders = django-cors-headers
    crypto = pycryptodome pycrypto
    cryptodome = pycryptodomex
    cv2 = opencv-python opencv-python-headless opencv-contrib-python opencv-contrib-python-headless
    dateutil = python-dateutil
    discord = discord-py py-cord
    django_filters = django-filter
    dns = dnspython
    docx = python-docx
    dotenv = python-dotenv
    environ = django-environ environ-config
    faiss = faiss-cpu faiss-gpu
    fitz = pymupdf
    gi = pygobject
    git = gitpython
    github = pygithub
    gitlab = python-gitlab
    google = protobuf google-api-python-client
    googleapiclient = google-api-python-client
    grpc = grpcio
    grpc_tools = grpcio-tools
    igraph = python-igraph igraph
    jose = python-jose
    jwt = pyjwt
    kafka = kafka-python
    ldap = python-ldap
    levenshtein = python-levenshtein levenshtein
    lxml_html_clean = lxml-html-clean lxml
    magic = python-magic
    memcache = python-memcached
    mpl_toolkits = matplotlib
    multipart = python-multipart
    mysqldb = mysqlclient
    nacl = pynacl
    openssl = pyopenssl
    osgeo = gdal
    paho = paho-mqtt
    pil = pillow
    pkg_resources = setuptools
    pptx = python-pptx
    psycopg = psycopg psycopg-binary
    psycopg2 = psycopg2-binary
    pylab = matplotlib
    pythonjsonlogger = python-json-logger
    pywintypes = pywin32
    rest_framework = djangorestframework
    rest_framework_simplejwt = djangorestframework-simplejwt
    ruamel = ruamel-yaml
    serial = pyserial
    shapefile = pyshp
    skimage = scikit-image
    sklearn = scikit-learn
    slugify = python-slugify
    socketio = python-socketio
    socks = pysocks
    speech_recognition = speechrecognition
    talib = ta-lib
    telegram = python-telegram-bot
    umap = umap-learn
    usb = pyusb
    vlc = python-vlc
    websocket = websocket-client
    wx = wxpython
    xdist = pytest-xdist
    yaml = pyyaml ruamel-yaml
    zmq = pyzmq
    """
)

# Command, and the distribution or package that brings it, where the names differ.
_PYTHON_COMMANDS = _table(
    """
    aws = awscli
    django-admin = django
    dmypy = mypy
    http = httpie
    jupyter-lab = jupyterlab
    markdown-it = markdown-it-py
    pip-compile = pip-tools
    pip-sync = pip-tools
    py-test = pytest
    pyright-langserver = pyright
    sphinx-apidoc = sphinx
    sphinx-build = sphinx
    stubgen = mypy
    """
)
_NODE_COMMANDS = _table(
    """
    babel = @babel/cli
    biome = @biomejs/biome
    cap = @capacitor/cli
    changeset = @changesets/cli
    commitlint = @commitlint/cli
    cucumber-js = @cucumber/cucumber
    eas = eas-cli
    gatsby = gatsby-cli gatsby
    graphql-codegen = @graphql-codegen/cli
    ionic = @ionic/cli
    markdownlint = markdownlint-cli
    nest = @nestjs/cli
    ng = @angular/cli
    openapi-generator-cli = @openapitools/openapi-generator-cli
    playwright = @playwright/test playwright
    react-router = @react-router/dev
    remix = @remix-run/dev
    run-p = npm-run-all npm-run-all2
    run-s = npm-run-all npm-run-all2
    sb = storybook
    sentry-cli = @sentry/cli
    solid-start = @solidjs/start
    stencil = @stencil/core
    stryker = @stryker-mutator/core
    svelte-kit = @sveltejs/kit
    swc = @swc/cli
    tailwindcss = @tailwindcss/cli tailwindcss
    tsc = typescript
    tsserver = typescript
    vue-cli-service = @vue/cli-service
    wdio = @webdriverio/cli
    webpack = webpack-cli webpack
    """
)


def python_distributions(missing: str) -> set[str]:
    """Distributions that may provide the module, command or distribution `missing`."""
    parts = missing.split(".")
    found = {distribution("-".join(parts[:count])) for count in range(1, len(parts) + 1)}
    found |= {distribution(name) for name in _IMPORTS.get(parts[0].lower(), ())}
    return found.union(_PYTHON_COMMANDS.get(distribution(missing), ()))


def node_packages(missing: str) -> set[str]:
    """Packages that may provide the module path (`lodash/fp`), command or `name@version`."""
    match = re.match(r"(@[\w.-]+/[\w.-]+|[\w.-]+)(?:[@/].*)?$", missing)
    if match is None or missing.startswith((".", "/", "node:")):
        return set()
    return {match[1], *_NODE_COMMANDS.get(missing, ())}


def go_modules(missing: str) -> set[str]:
    """A package path and every path above it."""
    parts = missing.partition("@")[0].split("/")
    return {"/".join(parts[:count]) for count in range(2, len(parts) + 1)}


def rust_crates(missing: str) -> set[str]:
    return {missing.partition("::")[0].replace("-", "_")}


def ruby_gems(missing: str) -> set[str]:
    first = missing.partition("/")[0]
    return {
        missing,
        missing.replace("/", "-"),
        first,
        first.replace("_", ""),
        first.replace("_", "-"),
    }


def php_packages(missing: str) -> set[str]:
    """A package, or the first parts of a class name: `Monolog\\Logger` comes from `monolog/monolog`."""
    first, *rest = missing.lower().replace("\\", "/").strip("/").split("/")
    return {f"{first}/{name}" for name in (first, *rest[:1])}


def elixir_packages(missing: str) -> set[str]:
    first = missing.lstrip(":").split(".")[0]
    return {first, re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", first).lower()}


def dart_packages(missing: str) -> set[str]:
    return {missing.removeprefix("package:").split("/")[0]}


def dotnet_packages(missing: str) -> set[str]:
    parts = missing.lower().split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def perl_modules(missing: str) -> set[str]:
    return {missing.removesuffix(".pm").replace("/", "::")}
