#!/bin/sh
# A program in Rust panics, as its releases since 1.73 say it.
# kind: exception
# ranks: 1
# type: panic
# message: index out of bounds
# file: tokens.rs
# line: 21
# exit_code: 101
[ "$RANK" = 1 ] || exec sleep 60
cat >&2 <<'END'

thread 'main' panicked at src/tokens.rs:21:5:
index out of bounds: the len is 3 but the index is 5
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
END
exit 101
