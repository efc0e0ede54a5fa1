/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/pagesize.h"
#include "base/plural.h"
#include "base/size.h"
#include "slurm/stepname.h"

#define LEAST_SHARE 0.0005 /* smaller shares would be shown as 0.0 % */
#define MARGIN 16          /* columns before a map */
#define LEVELS 8           /* number of levels of heat, without "none" */
#define MOST_CELLS 400     /* widest map, in cells, on any terminal */
#define OTHER_LINES 6      /* lines of the screen beside the warnings and the maps */

/* Glyphs: no heat, then LEVELS of it. Each level is about three times as hot as the one before. */
static const char *const heat_utf8[LEVELS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
static const char *const heat_ascii[LEVELS + 1] = {" ", ".", ":", "-", "=", "+", "*", "%", "@"};
/* Colours of the 256-colour palette, from dark blue to yellow. The glyphs show the same without colours. */
static const unsigned char heat_colour[LEVELS + 1] = {0, 18, 19, 55, 91, 127, 166, 208, 226};

/* One column of a map. */
struct cell {
    double heat; /* samples per page and phase */
    double fast, slow;
};

static void format_share(double share, char *out, size_t size)
{
    if (share < 0)
        snprintf(out, size, "not known");
    else
        snprintf(out, size, "%.1f %%", 100 * share);
}

/* " (at most 3.0 GiB, fair share 2.0 GiB, kept free 9.0 MiB)", as far as there is such a thing. */
static const char *format_limits(const struct hm_view *view, char *out, size_t size)
{
    const struct {
        const char *name;
        uint64_t bytes;
    } limits[] = {{"at most", view->progress.capacity_bytes},
                  {"fair share", view->progress.share_bytes},
                  {"kept free", view->kept_free_bytes}};
    char text[24];
    out[0] = '\0';
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i].bytes > 0)
            snprintf(out + strlen(out), size - strlen(out), "%s%s %s", out[0] ? ", " : " (", limits[i].name,
                     hm_size_format(limits[i].bytes, text, sizeof(text)));
    if (out[0])
        snprintf(out + strlen(out), size - strlen(out), ")");
    return out;
}

static void put_head(FILE *out, const struct hm_view *view, const char *host, const struct hm_screen *screen)
{
    const struct hm_progress *progress = &view->progress;
    static const char *const states[] = {"starting", "running", "ended"};
    char line[256], name[16];
    snprintf(line, sizeof(line), "hybridmem top: job %u.%s on %s, %s: algorithm %s, samples from %s, phase %" PRIu64,
             view->job_id, hm_step_name(progress->step_id, name, sizeof(name)), host, states[progress->state],
             progress->algorithm, progress->source, progress->phases);
    hm_screen_put_line(out, screen, line);
}

static void put_sums(FILE *out, const struct hm_view *view, const struct hm_screen *screen)
{
    const struct hm_progress *progress = &view->progress;
    char line[256], size[4][24], share[3][24], most[96];
    uint64_t unmoved = 0;
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        unmoved += progress->unmoved_bytes[i];
    hm_size_format(view->fast_bytes, size[0], sizeof(size[0]));
    hm_size_format(view->slow_bytes, size[1], sizeof(size[1]));
    snprintf(line, sizeof(line), "memory  fast %s%s, slow %s, of %u %s", size[0],
             format_limits(view, most, sizeof(most)), size[1], progress->n_ranks,
             hm_plural(progress->n_ranks, "process", "processes"));
    hm_screen_put_line(out, screen, line);
    format_share(progress->last_fast_share, share[0], sizeof(share[0]));
    format_share(progress->fast_share, share[1], sizeof(share[1]));
    format_share(progress->best_share, share[2], sizeof(share[2]));
    snprintf(line, sizeof(line), "%sserved by the fast tier  %s in the last phase, %s so far, %s at best",
             strcmp(progress->hot_by, "writes") == 0 ? "writes " : "", share[0], share[1], share[2]);
    hm_screen_put_line(out, screen, line);
    hm_size_format((uint64_t)view->promoted_per_s, size[0], sizeof(size[0]));
    hm_size_format((uint64_t)view->demoted_per_s, size[1], sizeof(size[1]));
    hm_size_format(progress->promoted_bytes, size[2], sizeof(size[2]));
    hm_size_format(progress->demoted_bytes, size[3], sizeof(size[3]));
    snprintf(line, sizeof(line), "moved   up %s/s, down %s/s; in all up %s, down %s", size[0], size[1], size[2],
             size[3]);
    if (unmoved > 0)
        snprintf(line + strlen(line), sizeof(line) - strlen(line), "; could not be moved %s",
                 hm_size_format(unmoved, size[0], sizeof(size[0])));
    hm_screen_put_line(out, screen, line);
}

/* "heat    by kind: private 60.0 %, shared 40.0 %; cannot be moved: shared 10.0 %". Returns the number of lines:
 * none where it is not known. */
static unsigned put_kinds(FILE *out, const struct hm_progress *progress, const struct hm_screen *screen)
{
    char line[512] = "";
    const struct {
        const char *name;
        const double *share;
    } parts[] = {{"heat    by kind", progress->heat}, {"; cannot be moved", progress->stuck}};
    for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
        const char *before = ": ";
        for (int i = 0; i < HM_MEMORY_KINDS; i++) {
            if (parts[k].share[i] < LEAST_SHARE)
                continue;
            snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s%s %.1f %%",
                     before[0] == ':' ? parts[k].name : "", before, hm_memory_kind_name((enum hm_memory_kind)i),
                     100 * parts[k].share[i]);
            before = ", ";
        }
    }
    if (!line[0])
        return 0;
    hm_screen_put_line(out, screen, line);
    return 1;
}

static const struct hm_view_row *end_of_process(const struct hm_view *view, const struct hm_view_row *first)
{
    const struct hm_view_row *row = first;
    while (row < view->row + view->n_rows && row->pid == first->pid)
        row++;
    return row;
}

/*
 * Spreads the rows of a process over the cells by their pages that are in memory, so that holes take no space. Returns
 * the pages per cell.
 */
static double fill_cells(const struct hm_view_row *first, const struct hm_view_row *end, struct cell *cells,
                         unsigned count)
{
    double pages = 0, at = 0;
    for (const struct hm_view_row *row = first; row < end; row++)
        pages += (double)(row->fast_pages + row->slow_pages);
    memset(cells, 0, count * sizeof(*cells));
    double per_cell = pages / count;
    for (const struct hm_view_row *row = first; row < end && pages > 0; row++) {
        double present = (double)(row->fast_pages + row->slow_pages);
        for (double left = present; left > 1e-9 * pages;) {
            unsigned i = (unsigned)(at / per_cell);
            i = i < count ? i : count - 1;
            double here = i == count - 1 ? left : fmin(left, per_cell * (i + 1) - at);
            here = here > 0 ? here : fmin(left, per_cell); /* a row may end within rounding of a cell's border */
            cells[i].heat += (double)(row->reads + row->writes) * here / present / per_cell;
            cells[i].fast += (double)row->fast_pages * here / present;
            cells[i].slow += (double)row->slow_pages * here / present;
            at += here;
            left -= here;
        }
    }
    return per_cell;
}

/* The level of a heat, on a logarithmic scale: the hottest cell of the screen has LEVELS. */
static int level_of(double heat, double hottest)
{
    if (heat <= 0 || hottest <= 0)
        return 0;
    int level = LEVELS + (int)ceil(log(heat / hottest) / log(3) - 1e-9);
    return level < 1 ? 1 : level > LEVELS ? LEVELS : level;
}

static void put_heat(FILE *out, const struct cell *cells, unsigned count, double hottest,
                     const struct hm_screen *screen)
{
    const char *const *glyph = screen->is_utf8 ? heat_utf8 : heat_ascii;
    for (unsigned i = 0; i < count; i++) {
        int level = level_of(cells[i].heat, hottest);
        if (screen->has_colour && level > 0)
            fprintf(out, "\033[38;5;%dm%s\033[0m", heat_colour[level], glyph[level]);
        else
            fputs(glyph[level], out);
    }
    fputc('\n', out);
}

static void put_tiers(FILE *out, const struct cell *cells, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        double pages = cells[i].fast + cells[i].slow;
        double share = pages > 0 ? cells[i].fast / pages : 0;
        fputc(pages <= 0 ? ' ' : share > 0.9 ? 'F' : share < 0.1 ? '.' : 'f', out);
    }
    fputc('\n', out);
}

/* Prints two lines for each process, as long as there is room, and one line for the processes left out. */
static void put_maps(FILE *out, const struct hm_view *view, const struct hm_screen *screen, unsigned lines)
{
    struct cell cells[MOST_CELLS];
    unsigned count = screen->columns > MARGIN ? screen->columns - MARGIN : 1;
    const struct hm_view_row *end, *last = view->row + view->n_rows;
    double hottest = 0;
    char size[24], line[128];
    count = count < MOST_CELLS ? count : MOST_CELLS;
    for (const struct hm_view_row *row = view->row; row < last; row = end) {
        end = end_of_process(view, row);
        fill_cells(row, end, cells, count);
        for (unsigned i = 0; i < count; i++)
            hottest = fmax(hottest, cells[i].heat);
    }
    unsigned left_out = 0;
    for (const struct hm_view_row *row = view->row; row < last; row = end) {
        end = end_of_process(view, row);
        if (lines < 3) {
            left_out++;
            continue;
        }
        double per_cell = fill_cells(row, end, cells, count);
        fprintf(out, "%-10u heat ", row->pid);
        put_heat(out, cells, count, hottest, screen);
        fprintf(out, "%10s tier ", hm_size_format((uint64_t)(per_cell * (double)hm_page_size()), size, sizeof(size)));
        put_tiers(out, cells, count);
        lines -= 2;
    }
    if (left_out > 0) {
        snprintf(line, sizeof(line), "and %u more %s", left_out, hm_plural(left_out, "process", "processes"));
        hm_screen_put_line(out, screen, line);
    }
}

void hm_topprint_screen(FILE *out, const struct hm_view *view, const char *host, const struct hm_screen *screen)
{
    put_head(out, view, host, screen);
    put_sums(out, view, screen);
    /* one line is kept for the last line of put_maps, which counts the processes left out */
    unsigned others = OTHER_LINES + 1;
    others += screen->lines > others ? put_kinds(out, &view->progress, screen) : 0;
    unsigned left = screen->lines > others ? screen->lines - others : 0;
    for (uint32_t i = 0; i < view->progress.n_warnings && left > 0; i++, left--) {
        char line[HM_WARNING + 16];
        snprintf(line, sizeof(line), "warning: %s", view->progress.warning[i]);
        hm_screen_put_line(out, screen, line);
    }
    hm_screen_put_line(out, screen, "");
    hm_screen_put_line(out, screen,
                       "PID, size of a column; heat by address, F in the fast tier, f partly, . in the slow one");
    put_maps(out, view, screen, left + 1);
}
