/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of a program by allocation site: which of its memory comes from where in its code, how much there is of
 * it, and how often it is used. It is one file, JSON in the form of site-docs/sites.schema.json. A figure that was not
 * measured is NaN here and null there.
 */
#ifndef HM_SITES_PROFILE_H
#define HM_SITES_PROFILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "slices.h"

#define HM_PROFILE_DEPTH 10         /* most return addresses of a site */
#define HM_PROFILE_SITES 65536      /* most sites of a profile */
#define HM_PROFILE_OBJECTS 4096     /* most programs and libraries of a profile */
#define HM_PROFILE_FUNCTIONS 65536  /* most functions of an object */
#define HM_PROFILE_PARTS 32         /* equal parts of the program's time */
#define HM_PROFILE_FILE (64u << 20) /* bytes; a longer file is refused */
#define HM_PROFILE_TEXT 4096        /* bytes of a text, with its end */
/* The source of a profile by bandwidth isolation (sites/mbi): reads and writes are the bytes that counters of the node
 * counted, and there are no samples. */
#define HM_PROFILE_COUNTED "mbi"
/* The source of a profile by DAMON's looks at regions. They say that pages were used, not how often: a program that
 * uses a line of each page has as many accesses by them as one that uses all lines, and nothing bounds a site's share.
 */
#define HM_PROFILE_LOOKED "damon"
#define HM_PROFILE_MOST (INT64_C(1) << 60) /* no count and no size is larger */

#define HM_PROFILE_AND " + " /* between the inputs of profiles that were put together */

/* A function that frames are in. */
struct hm_profile_function {
    char *name;
    uint64_t start, bytes; /* as its object's symbols have it */
};

/* A program or library that allocates. */
struct hm_profile_object {
    char *build_id; /* lower-case hexadecimal digits; NULL: it has none */
    char *path;
    size_t n_functions;
    struct hm_profile_function *function; /* ascending by start, and each once; those that are known */
};

/* A return address. */
struct hm_profile_frame {
    int object;      /* index in `object`; -1: in no file, such as code made at run time */
    uint64_t offset; /* from the start of the object, as its symbols are; 0 where it is in no file */
};

/* The function of an object that has a return address; NULL: it is not known. Pure. */
const struct hm_profile_function *hm_profile_function_at(const struct hm_profile_object *object, uint64_t offset);
/* Adds a function, unless one with that start is there. Returns 0, or -1 (ENOMEM). */
int hm_profile_add_function(struct hm_profile_object *object, const char *name, uint64_t start, uint64_t bytes);

/* Bounds of a share, 0..1. */
struct hm_profile_bounds {
    double low, high;
};

/* When a site had memory first and last, as shares of the run; no `to` above `from`: not known. */
struct hm_profile_alive {
    double from, to;
};

/* How much of a site's memory was touched: its pages are resident. */
struct hm_profile_resident {
    bool is_known;
    uint64_t peak_bytes; /* most at one time, at most those of the site */
    double mean_bytes;   /* over the whole run */
    uint64_t series[HM_PROFILE_PARTS];
    uint32_t slices; /* a bit for each slice of its allocations that was touched, where all are large; 0: not known */
};

struct hm_profile_site {
    uint64_t id; /* of its code (compile/given.h), or a hash of the frames by build-id and offset, or of the class */
    uint64_t
        class_bytes; /* small allocations of at most this size, from all of the program; 0: one place in the code */
    bool is_given;   /* the id is of its code, and the same in all builds that have it */
    int n_frames;    /* innermost first; 0 for a class */
    struct hm_profile_frame frame[HM_PROFILE_DEPTH];
    uint64_t allocations;
    uint64_t peak_bytes; /* most that there was at one time */
    double mean_bytes;   /* over the whole run */
    bool has_series;
    uint64_t series[HM_PROFILE_PARTS]; /* most bytes in each part of the time; 0 where it is not known */
    struct hm_profile_alive alive;     /* not known where the series is not */
    struct hm_profile_resident resident;
    struct hm_slices slices;
    double lifetime_s;    /* mean of its allocations; NaN: not measured */
    double samples;       /* those that hit its memory; NaN: not measured */
    double reads, writes; /* the same, by what a sample stands for; NaN: not measured. Their sum is its accesses */
    bool is_untold;       /* the source does not tell reads from writes: all are in `reads` */
    struct hm_profile_bounds counted; /* of a profile whose source is HM_PROFILE_COUNTED: those of its share; or NaN */
};

struct hm_profile {
    char *command;    /* as it was started, in one line */
    char *program;    /* path of the executable */
    char *build_id;   /* of the executable; NULL: it has none, or it was not seen */
    char *class_text; /* of the input, in the user's words; NULL: not said */
    char *start;      /* RFC 3339 */
    double elapsed_s;
    int exit_code;        /* as a shell has it; -1: not known */
    uint64_t least_bytes; /* smaller allocations are in classes */
    uint64_t processes;   /* that were seen */
    uint64_t peak_bytes;  /* of all sites together, at one time */
    bool has_resident_peak;
    uint64_t resident_peak_bytes; /* the same, of what was touched */
    /* allocations that belong to no site, as there was no room to note them, or as record/stack.h says */
    uint64_t left_out;
    char *source; /* of the samples; NULL: there was none, and `why` says why not */
    char *why;
    uint64_t unit;    /* what one sample stands for, in accesses; 0: not known */
    double samples;   /* all; NaN: not measured */
    double elsewhere; /* accesses, as those of a site, to memory of no site with frames; NaN: not measured */
    double saturated; /* accesses to memory in use at nearly every look: there may be more; NaN: of no such source */
    uint64_t lost;    /* samples that the kernel dropped */
    size_t n_objects, n_sites;
    struct hm_profile_object *object;
    struct hm_profile_site *site;
};

/* Is the file at the object's path the build that the profile was made with? */
bool hm_profile_is_there(const struct hm_profile_object *object);

/* Adds the functions of all frames, from the objects' files, where these are the profile's builds. Returns 0, or -1
 * (ENOMEM). */
int hm_profile_find_functions(struct hm_profile *profile);

/* The share that a site has of all accesses (hm_profile_all_accesses); NaN: not known. Pure. */
double hm_profile_share(double all, const struct hm_profile_site *site);

/*
 * Bounds of that share, with 95 % confidence: Wilson's score interval (E. B. Wilson, Journal of the American
 * Statistical Association 22, 1927) of its share of the samples, times what a sample of it counts for, as a ratio to
 * all samples. Where bytes were counted, these bounds are those of repeated runs. NaN where they are not known, as by
 * looks (HM_PROFILE_LOOKED). `all`: hm_profile_all_accesses of the profile, which goes over all sites. Pure.
 */
struct hm_profile_bounds hm_profile_confidence(const struct hm_profile *profile, double all,
                                               const struct hm_profile_site *site);

/* The slices of a site's allocations that were touched: all, where it is not known. Pure. */
uint32_t hm_profile_touched(const struct hm_profile_site *site);
/*
 * The room that a site needs in a tier, where so many bytes of it are allocated. Pages are taken when they are touched
 * first, so it is what its touched slices have; what is touched here and there in a slice can only be placed with it.
 * Pure.
 */
uint64_t hm_profile_room(const struct hm_profile_site *site, uint64_t allocated_bytes);
/* The room that all sites together need at their peak. Pure. */
uint64_t hm_profile_room_of_all(const struct hm_profile *profile);

/* Is the profile of this kind of input, or of several of which it is one? Pure. */
bool hm_profile_has_input(const struct hm_profile *profile, const char *input);

/* Are its accesses bytes that were counted? Pure. */
bool hm_profile_is_counted(const struct hm_profile *profile);

/* The sampled accesses of a site; NaN: not measured. Pure. */
double hm_profile_accesses(const struct hm_profile_site *site);
/* Those of the whole program; NaN: not measured. Pure. */
double hm_profile_all_accesses(const struct hm_profile *profile);
/* Why a profile has no accesses, for messages, as in "clock took no sample in 0.02 s: ...". Returns `out`. Pure. */
const char *hm_profile_unsampled(const struct hm_profile *profile, char *out, size_t size);

/*
 * Reads a profile from its text. `path` is for error texts. Returns it, for hm_profile_free, or NULL (EBADMSG; ENOMEM)
 * with a text that names the place and what is wrong there.
 */
struct hm_profile *hm_profile_parse(const char *path, const char *text, size_t length, struct hm_error *error);
/* Reads the file. Returns NULL with a text also where it cannot be read. */
struct hm_profile *hm_profile_read(const char *path, struct hm_error *error);
void hm_profile_free(struct hm_profile *profile);

/* The profile as JSON: what the file has. NULL: no memory. */
json_t *hm_profile_json(const struct hm_profile *profile);

#endif
