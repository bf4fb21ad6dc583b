# shellcheck shell=bash
# Addresses of this process alone: an IP, $own, because another program may listen at the usual ports of all addresses;
# and ports that the kernel gives to nobody who asks for any port (net.ipv4.ip_local_port_range), so that a port that
# is free stays free until the server listens. The server cannot choose: --webhook-url has the port, too.
own=127.$((($$ >> 16) + 1)).$((($$ >> 8) & 255)).$(($$ & 255))
own_port=0 # the last one
own_address() { # variable: becomes $own:PORT
  own_port=$(python3 - "$own" "$own_port" <<'P'
import socket
import sys

with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
    low, high = map(int, file.read().split())
ports = [*range(low - 1, 1023, -1), *range(high + 1, 65536)]
last = int(sys.argv[2])
for port in [*(ports[ports.index(last) + 1:] if last in ports else ports), 0]:
    with socket.socket() as tried:
        try:
            tried.bind((sys.argv[1], port))
        except OSError:
            continue
        print(tried.getsockname()[1])
        break
P
  )
  printf -v "$1" %s "$own:$own_port"
}
