/* SPDX-License-Identifier: Apache-2.0 */
#include "dax.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/moment.h"

void hm_dax_clear(struct hm_job_namespaces *namespaces)
{
    memset(namespaces, 0, sizeof(*namespaces));
    namespaces->create_s = namespaces->destroy_s = -1;
}

static bool is_device(const void *value)
{
    const char *path = value, *number = path + strlen("/dev/pmem");
    return strncmp(path, "/dev/pmem", strlen("/dev/pmem")) == 0 && number[0] != '\0' &&
           number[strspn(number, "0123456789.")] == '\0';
}

static const struct hm_field namespace_table[] = {
    HM_FIELD(hm_job_namespace, name),  HM_FIELD(hm_job_namespace, device, .is_right = is_device),
    HM_FIELD(hm_job_namespace, fs),    HM_FIELD(hm_job_namespace, socket, .most = HM_MAX_SOCKETS - 1),
    HM_FIELD(hm_job_namespace, bytes), {.name = NULL},
};

const struct hm_field hm_dax_table[] = {
    HM_FIELD(hm_job_namespaces, is_begun),
    HM_FIELD(hm_job_namespaces, restart),
    HM_FIELD(hm_job_namespaces, n),
    HM_FIELD_GROUPS(hm_job_namespaces, each, namespace_table, HM_COUNTED_BY(hm_job_namespaces, n)),
    HM_FIELD(hm_job_namespaces, create_s),
    HM_FIELD(hm_job_namespaces, destroy_s),
    HM_FIELD(hm_job_namespaces, is_kept),
    HM_FIELD(hm_job_namespaces, kept_until_s),
    {.name = NULL},
};

/* Reads the label of the namespace that a /dev/pmem disk is on, by way of the disk's pfn device. */
static int read_label(const char *sysfs, const char *device, char *label, size_t size, struct hm_error *error)
{
    char path[256], namespace[32];
    snprintf(path, sizeof(path), "%s/class/block/%s/device/namespace", sysfs, device);
    if (hm_file_read(path, namespace, sizeof(namespace), error) != 0)
        return -1;
    snprintf(path, sizeof(path), "%s/bus/nd/devices/%s/alt_name", sysfs, namespace);
    return hm_file_read(path, label, size, error);
}

int hm_dax_check_device(const char *sysfs, const struct hm_job_namespace *one, struct hm_error *error)
{
    char label[sizeof(one->name) + 2]; /* sysfs ends it with a newline */
    struct hm_error why = {0};
    if (read_label(sysfs, one->device + strlen("/dev/"), label, sizeof(label), &why) != 0)
        return hm_fail(error, errno, "it cannot be told whether %s is still on %s: %.300s", one->device, one->name,
                       why.text);
    if (strcmp(label, one->name) == 0)
        return 0;
    return hm_fail(error, ESTALE,
                   "%s is on \"%s\" now, not on %s: this node's regions were set up anew while the job ran",
                   one->device, label, one->name);
}

char *hm_dax_folder(const struct hm_config *config, char *out)
{
    snprintf(out, HM_DAX_PATH, "%s/fsdax", config->run_dir);
    return out;
}

char *hm_dax_job_folder(const struct hm_config *config, uint32_t job_id, char *out)
{
    snprintf(out, HM_DAX_PATH, "%s/fsdax/%u", config->run_dir, job_id);
    return out;
}

char *hm_dax_path(const struct hm_config *config, uint32_t job_id, uint32_t socket, char *out)
{
    snprintf(out, HM_DAX_PATH, "%s/fsdax/%u/%u", config->run_dir, job_id, socket);
    return out;
}

enum { FIRST_PATH, ALL_PATHS, KEPT_UNTIL };

const char *hm_dax_variable_name(int n)
{
    static const char *const names[] = {[FIRST_PATH] = "HYBRIDMEM_FSDAX_DIR",
                                        [ALL_PATHS] = "HYBRIDMEM_FSDAX_DIRS",
                                        [KEPT_UNTIL] = "HYBRIDMEM_FSDAX_UNTIL"};
    return n >= 0 && n < (int)(sizeof(names) / sizeof(names[0])) ? names[n] : NULL;
}

const char *hm_dax_variable(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                            int n, char value[HM_DAX_VALUE])
{
    char path[HM_DAX_PATH];
    size_t used = 0;
    if (namespaces->n == 0 || !hm_dax_variable_name(n) || (n == KEPT_UNTIL && !namespaces->is_kept))
        return NULL;
    if (n == KEPT_UNTIL)
        hm_moment_format(namespaces->kept_until_s, value);
    if (n == FIRST_PATH)
        hm_dax_path(config, job_id, namespaces->each[0].socket, value);
    for (uint32_t i = 0; n == ALL_PATHS && i < namespaces->n; i++)
        used +=
            (size_t)snprintf(value + used, HM_DAX_VALUE - used, "%s%u=%s", i > 0 ? ":" : "", namespaces->each[i].socket,
                             hm_dax_path(config, job_id, namespaces->each[i].socket, path));
    return hm_dax_variable_name(n);
}
