/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the plugin's arguments in plugstack.conf: they can name the configuration. */
#include "plugin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

#define CONFIG_WORD "config="

static char config_path[HM_CONFIG_PATH_MAX];

/* Read one argument. A wrong one is logged, and does not fail jobs. */
static void read_argument(const char *word)
{
    const char *path = word + strlen(CONFIG_WORD);
    if (strncmp(word, CONFIG_WORD, strlen(CONFIG_WORD)) != 0) {
        slurm_error("hybridmem: plugstack.conf: \"%s\" is not known: the only word is config=PATH", word);
        return;
    }
    if (path[0] != '/' || strlen(path) >= sizeof(config_path)) {
        slurm_error("hybridmem: plugstack.conf: \"%s\": the path must be absolute and shorter than %zu bytes", word,
                    sizeof(config_path));
        return;
    }
    hm_text_copy(config_path, path, sizeof(config_path));
    if (access(path, F_OK) != 0 && errno == ENOENT)
        slurm_error("hybridmem: plugstack.conf: \"%s\": there is no such file: the built-in values are used", word);
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
