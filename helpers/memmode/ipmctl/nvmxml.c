/* SPDX-License-Identifier: Apache-2.0 */
#include "nvmxml.h"

#include <errno.h>
#include <expat.h>
#include <stdbool.h>
#include <string.h>

#include "base/size.h"

#define BEGIN "<?xml"
#define NO_MODULES "No PMem modules in the system"
#define SHOWN 200 /* bytes of ipmctl's own words in a text */

#define MOST_DEPTH 3 /* the list, its rows, their fields */

struct parse {
    XML_Parser parser;
    struct hm_nvmxml *answer;
    size_t used; /* of texts */
    size_t mark; /* where texts end without the open element, if it turns out to have elements of its own */
    size_t name_at, value_at; /* of the open element, in texts */
    unsigned depth, rows;
    bool is_leaf; /* the open element has had no elements so far */
    const char *wrong;
};

static void stop(struct parse *parse, const char *wrong)
{
    if (!parse->wrong)
        parse->wrong = wrong;
    (void)XML_StopParser(parse->parser, XML_FALSE);
}

static void append(struct parse *parse, const char *text, size_t length)
{
    char *texts = parse->answer->texts;
    if (length > sizeof(parse->answer->texts) - parse->used) {
        stop(parse, "it is too long");
        return;
    }
    memcpy(texts + parse->used, text, length);
    parse->used += length;
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct parse *parse = data;
    (void)attributes;
    if (parse->depth == MOST_DEPTH) {
        stop(parse, "its elements are nested too deep");
        return;
    }
    if (parse->is_leaf)
        parse->used = parse->mark; /* the element around this one has no value, only blanks */
    parse->mark = parse->name_at = parse->used;
    append(parse, name, strlen(name) + 1);
    parse->value_at = parse->used;
    parse->is_leaf = true;
    parse->depth++;
    if (parse->depth == 1) {
        parse->answer->list = parse->answer->texts + parse->name_at;
        parse->mark = parse->used;
    } else if (parse->depth == 2) {
        parse->rows++;
    }
}

static void XMLCALL on_text(void *data, const XML_Char *text, int length)
{
    struct parse *parse = data;
    if (parse->is_leaf)
        append(parse, text, (size_t)length);
}

static void XMLCALL on_end(void *data, const XML_Char *name)
{
    struct parse *parse = data;
    struct hm_nvmxml *answer = parse->answer;
    (void)name;
    parse->depth--;
    if (!parse->is_leaf)
        return;
    parse->is_leaf = false;
    append(parse, "", 1);
    if (answer->n_fields == HM_NVMXML_MOST_FIELDS)
        stop(parse, "it has too many fields");
    else
        answer->field[answer->n_fields++] = (struct hm_nvmxml_field){.name = answer->texts + parse->name_at,
                                                                     .value = answer->texts + parse->value_at,
                                                                     .row = parse->rows > 0 ? parse->rows - 1 : 0};
}

static void XMLCALL on_doctype(void *data, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                               int has_subset)
{
    (void)name, (void)system, (void)public, (void)has_subset;
    stop(data, "it has a document type, which ipmctl's answers have not");
}

/* Where the XML begins: at the beginning of a line. NULL: nowhere. */
static const char *find_begin(const char *text, size_t length)
{
    const char *end = text + length, *at = text;
    while (at && (size_t)(end - at) >= strlen(BEGIN)) {
        if (memcmp(at, BEGIN, strlen(BEGIN)) == 0)
            return at;
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    return NULL;
}

/* Without XML, ipmctl has written what is wrong. Take the first line that says something. */
static int fail_without(const char *text, size_t length, struct hm_error *error)
{
    char shown[SHOWN];
    size_t blanks = 0;
    while (blanks < length && strchr(" \t\r\n", text[blanks]))
        blanks++;
    size_t n = length - blanks < sizeof(shown) - 1 ? length - blanks : sizeof(shown) - 1;
    memcpy(shown, text + blanks, n);
    shown[n] = '\0';
    shown[strcspn(shown, "\r\n")] = '\0';
    return hm_fail(error, strstr(shown, NO_MODULES) ? ENODEV : ENOMSG, "%s", shown[0] ? shown : "it answered nothing");
}

int hm_nvmxml_parse(const char *text, size_t length, struct hm_nvmxml *answer, struct hm_error *error)
{
    struct parse parse = {.answer = answer};
    answer->list = "";
    answer->n_fields = 0;
    if (length > HM_NVMXML_MOST_BYTES)
        return hm_fail(error, E2BIG, "its answer is longer than %d bytes", HM_NVMXML_MOST_BYTES);
    const char *begin = find_begin(text, length);
    if (!begin)
        return fail_without(text, length, error);
    parse.parser = XML_ParserCreate("UTF-8");
    if (!parse.parser)
        return hm_fail(error, ENOMEM, "no memory to read its answer");
    XML_SetUserData(parse.parser, &parse);
    XML_SetElementHandler(parse.parser, on_start, on_end);
    XML_SetCharacterDataHandler(parse.parser, on_text);
    XML_SetStartDoctypeDeclHandler(parse.parser, on_doctype);
    bool is_right = XML_Parse(parse.parser, begin, (int)(text + length - begin), 1) == XML_STATUS_OK;
    const char *wrong = parse.wrong ? parse.wrong : XML_ErrorString(XML_GetErrorCode(parse.parser));
    XML_ParserFree(parse.parser);
    if (is_right && !parse.wrong)
        return 0;
    return hm_fail(error, EBADMSG, "its answer is not the XML that is expected: %s", wrong);
}

const char *hm_nvmxml_get(const struct hm_nvmxml *answer, unsigned row, const char *name)
{
    for (size_t i = 0; i < answer->n_fields; i++)
        if ((answer->field[i].row == row || row == HM_NVMXML_ANY_ROW) && strcmp(answer->field[i].name, name) == 0)
            return answer->field[i].value;
    return NULL;
}

unsigned hm_nvmxml_rows(const struct hm_nvmxml *answer)
{
    return answer->n_fields > 0 ? answer->field[answer->n_fields - 1].row + 1 : 0;
}

int hm_nvmxml_bytes(const char *value, uint64_t *bytes)
{
    char digits[24];
    size_t length = strspn(value, "0123456789");
    if (length < sizeof(digits) && strcmp(value + length, " B") == 0) {
        memcpy(digits, value, length);
        digits[length] = '\0';
        if (hm_size_parse_number(digits, 0, UINT64_MAX, bytes, NULL) == 0)
            return 0;
    }
    errno = EBADMSG;
    return -1;
}
