# Everything a contributor runs, by name.

# What CI runs.
check:
    bash .ci/run

# The fast loop.
test *ARGS:
    cargo test {{ARGS}}

# The long forms of property tests and of tests on real data.
test-long:
    cargo test --release -- --ignored

# The performance report (corpora S, L or X).
bench CORPUS="S":
    cargo bench -p ragdb-bench --bench report -- --corpus {{CORPUS}}

# Search among 100,000 vectors, beside sqlite-vec.
bench-vectors *ARGS:
    cargo bench -p ragdb-bench --no-default-features --features sqlite-vec --bench vectors -- {{ARGS}}

# Instructions of five cases, against those of before (needs valgrind).
instructions *ARGS:
    cargo bench -p ragdb-bench --no-default-features --bench instructions -- {{ARGS}}

# The library's pages.
doc:
    cargo doc --no-deps --open

# The binary, its completions and its man pages, for this user.
install PREFIX="$HOME/.local":
    cargo install --path . --root {{PREFIX}}
    mkdir -p {{PREFIX}}/share/man/man1 {{PREFIX}}/share/bash-completion/completions
    {{PREFIX}}/bin/ragdb man {{PREFIX}}/share/man/man1
    {{PREFIX}}/bin/ragdb completions bash > {{PREFIX}}/share/bash-completion/completions/ragdb
