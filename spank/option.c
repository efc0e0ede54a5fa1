/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

#define CONFIG_WORD "config="

static char config_path[HM_CONFIG_PATH_MAX];

/* Slurm copies the texts; they are arrays because its struct takes no constants. */
static char option_name[] = "hybrid-mem";
static char option_argument[] = "MODE[,KEY=VALUE]";
static char option_usage[] =
    "use of fast and slow memory: off, fast, slow, dram, pmem, cxl, hbm, interleave, spill, "
    "isolate, migrate or fsdax; socket=local|remote|all, size and keep of fsdax, keys of the migrator "
    "(hybridmem " PACKAGE_VERSION " for Slurm " HM_SLURM_VERSION ")";

/* One word; what is wrong with it is told, and fails no job. */
static void read_argument(const char *word)
{
    const char *path = word + strlen(CONFIG_WORD);
    if (strncmp(word, CONFIG_WORD, strlen(CONFIG_WORD)) != 0) {
        slurm_error("hybridmem: plugstack.conf: \"%s\" is not known: the only word is config=PATH", word);
        return;
    }
    if (path[0] != '/' || strlen(path) >= sizeof(config_path)) {
        slurm_error("hybridmem: plugstack.conf: \"%s\": the path must be absolute and shorter than %zu", word,
                    sizeof(config_path));
        return;
    }
    hm_text_copy(config_path, path, sizeof(config_path));
    if (access(path, F_OK) != 0 && errno == ENOENT)
        slurm_error("hybridmem: plugstack.conf: \"%s\": there is no such file: the built-in values hold", word);
}

void hm_option_read_arguments(int count, char **words)
{
    hm_text_copy(config_path, hm_config_path(), sizeof(config_path));
    for (int i = 0; i < count; i++)
        read_argument(words[i]);
}

const char *hm_option_config_path(void)
{
    return config_path;
}

int hm_option_called(int value, const char *text, int remote)
{
    (void)value;
    if (!remote)
        return hm_submit_judge(text ? text : "");
    hm_remote_take_option(text ? text : "");
    return 0;
}

static struct spank_option option = {
    .name = option_name,
    .arginfo = option_argument,
    .usage = option_usage,
    .has_arg = 1,
    .cb = hm_option_called,
};

void hm_option_register(spank_t spank)
{
    if (spank_option_register(spank, &option) != ESPANK_SUCCESS)
        slurm_error("hybridmem: Slurm does not take the option --%s", option_name);
}

const char *hm_option_of_job(spank_t spank)
{
    char *text = NULL;
    return spank_option_getopt(spank, &option, &text) == ESPANK_SUCCESS ? text : NULL;
}
