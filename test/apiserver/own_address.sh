# shellcheck shell=bash
# An address of this process alone, $own, and a port there that nothing uses: another program may listen at the usual
# ports of all addresses.
own=127.$((($$ >> 16) + 1)).$((($$ >> 8) & 255)).$(($$ & 255))
free_port() {
  python3 -c 'import socket, sys; s = socket.socket(); s.bind((sys.argv[1], 0)); print(s.getsockname()[1])' "$own"
}
