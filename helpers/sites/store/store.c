/* SPDX-License-Identifier: Apache-2.0 */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/flock.h"
#include "sites/profile/profile.h"

#define BELOW_DATA "/hybridmem/profiles"
#define BELOW_HOME "/.local/share" BELOW_DATA
#define ENDING ".json"
#define LOCK ".lock"
#define PATIENCE_MS 20000 /* a step has many tasks, and each takes the lock some times, for a moment */
#define LEFT_S 86400      /* a file that is still not in its place then is of a recorder that was killed */
#define MOST 4096         /* profiles that are listed */

/* The user's home; NULL: it is not known. Steps have no HOME with srun --export=NONE, and in jobs of sbatch
 * --export=NONE. There this look-up has a limit of time: the task ends the whole program after it. */
static const char *find_home(void)
{
    const char *home = getenv("HOME");
    if (home && home[0] == '/')
        return home;
    const struct passwd *user = getpwuid(getuid());
    return user && user->pw_dir[0] == '/' ? user->pw_dir : NULL;
}

int hm_store_own(char folder[PATH_MAX], struct hm_error *error)
{
    const char *data = getenv("XDG_DATA_HOME");
    bool has_data = data && data[0] == '/';
    const char *home = has_data ? NULL : find_home();
    if (!has_data && !home)
        return hm_fail(error, ENOENT,
                       "the store of profiles is not known, as neither XDG_DATA_HOME nor HOME is a path, and this host "
                       "knows no home of user %u",
                       (unsigned)getuid());
    if (snprintf(folder, PATH_MAX, "%s%s", has_data ? data : home, has_data ? BELOW_DATA : BELOW_HOME) >= PATH_MAX)
        return hm_fail(error, ENAMETOOLONG, "the path of the store of profiles is too long");
    return 0;
}

static bool is_newer(const struct timespec *left, const struct timespec *right)
{
    return left->tv_sec != right->tv_sec ? left->tv_sec > right->tv_sec : left->tv_nsec > right->tv_nsec;
}

int hm_store_newest_first(const void *a, const void *b)
{
    const struct hm_store_entry *left = a, *right = b;
    if (is_newer(&left->changed, &right->changed) || is_newer(&right->changed, &left->changed))
        return is_newer(&left->changed, &right->changed) ? -1 : 1;
    return strcmp(left->path, right->path);
}

struct list {
    struct hm_store_entry *entry;
    size_t n, room;
};

static int add(struct list *list, const char *folder, const char *name)
{
    struct stat status;
    if (list->n == list->room) {
        size_t room = list->room ? 2 * list->room : 16;
        struct hm_store_entry *more = realloc(list->entry, room * sizeof(*more));
        if (!more)
            return -1;
        list->entry = more;
        list->room = room;
    }
    struct hm_store_entry *entry = &list->entry[list->n];
    if (snprintf(entry->path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX && lstat(entry->path, &status) == 0 &&
        S_ISREG(status.st_mode)) {
        entry->changed = status.st_mtim;
        list->n++;
    }
    return 0;
}

/* Adds the profiles of a build, the newest first. Returns 0, also where there is no such folder, or -1 with errno. */
static int read_build(struct list *list, const char *folder)
{
    DIR *files = opendir(folder);
    size_t first = list->n;
    int status = files || errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    for (struct dirent *file; files && status == 0 && list->n < MOST && (file = readdir(files)) != NULL;) {
        size_t length = strlen(file->d_name), ending = strlen(ENDING);
        if (file->d_name[0] != '.' && length > ending && strcmp(file->d_name + length - ending, ENDING) == 0)
            status = add(list, folder, file->d_name);
    }
    if (files)
        closedir(files);
    if (list->n > first)
        qsort(list->entry + first, list->n - first, sizeof(*list->entry), hm_store_newest_first);
    return status;
}

static bool is_of(const char *path, const char *input)
{
    struct hm_profile *profile = hm_profile_read(path, NULL);
    bool is_right = profile && hm_profile_has_input(profile, input);
    hm_profile_free(profile);
    return is_right;
}

/* The newest of a store; with `input`, the newest of that. */
static int find_in(const char *store, const char *build_id, const char *input, char path[PATH_MAX])
{
    struct list list = {NULL, 0, 0};
    char folder[PATH_MAX];
    size_t found = 0;
    if (snprintf(folder, PATH_MAX, "%s/%s", store, build_id) < PATH_MAX)
        (void)read_build(&list, folder); /* one that cannot be read has none for this user */
    while (input && found < list.n && !is_of(list.entry[found].path, input))
        found++;
    bool is_found = found < list.n;
    if (is_found)
        memcpy(path, list.entry[found].path, PATH_MAX);
    free(list.entry);
    return is_found ? 0 : -1;
}

int hm_store_find(const char *shared, const char *build_id, const char *input, char path[PATH_MAX],
                  struct hm_error *error)
{
    char own[PATH_MAX];
    struct hm_error why = {""};
    bool has_own = hm_store_own(own, &why) == 0;
    const char *const wanted[] = {input, NULL};
    for (int i = input ? 0 : 1; i < 2; i++)
        if ((has_own && find_in(own, build_id, wanted[i], path) == 0) ||
            (shared[0] && find_in(shared, build_id, wanted[i], path) == 0))
            return 0;
    if (has_own)
        snprintf(why.text, sizeof(why.text), "%.160s has none", own);
    return hm_fail(error, ENOENT, "there is no profile of the build %s: %s%s%.80s", build_id, why.text,
                   shared[0] ? ", nor has " : "", shared);
}

/* Makes a folder, unless it is there. That is asked first: for a folder that an NFS client has not looked up yet, as
 * /home/a, mkdir(2) says that it may not be made. */
static int make_one(const char *path)
{
    if (access(path, X_OK) == 0)
        return 0;
    return errno == ENOENT && (mkdir(path, 0700) == 0 || errno == EEXIST) ? 0 : -1;
}

/* Makes a folder with all above it. Returns 0, or -1 with errno. */
static int make_folders(char *path)
{
    int status = 0;
    for (char *at = path + 1; *at && status == 0; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        status = make_one(path);
        *at = '/';
    }
    return status == 0 ? make_one(path) : -1;
}

int hm_store_make(const char *build_id, char folder[PATH_MAX], struct hm_error *error)
{
    char store[PATH_MAX];
    if (geteuid() == 0)
        return hm_fail(error, EPERM, "root keeps no profiles");
    if (hm_store_own(store, error) < 0)
        return -1;
    if (snprintf(folder, PATH_MAX, "%s/%s", store, build_id) >= PATH_MAX)
        return hm_fail(error, ENAMETOOLONG, "the path of the store of profiles is too long");
    return make_folders(folder) == 0 ? 0 : hm_fail_errno(error, "no profile can be kept in %.200s", folder);
}

/* An NFS client remembers for half a minute that there was no file of a name, also while another node makes it under
 * the lock. To open the folder has it ask again. */
static void look_again(const char *folder)
{
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at >= 0)
        close(at);
}

int hm_store_lock(const char *build_id, char folder[PATH_MAX], struct hm_error *error)
{
    if (hm_store_make(build_id, folder, error) < 0)
        return -1;
    int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = at < 0 ? -1 : hm_flock_open(at, LOCK);
    if (fd < 0 || hm_flock_wait(fd, PATIENCE_MS) != 0) {
        hm_fail_errno(error, "no profile can be kept in %.200s", folder);
        if (fd >= 0)
            close(fd);
        fd = -1;
    } else {
        look_again(folder);
    }
    if (at >= 0)
        close(at);
    return fd;
}

/* Is it the name of a draft, "NAME.json.XXXXXX", or of a profile that was taken out of its place? */
static bool is_unplaced(const char *name)
{
    size_t length = strlen(name), ending = strlen(ENDING ".XXXXXX");
    return length > ending && strncmp(name + length - ending, ENDING ".", strlen(ENDING ".")) == 0;
}

/* Removes what recorders that were killed have left. */
static void remove_left(const char *folder)
{
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files)) != NULL;) {
        struct stat status;
        if (is_unplaced(file->d_name) && fstatat(dirfd(files), file->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status.st_mode) && time(NULL) - status.st_mtim.tv_sec > LEFT_S)
            unlinkat(dirfd(files), file->d_name, 0);
    }
    if (files)
        closedir(files);
}

/* The input that a profile is of, for the caller to free; NULL: it says none, or is no profile. */
static char *read_input(const char *path)
{
    struct hm_profile *profile = hm_profile_read(path, NULL);
    char *input = profile && profile->class_text ? strdup(profile->class_text) : NULL;
    hm_profile_free(profile);
    return input;
}

/* Is there a newer one of the same input? They are by age, the newest first. */
static bool is_outdated(char *const *input, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (input[i] && input[at] ? strcmp(input[i], input[at]) == 0 : input[i] == input[at])
            return true;
    return false;
}

/* Removes the oldest of which there is a newer one of the same input, or else the oldest. */
static void remove_one(struct list *list, char **input)
{
    size_t at = list->n - 1;
    while (at > 0 && !is_outdated(input, at))
        at--;
    at = at > 0 ? at : list->n - 1;
    unlink(list->entry[at].path);
    free(input[at]);
    list->n--;
    memmove(&list->entry[at], &list->entry[at + 1], (list->n - at) * sizeof(*list->entry));
    memmove(&input[at], &input[at + 1], (list->n - at) * sizeof(*input));
}

void hm_store_trim(const char *folder)
{
    struct list list = {NULL, 0, 0};
    remove_left(folder);
    (void)read_build(&list, folder);
    char **input = list.n > HM_STORE_KEPT ? calloc(list.n, sizeof(*input)) : NULL;
    for (size_t i = 0; input && i < list.n; i++)
        input[i] = read_input(list.entry[i].path);
    while (input && list.n > HM_STORE_KEPT)
        remove_one(&list, input);
    for (size_t i = 0; input && i < list.n; i++)
        free(input[i]);
    free(input);
    free(list.entry);
}

int hm_store_list(const char *folder, struct hm_store_entry **entries, struct hm_error *error)
{
    struct list list = {NULL, 0, 0};
    struct dirent **build = NULL;
    int n = scandir(folder, &build, NULL, alphasort), status = 0;
    *entries = NULL;
    if (n < 0)
        return errno == ENOENT ? 0 : hm_fail_errno(error, "%.200s", folder);
    for (int i = 0; i < n; i++) {
        char path[PATH_MAX];
        if (status == 0 && build[i]->d_name[0] != '.' &&
            snprintf(path, PATH_MAX, "%s/%s", folder, build[i]->d_name) < PATH_MAX)
            status = read_build(&list, path);
        free(build[i]);
    }
    free(build);
    if (status == 0) {
        *entries = list.entry;
        return (int)list.n;
    }
    hm_fail_errno(error, "%.200s", folder);
    free(list.entry);
    return -1;
}
