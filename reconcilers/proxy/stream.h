/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the events of a watch end in the octets of its response, so that a proxy can end the watch
 * between two of them: a client resumes after the last event that it has read whole.
 *
 * Each event in JSON is a line. Each event in protobuf is a frame: a length of four octets, the
 * most significant one first, and so many octets (k8s.io/apimachinery 1.36, pkg/util/framer/
 * framer.go:lengthDelimitedFrameWriter). In other formats (a CBOR sequence, a compressed body) the
 * end of an event is not known. Pure; one thread at a time.
 */
#ifndef RECONCILERS_PROXY_STREAM_H
#define RECONCILERS_PROXY_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ek_stream_form {
    EK_STREAM_LINES,
    EK_STREAM_FRAMES,
    EK_STREAM_UNKNOWN,
};

struct ek_stream {
    enum ek_stream_form form;
    bool between;    /* what was read is a number of whole events, or nothing */
    unsigned n_head; /* octets of a frame's length that were read */
    uint32_t left;   /* the length as far as it was read; then octets of the frame to come */
};

/* A response with that Content-Type and Content-Encoding, either NULL when absent, begins. */
void ek_stream_begin(struct ek_stream *stream, const char *content_type, const char *encoding);

/* Reads all len octets of data, or with one only those up to the end of the first event. Returns
 * how many were read. */
size_t ek_stream_read(struct ek_stream *stream, const char *data, size_t len, bool one);

#endif
