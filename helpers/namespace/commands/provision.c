/* SPDX-License-Identifier: Apache-2.0 */
/* The command provision: what new regions of persistent memory lack before jobs can have namespaces of them. It only
 * says so, unless it is told to do it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/size.h"
#include "core/tiers/boot.h"
#include "namespace/pmem/devdax.h"
#include "namespace/pmem/driver.h"
#include "namespace/pmem/labels.h"
#include "namespace/pmem/prepare.h"
#include "parts.h"

/* What is to be done in the regions of the request. */
struct work {
    struct hm_region region[HM_PMEM_REGIONS];
    struct hm_prepare steps[HM_PMEM_REGIONS];
    bool is_meant[HM_PMEM_REGIONS];
    int n, n_meant;
};

__attribute__((format(printf, 2, 3))) static void print_line(const struct hm_region *region, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s on socket %d: ", region->name, region->socket);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

static void print_labels(struct ndctl_region *handle, const struct hm_region *region, const char *verb)
{
    char modules[128];
    print_line(region, "%s the label areas of %s: what is in the region is lost", verb,
               hm_labels_modules(handle, modules, sizeof(modules)));
}

static void print_ram(const struct hm_region *region, uint64_t bytes, const char *verb)
{
    char size[24];
    print_line(region, "%s a devdax namespace of %s, for 'hybridmem namespace ram online'", verb,
               hm_size_format(bytes, size, sizeof(size)));
}

/* Plan all regions before anything is changed. Returns 0, or -1 with a text. */
static int plan(struct hm_pmem *pmem, const struct hm_namespace_request *request, const struct hm_topology *topology,
                struct work *work, struct hm_error *error)
{
    work->n_meant = 0;
    work->n = hm_pmem_regions(pmem, topology, work->region);
    for (int i = 0; i < work->n; i++) {
        const struct hm_region *region = &work->region[i];
        work->is_meant[i] = hm_set_is_empty(&request->sockets) ||
                            (region->socket >= 0 && hm_set_has(&request->sockets, (unsigned)region->socket));
        if (!work->is_meant[i])
            continue;
        work->n_meant++;
        if (hm_prepare_plan(region, hm_devdax_bytes(pmem->region[i]), request->ram_bytes, &work->steps[i], error) != 0)
            return -1;
        if (work->steps[i].wants_labels && hm_labels_hinder(pmem->region[i], error) != 0)
            return -1;
    }
    if (work->n_meant > 0)
        return 0;
    return work->n == 0 ? hm_fail(error, ENODEV,
                                  "there is no region of persistent memory: with new modules, run 'hybridmem-memmode "
                                  "memmode=flat' as root and reboot; else load the kernel module nfit")
                        : hm_fail(error, ENODEV, "no region is on these sockets");
}

static int write_labels(struct hm_pmem *pmem, const struct work *work, struct hm_error *error)
{
    for (int i = 0; i < work->n; i++) {
        if (!work->is_meant[i] || !work->steps[i].wants_labels)
            continue;
        if (hm_labels_write(pmem->region[i], error) != 0)
            return -1;
        print_labels(pmem->region[i], &work->region[i], "initialised");
    }
    return 0;
}

/* `pmem` was opened after the labels were written: libndctl does not see what has become of a region. */
static int make_devdax(struct hm_pmem *pmem, const struct work *work, struct hm_error *error)
{
    for (int i = 0; i < work->n; i++) {
        uint64_t bytes = work->is_meant[i] ? work->steps[i].ram_bytes : 0;
        struct ndctl_region *region = hm_pmem_region(pmem, work->region[i].name);
        if (bytes == 0)
            continue;
        if (!region)
            return hm_fail(error, ENODEV, "%s has gone meanwhile", work->region[i].name);
        if (hm_devdax_create(region, bytes, error) != 0)
            return -1;
        print_ram(&work->region[i], bytes, "made");
    }
    return 0;
}

static int apply(struct hm_pmem *pmem, const struct work *work, struct hm_error *error)
{
    struct hm_pmem *anew = NULL;
    if (write_labels(pmem, work, error) != 0 || hm_pmem_open(&anew, error) != 0)
        return -1;
    int result = make_devdax(anew, work, error), number = errno;
    hm_pmem_close(anew);
    errno = number;
    return result;
}

/* Print a line for each region that needs nothing. Returns whether that is all. */
static bool print_ready(const struct work *work)
{
    bool is_all = true;
    char size[24];
    for (int i = 0; i < work->n; i++) {
        if (!work->is_meant[i])
            continue;
        if (!work->steps[i].wants_labels && work->steps[i].ram_bytes == 0)
            print_line(&work->region[i], "ready, %s free for namespaces of jobs",
                       hm_size_format(work->region[i].free, size, sizeof(size)));
        else
            is_all = false;
    }
    return is_all;
}

static void print_plan(struct hm_pmem *pmem, const struct work *work)
{
    for (int i = 0; i < work->n; i++) {
        if (work->is_meant[i] && work->steps[i].wants_labels)
            print_labels(pmem->region[i], &work->region[i], "initialise");
        if (work->is_meant[i] && work->steps[i].ram_bytes > 0)
            print_ram(&work->region[i], work->steps[i].ram_bytes, "make");
    }
}

int hm_namespace_provision(const struct hm_config *config, const struct hm_namespace_request *request,
                           struct hm_error *error)
{
    struct hm_topology *topology = malloc(sizeof(*topology));
    struct work *work = malloc(sizeof(*work));
    struct hm_pmem *pmem = NULL;
    int status = HM_NAMESPACE_REFUSED;
    if (!topology || !work)
        hm_fail(error, ENOMEM, "no memory for the regions");
    else if (hm_topology_of_node(config, topology, error) == 0 && hm_driver_load(&hm_driver_pmem, error) == 0 &&
             hm_pmem_open(&pmem, error) == 0 && plan(pmem, request, topology, work, error) == 0) {
        bool is_all = print_ready(work);
        if (request->apply) {
            status = apply(pmem, work, error) == 0 ? HM_NAMESPACE_DONE : HM_NAMESPACE_REFUSED;
        } else {
            print_plan(pmem, work);
            puts(is_all ? "Nothing is to be done." : "Nothing was changed: --apply does it.");
            status = HM_NAMESPACE_DONE;
        }
    }
    if (status != HM_NAMESPACE_DONE && errno == EBUSY)
        status = HM_NAMESPACE_BUSY;
    hm_pmem_close(pmem);
    free(work);
    free(topology);
    return status;
}
