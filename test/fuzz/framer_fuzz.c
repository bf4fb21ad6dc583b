/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the way of remote bytes into a reflector: framer, decoder, state machine. The first byte
 * chooses how the rest is cut; whatever the cut, the frames must be the same, and each must be what
 * the whole stream has at that place.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "informers/cache/framer.h"
#include "informers/cache/reflector.h"
#include "test/support/list_text.h"

#define MAX_FRAME 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed_reflector(struct ek_reflector *reflector, struct ek_str text)
{
    static const struct ek_decode_type type = {"coordination.k8s.io/v1", "Lease", true};
    struct ek_reflector_actions actions;
    struct ek_watch_frame frame;
    struct ek_list_page page;
    struct ek_err err;

    if (ek_decode_watch_frame(text.p, text.len, &type, &frame, &err) == 0) {
        ek_reflector_step(
            reflector, 0,
            &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_FRAME, .frame = &frame}, &actions);
        ek_watch_frame_done(&frame);
    }
    if (list_text_read(text.p, text.len, &type, &page, &err) == 0) {
        ek_reflector_step(reflector, 0,
                          &(struct ek_reflector_event){.kind = EK_EVENT_LIST_PAGE, .page = &page},
                          &actions);
        ek_list_page_done(&page);
    }
}

/* Frames the stream in pieces of size bytes; a checksum of all frames and of the outcome. */
static uint64_t frame_all(const char *data, size_t len, size_t size, struct ek_reflector *reflector)
{
    EK_AUTO(ek_framer) framer;
    uint64_t sum = 14695981039346656037u;
    int rc = 0;

    ek_framer_init(&framer, MAX_FRAME);
    for (size_t at = 0; at < len && rc >= 0; at += size) {
        struct ek_str frame;
        ek_framer_push(&framer, data + at, size < len - at ? size : len - at);
        while ((rc = ek_framer_next(&framer, &frame, NULL)) == 1) {
            if (frame.len > MAX_FRAME || frame.p[0] != '{' || frame.p[frame.len - 1] != '}')
                abort();
            for (size_t i = 0; i < frame.len; i++)
                sum = (sum ^ (unsigned char)frame.p[i]) * 1099511628211u;
            sum = (sum ^ 0x100) * 1099511628211u;
            if (reflector)
                feed_reflector(reflector, frame);
        }
    }
    return sum ^ (uint64_t)(int64_t)rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    struct ek_reflector_actions actions;

    if (size < 1)
        return 0;
    config.streaming = data[0] & 1;
    struct ek_reflector *reflector = ek_reflector_new(&config, 0);
    ek_reflector_step(reflector, 0, &(struct ek_reflector_event){.kind = EK_EVENT_START}, &actions);
    const char *stream = (const char *)data + 1;
    if (frame_all(stream, size - 1, 1 + data[0] / 2, reflector) !=
        frame_all(stream, size - 1, size, NULL))
        abort();
    ek_reflector_free(reflector);
    return 0;
}
