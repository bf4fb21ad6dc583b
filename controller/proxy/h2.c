/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: frames, limits, time. */
#include "controller/proxy/h2-internal.h"

/* Output is made in pieces of a wire; a frame of data may exceed that by its header. */
#define OUT_MAX ((size_t)256 * 1024)

/* Frames that wait for the socket; a client that causes more is not read meanwhile. */
#define QUEUE_MAX 200

/* nghttp2's own limit, which ends the connection without GOAWAY; it counts some frames twice. */
#define LIBRARY_CONTINUATIONS 64

/* How long a client may go on opening streams after the warning, when it answers no PING. */
#define WARNING_MS 1000

/* A head that is larger than the limit is answered, up to so many times the limit. */
#define HEAD_FACTOR 4

/* A step of a window that counts as a control frame. */
#define SMALL_STEP 256

/* A head, or a piece of a body, in HTTP/1.1. */
#define TEXT_MAX ((size_t)1 << 20)

/* ---- Streams ---- */

static void unlink_stream(struct ek_h2_stream *stream)
{
    struct ek_h2_conn *h2 = stream->h2;

    *(stream->prev ? &stream->prev->next : &h2->streams) = stream->next;
    if (stream->next)
        stream->next->prev = stream->prev;
    if (--h2->n_streams == 0)
        h2->since_ms = h2->now_ms;
}

static void free_stream(struct ek_h2_stream *stream)
{
    if (stream->h2->heading == stream)
        stream->h2->heading = NULL;
    unlink_stream(stream);
    ek_h2_request_done__(&stream->request);
    ek_h1_done(&stream->response);
    ek_free(stream);
}

static struct ek_h2_stream *add_stream(struct ek_h2_conn *h2, int32_t id)
{
    struct ek_h2_stream *stream = ek_xalloc(sizeof *stream);

    stream->h2 = h2;
    stream->id = id;
    ek_h2_request_init__(&stream->request, h2->config->max_head);
    /* The owner's fields come on top of an API server's. */
    ek_h1_init(&stream->response, EK_H1_RESPONSE, 2 * h2->config->max_head);
    stream->next = h2->streams;
    if (stream->next)
        stream->next->prev = stream;
    h2->streams = stream;
    h2->n_streams++;
    return stream;
}

void ek_h2_stream_reset__(struct ek_h2_stream *stream, uint32_t code)
{
    stream->waived = true;
    nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id, code);
}

/* The connection's window gets what the owner will not take any more. */
static void forget_body(struct ek_h2_stream *stream)
{
    if (stream->unconsumed > 0)
        nghttp2_session_consume_connection(stream->h2->session, stream->unconsumed);
    stream->unconsumed = 0;
}

void ek_h2_stream_close(struct ek_h2_stream *stream)
{
    stream->owner = NULL;
    if (stream->gone) {
        free_stream(stream);
        return;
    }
    forget_body(stream);
    if (!stream->complete)
        ek_h2_stream_reset__(stream, NGHTTP2_INTERNAL_ERROR);
}

void ek_h2_stream_go_on(struct ek_h2_stream *stream)
{
    struct ek_h2_conn *h2 = stream->h2;

    if (stream->gone || !stream->owner || h2->over || h2->failed)
        return;
    if (stream->unconsumed > 0 && h2->ops->stream->wants(stream->owner)) {
        nghttp2_session_consume(h2->session, stream->id, stream->unconsumed);
        stream->unconsumed = 0;
    }
    ek_h2_response_go_on__(stream);
}

/* The owner learns that the stream is over, and closes it. */
static void lose(struct ek_h2_stream *stream)
{
    forget_body(stream);
    ek_h2_response_taken__(stream);
    stream->gone = true;
    if (stream->owner)
        stream->h2->ops->stream->lost(stream->owner, "the stream is over");
    else
        free_stream(stream);
}

static void lose_all(struct ek_h2_conn *h2)
{
    while (h2->streams) {
        nghttp2_session_set_stream_user_data(h2->session, h2->streams->id, NULL);
        lose(h2->streams);
    }
}

/* ---- Limits ---- */

/* Counts an event; false beyond the limit. */
static bool count(struct ek_h2_bucket *bucket, int64_t burst, int64_t a_second, int64_t now_ms)
{
    int64_t left = bucket->level - (now_ms - bucket->at_ms) * a_second;

    bucket->at_ms = now_ms;
    bucket->level = (left > 0 ? left : 0) + 1000;
    return bucket->level <= burst * 1000;
}

/* Ends the connection; what still comes of the present piece of input is ignored by nghttp2, or
 * does no harm. */
static void calm(struct ek_h2_conn *h2, const char *abuse)
{
    if (h2->abuse)
        return;
    h2->abuse = abuse;
    nghttp2_session_terminate_session(h2->session, NGHTTP2_ENHANCE_YOUR_CALM);
}

static bool is_control(const nghttp2_frame_hd *hd)
{
    switch (hd->type) {
    case NGHTTP2_DATA:
        return hd->length == 0 && !(hd->flags & NGHTTP2_FLAG_END_STREAM);
    case NGHTTP2_HEADERS:
    case NGHTTP2_CONTINUATION:  /* counted for each head */
    case NGHTTP2_RST_STREAM:    /* counted as the stream is closed */
    case NGHTTP2_WINDOW_UPDATE: /* comes with what the client reads; see is_dribble */
        return false;
    default:
        return true;
    }
}

/* ---- nghttp2's calls ---- */

/* A head is due from its first frame to its last one, whatever becomes of other streams. */
static void note_block(struct ek_h2_conn *h2, bool ends)
{
    if (ends)
        h2->block_ms = INT64_MAX;
    else if (h2->block_ms == INT64_MAX)
        h2->block_ms = h2->now_ms;
}

static int on_begin_frame(nghttp2_session *session, const nghttp2_frame_hd *hd, void *ctx)
{
    struct ek_h2_conn *h2 = ctx;

    (void)session;
    if (hd->type == NGHTTP2_HEADERS || hd->type == NGHTTP2_CONTINUATION)
        note_block(h2, hd->flags & NGHTTP2_FLAG_END_HEADERS);
    if (hd->type != NGHTTP2_CONTINUATION)
        h2->n_continuations = 0;
    else if (++h2->n_continuations > EK_H2_CONTINUATIONS)
        calm(h2, "continuations");
    if (is_control(hd) &&
        !count(&h2->controls, EK_H2_CONTROLS, EK_H2_CONTROLS_A_SECOND, h2->now_ms))
        calm(h2, "control_frames");
    return 0;
}

static bool is_request(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    static const nghttp2_extpri equal = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    struct ek_h2_conn *h2 = ctx;

    h2->trailer_size = 0;
    if (!is_request(frame))
        return 0;
    struct ek_h2_stream *stream = add_stream(h2, frame->hd.stream_id);
    h2->served = true;
    h2->heading = stream;
    /* Streams take turns, whatever the client says: a list does not stop a watch. */
    nghttp2_session_change_extpri_stream_priority(session, stream->id, &equal, 1);
    return nghttp2_session_set_stream_user_data(session, stream->id, stream);
}

/* Fields of trailers are dropped (RFC 9110, 6.5.1), as those of HTTP/1.1 are. */
static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *ctx)
{
    struct ek_h2_conn *h2 = ctx;
    struct ek_h2_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)flags;
    if (!is_request(frame)) {
        h2->trailer_size += name_len + value_len + 2;
        return h2->trailer_size > h2->config->max_head ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE : 0;
    }
    if (!stream)
        return 0;
    ek_h2_request_field__(&stream->request, (struct ek_str){(const char *)name, name_len},
                          (struct ek_str){(const char *)value, value_len}, h2->config->max_head);
    /* Few octets of HPACK make many of a head: nghttp2 checks no more of them. */
    return stream->request.size > HEAD_FACTOR * h2->config->max_head
               ? NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
               : 0;
}

/* nghttp2 would skip the field. */
static int on_invalid_header(nghttp2_session *session, const nghttp2_frame *frame,
                             const uint8_t *name, size_t name_len, const uint8_t *value,
                             size_t value_len, uint8_t flags, void *ctx)
{
    (void)session;
    (void)frame;
    (void)name;
    (void)name_len;
    (void)value;
    (void)value_len;
    (void)flags;
    (void)ctx;
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* The head is complete: the owner gets it. */
static void begin_request(struct ek_h2_stream *stream, bool ended)
{
    EK_AUTO(ek_buf) text;
    struct ek_h2_conn *h2 = stream->h2;

    ek_buf_init(&text, TEXT_MAX);
    int refusal = ek_h2_request_head__(&stream->request, ended, &text);
    ek_h1_begin(&stream->response, !strcmp(ek_buf_str(&stream->request.method), "HEAD"));
    ek_h2_request_forget__(&stream->request);
    h2->heading = NULL;
    stream->owner = h2->ops->open(h2->ctx, stream);
    /* What the client does wrong costs as much as a reset. */
    if (refusal && !count(&h2->resets, EK_H2_RESETS, EK_H2_RESETS_A_SECOND, h2->now_ms))
        calm(h2, "resets");
    if (!stream->owner)
        ek_h2_stream_reset__(stream, NGHTTP2_REFUSED_STREAM);
    else if (refusal)
        h2->ops->refuse(stream->owner, refusal);
    else
        h2->ops->stream->input(stream->owner, ek_buf_str(&text), text.len);
}

/* The client's own fault, which counts. */
static void refuse(struct ek_h2_stream *stream)
{
    nghttp2_submit_rst_stream(stream->h2->session, NGHTTP2_FLAG_NONE, stream->id,
                              NGHTTP2_PROTOCOL_ERROR);
}

/* The client has ended the request. */
static void end_request(struct ek_h2_stream *stream)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    if (!ek_h2_request_end__(&stream->request, &text))
        refuse(stream);
    else if (stream->owner && text.len > 0)
        stream->h2->ops->stream->input(stream->owner, ek_buf_str(&text), text.len);
}

/* DATA of nothing but padding. */
static bool is_padding(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_DATA && frame->hd.length > 0 &&
           frame->hd.length == frame->data.padlen && !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM);
}

/* A window of a stream that is opened by a few octets costs a frame for these (CVE-2019-9511).
 * Clients open theirs in steps of kilobytes (x/net/http2:inflow of Go: 4 kB). */
static bool is_dribble(const nghttp2_frame *frame)
{
    return frame->hd.type == NGHTTP2_WINDOW_UPDATE && frame->hd.stream_id != 0 &&
           frame->window_update.window_size_increment < SMALL_STEP;
}

/* The second step of the shutdown: no stream after the last one. */
static void shut(struct ek_h2_conn *h2)
{
    if (h2->shut)
        return;
    h2->shut = true;
    nghttp2_submit_goaway(h2->session, NGHTTP2_FLAG_NONE,
                          nghttp2_session_get_last_proc_stream_id(h2->session), NGHTTP2_NO_ERROR,
                          NULL, 0);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct ek_h2_conn *h2 = ctx;
    struct ek_h2_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool ended = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;

    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) && h2->warned)
        shut(h2);
    if ((is_padding(frame) || is_dribble(frame)) &&
        !count(&h2->controls, EK_H2_CONTROLS, EK_H2_CONTROLS_A_SECOND, h2->now_ms))
        calm(h2, "control_frames");
    if (!stream || h2->abuse)
        return 0;
    if (is_request(frame))
        begin_request(stream, ended);
    if (ended && (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA))
        end_request(stream);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *ctx)
{
    EK_AUTO(ek_buf) text;
    struct ek_h2_conn *h2 = ctx;
    struct ek_h2_stream *stream = nghttp2_session_get_stream_user_data(session, id);

    (void)flags;
    ek_buf_init(&text, TEXT_MAX);
    if (!stream || !stream->owner) {
        nghttp2_session_consume_connection(session, len);
        return 0;
    }
    stream->unconsumed += len;
    if (!ek_h2_request_body__(&stream->request, (const char *)data, len, &text))
        refuse(stream);
    else
        h2->ops->stream->input(stream->owner, ek_buf_str(&text), text.len);
    return 0;
}

/* A response that is complete before its request: the rest is of no use (RFC 9113, 8.1). */
static int on_sent(nghttp2_session *session, const nghttp2_frame *frame, void *ctx)
{
    struct ek_h2_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    bool ends = frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA;

    (void)ctx;
    if (stream && ends && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && !stream->request.ended)
        ek_h2_stream_reset__(stream, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *ctx)
{
    struct ek_h2_conn *h2 = ctx;
    struct ek_h2_stream *stream = nghttp2_session_get_stream_user_data(session, id);

    if (!stream)
        return 0;
    if (code != NGHTTP2_NO_ERROR && !stream->waived &&
        !count(&h2->resets, EK_H2_RESETS, EK_H2_RESETS_A_SECOND, h2->now_ms))
        calm(h2, "resets");
    lose(stream);
    return 0;
}

/* A head that nghttp2 does not send (it has a limit of its own) would leave a dead stream. */
static int on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error, void *ctx)
{
    struct ek_h2_stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

    (void)ctx;
    if (stream && frame->hd.type == NGHTTP2_HEADERS && error != NGHTTP2_ERR_STREAM_CLOSING &&
        error != NGHTTP2_ERR_STREAM_CLOSED)
        ek_h2_stream_reset__(stream, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

/* Frames of types that HTTP/2 leaves to others mean nothing to us. */
static int on_extension(nghttp2_session *session, void **payload, const nghttp2_frame_hd *hd,
                        void *ctx)
{
    (void)session;
    (void)payload;
    (void)hd;
    (void)ctx;
    return NGHTTP2_ERR_CANCEL;
}

/* nghttp2 reports frames of the types alone that are named to it: without this they would not be
 * counted. */
static void name_extensions(nghttp2_option *option)
{
    for (unsigned type = NGHTTP2_CONTINUATION + 1; type <= UINT8_MAX; type++)
        nghttp2_option_set_user_recv_extension_type(option, (uint8_t)type);
}

static void set_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_unpack_extension_callback(callbacks, on_extension);
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, on_not_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
}

/* ---- Life ---- */

static bool submit_settings(struct ek_h2_conn *h2)
{
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, EK_H2_STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, EK_H2_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)h2->config->max_head},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};

    return nghttp2_submit_settings(h2->session, NGHTTP2_FLAG_NONE, settings,
                                   EK_ARRAY_SIZE(settings)) == 0 &&
           nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0, EK_H2_WINDOW) ==
               0;
}

struct ek_h2_conn *ek_h2_conn_new(const struct ek_h2_config *config, const struct ek_h2_ops *ops,
                                  void *ctx, int64_t now_ms)
{
    struct ek_h2_conn *h2 = ek_xalloc(sizeof *h2);
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;

    h2->config = config;
    h2->ops = ops;
    h2->ctx = ctx;
    h2->now_ms = h2->since_ms = h2->moved_ms = now_ms;
    h2->block_ms = INT64_MAX;
    ek_buf_init(&h2->out, OUT_MAX);
    if (nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0) {
        set_callbacks(callbacks);
        nghttp2_option_set_no_auto_window_update(option, 1);
        name_extensions(option);
        nghttp2_option_set_max_continuations(option, LIBRARY_CONTINUATIONS);
        nghttp2_session_server_new2(&h2->session, callbacks, h2, option);
    }
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    if (h2->session && submit_settings(h2))
        return h2;
    ek_h2_conn_free(h2);
    return NULL;
}

void ek_h2_conn_free(struct ek_h2_conn *h2)
{
    if (!h2)
        return;
    while (h2->streams)
        free_stream(h2->streams);
    nghttp2_session_del(h2->session);
    ek_buf_done(&h2->out);
    ek_free(h2);
}

enum ek_h2_state ek_h2_state(const struct ek_h2_conn *h2)
{
    return h2->failed ? EK_H2_CLOSED : h2->over ? EK_H2_CLOSING : EK_H2_OPEN;
}

bool ek_h2_is_idle(const struct ek_h2_conn *h2)
{
    return h2->n_streams == 0;
}

const char *ek_h2_abuse(const struct ek_h2_conn *h2)
{
    return h2->abuse;
}

size_t ek_h2_head_octets(const struct ek_h2_conn *h2)
{
    size_t size = h2->heading && !h2->heading->dropped ? h2->heading->request.size : 0;

    return size < h2->config->max_head ? size : h2->config->max_head;
}

void ek_h2_refuse_head(struct ek_h2_conn *h2, int status)
{
    if (!h2->heading)
        return;
    h2->heading->dropped = true;
    if (!h2->heading->request.refusal)
        h2->heading->request.refusal = status;
    ek_h2_request_forget__(&h2->heading->request);
}

bool ek_h2_is_full(const struct ek_h2_conn *h2)
{
    size_t n = 0;

    for (const struct ek_h2_stream *s = h2->streams; s && n < EK_H2_WAITING_MAX; s = s->next)
        if (s->owner)
            n += h2->ops->stream->output(s->owner).len;
    return n >= EK_H2_WAITING_MAX;
}

/* ---- Bytes ---- */

static void fail(struct ek_h2_conn *h2)
{
    h2->failed = true;
    lose_all(h2);
}

/* Nothing more is to be read or written: nghttp2 has sent the last GOAWAY. */
static void check_end(struct ek_h2_conn *h2)
{
    if (h2->failed || h2->over || nghttp2_session_want_read(h2->session) ||
        nghttp2_session_want_write(h2->session))
        return;
    h2->over = true;
    lose_all(h2);
}

bool ek_h2_wants(const struct ek_h2_conn *h2)
{
    return !h2->failed && !h2->over &&
           nghttp2_session_get_outbound_queue_size(h2->session) < QUEUE_MAX;
}

void ek_h2_input(struct ek_h2_conn *h2, const char *data, size_t len, int64_t now_ms)
{
    h2->now_ms = now_ms;
    if (h2->failed || h2->over || h2->abuse)
        return;
    h2->receiving = true;
    ssize_t rc = nghttp2_session_mem_recv(h2->session, (const uint8_t *)data, len);
    h2->receiving = false;
    if (rc < 0)
        fail(h2);
    else if (h2->abuse)
        lose_all(h2); /* at once: what they hold is what the abuse is after */
    check_end(h2);
}

/* True when an owner had something taken: it may have more. */
static bool report_taken(struct ek_h2_conn *h2)
{
    bool any = false;

    for (struct ek_h2_stream *stream = h2->streams, *next; stream; stream = next) {
        next = stream->next;
        any = any || stream->taken > 0;
        ek_h2_response_taken__(stream);
    }
    return any;
}

static void make_output(struct ek_h2_conn *h2)
{
    bool idle = h2->out.len == 0;

    h2->sending = true;
    do {
        const uint8_t *data;
        ssize_t n = 0;
        while (h2->out.len < EK_WIRE_PIECE &&
               (n = nghttp2_session_mem_send(h2->session, &data)) > 0)
            ek_buf_append(&h2->out, data, (size_t)n);
        if (n < 0 || h2->out.failed) {
            fail(h2);
            break;
        }
    } while (report_taken(h2) && h2->out.len < EK_WIRE_PIECE);
    h2->sending = false;
    if (idle)
        h2->moved_ms = h2->now_ms;
    check_end(h2);
}

struct ek_str ek_h2_output(struct ek_h2_conn *h2, int64_t now_ms)
{
    h2->now_ms = now_ms;
    if (!h2->failed && !h2->receiving && !h2->sending && h2->out.len < EK_WIRE_PIECE)
        make_output(h2);
    return (struct ek_str){ek_buf_str(&h2->out), h2->failed ? 0 : h2->out.len};
}

size_t ek_h2_waiting(const struct ek_h2_conn *h2)
{
    return h2->out.len;
}

void ek_h2_sent(struct ek_h2_conn *h2, size_t n, int64_t now_ms)
{
    h2->now_ms = h2->moved_ms = now_ms;
    ek_buf_consume(&h2->out, n);
    if (h2->out.len == 0) { /* an idle connection holds nothing */
        ek_buf_done(&h2->out);
        ek_buf_init(&h2->out, OUT_MAX);
    }
}

void ek_h2_shutdown(struct ek_h2_conn *h2, int64_t now_ms)
{
    h2->now_ms = now_ms;
    if (h2->warned || h2->failed || h2->over)
        return;
    h2->warned = true;
    h2->warned_ms = now_ms;
    nghttp2_submit_shutdown_notice(h2->session);
    nghttp2_submit_ping(h2->session, NGHTTP2_FLAG_NONE, NULL);
}

/* ---- Time ---- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t quiet_deadline(const struct ek_h2_conn *h2)
{
    const struct ek_h2_config *config = h2->config;
    int64_t due = INT64_MAX;

    if (h2->n_streams == 0)
        due = h2->since_ms + (h2->served ? config->idle_ms : config->head_ms);
    if (h2->block_ms != INT64_MAX)
        due = earlier(due, h2->block_ms + config->head_ms);
    return due;
}

static int64_t shut_deadline(const struct ek_h2_conn *h2)
{
    return h2->warned && !h2->shut && !h2->over ? h2->warned_ms + WARNING_MS : INT64_MAX;
}

int64_t ek_h2_deadline(const struct ek_h2_conn *h2)
{
    int64_t due = INT64_MAX;

    if (h2->failed)
        return due;
    if (h2->out.len > 0)
        due = h2->moved_ms + h2->config->write_ms;
    due = earlier(due, shut_deadline(h2));
    return h2->over || h2->terminated ? due : earlier(due, quiet_deadline(h2));
}

void ek_h2_timeout(struct ek_h2_conn *h2, int64_t now_ms)
{
    h2->now_ms = now_ms;
    if (h2->failed)
        return;
    if (h2->out.len > 0 && now_ms >= h2->moved_ms + h2->config->write_ms) {
        fail(h2);
    } else if (now_ms >= shut_deadline(h2)) {
        shut(h2);
    } else if (!h2->over && now_ms >= quiet_deadline(h2)) {
        h2->terminated = h2->shut = true;
        nghttp2_session_terminate_session(h2->session, NGHTTP2_NO_ERROR);
    }
}
