"""spec room: the CommandLine, that is, whether a piece of text is something a shell can run, and what it prints."""

from __future__ import annotations

import re
from enum import IntEnum

_PROGRAMS = frozenset(
    """
    act ag alembic ansible ansible-playbook ant apt apt-get artisan ash astro autopep8 aws awk az babel bandit base64
    basename bash bat bats bazel bc behave biome black brew buf build bun bunx bundle bundler cabal cargo cat cd
    celery cfn-lint chmod chown chromatic circleci clang clang-format clippy clojure cmake cmp code codex coffee
    column comm composer conda cp crystal csc ctest curl cut cypress dart dash date dbt dd deno depcheck detox df diff
    dig dirname django-admin docker docker-compose dockerd dot dotnet drizzle-kit du echo egrep electron elixir elm
    env erl esbuild eslint exit expo export expr fd fgrep ffmpeg ffprobe file firebase fish flake8 fly flyctl flutter
    forge fzf g++ gatsby gcc gcloud gem gh ghc gist git gitleaks glab go gofmt goimports golangci-lint gofumpt
    gotestsum gradle gradlew grep groovy grpcurl gulp hadolint hatch haskell head helm heroku hg hexdump host
    html-validate htmlhint http httpie hugo hurl husky hyperfine id iconv invoke ipython isort istioctl java javac
    jest jq jshint json julia jupyter just k3d k6 k9s karma kind knip ktlint kubectl kubeval kustomize launchctl lein
    lerna less lighthouse lint-staged ln locust ls lsof lua luac luacheck luarocks m4 magick make man markdownlint
    markdownlint-cli2 maestro mdbook md5sum md5 meson mix mkdir mkdocs mktemp mocha mongosh mvn mvnw mypy mysql nc ncu
    ng nest newman next netlify nginx nimble ninja nix node nodemon npm npx nslookup nuxt nx ocaml od opam open
    openssl openspec oxlint pants parallel patch pdm perl pgrep php phpcs phpstan phpunit ping pip pip3 pipenv pipx
    pixi pkill playwright pm2 pnpm pnpx podman poetry pre-commit prettier printenv printf prisma ps psalm psql publint
    pulumi py py.test pycodestyle pydocstyle pyflakes pylint pyright pyroma pytest python python2 python3 pyupgrade
    rails rake rclone readlink realpath redis-cli redocly remark renovate repomix rg rm rmdir roslyn rollup rpm rsync
    rspec rubocop ruby ruff rush rust-analyzer rustc rustfmt rustup sam sass sbt scala scp screen sed semgrep seq
    serverless sh sha256sum shasum shellcheck shfmt size skaffold sleep snyk sops sort source spectral sphinx-build
    sqlfluff sqlite3 sqlx ss ssh standard stat storybook strings stylelint sudo supabase svelte-check swc swift
    swiftformat swiftlint systemctl tac tail tailwindcss tar tauri tee terraform terragrunt test tflint tidy time
    timeout tmux top touch tox tr tree trivy true false trufflehog trunk truncate ts-node tsc tsup tsx turbo twine ty
    type-coverage typos uglifyjs unittest uniq unzip uv uvicorn uvx vagrant valgrind vale vercel verilator vi vim vite
    vitepress vitest volta vue-tsc wc web-ext webpack wget which wp wrangler xargs xcodebuild xcrun xmllint xvfb-run
    xxd yamllint yarn yes yq zig zip zsh adb ./gradlew ./mvnw claude gemini opencode specify nvm rbenv pyenv asdf mise
    direnv set unset eval exec command ctags cscope kotlinc kotlin ktor nodeenv pwsh powershell cmd where findstr
    certutil dotnet-format csharpier mono nuget objdump nm otool ldd strip install kill killall jobs wait watch find
    sort wasm-pack trunk cross maturin pyoxidizer coverage nose2 nosetests hypothesis mutmut radon xenon vulture
    interrogate pydoc tach import-linter lint-imports bump2version changeset semantic-release commitlint lychee
    linkinator htmltest muffet pandoc quarto latexmk pdflatex tectonic typst solhint slither hardhat truffle anvil
    cast soroban anchor solana sui aptos near starkli cairo scarb snforge godot unity butler love defold cmark protoc
    grpc_cli thrift avro sqitch flyway liquibase goose migrate dbmate atlas
    """.split()
)
# Programs whose names are everyday words: without an option, a path or an operator they are read as prose.
_WORDS = frozenset(
    """
    act build code column command comm cut date dot env exit export expr file find fly forge go head host id install
    invoke jobs just kill kind less make man next open parallel patch ping screen set size sleep sort source standard
    stat strings strip test tidy time timeout top touch tree true false truncate type wait watch where which yes cast
    migrate atlas goose love install cross trunk near anchor command buf cd echo black http json
    """.split()
)
_SHELL_WORDS = frozenset(
    ("for", "while", "until", "if", "case", "!", "[", "[[", "((", "(", "{", ".", "set", "function")
)
_NOT_SHELL = frozenset(
    """
    import from const let var class return def async await public private protected static interface enum new throw
    try catch else elif select insert update delete where the a an is are no not and or with without when then that
    this all each both type extends implements yield switch struct impl fn pub use mod func package namespace using
    include require module
    """.split()
)
_METHODS = frozenset(("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"))
_ROOTS = (
    "/usr/",
    "/bin/",
    "/opt/",
    "/home/",
    "/users/",
    "/tmp/",
    "/var/",
    "/etc/",
    "/root/",
    "/mnt/",
    "/srv/",
    "/sbin/",
    "/app/",
)
_SCRIPT = re.compile(r"\.(?:sh|bash|zsh|bats|fish|command)$")
_PREFIX = re.compile(
    r"(?:\$[ \t]+|!\s+|\(\s*|\{\s+|(?:sudo|time|env|exec|nohup|command)\s+(?=\S)|[A-Za-z_]\w*=(?:\"[^\"]*\"|'[^']*'|\S*)\s+)+"
)
_NAME = re.compile(r"(?:[\w.~@+-]|\$\{?\w+\}?|/)+$")
_OPERATOR = re.compile(r"\s(?:&&|\|\||\||>>?|<|<<<?|2>&1|&>|2>)\s?|;\s|\$\(|\s&$")
_OPTION = re.compile(r"\s--?[A-Za-z]")
_PATHLIKE = re.compile(r"\s[\"']?[\w.~*-]*/[\w./*-]*|\s[\w-]+\.\w{1,5}\b")
_CALL = re.compile(r"[\w.$]+\([^()]*\)\.?$")
_PROMPT = re.compile(r"^[ \t]*[$❯➜][ \t]+")


class Likeness(IntEnum):
    """How much a piece of text is a command line."""

    NONE = 0
    # One word that could be the name of anything.
    WORD = 1
    # A command line if the sentence around it treats it as one.
    MAYBE = 2
    SURE = 3


def likeness(text: str) -> Likeness:
    """How sure a reader who sees only `text` is that it is a command line."""
    text = text.strip()
    body = text[match.end() :] if (match := _PREFIX.match(text)) else text
    assigned = bool(match) and "=" in text[: match.end()] if match else False
    if not body or ("\n" in body and _looks_like_script(body)):
        return Likeness.SURE if body else Likeness.NONE
    first, _, rest = body.partition(" ")
    rest = f" {rest.strip()}" if rest.strip() else ""
    if first in _SHELL_WORDS:
        return Likeness.SURE if rest else Likeness.NONE
    if not _can_be_program(first, rest):
        return Likeness.SURE if assigned and _OPERATOR.search(text) else Likeness.NONE
    return _program_likeness(first, rest)


def _looks_like_script(body: str) -> bool:
    return any(likeness(line) is Likeness.SURE for line in body.split("\n")[:20] if line.strip())


def _can_be_program(first: str, rest: str) -> bool:
    if first in _PROGRAMS:
        return True
    if not _NAME.match(first) or (first.endswith((".", "/")) and first != ".") or first in _METHODS:
        return False
    if first.startswith("/"):
        return first.lower().startswith(_ROOTS)
    if first.startswith(("-", "@", "+")) or first.lower() in _NOT_SHELL:
        return False
    if "=" in rest[:3] or rest.startswith((" :", " =>", " ->", " {")):
        return False
    name = first.rsplit("/", 1)[-1]
    return "/" in first or (not name[:1].isupper() and not name[:1].isdigit())


def _program_likeness(first: str, rest: str) -> Likeness:
    evident = bool(_OPERATOR.search(rest) or _OPTION.search(rest))
    name = first.rsplit("/", 1)[-1]
    if "/" in first or _SCRIPT.search(name):
        return _path_likeness(first, rest, evident)
    if first in _PROGRAMS and first not in _WORDS:
        return Likeness.SURE if rest else Likeness.MAYBE
    if first in _WORDS:
        return (
            Likeness.SURE if rest and (evident or _PATHLIKE.search(rest) or len(rest.split()) < 3) else Likeness.MAYBE
        )
    if "." in name and not first.startswith("$"):
        # A file name: `config.ts`, `task.verify`.
        return Likeness.MAYBE if evident else Likeness.NONE
    if not rest:
        return Likeness.WORD
    return Likeness.SURE if evident else Likeness.MAYBE


def _path_likeness(first: str, rest: str, evident: bool) -> Likeness:
    """A path is run if it is a script or lies where programs lie; otherwise it is a file that is talked about."""
    if (first.startswith("./") and (rest or "." not in first[2:])) or _SCRIPT.search(first):
        return Likeness.SURE if rest or first.startswith("./") else Likeness.MAYBE
    if re.search(r"(?:^|/)(?:\.?v?env|bin|\.bin|sbin|target/\w+)/", first) and "." not in first.rsplit("/", 1)[-1][1:]:
        return Likeness.SURE if rest else Likeness.MAYBE
    if evident:
        return Likeness.SURE
    return Likeness.MAYBE if rest and "." not in first.rsplit("/", 1)[-1] else Likeness.NONE


def without_prompt(text: str) -> str:
    """`$ npm test` is typed as `npm test`."""
    return _PROMPT.sub("", text)
