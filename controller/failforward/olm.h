/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests the documents of discovery that say whether OLM is installed (reconcilers/failforward/
 * served.h), once a minute from the start to the close. An answer that is no answer (a failure, a
 * server error) leaves what was known.
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_FAILFORWARD_OLM_H
#define CONTROLLER_FAILFORWARD_OLM_H

#include "informers/client/client.h"
#include "reconcilers/failforward/served.h"

#define EK_FF_OLM_INTERVAL_MS 60000

struct ek_ff_olm;

/* changed is called from the loop when something else is served than before, and after the first
 * round. All is borrowed. */
struct ek_ff_olm *ek_ff_olm_new(uv_loop_t *loop, struct ek_client *client,
                                void (*changed)(void *ctx), void *ctx);
void ek_ff_olm_start(struct ek_ff_olm *olm);

/* What is served; NULL before the first round. Borrowed until the next turn of the loop. */
const struct ek_ff_served *ek_ff_olm_served(const struct ek_ff_olm *olm);

/* done is called from the loop, after which the object is gone. */
void ek_ff_olm_close(struct ek_ff_olm *olm, void (*done)(void *ctx), void *ctx);

#endif
