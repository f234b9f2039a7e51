#!/usr/bin/env bash
# A folder of checkpoints may come from anywhere. What leads out of it, or would cost gigabytes, is refused
# with a sentence and exit code 1, in little memory.
. "$(dirname "$0")/lib.sh"

# made DATA: makes a checkpoint of step 1 in $made, whose manifest fits the file DATA.
made=$scratch/made/checkpoint-000000000001
made() {
  rm -rf "$made"
  mkdir -p "$made"
  cp "$1" "$made/model.safetensors"
  python3 - "$made" "${2:-model.safetensors}" <<'PY'
import hashlib, json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
data = (folder / "model.safetensors").read_bytes()
manifest = dict(format="ddprun checkpoint", version=1, step=1, epoch=0, world_size=1, run_id="", attempt=0,
                created_unix_ms=0, metadata={}, files=[
                    dict(name=sys.argv[2], bytes=len(data), sha256=hashlib.sha256(data).hexdigest())])
text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
manifest["manifest_sha256"] = hashlib.sha256(text.encode()).hexdigest()
(folder / "manifest.json").write_text(json.dumps(manifest))
PY
}
# AddressSanitizer reserves terabytes, so the memory of such a build says nothing.
memory=65536
(ulimit -v "$memory" && exec "$DDPRUN" --version) >"$scratch/out" 2>&1 || memory=unlimited
# refused WHY: verify says why, with exit code 1, in 64 MB of memory.
refused() {
  local code=0
  (ulimit -v "$memory" && exec "$DDPRUN" checkpoint verify "$scratch/made") \
    >"$scratch/out" 2>"$scratch/err" || code=$?
  [ "$code" = 1 ] || fail "exit code $code instead of 1"
  says out "$1"
}
printf '\x02\0\0\0\0\0\0\0{}' >"$scratch/empty.safetensors"
made "$scratch/empty.safetensors"
run 0 checkpoint verify "$scratch/made"
for name in ../model.safetensors /etc/passwd .. $'\e]0;owned\a'; do
  made "$scratch/empty.safetensors" "$name"
  refused "which is no file's name"
  ! grep -q $'\e' "$scratch/out" || fail "the name gives orders to the terminal"
done
made "$scratch/empty.safetensors"
mv "$made/model.safetensors" "$scratch/elsewhere"
ln -s "$scratch/elsewhere" "$made/model.safetensors"
refused "is a symbolic link, which is not followed"
rm "$made/model.safetensors"
mkfifo "$made/model.safetensors"
refused "is no regular file"
printf '\x38\0\0\0\0\0\0\0{"a":{"dtype":"U8","shape":[4],"data_offsets":[90,94]}} ' >"$scratch/outside"
made "$scratch/outside"
refused "tensor 'a' reaches beyond its end"
{ printf '\0\xe1\xf5\x05\0\0\0\0' && head -c 100000000 /dev/zero | tr '\0' '['; } >"$scratch/long"
made "$scratch/long"
refused "its header claims 100000000 bytes, and 16777216 are read at most"
head -c 60000000 /dev/zero | tr '\0' '[' >"$made/manifest.json"
refused "manifest.json has 60000000 bytes, and 1048576 are read at most"
head -c 1000000 /dev/zero | tr '\0' '[' >"$made/manifest.json"
refused "the manifest is nested too deeply"
