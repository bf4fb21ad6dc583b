/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of a hostile egress proxy. The first byte says how they are cut. Beyond not crashing: how
 * bytes are cut changes nothing while the tunnel waits; an open tunnel has seen the end of a head;
 * the reason is one clean line.
 */
#include <string.h>

#include "controller/proxy/egress.h"
#include "test/fuzz/fuzz.h"

static enum ek_tunnel_state read_all(const char *data, size_t size, size_t piece, size_t *ret_used)
{
    struct ek_tunnel *tunnel = ek_tunnel_new("10.0.0.1:6443");
    enum ek_tunnel_state state = EK_TUNNEL_WAITS;
    const char *why = "";
    size_t at = 0;

    while (at < size && state == EK_TUNNEL_WAITS) {
        size_t len = size - at < piece ? size - at : piece;
        state = ek_tunnel_read(tunnel, data + at, len, &why);
        at += len;
    }
    fuzz_require((state == EK_TUNNEL_ENDED) == (*why != '\0'));
    for (; *why; why++)
        fuzz_require((unsigned char)*why >= 0x20 && (unsigned char)*why < 0x7f);
    ek_tunnel_free(tunnel);
    *ret_used = at;
    return state;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *text = (const char *)data + 1;
    size_t used, used_1;

    if (size < 2)
        return 0;
    enum ek_tunnel_state state = read_all(text, size - 1, (size_t)data[0] + 1, &used);
    enum ek_tunnel_state state_1 = read_all(text, size - 1, 1, &used_1);
    fuzz_require((state == EK_TUNNEL_WAITS) == (state_1 == EK_TUNNEL_WAITS));
    if (state != EK_TUNNEL_OPEN)
        return 0;
    fuzz_require(state_1 == EK_TUNNEL_OPEN && used == used_1);
    fuzz_require(used >= 4 && !memcmp(text + used - 4, "\r\n\r\n", 4));
    fuzz_require(used <= 4 * EK_TUNNEL_HEAD_MAX);
    return 0;
}
