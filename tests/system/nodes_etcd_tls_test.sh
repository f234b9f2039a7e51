#!/usr/bin/env bash
# An etcd that speaks only TLS, and only with clients that have a certificate. A node without one learns why, as
# does one that trusts another authority, or finds no etcd.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/hosts.sh"
. "$(dirname "$0")/etcd.sh"
need_etcd
[ -n "$(command -v openssl)" ] || skip "there is no openssl to make certificates"

keys=$scratch/keys
mkdir "$keys"
authority() { # NAME
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$keys/$1.key" -out "$keys/$1.pem" 2>"$scratch/why" || fail "$(cat "$scratch/why")"
}
certificate() { # NAME EXTENSIONS
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" \
    -keyout "$keys/$1.key" -out "$keys/$1.csr" 2>"$scratch/why" || fail "$(cat "$scratch/why")"
  openssl x509 -req -in "$keys/$1.csr" -CA "$keys/ours.pem" -CAkey "$keys/ours.key" -CAcreateserial \
    -days 2 -extfile <(echo "$2") -out "$keys/$1.pem" 2>"$scratch/why" || fail "$(cat "$scratch/why")"
}
authority ours
authority theirs
certificate server "subjectAltName=DNS:h3,IP:10.77.0.3"
certificate client "extendedKeyUsage=clientAuth"

need_hosts 3
etcd_scheme=https
etcd_options=(--cert-file "$keys/server.pem" --key-file "$keys/server.key" --client-cert-auth
  --trusted-ca-file "$keys/ours.pem")
etcdctl_options=(--cacert "$keys/ours.pem" --cert "$keys/client.pem" --key "$keys/client.key")
start_etcd h3
begin() { # HOST NAME ENDPOINT CONF
  start_on "$1" "$2" --nnodes 2 --rdzv-backend etcd --rdzv-endpoint "$3" --rdzv-id job \
    --rdzv-conf "$4" --no-python sh "$worker"
}
ours=protocol=https,cacert=$keys/ours.pem
client=cert=$keys/client.pem,key=$keys/client.key
begin h1 h1 h3:2379 "$ours,$client"
begin h2 h2 10.77.0.3:2379 "protocol=https,ca_cert=$keys/ours.pem,ssl_cert=$keys/client.pem,ssl_cert_key=$keys/client.key"
wait_for_world h1 h2
let_go
node h1 ends 0
node h2 ends 0

begin h1 nobody h3:2379 "$ours,join_timeout=12"
begin h1 stranger h3:2379 "protocol=https,cacert=$keys/theirs.pem,$client,join_timeout=12"
begin h1 plain h3:2379 "join_timeout=2"
begin h1 nowhere h2:2379 "join_timeout=12"
for name in nobody stranger plain nowhere; do node "$name" ends 69; done
node nobody says err "etcd at h3:2379: "
node nobody says err "certificate"
node stranger says err "certificate verify failed"
node nowhere says err "etcd at h2:2379: Connection refused"
begin h1 no_file h3:2379 "protocol=https,cacert=$keys/none.pem"
node no_file ends 2
node no_file says err "cacert=$keys/none.pem: No such file"
