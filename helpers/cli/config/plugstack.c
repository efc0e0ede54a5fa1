/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that plugstack.conf loads the plugin, and that the plugin exists. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "parts.h"
#include "slurm/scontrol.h"

#define PLUGIN "hybridmem.so"
#define CONFIG "config=" /* an argument of the plugin */
#define MOST_INCLUDES 4  /* nested files; plugstack.conf itself is the first */

struct found {
    char plugin[512]; /* as plugstack.conf names it; "": not found */
    char file[512];   /* the file that names it */
    char config[512]; /* the configuration that it is given; "": none */
};

static void search_file(const char *path, int depth, struct found *found);

/* Searches the files that an include line in the file `from` names. `pattern` may be relative to that file's folder. */
static void search_include(const char *pattern, const char *from, int depth, struct found *found)
{
    char path[1024];
    glob_t paths;
    if (pattern[0] == '/')
        snprintf(path, sizeof(path), "%s", pattern);
    else
        snprintf(path, sizeof(path), "%.*s/%s", (int)(strrchr(from, '/') - from), from, pattern);
    if (glob(path, 0, NULL, &paths) != 0)
        return;
    for (size_t i = 0; i < paths.gl_pathc && !found->plugin[0]; i++)
        search_file(paths.gl_pathv[i], depth + 1, found);
    globfree(&paths);
}

/* Whether the last part of the path `text` is `end`. */
static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0 &&
           (length == end_length || text[length - end_length - 1] == '/');
}

/* Notes the plugin, and of its `arguments` (NULL: none) the configuration. */
static void note(struct found *found, const char *file, const char *plugin, char *arguments)
{
    snprintf(found->plugin, sizeof(found->plugin), "%s", plugin);
    snprintf(found->file, sizeof(found->file), "%s", file);
    for (const char *word; (word = strsep(&arguments, " \t"));)
        if (strncmp(word, CONFIG, strlen(CONFIG)) == 0)
            snprintf(found->config, sizeof(found->config), "%s", word + strlen(CONFIG));
}

static void search_file(const char *path, int depth, struct found *found)
{
    char *line = NULL;
    size_t size = 0;
    FILE *file = depth < MOST_INCLUDES ? fopen(path, "re") : NULL;
    while (file && !found->plugin[0] && getline(&line, &size, file) >= 0) {
        char *rest = line + strspn(line, " \t");
        line[strcspn(line, "#\n")] = '\0';
        const char *first = strsep(&rest, " \t");
        if (!rest)
            continue;
        rest += strspn(rest, " \t");
        const char *second = strsep(&rest, " \t");
        if (strcmp(first, "include") == 0)
            search_include(second, path, depth, found);
        else if ((strcmp(first, "optional") == 0 || strcmp(first, "required") == 0) && ends_with(second, PLUGIN))
            note(found, path, second, rest);
    }
    free(line);
    if (file)
        fclose(file);
}

/*
 * Finds the plugin as Slurm does: by its path, if that is absolute, or else in one of Slurm's plugin folders
 * (`folders`, separated by colons).
 */
static bool find_plugin(const char *plugin, const char *folders, char *path, size_t size)
{
    if (plugin[0] == '/') {
        snprintf(path, size, "%s", plugin);
        return access(path, R_OK) == 0;
    }
    while (*folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s/%s", (int)length, folders, plugin);
        if (access(path, R_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

/* Writes the path of plugstack.conf: as slurm.conf has it, or else beside slurm.conf. Returns false where that is not
 * known. */
static bool find_plugstack(const char *output, char *path, size_t size)
{
    hm_scontrol_value(output, "PlugStackConfig", path, size);
    if (path[0] == '/')
        return true;
    hm_scontrol_value(output, "SLURM_CONF", path, size);
    char *slash = strrchr(path, '/');
    if (slash)
        snprintf(slash, size - (size_t)(slash - path), "/plugstack.conf");
    return slash;
}

void hm_config_check_plugstack(const char *output, const char *config_path, struct hm_report *report)
{
    struct found found = {"", "", ""};
    char path[1024], folders[512];
    if (!find_plugstack(output, path, sizeof(path))) {
        hm_report_change(report,
                         "plugstack.conf is not found, as scontrol names no SLURM_CONF: check that scontrol works "
                         "here");
        return;
    }
    search_file(path, 0, &found);
    if (!found.plugin[0]) {
        hm_report_change(report, "%s does not load the plugin: add the line \"optional " PLUGIN "\"", path);
        return;
    }
    hm_scontrol_value(output, "PluginDir", folders, sizeof(folders));
    if (find_plugin(found.plugin, folders, path, sizeof(path)))
        hm_report_ok(report, "%s loads %s", found.file, path);
    else
        hm_report_change(report, "%s loads %s, which is not there (PluginDir %s): install the plugin on this node",
                         found.file, found.plugin, *folders ? folders : "unknown");
    if (found.config[0] && strcmp(found.config, config_path) != 0)
        hm_report_note(report,
                       "%s gives the plugin " CONFIG "%s, and %s is checked here: jobs have the other, so check "
                       "it with --config %s",
                       found.file, found.config, config_path, found.config);
}
