"""Room fixing: the table of formatters and linters that can fix what they complain about, and how each is asked to.

One row a tool. `call` is how it is called (program, then subcommand); `fix` what replaces the subcommand in its
fixing form; `keep` and `flags` the options, with and without a value, that say how the project wants it done. All other
options and all paths of the failing call are dropped: the fixing call names its files itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pytest_ralph.fixing.repairs.indirection import Step

Purpose = Literal["format", "lint"]

_PYTHON = ".py .pyi"
_SCRIPT = ".js .jsx .mjs .cjs .ts .tsx .mts .cts"
_WEB = f"{_SCRIPT} .vue .svelte .astro"
_STYLE = ".css .scss .sass .less .pcss .vue .svelte .astro"
_C = ".c .h .cc .hh .cpp .hpp .cxx .hxx .m .mm .cu .cuh .proto .java .js .cs .inl .ipp"
_RUBY = ".rb .rake .gemspec .ru Gemfile Rakefile"
_SHELL = ".sh .bash .bats .ksh .zsh"
_TERRAFORM = ".tf .tfvars .hcl"
_PRETTIER = f"{_WEB} {_STYLE} .json .json5 .jsonc .md .mdx .yml .yaml .html .hbs .graphql .gql"


@dataclass(frozen=True)
class Tool:
    call: tuple[str, ...]
    purpose: Purpose
    suffixes: tuple[str, ...]
    fix: tuple[str, ...]
    keep: frozenset[str]
    flags: frozenset[str]
    # Another program that does the fixing, as rustfmt does for `cargo fmt`.
    instead: str

    @property
    def title(self) -> str:
        return " ".join(self.call)

    def calls(self, step: Step) -> bool:
        program, *words = self.call
        positional = (text for text in step.texts if not text.startswith(("-", "+")))
        return step.name == program and all(next(positional, None) == word for word in words)

    def handles(self, name: str) -> bool:
        return not self.suffixes or name.endswith(self.suffixes)

    def fixing(self, step: Step) -> tuple[str, ...] | None:
        """The words that make `step` a fixing call, files still to be added. None where its options cannot be known."""
        kept: list[str] = []
        words = iter(step.arguments)
        for word in words:
            name, equals, _ = word.text.partition("=")
            taken = [word]
            if name in self.keep and not equals:
                taken.append(next(words, word))
            elif not (word.text in self.flags or (name in self.keep and equals)):
                continue
            if not all(each.literal for each in taken):
                return None
            kept += [each.text for each in taken]
        path, slash, _ = step.program.rpartition("/")
        program = f"{path}{slash}{self.instead}" if self.instead else step.program
        return (*step.launcher, program, *self.fix, *kept)


def _tool(
    call: str,
    purpose: Purpose,
    suffixes: str,
    fix: str = "",
    *,
    keep: str = "",
    flags: str = "",
    instead: str = "",
) -> Tool:
    return Tool(
        tuple(call.split()),
        purpose,
        tuple(suffixes.split()),
        tuple(fix.split()),
        frozenset(keep.split()),
        frozenset(flags.split()),
        instead,
    )


TOOLS: tuple[Tool, ...] = (
    # Python
    _tool(
        "black",
        "format",
        f"{_PYTHON} .ipynb",
        keep="--config -l --line-length -t --target-version",
        flags="-S --skip-string-normalization -C --skip-magic-trailing-comma --preview --unstable --pyi",
    ),
    _tool(
        "ruff format",
        "format",
        f"{_PYTHON} .ipynb",
        "format",
        keep="--config --line-length --target-version",
        flags="--preview --isolated",
    ),
    _tool(
        "ruff check",
        "lint",
        f"{_PYTHON} .ipynb",
        "check --fix",
        keep="--config --select --extend-select --ignore"
        " --extend-ignore --line-length --target-version --fixable --unfixable",
        flags="--preview --isolated",
    ),
    _tool(
        "isort",
        "format",
        _PYTHON,
        keep="--settings-path --settings-file --sp --profile -l --line-length -p",
    ),
    _tool(
        "autopep8",
        "format",
        _PYTHON,
        "--in-place",
        keep="--max-line-length --select --ignore --global-config",
        flags="-a --aggressive --experimental",
    ),
    _tool("yapf", "format", _PYTHON, "--in-place", keep="--style"),
    _tool("blue", "format", _PYTHON, keep="--config -l --line-length"),
    _tool(
        "docformatter",
        "format",
        _PYTHON,
        "--in-place",
        keep="--config --wrap-summaries --wrap-descriptions",
    ),
    _tool(
        "autoflake",
        "lint",
        _PYTHON,
        "--in-place",
        keep="--imports --config",
        flags="--remove-all-unused-imports --remove-unused-variables --remove-duplicate-keys",
    ),
    _tool(
        "djlint",
        "format",
        ".html .jinja .jinja2 .j2 .hbs .twig",
        "--reformat",
        keep="--profile --configuration",
    ),
    _tool(
        "sqlfluff",
        "lint",
        ".sql .dml .ddl",
        "fix --force",
        keep="--dialect --config -d --templater",
    ),
    _tool("mdformat", "format", ".md", keep="--wrap --end-of-line", flags="--number"),
    _tool("yamlfix", "format", ".yml .yaml", keep="-c --config-file"),
    # JavaScript, TypeScript and the web
    _tool(
        "prettier", "format", _PRETTIER, "--write", keep="--config --ignore-path --plugin --parser"
    ),
    _tool(
        "eslint",
        "lint",
        f"{_WEB} .json .jsonc .md .html .graphql .yml .yaml",
        "--fix",
        keep="-c --config --ext --parser --parser-options --rulesdir --plugin --ignore-path",
        flags="--no-eslintrc --no-config-lookup",
    ),
    _tool(
        "stylelint",
        "lint",
        f"{_STYLE} .html",
        "--fix",
        keep="--config -c --custom-syntax --config-basedir",
    ),
    _tool("biome check", "lint", _PRETTIER, "check --write", keep="--config-path"),
    _tool("biome ci", "lint", _PRETTIER, "check --write", keep="--config-path"),
    _tool("biome lint", "lint", _PRETTIER, "lint --write", keep="--config-path"),
    _tool("biome format", "format", _PRETTIER, "format --write", keep="--config-path"),
    _tool("oxlint", "lint", _WEB, "--fix", keep="-c --config --tsconfig"),
    _tool("xo", "lint", _WEB, "--fix"),
    _tool("standard", "lint", _WEB, "--fix", keep="--parser --plugin --global --env"),
    _tool("semistandard", "lint", _WEB, "--fix"),
    _tool("ts-standard", "lint", _WEB, "--fix"),
    _tool("tslint", "lint", _SCRIPT, "--fix", keep="-c --config -p --project"),
    _tool(
        "markdownlint",
        "lint",
        ".md .markdown",
        "--fix",
        keep="-c --config -p --ignore-path -r --rules",
    ),
    _tool("markdownlint-cli2", "lint", ".md .markdown", "--fix", keep="--config"),
    _tool(
        "textlint",
        "lint",
        ".md .txt .rst .html",
        "--fix",
        keep="-c --config --rule --preset --rulesdir",
    ),
    _tool("deno fmt", "format", _PRETTIER, "fmt", keep="--config -c --line-width --indent-width"),
    _tool("deno lint", "lint", _SCRIPT, "lint --fix", keep="--config -c"),
    _tool("dprint check", "format", "", "fmt", keep="--config -c --plugins"),
    _tool("sort-package-json", "format", "package.json"),
    # Go
    _tool("gofmt", "format", ".go", "-w", flags="-s"),
    _tool("gofumpt", "format", ".go", "-w", keep="-lang -modpath", flags="-extra"),
    _tool("goimports", "format", ".go", "-w", keep="-local"),
    _tool("golines", "format", ".go", "-w", keep="-m --max-len -t --tab-len"),
    _tool(
        "gci diff",
        "format",
        ".go",
        "write",
        keep="-s --section",
        flags="--custom-order --skip-generated",
    ),
    _tool("golangci-lint fmt", "format", ".go", "fmt", keep="-c --config -E --enable"),
    # Rust
    _tool("cargo fmt", "format", ".rs", instead="rustfmt"),
    _tool("rustfmt", "format", ".rs", keep="--edition --config --config-path --style-edition"),
    # C family
    _tool("clang-format", "format", _C, "-i", keep="--style -style --fallback-style"),
    _tool("uncrustify", "format", _C, "--replace --no-backup", keep="-c -l"),
    _tool("astyle", "format", _C, "--suffix=none", keep="--options --project --style"),
    _tool("cmake-format", "format", ".cmake CMakeLists.txt", "-i", keep="-c --config-files"),
    _tool("gersemi", "format", ".cmake CMakeLists.txt", "-i"),
    _tool("google-java-format", "format", ".java", "--replace", flags="--aosp -a"),
    _tool("dotnet format", "format", ".cs .vb", "format --no-restore --include", keep="--severity"),
    _tool("csharpier check", "format", ".cs", "format", keep="--config-path"),
    _tool("dotnet csharpier check", "format", ".cs", "csharpier format", keep="--config-path"),
    _tool("dotnet csharpier", "format", ".cs", "csharpier", keep="--config-path"),
    _tool("fantomas", "format", ".fs .fsi .fsx"),
    # JVM, Swift, Dart
    _tool("ktlint", "format", ".kt .kts", "-F", keep="--editorconfig --code-style"),
    _tool("ktfmt", "format", ".kt .kts", flags="--kotlinlang-style --google-style --dropbox-style"),
    _tool("scalafmt", "format", ".scala .sbt .sc", keep="-c --config"),
    _tool("cljfmt check", "format", ".clj .cljs .cljc .edn", "fix", keep="--config"),
    _tool("swiftformat", "format", ".swift", keep="--config --swiftversion"),
    _tool("swiftlint", "lint", ".swift", "lint --fix", keep="--config"),
    _tool("swift format", "format", ".swift", "format --in-place", keep="--configuration"),
    _tool("dart format", "format", ".dart", "format", keep="-l --line-length --page-width"),
    _tool("flutter format", "format", ".dart", "format", instead="dart"),
    # Ruby, PHP
    _tool("rubocop", "lint", _RUBY, "-a", keep="-c --config --only --except -r --require --plugin"),
    _tool("standardrb", "lint", _RUBY, "--fix"),
    _tool("rufo", "format", _RUBY),
    _tool("stree check", "format", _RUBY, "write", keep="--print-width --plugins"),
    _tool("erb_lint", "lint", ".erb", "--autocorrect", keep="--config"),
    _tool("erblint", "lint", ".erb", "--autocorrect", keep="--config"),
    _tool("haml-lint", "lint", ".haml", "-a", keep="-c --config"),
    _tool(
        "php-cs-fixer fix",
        "format",
        ".php",
        "fix",
        keep="--config --rules --allow-risky --path-mode",
    ),
    _tool("php-cs-fixer check", "format", ".php", "fix", keep="--config --rules --allow-risky"),
    _tool("pint", "format", ".php", keep="--config --preset"),
    _tool("phpcs", "lint", ".php .inc", keep="--standard --extensions", instead="phpcbf"),
    _tool("ecs check", "format", ".php", "check --fix", keep="--config -c"),
    # Shell, infrastructure, data
    _tool(
        "shfmt",
        "format",
        _SHELL,
        "-w",
        keep="-i -ln --indent --language-dialect",
        flags="-ci -bn -sr -kp -fn -s",
    ),
    _tool("terraform fmt", "format", _TERRAFORM, "fmt"),
    _tool("tofu fmt", "format", _TERRAFORM, "fmt"),
    _tool("packer fmt", "format", ".hcl", "fmt"),
    _tool("nomad fmt", "format", ".nomad .hcl", "fmt"),
    _tool("taplo fmt", "format", ".toml", "fmt", keep="-c --config -o --option"),
    _tool("taplo format", "format", ".toml", "fmt", keep="-c --config -o --option"),
    _tool("tombi format", "format", ".toml", "format"),
    _tool("toml-sort", "format", ".toml", "-i", flags="-a --all -I --no-comments"),
    _tool("yamlfmt", "format", ".yml .yaml", keep="-conf -formatter"),
    _tool(
        "buildifier",
        "format",
        ".bzl .bazel BUILD WORKSPACE",
        keep="-type --type -lint --lint -warnings --warnings",
    ),
    _tool("ansible-lint", "lint", ".yml .yaml", "--fix=all", keep="-c --config-file"),
    # Others
    _tool("mix format", "format", ".ex .exs .heex .eex", "format", keep="--dot-formatter"),
    _tool("gleam format", "format", ".gleam", "format"),
    _tool("erlfmt", "format", ".erl .hrl .app .config", "-w"),
    _tool("stylua", "format", ".lua .luau", keep="-f --config-path"),
    _tool("zig fmt", "format", ".zig .zon", "fmt"),
    _tool("nixfmt", "format", ".nix", keep="-w --width"),
    _tool("nixpkgs-fmt", "format", ".nix"),
    _tool("alejandra", "format", ".nix"),
    _tool("ormolu", "format", ".hs", "--mode inplace", keep="-o --ghc-opt"),
    _tool("fourmolu", "format", ".hs", "--mode inplace", keep="-o --ghc-opt --config"),
    _tool("ocamlformat", "format", ".ml .mli", "--inplace", keep="--profile"),
    _tool("elm-format", "format", ".elm", "--yes", keep="--elm-version"),
    _tool("purs-tidy check", "format", ".purs", "format-in-place"),
    _tool("crystal tool format", "format", ".cr", "tool format"),
    _tool("nimpretty", "format", ".nim .nims", keep="--maxLineLen --indent"),
    _tool(
        "fprettify",
        "format",
        ".f90 .F90 .f95 .f03 .f08",
        keep="-c --config-file -i --indent -l --line-length",
    ),
    _tool("perltidy", "format", ".pl .pm .t", "-b -bext=/", keep="-pro"),
    _tool("forge fmt", "format", ".sol", "fmt"),
    _tool("solhint", "lint", ".sol", "--fix --noPrompt", keep="-c --config"),
)


def tool_of(step: Step) -> Tool | None:
    return next((tool for tool in TOOLS if tool.calls(step)), None)
