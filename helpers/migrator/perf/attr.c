/* SPDX-License-Identifier: Apache-2.0 */
#include "attr.h"

#include "route.h"

void hm_perf_attr(struct perf_event_attr *attr, uint32_t type, uint64_t config)
{
    *attr = (struct perf_event_attr){
        .size = sizeof(*attr),
        .type = type,
        .config = config,
        /* only what the kernel can take from the hardware in batches ("large PEBS"): no time, no call chain */
        .sample_type =
            PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_DATA_SRC,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .watermark = 1, /* a watermark of 0 bytes means half of the ring, or AUX area, whatever its size */
    };
    /* A software event with PERF_SAMPLE_PERIOD samples every event, whatever its period. */
    if (type == PERF_TYPE_SOFTWARE)
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

void hm_perf_attr_clock(struct perf_event_attr *attr)
{
    hm_perf_attr(attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER;
    attr->sample_regs_user = HM_ROUTE_MASK;
    attr->sample_period = HM_PERF_CLOCK_COARSEST_NS;
    attr->disabled = 1;
}
