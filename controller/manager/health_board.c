/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manager/health_board.h"

#include <pthread.h>
#include <stdatomic.h>

struct row {
    struct ek_health_board *board;
    struct row *next;
    ek_health_check_fn fn;
    void *ctx;
    int rc;            /* guarded by the board's lock, as the next */
    struct ek_err err; /* of the last run */
};

struct ek_health_board {
    uv_loop_t *loop;
    uv_timer_t timer;
    pthread_mutex_t lock;
    struct row *rows; /* does not change after the start */
    _Atomic uint64_t last_ms;
    bool started;
    void (*on_closed)(void *ctx);
    void *on_closed_ctx;
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

struct ek_health_board *ek_health_board_new(uv_loop_t *loop)
{
    struct ek_health_board *board = ek_xalloc(sizeof *board);

    board->loop = loop;
    pthread_mutex_init(&board->lock, NULL);
    return board;
}

/* Any thread: what the last run came to. */
static int read_row(void *ctx, struct ek_err *err)
{
    struct row *row = ctx;

    pthread_mutex_lock(&row->board->lock);
    int rc = row->rc;
    *err = row->err;
    pthread_mutex_unlock(&row->board->lock);
    return rc;
}

void ek_health_board_add(struct ek_health_board *board, struct ek_health *health, const char *name,
                         ek_health_check_fn fn, void *ctx)
{
    struct row *row = ek_xalloc(sizeof *row);

    *row = (struct row){.board = board, .next = board->rows, .fn = fn, .ctx = ctx};
    row->rc = ek_err_set(&row->err, EK_E_TIMEOUT, "not checked yet");
    board->rows = row;
    ek_health_add(health, name, read_row, row);
}

int ek_health_board_judge(int64_t age_ms, struct ek_err *err)
{
    if (age_ms <= EK_HEALTH_BOARD_STUCK_MS)
        return 0;
    return ek_err_set(err, EK_E_TIMEOUT, "the control loop has stood still for %lld s",
                      (long long)age_ms / 1000);
}

/* Any thread. */
static int check_alive(void *ctx, struct ek_err *err)
{
    struct ek_health_board *board = ctx;
    uint64_t now = now_ms(), last = atomic_load(&board->last_ms);

    return ek_health_board_judge(now > last ? (int64_t)(now - last) : 0, err);
}

void ek_health_board_watch(struct ek_health_board *board, struct ek_health *health)
{
    ek_health_add(health, "control-loop", check_alive, board);
}

static void run(struct ek_health_board *board)
{
    for (struct row *row = board->rows; row; row = row->next) {
        struct ek_err err = {0};
        int rc = row->fn(row->ctx, &err);
        pthread_mutex_lock(&board->lock);
        row->rc = rc;
        row->err = err;
        pthread_mutex_unlock(&board->lock);
    }
    atomic_store(&board->last_ms, now_ms());
}

static void on_timer(uv_timer_t *timer)
{
    run(timer->data);
}

void ek_health_board_start(struct ek_health_board *board)
{
    uv_timer_init(board->loop, &board->timer);
    board->timer.data = board;
    board->started = true;
    run(board);
    uv_timer_start(&board->timer, on_timer, EK_HEALTH_BOARD_PERIOD_MS, EK_HEALTH_BOARD_PERIOD_MS);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_health_board *board = handle->data;

    if (board->on_closed)
        board->on_closed(board->on_closed_ctx);
}

void ek_health_board_close(struct ek_health_board *board, void (*on_closed)(void *ctx), void *ctx)
{
    board->on_closed = on_closed;
    board->on_closed_ctx = ctx;
    uv_close((uv_handle_t *)&board->timer, on_timer_closed);
}

void ek_health_board_free(struct ek_health_board *board)
{
    if (!board)
        return;
    while (board->rows) {
        struct row *next = board->rows->next;
        ek_free(board->rows);
        board->rows = next;
    }
    pthread_mutex_destroy(&board->lock);
    ek_free(board);
}
