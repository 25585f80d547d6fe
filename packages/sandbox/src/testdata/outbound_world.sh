# A host of its own, with an internet behind it, for the words after a user's number: `bash outbound_world.sh <uid> <word>…`
# in new network and mount namespaces. Nothing of it touches the machine's network, and it is gone with its processes.
#
#   host      127.0.0.1, 203.0.113.1 and the public 192.31.196.1; HTTP and UDP echo on 8080, a name server on loopback
#   internet  the public 192.175.48.1; the private 10.77.0.1, 100.64.0.9, 169.254.169.254, 203.0.113.2; the same services
set -eu
uid=$1
shift
folder=$(mktemp -d)
mount -t tmpfs -o mode=755 world "$folder"
# Udev lets everybody open it on most machines.
mknod -m 666 "$folder/tun" c 10 200
mount --bind "$folder/tun" /dev/net/tun
echo "nameserver 127.0.0.1" > "$folder/resolv.conf"
mount --bind "$folder/resolv.conf" "$(realpath /etc/resolv.conf)"

serve='
const [name, ...groups] = process.argv.slice(1);
require("http").createServer((_, response) => response.end(name + "\n")).listen(8080, () => console.log("up"));
const echo = require("dgram").createSocket("udp4").on("message", (_, from) => echo.send(name, from.port, from.address));
echo.bind(8080, () => groups.forEach((group) => echo.addMembership(group, "203.0.113.1")));
'
names='
const server = require("dgram").createSocket("udp4").on("message", (query, from) => {
  const answer = Buffer.concat([query, Buffer.from("c00c00010001000000050004c0af3001", "hex")]);
  answer[2] |= 0x80;
  answer[7] = 1;
  server.send(answer, from.port, from.address);
}).bind(53, "127.0.0.1", () => console.log("up"));
'
ip link set lo up
unshare --net sleep infinity &
internet=$!
trap 'kill $(jobs -p) 2>/dev/null; umount -l "$folder" && rmdir "$folder"' EXIT
until [ "$(readlink /proc/$internet/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
ip link add wan type veth peer name wan netns $internet
ip address add 203.0.113.1/24 dev wan
ip address add 192.31.196.1/32 dev lo
ip link set wan up
ip route add default via 203.0.113.2
there() { nsenter --net=/proc/$internet/ns/net "$@"; }
there ip link set lo up
there ip address add 203.0.113.2/24 dev wan
there ip link set wan up
there ip route add 192.31.196.1 via 203.0.113.1
for address in 192.175.48.1 10.77.0.1 100.64.0.9 169.254.169.254; do there ip address add $address/32 dev lo; done
nsenter --net=/proc/$internet/ns/net node -e "$serve" internet > "$folder/internet" &
node -e "$serve" host 224.0.0.251 > "$folder/host" &
node -e "$names" > "$folder/names" &
until [ -s "$folder/internet" ] && [ -s "$folder/host" ] && [ -s "$folder/names" ]; do sleep 0.01; done

if [ "$uid" != 0 ]; then set -- setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"; fi
"$@" &
wait $! 2>/dev/null
