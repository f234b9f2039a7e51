#!/bin/sh
# A program in Go panics.
# kind: exception
# ranks: 1
# type: panic
# message: index out of range
# file: reader.go
# line: 21
# exit_code: 2
[ "$RANK" = 1 ] || exec sleep 60
cat >&2 <<'END'
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.read(...)
	/src/data/reader.go:21
main.main()
	/src/data/main.go:12 +0x1d
exit status 2
END
exit 2
