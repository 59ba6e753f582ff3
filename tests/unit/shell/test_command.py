"""A command line is read once, and everything asked about it is answered by that reading."""

from __future__ import annotations

import pytest

from pytest_ralph.shell.command import Command, read_shown
from pytest_ralph.shell.remote import find_remote_change
from pytest_ralph.shell.stdout import Stdout
from tests.growth import growth


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("pytest -q", ["pytest"]),
        ("python -m pytest -q", ["pytest"]),
        ("python -W error -m pytest", ["pytest"]),
        ("python3.11 -m mypy src", ["mypy"]),
        ("python report.py -m slow", ["python"]),
        ("coverage run -m pytest", ["pytest"]),
        ("npx --no-install playwright test", ["playwright"]),
        ("npx prettier@3 --check .", ["prettier"]),
        ("poetry run ruff check .", ["ruff check"]),
        ("uv run --frozen pytest", ["pytest"]),
        ("uv run -m pytest", ["pytest"]),
        ("uv run --with x --package y pytest", ["pytest"]),
        ("hatch run pytest", ["pytest"]),
        ("mise exec -- cargo test", ["cargo test"]),
        ("pnpm exec vitest run", ["vitest"]),
        ("pnpm --filter web eslint .", ["eslint"]),
        ("yarn jest", ["jest"]),
        ("yarn test", ["yarn test"]),
        ("yarn build", ["yarn build"]),
        ("bunx biome check .", ["biome check"]),
        ("FOO=1 BAR=2 cargo test --lib", ["cargo test"]),
        ("timeout -s KILL 5 go vet ./...", ["go vet"]),
        ("timeout --signal KILL --kill-after 3 5 npm test", ["npm test"]),
        ("sudo env A=b make -j4", ["make"]),
        ("sudo -u app -- make check", ["make"]),
        ("nice -n 5 npm test", ["npm test"]),
        ("env -C web npm test", ["npm test"]),
        ("time cargo build", ["cargo build"]),
        ("stdbuf -oL nohup pytest", ["pytest"]),
        ("git ls-files | xargs -n 10 shfmt -d", ["git ls-files", "shfmt"]),
        ("wc -l f | xargs", ["wc", "xargs"]),
        ("find . -name '*.c' -exec clang-format -n {} +", ["clang-format", "find"]),
        ("cd web && npm ci && npx tsc -p .", ["cd", "npm ci", "tsc"]),
        ("a.sh; b.sh | tail -3", ["a.sh", "b.sh", "tail"]),
        ('bash -c "ruff check . && mypy ."', ["ruff check", "mypy"]),
        ("bash -euo pipefail -c 'mypy .'", ["mypy"]),
        ("timeout 9 sh -lc 'timeout 5 pytest'", ["pytest"]),
        ("if ! mypy .; then exit 1; fi", ["mypy", "exit"]),
        ("for f in a b; do ruff check $f; done", ["ruff check"]),
        ('test -z "$(gofmt -l .)"', ["gofmt", "test"]),
        ("diff <(sort a) <(sort b)", ["sort", "sort", "diff"]),
        ("./node_modules/.bin/eslint .", ["eslint"]),
        ("php vendor/bin/phpunit tests", ["phpunit"]),
        ("python manage.py test", ["manage.py test"]),
        ("command -v docker", ["command"]),
        ("grep -q x < in.txt > out.txt 2>&1", ["grep"]),
        ("! grep -rn TODO src", ["grep"]),
        ("node --check a.js", ["node --check"]),
        ("docker compose build web", ["docker compose build"]),
        ("mvn -q clean test", ["mvn test"]),
        ("sudo", ["sudo"]),
        ("", []),
        ("# nothing", []),
        ("echo 'unclosed", ["echo"]),
    ],
)
def test_launchers_are_looked_through(command: str, names: list[str]) -> None:
    assert [stage.name for stage in Command.parse(command).stages] == names


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("npx jest", "test"),
        ("flake8 .", "lint"),
        ("mypy .", "types"),
        ("black --check .", "format"),
        ("cargo build", "build"),
        ("cargo clippy", "lint"),
        ("cargo fmt --check", "format"),
        ("pip install x", "install"),
        ("test -f a", "check"),
        ("jq . a.json", "data"),
        ("curl -s x", "net"),
        ("psql -c 'select 1'", "database"),
        ("git push", "versions"),
        ("terraform apply", "operations"),
        ("python app.py", "run"),
        ("my-linter .", "lint"),
        ("frobnicate", ""),
    ],
)
def test_a_program_has_a_role(command: str, role: str) -> None:
    assert Command.parse(command).stages[0].role == role


@pytest.mark.parametrize(
    ("command", "directories"),
    [
        ("make", [""]),
        ("cd web && npm test", ["", "web"]),
        ("cd web/app; cd ../lib; make", ["", "web/app", "web/lib"]),
        ("(cd web && make) && ls", ["", "web", ""]),
        ("bash -c 'cd web && make'", ["", "web"]),
        ("cd $DIR && make", ["", None]),
        ("cd - && make", ["", None]),
    ],
)
def test_the_working_directory_is_followed(command: str, directories: list[str | None]) -> None:
    assert [stage.directory for stage in Command.parse(command).stages] == directories


@pytest.mark.parametrize(
    ("command", "again"),
    [
        ("npx -y -p typescript tsc --noEmit", "npx --no-install"),
        ("poetry run python -m black .", "poetry run python -m"),
        ("uv run -m black .", "uv run --no-sync -m"),
        ("uv --directory web run pytest", "uv --directory web run --no-sync"),
        ("python -Im black .", "python -Im"),
        ("python -mblack .", "python -m"),
        ("yarn eslint .", "yarn run"),
        ("timeout 60 uvx ruff check", "uvx"),
        ("timeout 60 ruff check", ""),
        ("php vendor/bin/pint", "php"),
    ],
)
def test_the_program_can_be_started_again(command: str, again: str) -> None:
    (stage,) = Command.parse(command).stages
    assert " ".join(stage.again) == again


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("timeout 5 make", True),
        ("cd web && gtimeout 5 npm test", True),
        ("sh -c 'timeout 5 make'", True),
        ("ls | xargs timeout 5 cat", True),
        ("make timeout", False),
        ("grep 'timeout 5' log", False),
    ],
)
def test_time_limits_are_seen_through_launchers(text: str, expected: bool) -> None:
    assert Command.parse(text).has_time_limit is expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("grep -c x f", Stdout.COUNT),
        ("timeout 60 grep -c x f", Stdout.COUNT),
        ("grep -ic 'a b' f", Stdout.COUNT),
        ("rg --count x f", Stdout.COUNT),
        ("cat f | grep -c x", Stdout.COUNT),
        ("ls | wc -l", Stdout.COUNT),
        ("grep -c x f | head -1", Stdout.COUNT),
        ("jq '.a | length' f", Stdout.COUNT),
        ("curl -s -o /dev/null -w '%{http_code}' localhost", Stdout.COUNT),
        ("bash -c 'ls | wc -l'", Stdout.COUNT),
        ("grep -c x a b", Stdout.COUNTS),
        ("grep -c x src/*.py", Stdout.COUNTS),
        ("grep -rc x src", Stdout.COUNTS),
        ("ls | xargs grep -c x", Stdout.COUNTS),
        ("for f in a b; do grep -c x $f; done", Stdout.COUNTS),
        ("grep -c -e x -e y f", Stdout.COUNT),
        ("cat f | grep -c x - g", Stdout.COUNTS),
        ("cat f | grep -c x -", Stdout.COUNT),
        ("grep -c -e x f g", Stdout.COUNTS),
        ("grep -c -f patterns f", Stdout.COUNT),
        ("env grep -n x f", Stdout.LINES),
        ("time ls src", Stdout.LINES),
        ("LC_ALL=C ls src", Stdout.LINES),
        ("grep -n x f", Stdout.LINES),
        ("git grep x", Stdout.LINES),
        ("git -C web status --porcelain", Stdout.LINES),
        ("ls src", Stdout.LINES),
        ("git status --porcelain", Stdout.LINES),
        ("diff <(sort a) <(sort b)", Stdout.STATUS),
        ("grep -q x f", Stdout.STATUS),
        ("grep -n x f > out.txt", Stdout.STATUS),
        ("grep -n x f 2>/dev/null", Stdout.LINES),
        ("pytest -q", Stdout.STATUS),
        ("python -m pytest", Stdout.STATUS),
        ("python app.py", Stdout.STATUS),
        ("node --test", Stdout.STATUS),
        ("sudo -E ./run.sh", Stdout.STATUS),
        ("jq -r .version f", Stdout.TEXT),
        ("python -m json.tool f", Stdout.TEXT),
        ("uv run python -c 'print(1)'", Stdout.TEXT),
        ("cd a && python3 -c 'print(1)'", Stdout.TEXT),
        ("python3 - <<'E'\nprint(1)\nE", Stdout.TEXT),
        ("grep -e -c app.py", Stdout.LINES),
        ("grep -- -c app.py", Stdout.LINES),
        ("grep -ce def app.py shop.py", Stdout.COUNTS),
        ("git grep -c def", Stdout.COUNTS),
        ("", Stdout.STATUS),
    ],
)
def test_the_last_pipeline_decides_about_stdout(command: str, expected: Stdout) -> None:
    assert Command.parse(command).stdout is expected


@pytest.mark.parametrize("launcher", ["", "npx ", "uv run ", "pdm run ", "pnpm exec ", "yarn "])
def test_watching_is_seen_behind_launchers(launcher: str) -> None:
    (stage,) = Command.parse(f"{launcher}vitest --watch").stages
    assert stage.never_ends


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git -C web push origin main",
        "gh pr merge 3 --squash",
        "gh pr create --fill",
        "gh release create v1",
        "gh workflow run ci.yml",
        "gh api -X POST repos/o/r/issues",
        "glab mr merge 3",
        "hub pull-request",
        "npm publish",
        "pnpm publish",
        "yarn npm publish",
        "cargo publish",
        "twine upload dist/*",
        "gem push x.gem",
        "uv publish",
        "docker push me/x",
        "podman push me/x",
        "docker buildx build --push .",
        "docker compose -f prod.yml push",
        "kubectl apply -f x.yml",
        "kubectl -n prod apply -f x.yml",
        "helm upgrade a b",
        "terraform -chdir=infra apply",
        "pulumi up --yes",
        "ansible-playbook site.yml",
        "ssh host ls",
        "ssh -n host reboot",
        "scp a host:b",
        "curl -X POST https://example.com/x",
        "curl -XDELETE https://example.com/x",
        "curl --request=PUT https://example.com/x",
        "curl -d a=b https://api.example.com",
        "curl -X POST example.com/x",
        "http PATCH https://example.com/x a=b",
        "http https://example.com/x a=b",
        "wget --post-data=a=b https://example.com",
        "aws s3 rm s3://b/x",
        "aws --region eu-west-1 ec2 run-instances",
        "gcloud compute instances create x",
        "az group delete -n x",
        "make build && git push",
        "sudo docker push x/y",
        "bash -c 'npm publish'",
        "echo $(git push)",
        "timeout 5 -- git push",
        "flock lock git push",
        "parallel git push {} ::: a b",
        'su -c "git push"',
        "rsync -a dist/ me@host:/srv",
        "docker-compose push",
        "podman image push me/x",
        "rake release",
        "argocd app sync web",
        "curl -sSXPOST https://example.com/x",
        'curl -X POST "$API_URL/x"',
        'curl -X POST "https://$HOST/x"',
        "https PUT example.com/x a=b",
        "yarn workspace web publish",
        "yarn workspace web npm publish",
        "flux reconcile kustomization shop",
        "nomad job run shop.nomad",
        "vault kv put secret/shop a=b",
        "psql -h db.example.com -c 'drop table menu'",
        "psql postgres://db.example.com/shop -f seed.sql",
        "mysql --host=db.example.com shop < seed.sql",
        "git push origin localhost-fix",
        "git push origin localhost",
        "gh pr create --title localhost",
        "aws s3 cp localhost.txt s3://bucket/x",
        "curl -X POST https://localhost.example.com/x",
        "curl -sSX POST https://example.com/x",
        "wget --post-data=a=1 https://example.com/x",
        "wget --method=DELETE https://example.com/x",
    ],
)
def test_a_change_outside_the_machine_is_noticed(command: str) -> None:
    assert find_remote_change(command)


@pytest.mark.parametrize(
    "command",
    [
        "git push --dry-run",
        "git push -n",
        "git -C push status",
        "git commit -m 'git push'",
        "echo git push",
        "grep -r 'git push' docs",
        "npm publish --dry-run",
        "npm publish --help",
        "gh pr list",
        "gh pr checks",
        "gh api repos/o/r",
        "docker build .",
        "docker push localhost:5000/x",
        "kubectl -n prod get pods",
        "kubectl apply --dry-run=client -f x",
        "helm template x",
        "terraform plan",
        "pulumi preview",
        "ansible-playbook --check site.yml",
        "ssh -V",
        "ssh localhost true",
        "curl https://example.com -o out.json",
        "psql -h db.example.com -c 'select 1'",
        "psql -h localhost -c 'drop table menu'",
        "mysql --host=localhost shop < seed.sql",
        "psql shop -f seed.sql",
        "mysql -u root shop < seed.sql",
        "redis-cli -h db.example.com get shop",
        "yarn workspace web build",
        "vault kv get secret/shop",
        "nomad job status shop",
        "flux get kustomizations",
        "curl -d a=1 http://localhost/x",
        "curl -X POST http://127.0.0.1:8000/x -d @f.json",
        "curl -X POST localhost:3000/x",
        "curl -X POST http://[::1]:3000/x",
        "curl -G -d q=1 https://example.com",
        "http :8000/x a=b",
        "http POST localhost:3000 a=b",
        "aws sts get-caller-identity",
        "aws s3 ls",
        "aws --endpoint-url http://localhost:4566 s3 mb s3://b",
        "az account show",
        "twine check dist/*",
        "wget https://example.com/x.tar.gz",
        "wget -T 10 https://example.com/x",
        "wget -d -F -i https://example.com/list.html",
        "curl -o delete https://example.com/x",
        "git push ssh://me@localhost/srv/x.git main",
        "git push me@localhost:x.git main",
        "ansible localhost -m ping",
        "vercel inspect",
        "scp a b",
        "rsync -a dist/ copy/",
        "rsync -an dist/ me@host:/srv",
        "make -n deploy",
        'API=http://localhost:3000; curl -X POST "$API/x"',
        'curl -X POST "${API:-http://localhost:3000}/x"',
    ],
)
def test_a_harmless_command_changes_nothing_outside(command: str) -> None:
    assert find_remote_change(command) is None


@pytest.mark.parametrize(
    ("command", "title"),
    [
        ("ruff check --select I .", "ruff check"),
        ("npx prettier --check .", "prettier"),
        ("cargo +nightly fmt --check", "cargo fmt"),
        ("dotnet csharpier check .", "dotnet csharpier check"),
    ],
)
def test_formatters_and_linters_have_a_fix_mode(command: str, title: str) -> None:
    mode = Command.parse(command).stages[0].fix_mode
    assert mode is not None
    assert mode.title == title


def test_another_program_may_do_the_fixing() -> None:
    mode = Command.parse("vendor/bin/phpcs src").stages[0].fix_mode
    assert mode is not None
    assert mode.instead == "phpcbf"


@pytest.mark.parametrize("command", ["A=1 B=$X make", "env A=1 B=$X make"])
def test_assignments_tell_values_from_expansions(command: str) -> None:
    (stage,) = Command.parse(command).stages
    values = [(name, word.text, word.literal) for name, word in stage.assignments]
    assert values == [("A", "1", True), ("B", "$X", False)]


def test_a_fix_mode_handles_files_by_suffix() -> None:
    mode = Command.parse("eslint .").stages[0].fix_mode
    assert mode is not None
    assert mode.handles("a.tsx")
    assert not mode.handles("a.py")


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("pytest --junitxml=out.xml", "out.xml"),
        ("pytest --junit-xml 'my out.xml' -q", "my out.xml"),
        ("uv run pytest --junitxml=a.xml | tail", "a.xml"),
        ("pytest -p no:junitxml", None),
        ("pytest --junitxml", None),
        ("pytest", None),
    ],
)
def test_the_junit_file_of_a_command_is_known(command: str, path: str | None) -> None:
    assert Command.parse(command).junit_file == path


def test_shown_commands_are_read_from_their_first_words() -> None:
    stages = read_shown("npx eslint . && tsc -p . | head")
    assert [stage.name for stage in stages] == ["eslint", "tsc", "head"]


def test_a_command_is_parsed_once() -> None:
    assert Command.parse("make lint") is Command.parse("make lint")


@pytest.mark.parametrize("launcher", ["sh -c ", "env ", "find . -exec "])
def test_endless_nesting_is_cut_off(launcher: str) -> None:
    parse = Command.parse.__wrapped__
    assert growth(lambda count: parse(launcher * count + "true"), 1_000, 8_000) < 24
