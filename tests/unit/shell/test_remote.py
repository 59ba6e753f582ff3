"""The part of a command line that changes something outside this machine."""

from __future__ import annotations

import re

import pytest

from pytest_ralph.shell.programs import TABLE
from pytest_ralph.shell.remote import HINT, find_remote_change


def test_the_hint_covers_the_table() -> None:
    table = TABLE.read_text(encoding="utf-8")
    lists = re.findall(r"^(?:remote|clouds|http) = '+(.*?)'", table, re.MULTILINE | re.DOTALL)
    assert len(lists) == 3
    calls = [call for text in lists for call in text.split("," if "," in text else None)]
    assert [call for call in calls if not HINT.search(call)] == []


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("make build && git push origin main; echo done", "git push origin main"),
        ("npm publish", "npm publish"),
        ("npm run deploy", "npm run deploy"),
        ("make -C web deploy", "make -C web deploy"),
        ("find . -name '*.tgz' -exec npm publish '{}' +", "npm publish {} +"),
        ("./scripts/deploy.sh prod", "./scripts/deploy.sh prod"),
        ("oc apply -f x.yml", "oc apply -f x.yml"),
        ("jj git push", "jj git push"),
        ('eval "git push"', "git push"),
        ('bash -e <<< "make; git push origin"', "git push origin"),
        ('bash log.sh <<< "git push"', None),
        ('cat <<< "git push"', None),
        ("mvn release:perform", "mvn release:perform"),
        ("ls deploy", None),
        ("make release", None),
        ("make test", None),
        ("git status", None),
        ("true", None),
    ],
)
def test_the_changing_part_is_named(command: str, change: str | None) -> None:
    assert find_remote_change(command) == change


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("cd web && make ship", "make ship"),
        ("make ship-docs", None),
        ("make -C web ship", "make -C web ship"),
        ("./release.sh --yes 1.2", "./release.sh --yes 1.2"),
        ("./release.sh 1.2", None),
    ],
)
def test_a_project_adds_calls_of_its_own(command: str, change: str | None) -> None:
    assert find_remote_change(command, ("", "make ship", "release.sh --yes")) == change


@pytest.mark.parametrize(
    "command",
    [
        "bash <<'E'\ngit push\nE",
        "bash -s x <<E\ngit push\nE",
        "cat <<E | sh\ngit push\nE",
        "cat <<E\n$(git push)\nE",
        "echo 'git push' | sh",
        "printf 'ls\\ngit push\\n' | bash -s",
        "function ship { git push; }; ship",
        "trap 'git push' EXIT",
        "alias gp='git push'\ngp",
        "time -p git push",
        "$(which git) push",
        "git $'push'",
        "bash --rcfile x -c 'git push'",
        "su - me -c 'git push'",
        "su me -s /bin/sh -c 'git push'",
        "flock /tmp/l -c 'git push'",
        "npx -c 'wrangler deploy'",
        "env -S 'git push'",
        "find . -exec true ';' -execdir git push ';'",
        "bash scripts/deploy.sh",
        "env $(cat .env | xargs) npm publish",
        'echo "${X:-$(git push)}"',
        "echo $((1 + $(git push)))",
        "python -mtwine upload dist/*",
        "python -Im twine upload dist/*",
    ],
)
def test_scripts_of_every_form_are_read(command: str) -> None:
    assert find_remote_change(command)


@pytest.mark.parametrize(
    "command",
    [
        "sudo --user me git push",
        "env --unset X git push",
        "exec -a x git push",
        "nice --adjustment 10 git push",
        "xargs --max-args 1 git push",
        "strace -o log git push",
        "sshpass -p x scp a host:b",
        "aws-vault exec prod -- terraform apply",
        "op run -- npm publish",
        "uv run --directory web twine upload x",
        "uv --directory web run twine upload x",
        "poetry -C web run twine upload x",
        "uvx --index-url x twine upload y",
    ],
)
def test_launchers_with_values_are_looked_through(command: str) -> None:
    assert find_remote_change(command)


@pytest.mark.parametrize(
    "command",
    [
        "fly -a shop deploy",
        "pulumi -s prod --yes up",
        "poetry -C web publish",
        "uv --directory web publish",
        "docker --log-level debug push shop",
        "cargo --color always publish",
        "make -fbuild.mk clean deploy",
        "make ENV=prod deploy",
        "make -sC web deploy",
        "mvn -pl web clean deploy",
        "gradle clean publish",
        "python setup.py sdist upload",
        "npm run deploy:prod",
    ],
)
def test_the_subcommand_may_stand_behind_other_words(command: str) -> None:
    assert find_remote_change(command)


@pytest.mark.parametrize(
    "command",
    [
        "gh pr create --title help",
        "gh pr comment 3 --body --help",
        "gh issue comment 3 -b 'localhost:3000 is up'",
        "gh secret set URL --body http://localhost:3000",
        "kubectl apply -f http://localhost:8000/x.yml",
        "kubectl delete pod help",
        "skopeo copy docker://localhost:5000/x docker://docker.io/x",
        "docker build --push -t localhost:5000/x -t docker.io/x .",
        "ssh host make --help",
        "ssh host curl http://localhost:8080",
        "ssh host grep -V x",
        "rsync -a -h web/ host:web",
        "scp localhost:a host:b",
        "http -h POST example.com x=y",
    ],
)
def test_a_word_elsewhere_is_no_excuse(command: str) -> None:
    assert find_remote_change(command)


@pytest.mark.parametrize(
    "command",
    [
        "curl -sd x https://example.com",
        "curl -sF f=@x https://example.com",
        "curl --url=https://example.com -d x",
        "curl -X POST 10.0.0.5/x",
        "curl -X POST http://localhost@example.com/",
        "curl -o localhost -X POST https://example.com",
        "curl --proxy localhost:8080 -d x https://example.com",
        "curl -d http://localhost/x https://example.com",
        "curl -T x ftp://example.com",
        "http example.com file@x",
        "gh api repos/a/b/issues -ftitle=x",
        "gh api repos/a/b/issues --input x.json",
        "gh api graphql -f query='mutation { x }'",
        "glab api -X POST projects",
        "psql -hdb.example.com -c 'drop table x'",
        "psql -h db.example.com -fx.sql",
        "cat x.sql | psql -h db.example.com",
        "PGHOST=db.example.com psql -c 'drop table x'",
        "psql --dbname=postgres://db.example.com/x -c 'drop table x'",
        "redis-cli -h db.example.com incr x",
        "gsutil -m cp a gs://b",
        "aws ec2 authorize-security-group-ingress",
        "az keyvault secret set",
    ],
)
def test_requests_that_write_are_noticed(command: str) -> None:
    assert find_remote_change(command)


@pytest.mark.parametrize(
    "command",
    [
        "gh api -X GET search/issues -f q=x",
        "gh api graphql -f query='query { viewer { login } }'",
        "npm publish --registry http://localhost:4873",
        "docker build --push -t localhost:5000/x .",
        "rsync -navz web/ host:web",
        "rsync -a host:web web",
        "scp host:log .",
        "make -kn deploy",
        "aws s3 cp s3://b/x . --region us-east-1",
        "aws lambda get-function --function-name update-user",
        "gcloud compute instances describe create-x",
        "gcloud config set project x",
        "curl -sd payload.json http://localhost:3000",
        "curl -X POST http://localhost:$PORT/x -d a",
        "psql -hlocalhost -c 'drop table x'",
        "cat <<'E'\n$(git push)\nE",
        "bash -n deploy.sh",
        "echo 'git push' | bash hook.sh",
        "cat deploy.sh",
        "./gradlew publishToMavenLocal",
        "goreleaser release --snapshot --clean",
        "heroku config:get X",
    ],
)
def test_what_only_reads_or_stays_here_is_run(command: str) -> None:
    assert find_remote_change(command) is None
