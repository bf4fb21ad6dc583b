/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-registry FOLDER: serves FOLDER/PORT.json, a file-based catalog with one JSON object on each
 * line, at 127.0.0.1:PORT. A file that changes is read again within 100 ms, and all connections to
 * its port are closed, so that OLM connects and reads again. A file that is empty or gone has its
 * port closed: the catalog is down.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "test/registry/catalog.h"

#define POLL_MS   100
#define FILE_MAX  ((size_t)16 << 20)
#define PORTS_MAX 256

struct served {
    int port;
    struct timespec modified;
    off_t size;
    bool seen;
    struct ek_h2 *h2;
    struct ek_catalog *catalog;
};

static struct served list[PORTS_MAX];
static size_t n_served;
static const char *folder;

static struct ek_catalog *read_catalog(const char *path)
{
    EK_AUTO(ek_buf) text;
    char piece[65536];
    size_t n;
    FILE *file = fopen(path, "re");

    ek_buf_init(&text, FILE_MAX);
    while (file && (n = fread(piece, 1, sizeof piece, file)) > 0)
        ek_buf_append(&text, piece, n);
    if (file)
        fclose(file);
    return text.len > 0 && !text.failed ? ek_catalog_parse(text.data, text.len) : NULL;
}

static void stop(struct served *served)
{
    if (served->h2)
        ek_h2_close(served->h2);
    ek_catalog_free(served->catalog);
    served->h2 = NULL;
    served->catalog = NULL;
}

static struct served *served_at(int port)
{
    for (size_t i = 0; i < n_served; i++)
        if (list[i].port == port)
            return &list[i];
    if (n_served == PORTS_MAX)
        return NULL;
    list[n_served].port = port;
    return &list[n_served++];
}

static void look_at(uv_loop_t *loop, int port, const char *path)
{
    struct served *served = served_at(port);
    struct stat info;

    if (!served || stat(path, &info))
        return;
    served->seen = true;
    bool same = served->size == info.st_size && served->modified.tv_sec == info.st_mtim.tv_sec &&
                served->modified.tv_nsec == info.st_mtim.tv_nsec;
    if (same && (served->h2 || info.st_size == 0))
        return;
    stop(served);
    served->size = info.st_size;
    served->modified = info.st_mtim;
    served->catalog = read_catalog(path);
    if (served->catalog)
        served->h2 = ek_h2_new(loop, port, ek_catalog_serve, served->catalog);
}

static void on_poll(uv_timer_t *timer)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    for (size_t i = 0; i < n_served; i++)
        list[i].seen = false;
    while (dir && (entry = readdir(dir))) {
        char *end;
        long port = strtol(entry->d_name, &end, 10);
        if (port <= 0 || port > 65535 || strcmp(end, ".json") != 0)
            continue;
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, entry->d_name);
        look_at(timer->loop, (int)port, path);
    }
    if (dir)
        closedir(dir);
    for (size_t i = 0; i < n_served; i++)
        if (!list[i].seen) {
            stop(&list[i]);
            list[i].size = 0;
        }
}

int main(int argc, char **argv)
{
    uv_loop_t *loop = uv_default_loop();
    uv_timer_t timer;

    if (argc != 2) {
        fprintf(stderr, "usage: ek-registry FOLDER\n");
        return 2;
    }
    folder = argv[1];
    signal(SIGPIPE, SIG_IGN);
    uv_timer_init(loop, &timer);
    uv_timer_start(&timer, on_poll, 0, POLL_MS);
    return uv_run(loop, UV_RUN_DEFAULT);
}
