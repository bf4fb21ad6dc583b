/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases of an election: what is read from a foreign Lease and written into it reads as the same,
 * what others put there stays, and the elector survives every record.
 */
#include <string.h>

#include "controller/election/lease.h"
#include "test/fuzz/fuzz.h"

static void check_rewrite(const struct ek_obj *lease, const struct ek_election_record *record)
{
    struct ek_election_record again;
    struct ek_obj *written = NULL;
    size_t len = 0;

    char *json = ek_election_lease_write(lease, "ns", "name", record, &len);
    if (!json)
        return;
    fuzz_require(ek_obj_parse(json, len, &written, NULL) == 0);
    fuzz_require(!strcmp(ek_obj_key(written), "ns/name"));
    fuzz_require(ek_election_lease_read(written, &again, NULL) == 0);
    fuzz_require(!strcmp(again.holder, record->holder) && again.duration_s == record->duration_s &&
                 again.transitions == record->transitions &&
                 !strcmp(again.renew_time, record->renew_time) &&
                 !strcmp(again.resource_version, record->resource_version));
    fuzz_require(ek_json_equal(ek_json_get(ek_obj_root(lease), "metadata", "labels", NULL),
                               ek_json_get(ek_obj_root(written), "metadata", "labels", NULL)));
    ek_obj_unref(written);
    ek_free(json);
}

static void step(struct ek_election_fsm *fsm, enum ek_election_event_type type,
                 const struct ek_election_record *record, int64_t now_ms)
{
    struct ek_election_event event = {.type = type, .record = record, .release = true};
    struct ek_election_actions actions;

    ek_election_fsm_step(fsm, &event, (struct ek_election_now){now_ms, now_ms}, &actions);
    fuzz_require(actions.n <= EK_ELECTION_ACTIONS_MAX);
    fuzz_require(fsm->state < EK_ELECTION_STATE_MAX);
}

static void check_elector(const struct ek_election_record *record)
{
    struct ek_election_settings settings = {
        .identity = "me", .duration_ms = 15000, .deadline_ms = 10000, .retry_ms = 2000, .seed = 1};
    struct ek_election_fsm fsm;
    int64_t now_ms = 0;

    ek_election_fsm_init(&fsm, &settings);
    step(&fsm, EK_ELECTION_START, NULL, now_ms);
    for (int i = 0; i < 4; i++) {
        now_ms += 4000;
        step(&fsm, EK_ELECTION_TIMER, NULL, now_ms);
        step(&fsm, EK_ELECTION_GOT, record, now_ms);
        /* Who has a good record of another's name does not lead. */
        fuzz_require(!ek_election_fsm_leads(&fsm, now_ms) || !strcmp(fsm.observed.holder, "me"));
        step(&fsm, EK_ELECTION_WRITTEN, record, now_ms);
        ek_election_fsm_healthy(&fsm, now_ms, 1000);
    }
    step(&fsm, EK_ELECTION_STOP, NULL, now_ms);
    step(&fsm, EK_ELECTION_GOT, record, now_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_election_record record;
    struct ek_obj *lease = NULL;
    struct ek_err err = {0};

    if (ek_obj_parse((const char *)data, size, &lease, NULL))
        return 0;
    int rc = ek_election_lease_read(lease, &record, &err);
    fuzz_require(rc == err.code && (rc == 0 || *err.message));
    if (!rc) {
        check_rewrite(lease, &record);
        check_elector(&record);
    }
    ek_obj_unref(lease);
    return 0;
}
