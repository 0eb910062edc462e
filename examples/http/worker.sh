#!/bin/sh
# A worker over HTTP: runs a command for each message of a queue, with the payload on its standard input. What the
# command prints is the result, as JSON; if it fails, the message is tried again. Needs curl.
#     TENURE=http://127.0.0.1:8383 TOKEN=tnr_… sh worker.sh acme-tasks ./resize
queue=$1 lease=${LEASE:-30} name=$(uname -n)-$$ dir=$(mktemp -d) token='' work='' beat=''; shift; trap leave INT TERM
post() {  # a route and its body
    curl -sS --fail-with-body -m 40 "${TENURE:-http://127.0.0.1:8383}/api/v1/$1" -H 'Content-Type: application/json' \
        ${TOKEN:+-H "Authorization: Bearer $TOKEN"} --data-binary "$2" > "$dir/${3:-answer}"
}
insist() {  # until the store has it, or the server refuses it
    until post "$@" && ! grep -q '"outcome":"failed"' "$dir/answer" || grep '"status":4' "$dir/answer" >&2; do sleep 1; done
}
leave() { kill $beat $work 2> /dev/null; [ "$token" ] && post leases/give-back "{\"leases\":[{\"token\":\"$token\"}]}"; rm -r "$dir"; exit; }
message='{"messages":\[{"id":"[^"]*","queue":"[^"]*","task":"[^"]*","payload":\(.*\),"token":"\(tnl_[^"]*\)","attempt":.*'
while :; do
    new=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')  # a repeat after a lost answer gets the same message
    insist lease "{\"queues\":[\"$queue\"],\"wait\":20,\"lease_seconds\":$lease,\"consumer\":\"$name\",\"request_id\":\"$new\"}"
    tr -d '\n' < "$dir/answer" > "$dir/found"
    token=$(sed -n "s/^$message/\2/p" "$dir/found")
    [ "$token" ] || { grep -q '"status":4' "$dir/found" && exit 1; continue; }
    sed "s/^$message/\1/" "$dir/found" | "$@" > "$dir/result" 2> "$dir/errors" & work=$!
    while sleep $((lease / 3)) && kill -0 $$; do  # the heartbeat: it ends with this worker, however that ends
        post leases/touch "{\"leases\":[{\"token\":\"$token\"}]}" beat
        grep -q '"outcome":"\(lost\|cancelled\)"' "$dir/beat" && kill $work
    done 2> /dev/null & beat=$!
    if wait $work; then verb=ack said="\"result\":$(grep . "$dir/result" || echo null)"
    else verb=nack said="\"reason\":\"$(tail -n 1 "$dir/errors" | tr -d '\000-\037\\"' | cut -c -500)\""; fi
    kill $beat
    insist "leases/$verb" "{\"leases\":[{\"token\":\"$token\",$said}]}"; token=''
done
