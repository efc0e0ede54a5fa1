/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/newfile.h"
#include "cli/draw/figures.h"

#define NAME 32 /* bytes of a file's name */

int hm_mbi_store_path(const struct hm_mbi_store *store, const char *name, char path[PATH_MAX], struct hm_error *error)
{
    int length = snprintf(path, PATH_MAX, "%s/%s", store->path, name);
    return length < PATH_MAX ? 0 : hm_fail(error, ENAMETOOLONG, "%s/%s: too long", store->path, name);
}

/* Reads a file of the folder. Returns its text, to be freed, or NULL with a text, and errno. */
static char *read_file(const struct hm_mbi_store *store, const char *name, size_t most, size_t *length,
                       struct hm_error *error)
{
    char path[PATH_MAX];
    if (hm_mbi_store_path(store, name, path, error) < 0)
        return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = fd < 0 ? NULL : hm_file_read_whole(fd, most, length);
    if (!text)
        hm_fail_errno(error, "%s", path);
    int number = errno;
    if (fd >= 0)
        close(fd);
    errno = number;
    return text;
}

int hm_mbi_store_open(struct hm_mbi_store *store, const char *path, struct hm_error *error)
{
    size_t length = 0;
    *store = (struct hm_mbi_store){.path = ""};
    if (!realpath(path, store->path))
        return hm_fail_errno(error, "%s", path);
    char *text = read_file(store, "plan.json", HM_MBI_FILE, &length, error);
    int status = text ? hm_mbi_plan_parse("plan.json", text, length, &store->plan, error) : -1;
    free(text);
    return status;
}

static void read_result(struct hm_mbi_store *store, size_t number)
{
    struct hm_error error = {""};
    struct hm_mbi_result *result = &store->result[number];
    char name[NAME];
    size_t length = 0;
    snprintf(name, sizeof(name), "run-%zu.json", number);
    char *text = read_file(store, name, HM_MBI_RESULT_FILE, &length, &error);
    store->is_there[number] = text || errno != ENOENT;
    if (store->is_there[number] && (!text || hm_mbi_result_parse(name, text, length, result, &error) < 0)) {
        *result = (struct hm_mbi_result){.reason = ""};
        hm_text_copy(result->reason, error.text, sizeof(result->reason));
    }
    free(text);
}

int hm_mbi_store_results(struct hm_mbi_store *store, struct hm_error *error)
{
    size_t n = hm_mbi_plan_runs(&store->plan);
    store->result = calloc(n, sizeof(*store->result));
    store->is_there = calloc(n, sizeof(*store->is_there));
    if (!store->result || !store->is_there)
        return hm_fail(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        read_result(store, i);
    return 0;
}

bool hm_mbi_store_is_done(const struct hm_mbi_store *store, size_t number)
{
    return store->is_there[number] && !store->result[number].reason[0];
}

void hm_mbi_store_close(struct hm_mbi_store *store)
{
    hm_mbi_plan_free(&store->plan);
    free(store->result);
    free(store->is_there);
}

int hm_mbi_store_write(const struct hm_mbi_store *store, const char *name, json_t *json, struct hm_error *error)
{
    char path[PATH_MAX];
    struct hm_newfile file = {.fd = -1};
    FILE *out = NULL;
    int status = -1;
    if (!json)
        hm_fail(error, ENOMEM, "out of memory");
    else if (hm_mbi_store_path(store, name, path, error) == 0 && hm_newfile_open(&file, path, name, error) == 0)
        status = 0;
    if (status == 0)
        out = fdopen(dup(file.fd), "w");
    if (status == 0 &&
        (!out || hm_figures_put(out, json, JSON_INDENT(1)) < 0 || fflush(out) != 0 || hm_newfile_place(&file) < 0))
        status = hm_fail_errno(error, "%s", path);
    if (out)
        fclose(out);
    hm_newfile_close(&file);
    json_decref(json);
    return status;
}

int hm_mbi_store_put(const struct hm_mbi_store *store, size_t number, const struct hm_mbi_result *result,
                     struct hm_error *error)
{
    char name[NAME];
    snprintf(name, sizeof(name), "run-%zu.json", number);
    return hm_mbi_store_write(store, name, hm_mbi_result_json(result), error);
}

/* Writes a word for a shell. */
static void put_quoted(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, out);
    fputc('\'', out);
}

int hm_mbi_store_script(const struct hm_mbi_store *store, struct hm_error *error)
{
    char path[PATH_MAX];
    if (hm_mbi_store_path(store, "job.sh", path, error) < 0)
        return -1;
    FILE *out = fopen(path, "wxe");
    if (!out)
        return hm_fail_errno(error, "%s", path);
    fprintf(out,
            "#!/bin/sh\n"
            "# Made by hybridmem profile mbi plan: each task of the array is one run of the program. It has to be\n"
            "# alone on its node, as counters are the node's.\n"
            "#SBATCH --job-name=mbi\n"
            "#SBATCH --array=0-%zu\n"
            "#SBATCH --nodes=1\n"
            "#SBATCH --exclusive\n"
            "#SBATCH --hybrid-mem=off\n"
            "exec hybridmem profile mbi run ",
            hm_mbi_plan_runs(&store->plan) - 1);
    put_quoted(out, store->path);
    fputs(" \"$SLURM_ARRAY_TASK_ID\"\n", out);
    bool is_written = fflush(out) == 0 && !ferror(out) && fchmod(fileno(out), 0755) == 0;
    int number = errno;
    fclose(out);
    errno = number;
    return is_written ? 0 : hm_fail_errno(error, "%s", path);
}
