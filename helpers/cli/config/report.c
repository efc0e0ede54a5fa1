/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the list of `hybridmem config check`. */
#include <stdarg.h>
#include <stdio.h>

#include "base/words.h"
#include "parts.h"

#define TEXT_COLUMN 8
#define MOST_TEXT 8192

static void print_line(const char *word, const char *format, va_list arguments)
{
    char text[MOST_TEXT];
    vsnprintf(text, sizeof(text), format, arguments);
    hm_words_put_row(stdout, hm_words_columns(stdout), TEXT_COLUMN, text, "%s", word);
}

void hm_report_ok(struct hm_report *report, const char *format, ...)
{
    va_list arguments;
    (void)report;
    va_start(arguments, format);
    print_line("ok", format, arguments);
    va_end(arguments);
}

void hm_report_note(struct hm_report *report, const char *format, ...)
{
    va_list arguments;
    (void)report;
    va_start(arguments, format);
    print_line("note", format, arguments);
    va_end(arguments);
}

void hm_report_change(struct hm_report *report, const char *format, ...)
{
    va_list arguments;
    report->n_changes++;
    va_start(arguments, format);
    print_line("change", format, arguments);
    va_end(arguments);
}
