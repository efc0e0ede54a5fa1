/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bandwidth over size: a line for each kernel, told apart by its marks and without colours; what is predicted is
 * dashed; an upright line where the fast tier ends.
 */
#include <math.h>
#include <stdio.h>

#include "base/size.h"
#include "bench.h"
#include "cli/draw/svg.h"

#define LEFT 76
#define TOP 92
#define WIDTH 640
#define HEIGHT 320
#define RIGHT 40
#define BOTTOM 60
#define MARK 4
#define MOST_STEPS 8

struct frame {
    FILE *out;
    const struct hm_bench *bench;
    double top_mbs, last_bytes; /* at the ends of the axes */
};

/* 1, 2 or 5 times a power of ten: at most MOST_STEPS of them make `value`. */
static double step_of(double value)
{
    double power = pow(10, floor(log10(value / MOST_STEPS)));
    for (int i = 0; i < 3; i++)
        if (value / (power * (double[]){1, 2, 5}[i]) <= MOST_STEPS)
            return power * (double[]){1, 2, 5}[i];
    return power * 10;
}

static double x_of(const struct frame *frame, double bytes)
{
    return LEFT + WIDTH * bytes / frame->last_bytes;
}

static double y_of(const struct frame *frame, double mbs)
{
    return TOP + HEIGHT * (1 - mbs / frame->top_mbs);
}

static struct frame measure(FILE *out, const struct hm_bench *bench)
{
    struct frame frame = {out, bench, 1, 1};
    for (int i = 0; i < bench->n_results; i++) {
        const struct hm_bench_result *result = &bench->result[i];
        frame.top_mbs = fmax(frame.top_mbs, fmax(result->best_mbs, result->predicted_mbs));
        frame.last_bytes = fmax(frame.last_bytes, (double)result->bytes);
    }
    frame.top_mbs *= 1.05;
    frame.last_bytes *= 1.05;
    return frame;
}

static void put_axes(const struct frame *frame)
{
    double step = step_of(frame->top_mbs);
    for (int i = 0; i * step <= frame->top_mbs; i++) {
        double y = y_of(frame, i * step);
        fprintf(frame->out, "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>", LEFT, y, LEFT + WIDTH,
                y);
        fprintf(frame->out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8, y + 4,
                i * step / 1000);
    }
    fprintf(frame->out, "<text x=\"%d\" y=\"%d\">GB/s, the best of %d</text>\n", LEFT, TOP - 12,
            frame->bench->words.repetitions);
    double last_x = -100;
    for (int i = 0; i < frame->bench->words.n_sizes; i++) {
        char size[24];
        double x = x_of(frame, (double)frame->bench->words.bytes[i]);
        if (x < last_x + 64)
            continue;
        last_x = x;
        fprintf(frame->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", x, TOP + HEIGHT + 18,
                hm_size_format(frame->bench->words.bytes[i], size, sizeof(size)));
    }
}

static void put_fast_tier(const struct frame *frame)
{
    double bytes = (double)frame->bench->tiers.tier[0].capacity_bytes;
    if (!frame->bench->has_slow || bytes > frame->last_bytes)
        return;
    double x = x_of(frame, bytes);
    fprintf(frame->out, "<line class=\"edge\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>", x, TOP, x, TOP + HEIGHT);
    fprintf(frame->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">all of the fast tier</text>\n", x,
            TOP + HEIGHT + 36);
}

/* Each kernel has a mark of its own. */
static void put_mark(FILE *out, enum hm_bench_kernel kernel, double x, double y)
{
    if (kernel == HM_BENCH_ACCUMULATE)
        fprintf(out, "<circle class=\"mark k%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"%d\"/>", kernel, x, y, MARK);
    else if (kernel == HM_BENCH_COPY)
        fprintf(out, "<rect class=\"mark k%d\" x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>", kernel, x - MARK,
                y - MARK, 2 * MARK, 2 * MARK);
    else
        fprintf(out, "<path class=\"mark k%d\" d=\"M%.1f %.1fl%d %dh%dz\"/>", kernel, x, y - MARK - 1, MARK + 1,
                2 * MARK + 1, -2 * (MARK + 1));
}

static void put_line(const struct frame *frame, enum hm_bench_kernel kernel, bool is_predicted)
{
    const char *start = "M";
    fprintf(frame->out, "<path id=\"%s-%s\" class=\"line k%d%s\" d=\"", hm_bench_kernel_name(kernel),
            is_predicted ? "predicted" : "measured", kernel, is_predicted ? " dashed" : "");
    for (int i = 0; i < frame->bench->n_results; i++) {
        const struct hm_bench_result *result = &frame->bench->result[i];
        double mbs = is_predicted ? result->predicted_mbs : result->best_mbs;
        if (result->kernel != kernel || mbs < 0)
            continue;
        fprintf(frame->out, "%s%.1f %.1f", start, x_of(frame, (double)result->bytes), y_of(frame, mbs));
        start = "L";
    }
    fputs("\"/>\n", frame->out);
    for (int i = 0; i < frame->bench->n_results && !is_predicted; i++) {
        const struct hm_bench_result *result = &frame->bench->result[i];
        if (result->kernel == kernel)
            put_mark(frame->out, kernel, x_of(frame, (double)result->bytes), y_of(frame, result->best_mbs));
    }
}

static void put_legend(const struct frame *frame)
{
    int x = LEFT;
    for (int kernel = 0; kernel < HM_BENCH_KERNELS; kernel++) {
        if (!frame->bench->words.kernel[kernel])
            continue;
        put_mark(frame->out, (enum hm_bench_kernel)kernel, x + MARK, 54);
        fprintf(frame->out, "<text x=\"%d\" y=\"58\">%s</text>\n", x + 14,
                hm_bench_kernel_name((enum hm_bench_kernel)kernel));
        x += 110;
    }
    fprintf(frame->out, "<path class=\"line k0 dashed\" d=\"M%d 54h28\"/><text x=\"%d\" y=\"58\">predicted</text>\n", x,
            x + 36);
}

static void draw(FILE *out, const void *picture)
{
    const struct hm_bench *bench = picture;
    struct frame frame = measure(out, bench);
    hm_svg_put_start(out, LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    fprintf(out,
            "<style>\n%s.line{fill:none;stroke-width:1.5}.dashed{stroke-dasharray:5 4}.edge{stroke:#8a909a;"
            "stroke-dasharray:2 3}.k0{stroke:#008c9e}.k1{stroke:#b5460f}.k2{stroke:#5b3fa8}.mark{fill:#ffffff}\n"
            "@media(prefers-color-scheme:dark){%s.k0{stroke:#3fd9ea}.k1{stroke:#ff9d5c}.k2{stroke:#b9a5ff}"
            ".mark{fill:#14161a}}\n</style>\n",
            hm_svg_on_light, hm_svg_on_dark);
    fprintf(out, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM);
    fprintf(out, "<text class=\"title\" x=\"%d\" y=\"30\">", LEFT);
    hm_svg_put_text(out, "Bandwidth by size, ");
    hm_svg_put_text(out, hm_bench_policy_name(bench->words.policy[HM_BENCH_READ]));
    if (bench->words.policy[HM_BENCH_READ] != bench->words.policy[HM_BENCH_WRITTEN])
        fprintf(out, " and %s", hm_bench_policy_name(bench->words.policy[HM_BENCH_WRITTEN]));
    fprintf(out, ", %d threads</text>\n", bench->threads);
    put_legend(&frame);
    put_axes(&frame);
    put_fast_tier(&frame);
    for (int kernel = 0; kernel < HM_BENCH_KERNELS; kernel++) {
        if (!bench->words.kernel[kernel])
            continue;
        put_line(&frame, (enum hm_bench_kernel)kernel, true);
        put_line(&frame, (enum hm_bench_kernel)kernel, false);
    }
    fputs("</svg>\n", out);
}

int hm_benchplot_write(const struct hm_bench *bench, struct hm_error *error)
{
    return hm_svg_write(bench->words.plot, draw, bench, error);
}
