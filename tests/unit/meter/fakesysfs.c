/* SPDX-License-Identifier: Apache-2.0 */
#include "fakesysfs.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/perfopen.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define DEVICES "bus/event_source/devices"

struct fake_sysfs fake;

int __wrap_ioctl(int fd, unsigned long request, ...);

int hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    ssize_t size = fake.n_counts * (ssize_t)sizeof(fake.counts[0]);
    assert_int_equal(pid, -1);
    assert_int_equal(flags, 0);
    errno = fake.perf_fails;
    if (errno)
        return -1;
    if (fake.n_opened < 16) {
        fake.attr[fake.n_opened] = *attr;
        fake.cpu[fake.n_opened] = cpu;
    }
    char *path = scratch_path("event%d", fake.n_opened++);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, fake.counts, (size_t)size) == size && lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    const uint64_t count = 7;
    assert_int_equal(request, PERF_EVENT_IOC_ENABLE);
    if (fake.is_given_back)
        assert_int_equal(pwrite(fd, &count, sizeof(count), lseek(fd, 0, SEEK_CUR)), sizeof(count));
    return 0;
}

int fake_sysfs_make(void **state)
{
    (void)state;
    char *sys = scratch_path("sys");
    fake = (struct fake_sysfs){.setup = {.resctrl = -1, .resctrl_why = ENOENT, .not_asked = "no test"}, .now_ns = 1};
    if (scratch_remove(sys) != 0 || mkdir(sys, 0755) != 0)
        return -1;
    fake.setup.sysfs = open(sys, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fake.setup.sysfs >= 0 ? 0 : -1;
}

int fake_sysfs_drop(void **state)
{
    (void)state;
    hm_gauges_close(&fake.gauges, 0);
    if (fake.setup.resctrl >= 0)
        close(fake.setup.resctrl);
    return close(fake.setup.sysfs);
}

void fake_sysfs_write(const char *path, const char *line)
{
    char *full = scratch_path("sys/%s", path);
    for (char *slash = strchr(full + strlen(scratch) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
    char text[512];
    snprintf(text, sizeof(text), "%s\n", line);
    scratch_write(full, text);
}

void fake_sysfs_remove(const char *path)
{
    assert_int_equal(scratch_remove(scratch_path("sys/%s", path)), 0);
}

static void write_below(const char *folder, const char *file, const char *line)
{
    char path[192];
    snprintf(path, sizeof(path), "%s/%s", folder, file);
    fake_sysfs_write(path, line);
}

void fake_sysfs_add_event(const char *pmu, const char *type, const char *event, const char *terms)
{
    char folder[96], file[64];
    snprintf(folder, sizeof(folder), DEVICES "/%s", pmu);
    snprintf(file, sizeof(file), "events/%s", event);
    write_below(folder, "type", type);
    write_below(folder, "cpumask", "0-1");
    write_below(folder, "format/event", "config:0-7");
    write_below(folder, "format/umask", "config:8-15");
    write_below(folder, file, terms);
    fake_sysfs_write("devices/system/cpu/cpu0/topology/physical_package_id", "0");
    fake_sysfs_write("devices/system/cpu/cpu1/topology/physical_package_id", "1");
}

void fake_sysfs_add_memory_controllers(void)
{
    for (int i = 0; i < 2; i++) {
        const char *pmu = i ? "uncore_imc_1" : "uncore_imc_0";
        fake_sysfs_add_event(pmu, i ? "21" : "20", "cas_count_read", "event=0x04,umask=0x03");
        fake_sysfs_add_event(pmu, i ? "21" : "20", "cas_count_write", "event=0x04,umask=0x0c");
    }
    fake.counts[1] = 1000;
    fake.n_counts = 2;
}

void fake_sysfs_add_powercap(const char *start)
{
    static const struct {
        const char *folder, *name;
    } zones[] = {
        {"intel-rapl:0", "package-0"}, {"intel-rapl:0/intel-rapl:0:0", "core"}, {"intel-rapl:0/intel-rapl:0:1", "dram"},
        {"intel-rapl:1", "package-1"}, {"intel-rapl:1/intel-rapl:1:0", "dram"}, {"intel-rapl:2", "psys"},
    };
    for (size_t i = 0; i < N_ROWS(zones); i++) {
        char folder[96];
        snprintf(folder, sizeof(folder), "class/powercap/%s", zones[i].folder);
        write_below(folder, "name", zones[i].name);
        write_below(folder, "max_energy_range_uj", "262143328850");
        write_below(folder, "energy_uj", start);
    }
    /* The kernel also has these files. They are not zones of RAPL, or show zones a second time. */
    fake_sysfs_write("class/powercap/intel-rapl/enabled", "1");
    fake_sysfs_write("class/powercap/intel-rapl-mmio:0/name", "package-0");
    fake_sysfs_write("class/powercap/intel-rapl:0:0/name", "core");
}

void fake_sysfs_find(void)
{
    fake.n_tried = hm_counters_find(&fake.setup, &fake.gauges, fake.tried);
    hm_gauges_read(&fake.gauges, fake.now_ns);
    hm_gauges_clear(&fake.gauges);
}

void fake_sysfs_step(void)
{
    fake.now_ns += UINT64_C(1000000000);
    hm_gauges_read(&fake.gauges, fake.now_ns);
    fake.n_flows = hm_flows_sum(&fake.gauges, fake.tried, fake.n_tried, fake.tiers, fake.flow);
    hm_gauges_clear(&fake.gauges);
}

const struct hm_counters_tried *fake_sysfs_source(const char *name)
{
    for (int i = 0; i < fake.n_tried; i++)
        if (strcmp(fake.tried[i].source->name, name) == 0)
            return &fake.tried[i];
    fail_msg("no source %s", name);
    return NULL;
}

static const struct hm_flow *find_flow(const char *name)
{
    for (int i = 0; i < fake.n_flows; i++)
        if (strcmp(fake.flow[i].name, name) == 0)
            return &fake.flow[i];
    fail_msg("no flow %s", name);
    return NULL;
}

void fake_sysfs_expect(const char *name, const char *source, double amount)
{
    const struct hm_flow *flow = find_flow(name);
    if (!hm_total_is_known(&flow->total) || fabs(flow->total.amount - amount) > 1e-6 * amount)
        fail_msg("%s is %f (%s), not %f", name, flow->total.amount, flow->reason.text, amount);
    assert_string_equal(flow->source, source);
    assert_string_equal(flow->reason.text, "");
}

void fake_sysfs_expect_unknown(const char *name, const char *reason)
{
    const struct hm_flow *flow = find_flow(name);
    assert_false(hm_total_is_known(&flow->total));
    if (!strstr(flow->reason.text, reason))
        fail_msg("%s: \"%s\" has no \"%s\"", name, flow->reason.text, reason);
}
