"""Find the part of a command line that changes something outside this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_ralph.text.regex import regex

if TYPE_CHECKING:
    from collections.abc import Sequence

# Every command line that changes something outside has one of these words: a verb where the program
# is used for much else, otherwise the program. Others need not be parsed, which takes longer than
# starting a small command. The tests compare this with the table of programs.
HINT = regex(
    r"\b(?:push|publish\w*|unpublish|deprecate|dist-tag|yank|upload\w*|deploy|dcommit|send-email|commit"
    r"|skopeo|release|release-it|semantic-release|changeset|gh|glab|hub|helm|helmfile|kubectl|terraform|tofu"
    r"|terragrunt|pulumi|ansible|ansible-playbook|cdk|cdktf|vercel|vc|netlify|fly|flyctl|firebase|wrangler"
    r"|serverless|sls|sst|sam|railway|heroku|eas|fastlane|surge|ssh|autossh|mosh|scp|sftp|rsync|supabase|prisma|curl"
    r"|https?|wget|xh|argocd|aws|az|azd|doctl|gcloud|gsutil|hcloud|ibmcloud|oci|oc|skaffold|flux|nomad|vault"
    r"|cockroach|mongosh|mysql|mariadb|psql|redis-cli|submit|ghr|np|svn|review|crane|ko|eb|eksctl|consul"
    r"|chalice|zappa|dokku|kamal|s3cmd|s5cmd|rclone|sentry-cli|codecov|coveralls|snyk|chromatic|cast|forge"
    r"|hardhat|truffle|dput|copr-cli|goreleaser|tea|retire|owner|access|ship|service|land|arc|town|annex"
    r"|cf|nuget|kapp|fossil|mongo|mongoimport|mongorestore|mysqladmin|pg_restore|createdb|dropdb|mail|mutt"
    r"|sendmail|swaks)\b"
)
THIS_MACHINE = regex(r"\blocalhost\b|\b127\.|\b0\.0\.0\.0\b|\[::1\]")


def find_remote_change(command: str, additional: Sequence[str] = ()) -> str | None:
    """Return the first part of `command` that changes something outside, or None.

    `additional` are calls that a project adds to the table of programs, such as `make ship`.
    """
    if not additional and not HINT.search(command):
        return None
    # Imported here: most commands get no further than the hint.
    from pytest_ralph.shell.command import Command
    from pytest_ralph.shell.hazards import sends_to_variable
    from pytest_ralph.shell.programs import Calls

    # A host in a variable may be any host, unless the command line says that it is this one.
    names_this_machine = THIS_MACHINE.search(command) is not None
    additional_calls = Calls.read(additional)
    for stage in Command.parse(command).stages:
        if stage.changes_remote or additional_calls.may_contain(stage):
            return stage.source
        if not names_this_machine and sends_to_variable(stage):
            return stage.source
    return None
