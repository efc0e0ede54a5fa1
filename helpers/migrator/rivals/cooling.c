/* SPDX-License-Identifier: Apache-2.0 */
#include "cooling.h"

#define COOLING_THRESHOLD 18 /* samples of one kind */

void hm_rival_count_and_cool(struct hm_rival *rival)
{
    uint64_t most = 0;
    unsigned halvings = 0;
    for (size_t i = 0; i < rival->n_pages; i++) {
        struct hm_rival_page *page = &rival->page[i];
        page->counts.reads += (uint64_t)page->new_reads;
        page->counts.writes += (uint64_t)page->new_writes;
        most = page->counts.reads > most ? page->counts.reads : most;
        most = page->counts.writes > most ? page->counts.writes : most;
    }
    for (; most > COOLING_THRESHOLD; most /= 2)
        halvings++;
    for (size_t i = 0; i < rival->n_pages; i++) {
        rival->page[i].counts.reads >>= halvings;
        rival->page[i].counts.writes >>= halvings;
    }
}
