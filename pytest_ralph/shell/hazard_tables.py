"""The tables behind the Hazards: calls by program and leading words, options by their spelling.

An option in a call may stand anywhere behind its words.
"""

from __future__ import annotations

from typing import NamedTuple


class Call(NamedTuple):
    """The words that follow a program, and the options that must be among the rest."""

    words: tuple[str, ...]
    options: frozenset[str]


def _calls(text: str) -> dict[str, tuple[Call, ...]]:
    """Calls by program."""
    calls: dict[str, tuple[Call, ...]] = {}
    for program, *rest in (call.split() for call in text.split(",")):
        # `python -m x`: there the option is as good as a word.
        options = frozenset(word for word in rest if word.startswith("-") and word != "-m")
        call = Call(tuple(word for word in rest if word not in options), options)
        calls[program] = (*calls.get(program, ()), call)
    return calls


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Programs that wait for changes, or serve, until they are stopped.
ENDLESS = _calls(
    """
    nodemon, watchexec, entr, cargo watch, tail -f, tail -F, journalctl -f, next dev, next start, vite dev, vite
    preview, vite serve, nuxt dev, astro dev, webpack serve, webpack-dev-server, ng serve, npm start, yarn start,
    pnpm start, npm run dev, npm run start, npm run serve, npm run watch, npm run preview, pnpm dev, yarn dev, pnpm
    run dev, yarn run dev, bun run dev, bun dev, flask run, uvicorn, gunicorn, hypercorn, streamlit run, jupyter
    notebook, jupyter lab, rails server, rails s, php -S, php artisan serve, http-server, json-server, live-server,
    mix phx.server, hugo server, mkdocs serve, ngrok, docker compose up, docker-compose up, kubectl port-forward,
    kubectl proxy, stripe listen, python -m http.server, python3 -m http.server, python manage.py runserver, python3
    manage.py runserver, storybook dev, expo start, tsx watch, deno serve
    """
)
WATCHERS = _words(
    """
    ava babel bun cypress deno docker esbuild eslint jest kubectl mocha ng node npm nx pnpm postcss ptw pytest-watch
    rollup sass swc tailwindcss tsc tsup tsx typst vitest vue-cli-service webpack yarn
    """
)
WATCH_OPTIONS = _words(
    "--follow --serve --watch --watch-all --watch=true --watchAll --watchAll=true"
)
# Those for which `-w` means watch; for others it is a spec_files, words or writing.
SHORT_WATCHERS = _words("babel jest mocha rollup tsc vitest webpack")
# Options with which even those end.
ENDING = _words(
    """
    --abort-on-container-exit --detach --exit-code-from --help --no-watch --once --reload-once --version -d -h
    """
)

# Calls that change something outside the project.
REMOTE = _calls(
    """
    git push, gh pr create, gh pr merge, gh pr comment, gh pr close, gh pr edit, gh pr ready, gh pr review, gh issue
    create, gh issue close, gh issue comment, gh release create, gh repo create, gh workflow run, glab mr create,
    npm publish, pnpm publish, yarn publish, yarn npm publish, cargo publish, gem push, twine upload, uv publish,
    poetry publish, dotnet nuget push, mvn deploy, docker push, docker compose push, helm install, helm upgrade,
    helm uninstall, kubectl apply, kubectl delete, kubectl create, kubectl rollout restart, terraform apply,
    terraform destroy, tofu apply, tofu destroy, pulumi up, cdk deploy, vercel, netlify deploy, fly deploy, flyctl
    deploy, firebase deploy, wrangler deploy, wrangler publish, serverless deploy, sls deploy, sam deploy, railway
    up, heroku, gcloud run deploy, gcloud app deploy, eas submit, fastlane, changeset publish, semantic-release,
    ssh, scp, supabase db push, prisma migrate deploy
    """
)
READ_ONLY = _words(
    "--dry-run --dry-run=client --dry-run=server --help --version -n inspect logs ls whoami"
)
# Calls that only ask a remote service.
NETWORK = _calls(
    """
    gh pr, gh run, gh api, gh issue, gh release, gh workflow, glab, git fetch, git pull, git ls-remote, git clone,
    npm view, npm info, npm outdated, npm audit, pip download, docker pull, ping, nslookup, dig
    """
)

# Calls that ask a person, and the options that answer beforehand.
ASKING = _calls(
    """
    vi, vim, nvim, nano, emacs, less, more, man, top, htop, read -p, passwd, git rebase -i, git add -p, git add -i, git
    mergetool, git commit, gh auth login, npm login, npm init, yarn init, docker login, docker run -it, docker exec
    -it, docker run -ti, docker exec -ti, kubectl exec -it, open, xdg-open, code, fzf, cypress open, playwright
    show-report, playwright codegen, vitest --ui, gcloud auth login
    """
)
ANSWERED = _words(
    """
    --batch --file --headless --help --install-extension --list-extensions --message --no-edit --version --yes -C
    -Es -F -am -es -h -m -qam -qm -v -y
    """
)
# Without arguments these read commands from a person.
SHELLS = _words("bash irb mysql node psql python python3 sh sqlite3")

# Always succeed.
ALWAYS = _words(": echo printf true")
# At the end of a pipe they succeed whatever they are fed.
FILTERS = _words("awk cat column cut fold gawk head less more nl rev sed sort tail tee tr uniq wc")

LAUNCHERS = (
    ("npx",),
    ("bunx",),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("uv", "run"),
    ("poetry", "run"),
    ("bundle", "exec"),
    ("sudo",),
)
